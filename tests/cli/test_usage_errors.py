"""Wrong calls as people make them: each is answered with what is wrong, and what to do."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pcatool.cli import app
from pcatool.cli.reporter import run_and_report

NUMBER = "-k 'X' is not a number of components; give a whole number from 1, a share of the variance"

WRONG = {
    # commands
    "--fit houses.csv": "'--fit' is a command, not an option: pcatool fit; see 'pcatool --help'",
    "Fit houses.csv": "no command 'Fit'; did you mean fit?",
    "train houses.csv": "no command 'train'; did you mean fit?",
    "predict m.npz": "no command 'predict'; did you mean transform?",
    "inverse_transform m.npz": "no command 'inverse_transform'; did you mean reconstruct?",
    "expl m.npz": "no command 'expl'; did you mean explain-variance?",
    "version": "no command 'version'; did you mean --version?",
    # dashes, quotation marks and signs of equality
    "fit houses.csv –k 1 -o x": "'–k' begins with a typographic dash, not a hyphen; type -k",
    "fit houses.csv −k 1 -o x": "'−k' begins with a typographic dash, not a hyphen; type -k",
    "fit houses.csv —columns a -o x": "'—columns' begins with a typographic dash, not a hyphen; type --columns",
    "fit houses.csv –-columns=a -o x": "'–-columns=a' begins with a typographic dash, not a hyphen; type --columns=a",
    "fit “houses.csv” -o x": "'“houses.csv”' begins with a typographic quotation mark; use plain ' or",
    "fit houses.csv -k=1 -o x": "'-k=1': a short option takes no =; write -k 1",
    # a model that has lost its option
    "fit houses.csv x.npz": "fit needs -o MODEL, the file to write the model to; write -o x.npz",
    # numbers of components
    "fit houses.csv -o x -k abc": NUMBER.replace("X", "abc"),
    "fit houses.csv -o x -k two": NUMBER.replace("X", "two"),
    "fit houses.csv -o x -k 99%": "-k '99%' is not a number of components; give 0.99 for that share of the variance",
    "fit houses.csv -o x -k 0%": NUMBER.replace("X", "0%"),
    "fit houses.csv -o x -k kaisr": "no rule for the number of components called 'kaisr'; did you mean 'kaiser'?",
    # choices
    "fit houses.csv -o x --method kernal": "invalid value 'kernal' for --method: choose pca, kernel or supervised; did "
    "you mean kernel?",
    "fit houses.csv -o x --solver cov": "invalid value 'cov' for --solver: choose auto, covariance, tsqr, svd, dual or "
    "randomized; did",
    "fit houses.csv -o x --whiten ZCA": "invalid value 'ZCA' for --whiten: choose none, pca or zca; did you mean zca?",
    "fit houses.csv -o x --missing drp": "invalid value 'drp' for --missing: choose error, drop, mean or em; did you "
    "mean drop?",
    "fit houses.csv -o x --engine dsk": "invalid value 'dsk' for --engine: choose threads, dask or spark; did you mean "
    "dask?",
    "fit houses.csv -o x --input-format parqet": "invalid value 'parqet' for --input-format: choose parquet, tsv or "
    "csv; did you mean p",
    "fit houses.csv -o x --method kernel --kernel poly": "no kernel called 'poly'; did you mean 'polynomial'?",
    "fit houses.csv -o x --seed 1.5": "--seed '1.5' is not a whole number; give a whole number, such as 0",
    "transform m.npz --missing drop": "--missing drop is for fits only: here every input row gives an output row; use",
    "reconstruct m.npz s.csv --from score": "invalid value 'score' for --from: choose scores or rows; did you mean "
    "scores?",
    "scree m.npz --format chrt": "invalid value 'chrt' for --format: choose chart, table, csv, json or markdown; did "
    "you mean chart?",
    "explain-variance m.npz --format tabel": "invalid value 'tabel' for --format: choose table, csv, json or markdown; "
    "did you mean tab",
}

UNREADABLE = {
    "fit housse.csv -o x": (5, "cannot read 'housse.csv': No such file or directory; did you mean 'houses.csv'?"),
    "fit sub/housse.csv -o x": (
        5,
        "cannot read 'sub/housse.csv': No such file or directory; did you mean 'sub/",
    ),
    "fit nothing-like-it -o x": (5, "cannot read 'nothing-like-it': No such file or directory\n"),
    "fit houses.cvs -o x": (5, "cannot read 'houses.cvs': No such file or directory; did you mean 'houses.csv'?"),
    "transform houses.npz houses.csv": (5, "cannot read 'houses.npz': No such file or directory\n"),
    "transform sub houses.csv": (5, "cannot read 'sub': it is a folder; name a file in it"),
    "fit empty -o x": (
        5,
        "no data files in folder 'empty'; they are recognised by their ending: .parquet, .pq, ",
    ),
    "fit blanks.csv -o x": (
        3,
        "blanks.csv: one column, 'a b c', in which blanks separate numbers; read it with -d blanks\n",
    ),
}


def answer(call: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run_and_report(lambda: app.run(shlex.split(call)), debug=False)
    return code, capsys.readouterr().err.rpartition("pcatool: error: ")[2]


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_call(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = answer(call, capsys)
    assert (code, said[: len(WRONG[call])]) == (2, WRONG[call])


@pytest.mark.parametrize("call", UNREADABLE)
def test_what_is_not_there_or_no_table(
    call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("sub", "empty"):
        Path(folder).mkdir()
    for name in ("houses.csv", "sub/houses.csv"):
        Path(name).write_text("a,b\n1,2\n3,5\n")
    Path("blanks.csv").write_text("a b c\n1 2 3\n4 5 6\n")
    code, said = UNREADABLE[call]
    found = answer(call, capsys)
    assert (found[0], found[1][: len(said)]) == (code, said)


@pytest.mark.parametrize("call", ["fit –odd.csv -o m.npz", "fit t.csv --null-value – -d= -o m.npz"])
def test_what_may_be_meant_so(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of an odd name that is there, and values, which may be any text."""
    monkeypatch.chdir(tmp_path)
    Path("–odd.csv").write_text("a,b\n1,2\n3,5\n")
    Path("t.csv").write_text("a=b\n1=2\n–=4\n3=5\n")
    assert app.run([*shlex.split(call), "--missing", "drop"]) == 0
