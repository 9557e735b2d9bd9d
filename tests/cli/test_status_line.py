"""How far a run is: on a terminal, and nowhere else."""

from __future__ import annotations

import gzip
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from rich.console import Console

import pcatool
from pcatool.arrays import run_serially
from pcatool.cli import reporter, status_line
from pcatool.cli.status_line import State, StatusLine, bar_line, clock, cut_to_width
from pcatool.errors import DataError
from pcatool.options import GeneralOptions, SelectOptions, TableOptions
from pcatool.pipeline.combine import models_of
from pcatool.progress import Reporter, report_to
from pcatool.readers.inputs import Inputs
from pcatool.terminal import display_width
from screen import Screen, Window

# A pcatool that does not wait for a second.
SOON = "from pcatool.cli import main, status_line as line\nline.DELAY = line.INTERVAL = 0.01\nmain()\n"
EAGER = ["python", "-c", SOON]

ROWS = "a,b\n" + "".join(f"{j},{j * j % 7}\n" for j in range(500))


def last(pattern: str) -> Callable[[Screen], bool]:
    return lambda screen: re.search(pattern, screen.lines[-1]) is not None


@pytest.fixture
def houses(folder: Path, plain_environment: dict[str, str]) -> Path:
    pcatool.save_model(pcatool.fit(folder / "sample_data" / "houses.csv"), folder / "m.npz")
    return folder


# --- what a person sees ---


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_line_that_moves_fits_and_goes_away(
    number: signal.Signals, code: int, folder: Path, plain_environment: dict[str, str]
) -> None:
    """Of a pipe: counts, and no share."""
    command = [*EAGER, "fit", "-o", "m.npz", "--threads", "1"]
    with Window(command, plain_environment, cwd=folder, width=60, stdin=subprocess.PIPE) as window:
        pipe = window.program.stdin
        assert pipe is not None
        pipe.write(ROWS.encode())
        pipe.flush()
        first = window.wait_until(last(r"^reading  2\.\d kB  0:0\d$|^reading  0:0\d$|^opening  0:0\d$")).lines
        assert len(first) == 1
        window.resize(12)
        window.screen = Screen(12)
        screen = window.wait_until(last(r"^(reading|opening)$|^0:0\d$"))
        assert (screen.row, screen.column) == (0, 0)
        if number == signal.SIGINT:
            window.press("\x03")
        else:
            window.program.send_signal(number)
        assert window.ended() == code
        assert (window.screen.lines, window.screen.row, window.screen.column) == ([""], 0, 0)
        assert {escape[-1] for escape in window.screen.escapes} == {"J"}, "the cursor is never hidden, nor moved away"


def test_rows_on_the_same_terminal_tell_enough(houses: Path, plain_environment: dict[str, str]) -> None:
    command = [*EAGER, "transform", "m.npz"]
    with Window(command, plain_environment, cwd=houses, stdin=subprocess.PIPE, stdout=None) as window:
        pipe = window.program.stdin
        assert pipe is not None
        pipe.write(b"area,price\n10,10\n")
        pipe.flush()
        window.wait_until(last("^$"))
        pipe.close()
        assert window.ended() == 0
        assert window.screen.escapes == []
        assert window.screen.lines[:1] == ["PC1"]


def test_an_error_finds_the_line_gone(folder: Path, plain_environment: dict[str, str]) -> None:
    for i in range(20):  # enough rows that the line is drawn before the last file is met
        (folder / f"{i:02}.csv").write_text("a,b\n" + "1,2\n2,1\n" * 50_000)
    (folder / "20.csv").write_text("a,b\n1,x\n")
    with Window([*EAGER, "fit", "*.csv", "-o", "m.npz"], plain_environment, cwd=folder, width=400) as window:
        assert window.ended() == 3
        assert "J" in window.screen.escapes
        assert [row[:16] for row in window.screen.lines] == ["pcatool: error: ", ""]


