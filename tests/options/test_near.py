"""What is offered in place of a word that is unknown: near words, words of other tools, and nothing for far ones."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pcatool
from often import often
from pcatool.cli import app
from pcatool.cli.app import program
from pcatool.cli.reporter import run_and_report
from pcatool.errors import UsageError
from pcatool.options.applying import parse_truncation
from pcatool.options.fields import OPTIONS, SENTENCES
from pcatool.options.fitting import parse_components
from pcatool.registry import RULES, SOLVERS
from pcatool.wording import edit_distance, nearest

FIT = [option for option in program().commands["fit"].option_names if option.startswith("--")]

FAR = [
    "one-hot", "title", "foo", "bar", "trees", "epochs", "loss", "depth", "bins", "k-means", "clusters", "metric",
    "queue", "retry", "timeout", "total", "axis", "rows", "user", "host", "port", "lang", "locale", "region", "path",
    "level", "name", "id", "shiny", "median-filter", "quantile", "alphabet",
]  # fmt: skip
NEAR = {
    "standardise": "standardize", "colums": "columns", "coulmns": "columns", "componets": "components",
    "treads": "threads", "seeed": "seed", "ouput": "output", "memroy": "memory", "exlude": "exclude", "labell": "label",
    "wieghts": "weights", "mising": "missing", "null_value": "null-value", "no-centre": "no-center", "sover": "solver",
    "scoers": "scores", "delimter": "delimiter", "encodng": "encoding", "mis": "missing", "MISSING": "missing",
    "random-seed": "seed", "missing-cells": "missing",
}  # fmt: skip


@pytest.mark.parametrize("word", FAR)
def test_a_far_word_is_near_nothing(word: str) -> None:
    assert nearest(f"--{word}", FIT) is None


@pytest.mark.parametrize("word", NEAR)
def test_a_slip_is_near_what_was_meant(word: str) -> None:
    assert nearest(f"--{word}", FIT) == f"--{NEAR[word]}"


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("fti", ["fit", "refit", "diff"], "fit"),
        ("explained", ["explain-variance", "scree"], None),
        ("explain", ["explain-variance", "scree"], "explain-variance"),
        ("covarience", list(SOLVERS), "covariance"),
        ("svd2", list(SOLVERS), "svd"),
        ("kaisr", list(RULES), "kaiser"),
        ("paralel", list(RULES), "parallel"),
        ("Sepal Length", ["Sepal.Length", "Sepal.Width"], "Sepal.Length"),
        ("price", ["prices", "area"], "prices"),
        ("price", ["size", "area"], None),
        ("x1", ["y1", "z"], None),
        ("x1", ["x2", "z"], "x2"),
        ("a", ["b", "c"], None),
        ("title", ["triples"], None),
        ("one-hot", ["neighbors"], None),
    ],
)
def test_values_and_columns(word: str, known: list[str], near: str | None) -> None:
    assert nearest(word, known) == near


@pytest.mark.parametrize("seed", range(often(100)))
def test_one_slip_of_the_hand_is_always_near(seed: int) -> None:
    """A letter left out, doubled, changed or swapped, in a word of five letters or more."""
    rng = np.random.default_rng(seed)
    option = str(rng.choice([one for one in FIT if len(one) > 7]))
    at = int(rng.integers(3, len(option) - 1))
    a, b = option[:at], option[at:]
    slip = str(rng.choice([a + b[1:], a + b[0] + b, a + "z" + b[1:], a[:-1] + b[0] + a[-1] + b[1:]]))
    assert edit_distance(slip, option) <= 1
    near = nearest(slip, FIT)
    assert near is not None
    assert slip in FIT or edit_distance(slip, near) <= 1 or near.startswith(slip)


def test_distances() -> None:
    for a, b, distance in (
        ("", "abc", 3),
        ("abcd", "abdc", 1),
        ("kitten", "sitting", 3),
        ("ca", "abc", 3),
        ("a", "a", 0),
    ):
        assert edit_distance(a, b) == edit_distance(b, a) == distance


def answer(call: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run_and_report(lambda: app.run(shlex.split(call)), debug=False)
    return code, capsys.readouterr().err.rpartition("pcatool: error: ")[2]


OTHERS = {
    "fit t.csv --dropna": "there is no option '--dropna'; fit --missing drop leaves out rows with missing",
    "fit t.csv --random-state 1": "there is no option '--random-state'; did you mean --seed?",
    "fit t.csv --group-by a": "there is no option '--group-by'; there are no fits by group: ",
    "fit t.csv --varimax": "there is no option '--varimax'; there is no rotation of components: ",
    "fit t.csv --impute mean": "there is no option '--impute'; --missing mean or em fits with missing cells, ",
    "fit t.csv --n_components 2": "there is no option '--n_components'; did you mean --components?",
    "fit t.csv --scale": "there is no option '--scale'; did you mean --standardize?",
    "fit t.csv --n_jobs 2": "there is no option '--n_jobs'; did you mean --threads?",
    "fit t.csv --sep ,": "there is no option '--sep'; did you mean --delimiter?",
    "fit t.csv --na-values x": "there is no option '--na-values'; did you mean --null-value?",
    "fit t.csv --svd-solver full": "there is no option '--svd-solver'; did you mean --solver?",
    "fit t.csv --index-col 0": "there is no option '--index-col'; did you mean --row-names?",
    "fit t.csv --include a": "there is no option '--include'; did you mean --columns?",
    "fit t.csv --not-columns a": "there is no option '--not-columns'; did you mean --exclude?",
    "fit t.csv --ncp 3": "there is no option '--ncp'; did you mean --components?",
    "fit t.csv --with-mean": "there is no option '--with-mean'; did you mean --center?",
    "fit t.csv --dry-run": "there is no option '--dry-run'; did you mean --plan?",
    "fit t.csv --na.action omit": "there is no option '--na.action'; fit --missing drop leaves out rows",
    "fit t.csv --whitening": "there is no option '--whitening'; did you mean --whiten?",
    "fit t.csv --one-hot": "there is no option '--one-hot'; text columns are not encoded: ",
    "fit t.csv --tsne": "there is no option '--tsne'; pcatool has only --method pca, kernel and supervised; see",
    "fit t.csv --tol 1": "there is no option '--tol'; there is no tolerance to set: ",
    "fit t.csv --cv 3": "there is no option '--cv'; rows are not split: fit one file and transform another file; "
    "-k cross-validation chooses the number of components by the error on left-out cells",
    "fit t.csv --batch-size 9": "there is no option '--batch-size'; the number of rows in a block cannot be set; "
    "--memory SIZE limits the memory of a fit",
    "fit t.csv --oversamples 5": "there is no option '--oversamples'; oversampling cannot be set: ",
    "fit t.csv --n-oversamples 5": "there is no option '--n-oversamples'; oversampling cannot be set: ",
    "plot scores t.csv --title x": "there is no option '--title'; pictures do not have this setting: ",
    "inspect m.npz --n-jobs 2": "there is no option '--n-jobs'; --threads is an option of fit, transform, ",
    "fit t.csv --blarg": "there is no option '--blarg'; see 'pcatool fit --help'",
}


@pytest.mark.parametrize("call", OTHERS)
def test_words_of_other_tools(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = answer(call, capsys)
    assert (code, said[: len(OTHERS[call])]) == (2, OTHERS[call])


def test_what_is_offered_is_there() -> None:
    """No word of another tool hides an option, and each points to one."""
    every = {option for command in program().commands.values() for option in command.option_names}
    assert set(OPTIONS.values()) <= every
    assert not set(OPTIONS) & set(SENTENCES)
    assert {f"--{word}" for word in (*OPTIONS, *SENTENCES)} & every <= {"--scaling"}
    for sentence in SENTENCES.values():
        assert {word.rstrip(",;") for word in sentence.split() if word.startswith("--")} <= every


def test_settings_of_the_api() -> None:
    for name, near in (
        ("n_components", "components"),
        ("random_state", "seed"),
        ("n_jobs", "threads"),
        ("scale", "standard"),
    ):
        with pytest.raises(UsageError, match=f"there is no setting called '{name}'; did you mean {near}"):
            pcatool.fit([[1.0, 2.0], [3.0, 5.0]], **{name: 1})  # type: ignore[call-overload]


APART = {
    "fit -c a b t.csv -o m.npz": "'b' after -c a would be read as a file, which does not exist; to give "
    "several columns, write -c a,b\n",
    "fit t.csv -c a, b -o m.npz": "'b' after -c a, would be read as a file, which does not exist; to give "
    "several columns, write -c a,b\n",
    "fit t.csv -x a b c -o m.npz": "'b', 'c' after -x a would be read as files, which do not exist; to give "
    "several columns, write -x a,b,c\n",
    "fit t.csv --columns=a 'b c' -o m.npz": "'b c' after --columns a would be read as a file, which does not exist; "
    "to give several columns, write --columns 'a,b c'\n",
    "fit -ca b t.csv -o m.npz": "'b' after -c a would",
    "fit t.csv -c a Sepal.Length -o m.npz": "'Sepal.Length' after -c a would",
    "fit t.csv -c a km/h -o m.npz": "'km/h' after -c a would",
    "transform --keep a b m.npz t.csv": "'b' after --keep a would",
    "fit t.csv --method supervised --label a b -o m.npz": "'b' after --label a would",
    "fit t.csv --triples a b c -o m.npz": "'b', 'c' after --triples a would be read as files, which do not exist; to "
    "give several columns, write --triples a,b,c\n",
    "components t.csv --values loadings cos2": "'cos2' after --values loadings would",
    "scree t.csv --rules kaiser elbow": "'elbow' after --rules kaiser would",
    "plot scores t.csv --axes 1 2 -o x.png": "'2' after --axes 1 would",
    "components t.csv --image 8 8 -o x.png": "'8' after --image 8 would be read as a file, which does not exist; to "
    "give height and width, write --image 8x8\n",
}
FORGOTTEN = {
    "fit t.csv --triples -k 3 -o m.npz": "--triples needs a value, but -k is an option; give --triples COLS\n",
    "fit t.csv -c -k 2 -o m.npz": "-c needs a value, but -k is an option; give -c COLS\n",
    "fit t.csv -x -k 2 -o m.npz": "-x needs a value, but -k is an option; give -x COLS\n",
}
FURTHER = {
    "inspect m.npz a b": "inspect takes no argument after MODEL; leave out 'a b'; see 'pcatool inspect --help'\n",
    "diff m.npz a b": "diff takes no argument after B; leave out 'b'; see 'pcatool diff --help'\n",
}
ALONE = {
    "fit t.csv --standardize true -o m.npz": "'true' after --standardize would be read as a file, which does not "
    "exist; --standardize takes no value: give --standardize alone to switch it on, or leave it out to switch it off\n",
    "fit -s 1 t.csv -o m.npz": "'1' after -s would be read as a file, which does not exist; -s takes no value: give ",
    "fit t.csv --no-center true -o m.npz": "'true' after --no-center would be read as a file, which does not exist; "
    "--no-center takes no value: give --no-center alone, or --center\n",
    "fit t.csv --standardize=false -o m.npz": "--standardize takes no value, but 'false' was given; give --standardize "
    "alone to switch it on, or leave it out to switch it off\n",
    "fit t.csv -s=1 -o m.npz": "-s takes no value, but '1' was given; give -s alone",
    "fit t.csv --center FALSE -o m.npz": "'FALSE' after --center would",
    "fit t.csv --no-header 0 -o m.npz": "'0' after --no-header would",
    "fit t.csv -o m.npz --verbose 2": "'2' after --verbose would",
    "transform m.npz t.csv --keep-all yes": "'yes' after --keep-all would",
}
TOGETHER = [
    "fit -s no -o m.npz",
    "fit t.csv -x 1 -o m.npz",
    "fit --keep-all t.csv --scores 1 -o m.npz",
    "fit -sk 2 t.csv -o m.npz",
    "fit t.csv --columns=a,b -k 1 -o m.npz",
    "fit -c a,b t.csv -o m.npz",
    "fit -c a t.csv -o m.npz",
    "fit -c a data -o m.npz",
    "fit -c a 't*' -o m.npz",
    "fit -c a -- t.csv -o",
    "plot -c a,b scores t.csv --format csv",
]


WRONG = APART | FORGOTTEN | FURTHER | ALONE


@pytest.mark.parametrize("call", WRONG)
def test_values_with_a_space_between(
    call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,c\n1,2,3\n3,5,1\n5,5,5\n")
    code, said = answer(call, capsys)
    expected = WRONG[call]
    assert (code, said[: len(expected)]) == (2, expected)


@pytest.mark.parametrize("call", TOGETHER)
def test_what_follows_may_be_a_file(
    call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name in ("t.csv", "data/t.csv", "no"):
        Path(name).write_text("a,b,c\n1,2,3\n3,5,1\n5,5,5\n")
    _, said = answer(call, capsys)
    assert "would be read as a file" not in said


def test_a_missing_file_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = answer("fit -c a nowhere.csv -o m.npz", capsys)
    assert (code, said[:55]) == (5, "cannot read 'nowhere.csv': No such file or directory\n"[:55])


@pytest.mark.parametrize("parse", [parse_truncation, parse_components])
def test_a_number_of_thousands_of_digits_is_refused_in_words(parse: Callable[[str], object]) -> None:
    """Python refuses to make a number of it, which would be an unexpected error."""
    with pytest.raises(UsageError, match="is not a number of components"):
        parse("9" * 5000)
