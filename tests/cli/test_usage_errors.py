"""Wrong calls as people make them: each is answered with what is wrong, and what to do."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pcatool.cli import app
from pcatool.cli.reporter import run_and_report
from pcatool.registry import ENGINES, METHODS, READERS, SOLVERS


def either(*names: str) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


NUMBER = "-k 'X' is not a number of components; give a whole number above 0, a share of the variance"

WRONG = {
    # commands
    "--fit houses.csv": "'--fit' is a command, not an option; write pcatool fit; see 'pcatool --help'",
    "Fit houses.csv": "there is no command 'Fit'; did you mean fit?",
    "train houses.csv": "there is no command 'train'; did you mean fit?",
    "predict m.npz": "there is no command 'predict'; did you mean transform?",
    "inverse_transform m.npz": "there is no command 'inverse_transform'; did you mean reconstruct?",
    "expl m.npz": "there is no command 'expl'; did you mean explain-variance?",
    "version": "there is no command 'version'; did you mean --version?",
    # dashes, quotation marks and signs of equality
    "fit houses.csv –k 1 -o x": "'–k' begins with a typographic dash, not a hyphen; type -k",
    "fit houses.csv −k 1 -o x": "'−k' begins with a typographic dash, not a hyphen; type -k",
    "fit houses.csv —columns a -o x": "'—columns' begins with a typographic dash, not a hyphen; type --columns",
    "fit houses.csv –-columns=a -o x": "'–-columns=a' begins with a typographic dash, not a hyphen; type --columns=a",
    "fit “houses.csv” -o x": "'“houses.csv”' begins with a typographic quotation mark; use a plain quotation "
    "mark, ' or \", or no quotation mark",
    "fit houses.csv -k=1 -o x": "'-k=1' has an equals sign, which is allowed after long options only; write -k 1",
    # a model that has lost its option
    "fit houses.csv x.npz": "fit needs -o MODEL, the file to write the model to; write -o x.npz",
    # numbers of components
    "fit houses.csv -o x -k abc": NUMBER.replace("X", "abc"),
    "fit houses.csv -o x -k two": NUMBER.replace("X", "two"),
    "fit houses.csv -o x -k 99%": "-k '99%' is not a number of components; for 99% of the variance, give 0.99",
    "fit houses.csv -o x -k 0%": NUMBER.replace("X", "0%"),
    "fit houses.csv -o x -k kaisr": "there is no rule for the number of components called 'kaisr'; did you "
    "mean 'kaiser'?",
    # choices
    "fit houses.csv -o x --method kernal": f"invalid value 'kernal' for --method: choose {either(*METHODS)}; did you "
    "mean kernel?",
    "fit houses.csv -o x --solver cov": f"invalid value 'cov' for --solver: choose {either('auto', *SOLVERS)}; did you "
    "mean covariance?",
    "fit houses.csv -o x --whiten ZCA": "invalid value 'ZCA' for --whiten: choose none, pca or zca; did you mean zca?",
    "fit houses.csv -o x --missing drp": "invalid value 'drp' for --missing: choose error, drop, mean or em; did you "
    "mean drop?",
    "fit houses.csv -o x --engine dsk": f"invalid value 'dsk' for --engine: choose {either(*ENGINES)}; did you mean "
    "dask?",
    "fit houses.csv -o x --input-format parqet": "invalid value 'parqet' for --input-format: choose "
    f"{either(*READERS)}; did you mean parquet?",
    "fit houses.csv -o x --method kernel --kernel poly": "there is no kernel called 'poly'; did you mean 'polynomial'?",
    "fit houses.csv -o x --seed 1.5": "--seed '1.5' is not a whole number; give a whole number, such as 0",
    "transform m.npz --missing drop": "--missing drop is only for fits: here, the output has a row for every input "
    "row; "
    "use --missing keep, which leaves the results empty for rows with missing cells",
    "reconstruct m.npz s.csv --from score": "invalid value 'score' for --from: choose scores or rows; did you mean "
    "scores?",
    "scree m.npz --format chrt": "invalid value 'chrt' for --format: choose chart, table, csv, json or markdown; did "
    "you mean chart?",
    "explain-variance m.npz --format tabel": "invalid value 'tabel' for --format: choose table, csv, json or markdown; "
    "did you mean tab",
    # what the parser finds
    "transform": "transform needs MODEL, a model file, as pcatool fit writes it; see 'pcatool transform --help'",
    "fit houses.csv -o": "-o needs a value; see 'pcatool fit --help'",
    "--columns a fit houses.csv": "option '--columns' belongs after the command, as in pcatool fit --columns; see",
    "diff a.npz b.npz --columns a": "option '--columns' is for fit, explain-variance, scree, components, plot, refit, "
    "not for diff; see 'pcatool diff --help'",
    "transform --model m.npz houses.csv": "'--model' is an argument, not an option; write its value alone, "
    "as in pcatool transform MODEL ",
    "fit houses.csv -Z": "there is no option '-Z'; see 'pcatool fit --help'",
    "fit houses.csv -o x --quiet=yes": "--quiet takes no value, but 'yes' was given; give --quiet alone to switch it "
    "on, or leave it out to switch it off",
    # how tables are read
    "fit t.csv -o x --decimal ';'": "--decimal ';' is not a decimal mark; give '.' or ','",
    "fit t.csv -o x --thousands .": "--decimal and --thousands are both '.'; give --decimal ',' if '.' is the",
    "fit t.csv -o x --comment 1": "--comment '1' also occurs in numbers; give a character other than a digit, +",
    "fit t.csv -o x --strip 0": "--strip '0' would change numbers; leave out digits, signs and decimal marks",
    "fit t.csv -o x --skip-lines=-1": "--skip-lines -1 is below 0; give 0 or a larger whole number",
    "fit t.csv -o x --encoding utf-99": "unknown encoding 'utf-99'; try latin-1, cp1252 or utf-16",
    "fit t.csv -o x --absent zero": "--absent has no effect without --triples; give --triples, or leave out",
    "fit t.csv -o x --triples u,i,v --weights v": "--weights does not go with --triples; leave out --weights",
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
    "transform sub houses.csv": (5, "cannot read 'sub': it is a folder; name a file in the folder"),
    "fit empty -o x": (
        5,
        "there are no data files in folder 'empty'; give a folder with files whose names end in .parquet, .pq, ",
    ),
    "fit blanks.csv -o x": (
        3,
        "blanks.csv: blanks separate numbers in the only column, 'a b c'; read the table with -d blanks\n",
    ),
}

# What the tables below are refused for, and the exit code.
TABLES = {
    "ab.csv": "a,b\n1,2\n3,5\n2,2\n",
    "weights.csv": "a,w,t\n1,2,x\n3,5,y\n2,2,z\n",
    "double.csv": "a,b,b\n1,2,3\n3,5,4\n",
    "triples.csv": "u,i,v\na,x,1\na,y,2\nb,x,3\nb,y,\n",
    "twice.csv": "u,i,v\na,x,1\na,x,2\n",
    "nobody.csv": "u,i,v\n,x,1\na,x,2\n",
    "pc.csv": "PC1,a\n1,2\n3,4\n",
    "gap.csv": "PC1,PC3\n1,2\n3,4\n",
    "many.csv": "PC1,PC2,PC3\n1,2,3\n3,4,5\n",
    "nameless.csv": "1,2\n3,4\n",
}
REFUSED = {
    # triples and weights
    "fit triples.csv --triples u,i -o x": (
        2,
        "--triples 'u,i' names 2 different columns; name three columns, as in --triples 'user,item,value'",
    ),
    "fit triples.csv --triples v,u,i -o x": (3, "triples.csv: column 'i' holds no numbers (first value 'x'); name the"),
    "fit twice.csv --triples u,i,v -o x": (
        3,
        "the cell of user 'a' and item 'x' is given twice, in rows 1 and 2 of the input, not counting headers; give",
    ),
    "fit nobody.csv --triples u,i,v -o x": (
        3,
        "nobody.csv, line 2: the user (column 'u') is missing; correct or remove the line",
    ),
    "fit triples.csv --triples u,i,v --absent zero -o x": (
        3,
        "triples.csv, line 5: the value is missing (--absent zero sets only cells without a line to 0); give th",
    ),
    "fit triples.csv --triples u,i,v --missing em -k 0.9 -o x": (
        2,
        "-k 0.9 is not possible with --triples: cells are missing, and EM needs a number of components; give a",
    ),
    "fit triples.csv --triples u,i,v --missing em -k 1 --plan": (
        3,
        "-k 1 with 2 columns needs more than 5 observed cells, but the data have",
    ),
    "fit weights.csv --weights t -o x": (3, "weights.csv: --weights 't' is a text column; name a column of numbers"),
    "fit weights.csv --weights a,w -o x": (3, "weights.csv: --weights 'a,w' names 2 columns; name one column"),
    "fit double.csv -o x": (
        3,
        "double.csv: columns 2 and 3 are both called 'b'; rename one of the columns, or leave column 3 out with",
    ),
    "fit double.csv -c a --method supervised --label b -o x": (3, "double.csv: columns 2 and 3 are both called 'b';"),
    # scores or rows
    "reconstruct pc.npz pc.csv": (
        2,
        "pc.csv: columns PC1, ... may hold scores or rows, since PC1 is also a column of the model; give --fr",
    ),
    "reconstruct ab.npz nameless.csv --no-header": (
        2,
        "nameless.csv: 2 columns without names may hold scores or rows;",
    ),
    "reconstruct ab.npz gap.csv": (
        3,
        "gap.csv: there is a column 'PC3', but column 'PC2' is missing; give all columns from PC1 to PC3",
    ),
    "reconstruct ab.npz many.csv": (
        3,
        "many.csv: there is a column 'PC3', but the model has 2 components; name the model",
    ),
    "reconstruct ab.npz ab.csv --from scores": (
        3,
        "ab.csv has no columns of scores (PC1, ...); give the output of pcatool",
    ),
    "reconstruct ab.npz scores.csv --with-error": (
        2,
        "--with-error needs the original rows, but the input holds scores",
    ),
    "reconstruct ab.npz triples.csv --triples u,i,v --from scores": (2, "--triples reads rows, not scores; leave out"),
    # plots
    "plot scores ab.csv ab.npz -o x.svg": (2, "ab.npz is a model, but comes after ab.csv; name the model first, then"),
    "plot scores ab.npz ab.npz -o x.svg": (2, "ab.npz is a model, not a table of rows; give one model, then"),
    "plot biplot scores.csv -o x.svg": (
        2,
        "scores.csv holds scores, but a biplot also shows the loadings of a model; name the model",
    ),
    "plot scores ab.csv --engine dask -o x.svg": (
        2,
        "--engine dask cannot draw rows; fit and transform on the cluster, then",
    ),
    "plot scores scores.csv -s -o x.svg": (
        2,
        "scores.csv holds scores: -s has no effect; leave out -s, or give --from rows to read",
    ),
    "plot scores ab.csv --color zz -o x.svg": (3, "ab.csv: no column 'zz' (the columns are: 'a', 'b')"),
    "plot loadings ab.npz -s -o x.svg": (
        2,
        "ab.npz is already fitted: -s has no effect; leave out -s, or name the data instead of the model",
    ),
    "plot scores ab.npz ab.csv --engine dask -o x.svg": (
        2,
        "--engine dask cannot draw rows; fit and transform on the cluster, then",
    ),
    "plot scores scores.csv --axes 1,9 -o x.svg": (
        3,
        "scores.csv has no scores of 'PC9'; name components of this table",
    ),
    "plot scores ab.csv --from scores -o x.svg": (3, "ab.csv has no columns of scores (PC1, ...); give the output of"),
    # two results
    "fit ab.csv -o - --scores -": (
        2,
        "the model and the scores cannot both go to standard output; name a file with --scores",
    ),
    "fit ab.csv -o x.csv --scores ./x.csv": (
        2,
        "-o and --scores both name './x.csv'; give different names with -o and --scores",
    ),
    "components ab.npz --image 3x3 -o x.png": (
        3,
        "an image of 3x3 has 9 pixels, but the model has 2 columns; give another shape with --image, or fit all pixels",
    ),
    "components ab.npz --image 1x1 -o x.png": (
        3,
        "an image of 1x1 has 1 pixel, but the model has 2 columns; give another shape with --image, or fit only the",
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


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables, models of two of them, and scores."""
    folder = tmp_path_factory.mktemp("tables")
    for name, text in TABLES.items():
        (folder / name).write_text(text)
    for name in ("ab", "pc"):
        assert app.run(["fit", str(folder / f"{name}.csv"), "-q", "-k", "2", "-o", str(folder / f"{name}.npz")]) == 0
    model, rows, scores = (str(folder / name) for name in ("ab.npz", "ab.csv", "scores.csv"))
    assert app.run(["transform", model, rows, "-o", scores]) == 0
    return folder


@pytest.mark.parametrize("call", REFUSED)
def test_a_table_that_does_not_go_with_the_call(
    call: str, tables: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told why, and nothing is written."""
    monkeypatch.chdir(tables)
    before = sorted(tables.iterdir())
    code, said = REFUSED[call]
    found = answer(call, capsys)
    assert (found[0], found[1][: len(said)]) == (code, said)
    assert sorted(tables.iterdir()) == before