def test_nothing_where_it_is_not_wanted(houses: Path, plain_environment: dict[str, str]) -> None:
    command = [*EAGER, "transform", "m.npz", "sample_data/houses.csv", "-q"]
    with Window(command, plain_environment, cwd=houses) as window:
        assert window.ended() == 0
        assert (window.screen.lines, window.screen.escapes) == ([""], [])


@pytest.mark.parametrize(("term", "shown"), [("dumb", False), (None, False), ("xterm-256color", True)])
def test_only_a_terminal_that_can(term: str | None, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    assert not reporter.can_redraw()
    monkeypatch.setattr(reporter.sys, "stderr", SimpleNamespace(isatty=lambda: True))
    assert reporter.can_redraw() is shown


def test_not_while_another_program_has_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a pager has, which takes keys as they come."""
    outer, inner = pty.openpty()
    monkeypatch.setattr(status_line, "STDERR", inner)
    assert status_line.may_write()
    settings: list[Any] = termios.tcgetattr(inner)
    settings[3] &= ~termios.ICANON
    termios.tcsetattr(inner, termios.TCSANOW, settings)
    assert not status_line.may_write()
    os.close(outer)
    os.close(inner)


@pytest.mark.parametrize(("place", "is_terminal"), [("/dev/null", False), ("nowhere/file", False), ("file.csv", False)])
def test_places_that_are_no_screen(place: str, is_terminal: bool) -> None:
    assert reporter.is_terminal(place) is is_terminal


def test_a_terminal_by_its_name_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    outer, inner = pty.openpty()
    kept = os.dup(2)
    os.dup2(inner, 2)
    try:
        assert reporter.is_terminal(os.ttyname(inner))
        assert reporter.is_terminal("/dev/stderr")
    finally:
        os.dup2(kept, 2)
        for descriptor in (kept, outer, inner):
            os.close(descriptor)


# --- the line ---


def console(encoding: str = "utf-8", **options: Any) -> Console:
    return Console(file=TextIOWrapper(BytesIO(), encoding), **options)


PLAIN = console()
FULL = State("reading", 60, 0.25, 1_500_000, None, "file 3 of 12", "data/月次報告-2024-06.parquet")


def test_everything_where_there_is_room() -> None:
    assert bar_line(FULL, PLAIN, 150) == (
        "reading  ━━━━━━━╸                         25%  file 3 of 12  月次報告-2024-06.parquet  "
        "1,500,000 rows  25,000 rows/s  3:00 left"
    )
    pipe = State("reading", 4, None, 1, 1_340_000_000)
    assert bar_line(pipe, PLAIN, 80) == "reading  1 row  1.3 GB  1 rows/s  0:04"
    assert bar_line(State("solving", 3725), PLAIN, 80) == "solving  1:02:05"
    assert bar_line(State("reading", 1, 0.001), console("ascii"), 30) == "reading              0%  0:01"
    assert bar_line(State("reading", 1, 0.5), console("ascii"), 35) == "reading  ----       50%  0:01 left"
    colored = console(force_terminal=True, color_system="standard")
    assert bar_line(State("reading", 1, 0.5), colored, 35) == (
        "reading  \x1b[32m━━━━\x1b[0m\x1b[2m╺\x1b[0m\x1b[2m━━━\x1b[0m   50%  0:01 left"
    )


@pytest.mark.parametrize(
    "state", [FULL, State("EM step 112", 70, None, 12345, 10**9), State("solving, 1234 vectors", 5)]
)
def test_the_line_fits_any_window(state: State) -> None:
    """Two cells for a wide letter; the last cell of the window stays free. What tells most stays longest."""
    for width in range(1, 160):
        drawn = bar_line(state, PLAIN, width)
        assert display_width(drawn) < width
        screen = Screen(width)
        screen.feed(f"\r{drawn}\x1b[J\r")
        assert (screen.lines, screen.row) == ([drawn], 0)
    assert bar_line(FULL, PLAIN, 20) == " 25%  3:00 left"


def test_names_keep_their_end() -> None:
    assert cut_to_width("data/part-017.csv", 12) == "~art-017.csv"
    assert cut_to_width("データ.csv", 8) == "~タ.csv"
    assert cut_to_width("a.csv", 5) == "a.csv"
    assert display_width("e\u0301") == 1
    assert "\x1b" not in bar_line(FULL._replace(name="\x1b[2J"), PLAIN, 150)
    assert clock(59.9) == "0:59"


# --- where a run stands ---


def shares(paths: list[str], reporter: Reporter) -> list[float | None]:
    """What was known after each piece."""
    inputs = Inputs(paths, TableOptions(), reporter)
    wanted = inputs.columns.choose(SelectOptions(), None, (), None)
    return [inputs.stream.share() for _ in inputs.stream.pieces(wanted, eager=False, run=run_serially)]


def test_shares_of_files_go_by_their_sizes(tmp_path: Path) -> None:
    small, large, packed, rows = (str(tmp_path / name) for name in ("a.csv", "b.csv", "c.csv.gz", "d.parquet"))
    Path(small).write_text("a,b\n1,2\n")
    Path(large).write_text("a,b\n" + "1.25,2.5\n" * 200_000)
    parquet.write_table(pa.table({"a": np.arange(300_000.0), "b": np.ones(300_000)}), rows)
    Path(packed).write_bytes(gzip.compress(Path(large).read_bytes(), 1))
    for path in (large, rows, packed):
        told = [share or 0.0 for share in shares([path], Reporter())]
        assert told == sorted(told)
        assert 0 < told[0] <= told[-1] == 1
    told = [share or 0.0 for share in shares([small, large], Reporter())]
    assert told[0] < 1e-4
    assert told[-1] == 1


def test_a_pipe_has_no_share(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, ROWS.encode())
    os.close(writing)
    assert shares([f"/dev/fd/{reading}"], Reporter())[-1] is None
    os.close(reading)


def test_what_is_told_adds_up() -> None:
    gauge = SimpleNamespace(several=False, current="b.csv", share=lambda: 0.5, taken=lambda: 7)
    told = StatusLine()
    assert told.state().what == "opening"
    told.at_file(3, 4)
    told.at_reading(gauge)
    told.at_rows(5)
    told.at_rows(6)
    assert told.state()[2:] == (0.625, 11, None, "file 3 of 4", "b.csv"), "each file for itself"
    told.at_stage("pass 2")
    told.at_reading(gauge)
    assert told.state()[:1] + told.state()[2:4] == ("pass 2", 0.625, 0)
    told.at_end()
    assert told.state()._replace(seconds=0) == State("working", 0)
    told.at_part(0, 20)
    told.at_part(5, 20)
    assert told.state()[2:] == (0.25, 0, None, "5 of 20 parts", "")


class Stages(Reporter):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def at_stage(self, what: str) -> None:
        self.heard.append(what)


def stages_of(work: Callable[[], object]) -> list[str]:
    stages = Stages()

    def listening() -> None:
        report_to(stages)
        work()

    copy_context().run(listening)
    return stages.heard


def test_long_work_says_what_it_is(tmp_path: Path) -> None:
    """In a word that changes, so that no line stands still."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    Y = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    tall, wide = rng.normal(size=(1100, 3)), rng.normal(size=(40, 600))
    assert stages_of(lambda: pcatool.fit(X, components="parallel"))[-2:] == ["solving", "choosing k: parallel"]
    assert "EM step 2" in stages_of(lambda: pcatool.fit(Y, components=2, missing="em"))
    assert "pass 3" in stages_of(lambda: pcatool.fit(wide, components=1, solver="randomized"))
    assert stages_of(lambda: pcatool.fit(X, method="kernel"))[:2] == ["comparing rows", "solving"]
    lanczos = stages_of(lambda: pcatool.fit(tall, method="kernel", components=2))
    assert any(re.fullmatch(r"solving, \d+ vectors", stage) for stage in lanczos)
    landmarks = stages_of(lambda: pcatool.fit(tall, method="kernel", landmarks=50))
    assert landmarks == ["pass 1 of 2", "comparing rows", "pass 2 of 2", "solving"]
    model, path = pcatool.fit(X), tmp_path / "m.npz"
    assert stages_of(lambda: pcatool.save_model(model, path)) == ["writing"]
    assert stages_of(lambda: pcatool.transform(model, X)) == ["scoring"]
    assert stages_of(lambda: list(models_of([str(path)] * 2))) == ["model 1 of 2", "model 2 of 2"]


# --- in this process ---


class Terminal(StringIO):
    """Standard error as a terminal, as wide as one that does not tell."""

    def isatty(self) -> bool:
        return True

    @property
    def screen(self) -> Screen:
        screen = Screen(status_line.DEFAULT_WIDTH)
        screen.feed(self.getvalue())
        return screen


@contextmanager
def terminal() -> Iterator[Terminal]:
    """Standard error is a terminal, where the line is drawn at once; no fixture, since pytest sets the streams anew."""
    made = Terminal()
    outside, inside = os.pipe()  # no terminal of a shell: nobody shares it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(status_line, "STDERR", inside)
        patch.setattr(status_line, "DELAY", 0.0)
        patch.setattr(status_line, "INTERVAL", 0.01)
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stderr", made)
        yield made
        reporter._close_line()
        report_to(None)
    os.close(outside)
    os.close(inside)


def wait_until(seen: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_notes_stand_above_the_line_and_a_result_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    note = "pcatool: note: left out text column 'a'"
    with terminal() as shown:
        told = reporter.ConsoleReporter(GeneralOptions())
        told.at_stage("EM step 12")
        wait_until(lambda: shown.screen.lines[-1].startswith("EM step 12  0:0"))
        told.note("left out text column 'a'")
        wait_until(lambda: shown.screen.lines[-1].startswith("EM step 12  0:0"))
        assert shown.screen.lines[:-1] == [note]
        reporter.print_result("a,b")
        drawn = shown.getvalue()
        told.at_stage("solving")
        time.sleep(0.03)
        assert shown.getvalue() == drawn, "nothing is drawn below a result"
    assert shown.screen.lines == [note, ""]
    assert capsys.readouterr().out == "a,b\n"


def test_an_error_takes_the_place_of_the_line() -> None:
    def run() -> int:
        reporter.ConsoleReporter(GeneralOptions()).at_part(3, 12)
        wait_until(lambda: shown.screen.lines[-1].startswith("working"))
        assert re.fullmatch(r"working  [━╸]+ +25%  3 of 12 parts  0:0\d left", shown.screen.lines[-1])
        raise DataError("a bad cell")

    with terminal() as shown:
        assert reporter.run_and_report(run, debug=False) == 3
    assert shown.screen.lines == ["pcatool: error: a bad cell", ""]


@pytest.mark.parametrize(("term", "quiet"), [("xterm", True), ("dumb", False)])
def test_no_line_for_the_quiet_nor_on_a_terminal_that_cannot_go_back(
    term: str, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal() as shown:
        monkeypatch.setenv("TERM", term)
        reporter.ConsoleReporter(GeneralOptions(quiet=quiet)).at_stage("solving")
        time.sleep(0.03)
    assert shown.getvalue() == ""


def test_a_terminal_that_goes_away_stops_no_run() -> None:
    with terminal() as shown:
        told = reporter.ConsoleReporter(GeneralOptions())
        wait_until(lambda: shown.getvalue() != "")
        shown.close()
        told.note("nobody reads this")
    assert told.notes == ["nobody reads this"]
