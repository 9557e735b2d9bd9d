"""What a run says on its streams, and its exit code: errors of every kind, the closing summary, streams that fail."""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from pcatool.cli import app, reporter, signals
from pcatool.cli.reporter import ConsoleReporter, print_message, print_result, run_and_report
from pcatool.cli.signals import OUT_OF_MEMORY, Stopped
from pcatool.errors import DataError, FileError, ModelError, RefusedError, UsageError
from pcatool.options import GeneralOptions
from pcatool.progress import report_to


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The run begins now, and no reporter of a command stays the current one of this process."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(reporter, "STARTED_AT", monotonic())
    yield
    report_to(None)


@pytest.fixture
def kept_descriptors() -> Iterator[None]:
    """Standard output and error of this process, which a run may point to /dev/null."""
    kept = {number: os.dup(number) for number in (1, 2)}
    yield
    for number, copy in kept.items():
        os.dup2(copy, number)
        os.close(copy)


# --- errors and their exit codes ---


def code_of(error: BaseException, *, debug: bool = False) -> int:
    def run() -> int:
        raise error

    return run_and_report(run, debug=debug)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("wrong", "write it so"), 2, "wrong; write it so"),
        (DataError("a cell\nof two lines"), 3, "a cell\\nof two lines"),
        (ModelError("no model"), 4, "no model"),
        (FileError("no file"), 5, "no file"),
        (RefusedError("too large"), 6, "too large"),
        (OSError(errno.EACCES, "Permission denied", "x.csv"), 5, "cannot read or write 'x.csv': Permission denied"),
        (OSError("of some library"), 5, "cannot read or write a file: of some library"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 6, OUT_OF_MEMORY),
        (MemoryError(), 6, OUT_OF_MEMORY),
        (RuntimeError("std::bad_alloc"), 6, OUT_OF_MEMORY),
        (
            ValueError("a bug"),
            6,
            "unexpected ValueError: a bug; run again with --debug to see where the error happened, and please "
            "report it",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_is_one_line_and_a_code(
    error: Exception, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(error) == code
    assert capsys.readouterr() == ("", f"pcatool: error: {said}\n")


def test_debug_shows_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(ValueError("a bug"), debug=True) == 6
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last):")
    assert ", in run\n" in said
    assert said.splitlines()[-1].startswith("pcatool: error: unexpected ValueError: a bug;")


def test_under_a_limit_on_memory_an_unknown_error_is_want_of_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """Libraries report it in many ways."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 60, hard))
    try:
        assert code_of(SystemError("returned NULL without setting an exception")) == 6
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    assert capsys.readouterr().err == f"pcatool: error: {OUT_OF_MEMORY}\n"


@pytest.mark.parametrize(("error", "code"), [(BrokenPipeError(), 0), (KeyboardInterrupt(), 130)])
def test_an_end_that_somebody_wanted_is_silent(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(error) == code
    assert capsys.readouterr() == ("", "")


def test_after_a_signal_any_error_is_a_stop(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "_requested_by", signal.SIGTERM)
    with pytest.raises(Stopped) as stopped:
        code_of(RuntimeError("Error calling __set_name__"))
    assert stopped.value.code == 143
    assert capsys.readouterr() == ("", "")


# --- streams that fail ---


def test_results_are_utf_8_where_the_locale_lacks_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, "ascii"))
    print_result("Größe")
    assert data.getvalue() == "Größe\n".encode()


def test_a_full_disk_is_an_error_once(
    kept_descriptors: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = Path("/dev/full").open("w")
    monkeypatch.setattr(sys, "stdout", full)
    assert run_and_report(lambda: app.run(["inspect", model()]), debug=False) == 5
    assert capsys.readouterr().err == "pcatool: error: cannot write 'standard output': No space left on device\n"
    os.dup2(1, full.fileno())
    full.close()


def test_standard_output_that_is_closed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run_and_report(lambda: app.run(["inspect", model()]), debug=False) == 5
    assert capsys.readouterr().err == "pcatool: error: cannot write 'standard output': it is closed\n"
    assert not reporter.is_terminal("-")


def test_a_reader_that_stops_early_is_no_error(
    kept_descriptors: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    pipe = os.fdopen(writing, "w")
    monkeypatch.setattr(sys, "stdout", pipe)
    assert run_and_report(lambda: app.run(["inspect", model()]), debug=False) == 0
    assert capsys.readouterr().err == ""
    os.dup2(1, writing)
    pipe.close()


def test_a_note_that_nobody_can_read_stops_no_run(kept_descriptors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error is absent, or on a full disk, where Python would fail when it exits."""
    words = ["fit", "sample_data/orders.csv", "--missing=drop", "-o", "m.npz"]
    full = Path("/dev/full").open("w")
    for stream in (None, full):
        monkeypatch.setattr(sys, "stderr", stream)
        assert run_and_report(lambda: app.run(words), debug=False) == 0
        assert np.load("m.npz")["eigenvalues"].shape == (7,)
    assert os.path.samestat(os.fstat(2), Path(os.devnull).stat())
    os.dup2(2, full.fileno())
    full.close()
    monkeypatch.setattr(sys, "stderr", full)
    print_message("to a stream that was closed")


def model() -> str:
    if not Path("m.npz").exists():
        assert app.run(["fit", "sample_data/houses.csv", "-q", "-o", "m.npz"]) == 0
    return "m.npz"


# --- the closing summary ---


def summary(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, list[str]]:
    """What a command that ends well writes on standard output, and its lines on standard error."""
    capsys.readouterr()
    assert run_and_report(lambda: app.run(words), debug=False) == 0
    out, said = capsys.readouterr()
    lines = said.splitlines()
    assert all(line.startswith("pcatool: ") for line in lines)
    return out, [line.removeprefix("pcatool: ") for line in lines]


def test_a_summary_is_for_those_who_ask_and_for_terminals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["fit", "sample_data/houses.csv", "-o", "m.npz"]
    assert summary(capsys, *words) == ("", [])
    out, said = summary(capsys, *words, "-v")
    assert out == ""
    assert said[0] == "5 rows read; 2 columns used; centred, not standardised, divisor n (ddof 0)"
    assert said[-2] == "model written to m.npz"
    assert said[-1].startswith("took ") and said[-1].endswith(" s")
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert run_and_report(lambda: app.run(words), debug=False) == 0
    assert sys.stderr.getvalue().splitlines()[:-1] == [f"pcatool: {line}" for line in said[:-1]]
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert run_and_report(lambda: app.run([*words, "-q"]), debug=False) == 0
    assert sys.stderr.getvalue() == ""


def test_left_out_rows_columns_and_files_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("name,a,b\nx,1,2\ny,2,1\nz,,3\n")
    Path("b.csv").write_text("name,a,b\nx,1,oops\n")
    Path("c.csv").write_text("name,a,b\nx,5,2\n")
    words = ["fit", "a.csv", "b.csv", "c.csv", "--missing", "drop", "--skip-bad", "-o", "m.npz"]
    _, said = summary(capsys, *words, "-v")
    assert "note: left out text column 'name' (first value 'x')" in said
    assert "1 column left out: 'name'" in said
    assert "2 files read; 1 file left out" in said
    out, said = summary(capsys, *words, "--json")
    facts = json.loads(out)
    assert (facts["command"], facts["rows_read"], facts["rows_dropped"]) == ("fit", 4, 1)
    assert (facts["files_read"], facts["columns_left_out"]) == (2, ["name"])
    assert [skipped["file"] for skipped in facts["skipped"]] == ["b.csv"]
    assert [f"note: {text}" for text in facts["notes"]] == [line for line in said if line.startswith("note")]


def test_the_json_summary_leaves_standard_output_to_the_rows(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["transform", model(), "sample_data/houses.csv", "--json"]
    capfd.readouterr()
    assert app.run(words) == 0
    out, said = capfd.readouterr()
    assert out.startswith("PC1\n")
    assert json.loads(said)["output"] == "-"
    out, lines = summary(capfd, "transform", model(), "sample_data/houses.csv", "--json", "-o", "scores.csv")
    assert (json.loads(out)["output"], lines) == ("scores.csv", [])


def test_of_a_long_run_minutes_are_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "STARTED_AT", monotonic() - 3725)
    ConsoleReporter(GeneralOptions(verbose=True)).close({}, ["done"], stdout_free=True)
    assert capsys.readouterr().err == "pcatool: done\npcatool: took 1:02:05\n"


def test_parts_of_a_cluster_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    told = ConsoleReporter(GeneralOptions(verbose=True, json=True))
    told.all_parts("dask", 1)
    told.close({"command": "transform"}, [], stdout_free=True)
    out, said = capsys.readouterr()
    facts = json.loads(out)
    assert (facts["engine"], facts["parts"]) == ("dask", 1)
    assert said.splitlines()[0] == "pcatool: engine dask processed 1 part of the input"


def test_control_characters_of_names_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_message("cannot read '\x1b[2J\r'")
    assert capsys.readouterr().err == "pcatool: cannot read '\\x1b[2J\\r'\n"
