"""What commands share: nothing to read, binary output for a terminal, models among the data, and where rows go."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from pcatool import registry
from pcatool.cli import app
from pcatool.cli.reporter import run_and_report
from pcatool.progress import report_to
from pcatool.render.summary import plan_facts, plan_lines
from pcatool.solvers.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
HOUSES = "sample_data/houses.csv"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model of the houses."""
    path = tmp_path_factory.mktemp("model") / "m.npz"
    assert app.run(["fit", str(ROOT / HOUSES), "-q", "-o", str(path)]) == 0
    report_to(None)
    return path.read_bytes()


@pytest.fixture(autouse=True)
def in_folder(model: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("m.npz").write_bytes(model)


def answer(*words: str) -> int:
    try:
        return run_and_report(lambda: app.run(words), debug=False)
    finally:
        report_to(None)


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Lines on standard error, without the time that a run took."""
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix("pcatool: ") for line in lines if " took " not in line]


# --- standard input and output ---


@pytest.mark.parametrize("call", ["fit -o x.npz", "transform m.npz", "update m.npz -o x.npz", "scree"])
def test_without_anything_to_read_a_terminal_gets_the_usage(
    call: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert answer(*call.split()) == 2
    name = call.split()[0]
    out, error = capsys.readouterr()
    usage, nothing, see = error.splitlines()
    assert out == ""
    assert usage.startswith(f"usage: pcatool {name} ")
    assert (
        nothing == f"There is nothing to read: name a file, or pipe data in, as in: cat data.csv | pcatool {name} ..."
    )
    assert see == f"See 'pcatool {name} --help'."


def test_standard_input_that_is_closed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert answer("transform", "m.npz") == 5
    assert said(capsys) == ["error: standard input is closed; give a file, or a pipe"]
    assert answer("transform", "m.npz", HOUSES) == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (f"fit {HOUSES} -o -", "a model is binary, and standard output is a terminal; name a file with -o"),
        (f"update m.npz {HOUSES} -o -", "a model is binary, and standard output is a terminal; name a file with -o"),
        (f"transform m.npz {HOUSES} --output-format parquet", "Parquet is binary, and standard output is a terminal;"),
        (
            f"report m.npz {HOUSES}",
            "the report is a page for a browser, and standard output is a terminal; name a file",
        ),
    ],
)
def test_a_terminal_gets_nothing_binary(
    call: str, sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert answer(*call.split()) == 2
    assert said(capsys)[0].startswith(f"error: {sentence}")
    assert sys.stdout.getvalue() == ""


# --- models and data ---


@pytest.mark.parametrize(
    ("call", "code", "sentence"),
    [
        (
            "transform - -",
            2,
            "standard input cannot be both the model and the data; give the model or the data as a file",
        ),
        (f"transform {HOUSES} m.npz", 2, f"'{HOUSES}' is not a usable model: it is not an .npz"),
        (f"transform {HOUSES} {HOUSES}", 4, f"'{HOUSES}' is not a usable model: it is not an .npz"),
        (f"transform {HOUSES} missing.npz", 4, f"'{HOUSES}' is not a usable model: it is not an .npz"),
        (
            f"update m.npz {HOUSES}",
            2,
            "update needs -o MODEL, the file to write the model to; add -o model.npz, or -o - for",
        ),
        (f"fit {HOUSES} x.npz", 2, "fit needs -o MODEL, the file to write the model to; write -o x.npz"),
        (
            f"fit {HOUSES}",
            2,
            "fit needs -o MODEL, the file to write the model to; add -o model.npz, or -o - for standard output",
        ),
        (f"update m.npz {HOUSES} -o m.npz --no-clobber", 5, "'m.npz' exists"),
        (
            f"scree {HOUSES} --rules kaisr",
            2,
            "there is no rule for the number of components called 'kaisr'; did you mean 'kaiser'?",
        ),
        ("scree m.npz --log", 2, "--log has no effect without -o; name a picture, such as -o scree.png"),
        ("scree m.npz --format csv -o x.png", 2, "-o draws a picture, but --format prints numbers; leave out -o or"),
        ("scree m.npz -k 1 --rules all", 2, "-k"),
    ],
)
def test_a_call_that_cannot_be_meant(call: str, code: int, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(*call.split()) == code
    lines = said(capsys)
    assert lines[-1].startswith(f"error: {sentence}")
    if call == f"transform {HOUSES} m.npz":
        assert lines[-1].endswith("; name the model first, then the data")


# --- where rows go, and the summary of it ---


def test_one_output_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("holes.csv").write_text("price,area\n1,2\n,3\n")
    words = ["transform", "m.npz", HOUSES, "holes.csv", "--missing", "keep", "--with-error", "-o", "s.csv", "-v"]
    assert answer(*words) == 0
    rows, error, files = [line for line in said(capsys) if not line.startswith(("note", "warning"))]
    assert rows.startswith("7 rows read and written, 1 of them with missing cells")
    assert rows.endswith("; 2 columns, 1 component, 100.00% of the variance in the rows of the fit")
    assert re.fullmatch(
        r"mean squared error \d\S*: averaged over the rows, summed over the columns, which are scaled as in the fit",
        error,
    )
    assert files == "2 files read"
    assert len(Path("s.csv").read_text().splitlines()) == 8


def test_a_folder_of_outputs_and_what_was_done_before(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in").mkdir()
    for name in "ab":
        Path(f"in/{name}.csv").write_bytes(Path(HOUSES).read_bytes())
    words = ["transform", "m.npz", "in", "-o", "out/", "-v"]
    assert answer(*words) == 0
    assert said(capsys) == [
        "10 rows read and written; 2 columns, 1 component, 100.00% of the variance in the rows of the fit",
        "2 files written to out/",
    ]
    first = Path("out/a.csv").read_bytes()
    Path("out/b.csv").unlink()
    assert answer(*words, "--resume", "--json") == 0
    out, error = capsys.readouterr()
    facts = json.loads(out)
    assert (facts["files_written"], facts["files_resumed"]) == (1, 1)
    assert facts["outputs"] == [{"file": "in/b.csv", "output": "out/b.csv", "rows": 5}]
    assert "pcatool: 1 file written to out/; 1 file already done by an earlier run" in error.splitlines()
    assert Path("out/a.csv").read_bytes() == Path("out/b.csv").read_bytes() == first


def test_parts_that_a_cluster_writes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine of the tests, in this process, writes the rows that one output has."""
    entry = registry.ENGINES["dask"]._replace(target="engines.apart:Apart")
    monkeypatch.setitem(registry.ENGINES.entries, "dask", entry)
    Path("in").mkdir()
    for name in "ab":
        Path(f"in/{name}.csv").write_bytes(Path(HOUSES).read_bytes())
    assert answer("transform", "m.npz", "in", "-o", "parts/", "--engine", "dask", "-v") == 0
    assert said(capsys) == [
        "10 rows read and written; 2 columns, 1 component, 100.00% of the variance in the rows of the fit",
        "2 parts written to parts/",
        "2 files read",
        "engine dask processed 2 parts of the input",
    ]
    assert answer("transform", "m.npz", "in", "-o", "whole.parquet") == 0
    assert parquet.read_table("parts").equals(parquet.read_table("whole.parquet"))


def test_a_fit_that_scores_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("holes.csv").write_text("a,b\n1,2\n,3\n2,5\n4,4\n")
    words = ["fit", "holes.csv", "--missing", "drop", "-o", "f.npz", "--scores", "s.csv", "-v"]
    assert answer(*words) == 0
    lines = said(capsys)
    assert "4 rows read, 3 used, 1 dropped; 2 columns used; centred, not standardised, divisor n (ddof 0)" in lines
    assert "1 cell missing (12.50%) in 1 row: 1 empty cell" in lines
    assert "missing by column: 'a' 25.00%" in lines
    assert lines[-2:] == [
        "model written to f.npz",
        "scores of 4 rows written to s.csv; 1 row without scores because of missing cells",
    ]
    assert [len(line) > 2 for line in Path("s.csv").read_text().splitlines()[1:]] == [True, False, True, True]


def test_models_that_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer("update", "m.npz", HOUSES, "-o", "u.npz", "-v") == 0
    added = said(capsys)
    assert (
        added[0] == "5 rows added to 5, which gives 10 rows; 2 columns; centred, not standardised, divisor n (ddof 0)"
    )
    assert added[-1] == "model written to u.npz"
    assert answer("subtract", "u.npz", HOUSES, "-o", "w.npz", "-v") == 0
    assert said(capsys)[0].startswith("5 rows removed from 10, which leaves 5 rows; 2 columns; ")
    assert answer("refit", "u.npz", "-s", "-o", "r.npz", "-v") == 0
    assert said(capsys)[0].startswith("10 rows; 2 columns; centred, standardised, ")


@pytest.mark.parametrize("call", ["transform m.npz x.csv", "plot scores m.npz x.csv -o x.png", "report m.npz x.csv"])
def test_a_model_without_a_column_comes_from_refit_where_no_option_leaves_it_out(
    call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plot of a model has -x in its help, for data that it fits, but refuses -x with a model."""
    Path("x.csv").write_text("price\n1\n2\n")
    assert answer(*call.split()) == 3
    (line,) = said(capsys)
    assert line.endswith("or leave the column out of the model with pcatool refit m.npz -x area -o NEW.npz")


def test_the_plan_of_a_cluster_counts_tasks() -> None:
    facts = plan_facts(Plan("covariance", "why", 5, 2, "1", 1000, threads=2, parts=1))
    assert plan_lines(facts)[3:5] == ["passes over the rows: 1", "tasks for the workers: 1"]
    assert plan_lines({name: fact for name, fact in facts.items() if name != "parts"})[4].startswith("memory")


def test_a_plan_fits_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer("fit", HOUSES, "--plan") == 0
    out, error = capsys.readouterr()
    solver, reason, rows, passes, memory = out.splitlines()
    assert (error, solver) == ("", "solver: covariance")
    assert reason == "reason: reads the rows once and adds them up in a 2 x 2 scatter matrix, for any number of rows"
    assert (rows, passes) == ("rows: about 5; columns: 2", "passes over the rows: 1")
    assert re.fullmatch(r"memory at the peak: about [\d.]+ MB", memory)
    assert answer("fit", HOUSES, "--plan", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["command"], facts["solver"], facts["passes"]) == ("fit --plan", "covariance", "1")
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["m.npz", "sample_data"]


def test_a_page_and_reports(capfd: pytest.CaptureFixture[str]) -> None:
    assert answer("report", "m.npz", HOUSES, "-o", "page.html", "-v") == 0
    assert re.fullmatch(r"page of [\d.]+ kB written to page\.html: 1 component, 5 of 5 rows", said(capfd)[0])
    assert Path("page.html").read_text().startswith("<!doctype html>")
    assert answer("report", "m.npz", "-v") == 0
    out, error = capfd.readouterr()
    assert out.startswith("<!doctype html>")
    assert re.match(r"pcatool: page of [\d.]+ kB written to standard output: 1 component\n", error)
    assert answer("scree", "m.npz", "--rules", "kaiser,0.9") == 0
    assert capfd.readouterr().out.splitlines()[0] == "rule,k,reason"
