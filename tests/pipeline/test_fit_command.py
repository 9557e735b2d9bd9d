"""The command on a page gives the model again: run on the same rows, the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.cli.app import run
from pcatool.model.model import SCIKIT_LEARN, Model
from pcatool.model.npz import dumps
from pcatool.pipeline.fit_command import DATA, as_shell_line, fit_command

DATA_FOLDER = Path(__file__).resolve().parents[1] / "data" / "format_2"

# A fit of every kind; those of tests/data/format_2, and what is chosen otherwise.
ROWS = {
    "the defaults": "",
    "all": "-k all",
    "a share": "-k 0.9",
    "a small share": "-k .00001",
    "a rule": "-k broken-stick",
    "a rule with a number": "-k ratio:0.1",
    "a rule that draws": "-k parallel --seed 5",
    "as scikit-learn does": "-s --ddof 1 -k 2",
    "about 0": "--no-center -k 3",
    "rows about their means": "--center-rows -k 2",
    "whitened": "--whiten pca -k 2",
    "whitened with a number": "--whiten zca -k 2 --epsilon 0.001",
    "a solver": "--solver tsqr -k 2",
    "randomized": "--solver randomized -k 2 --seed 3",
    "means": "--missing mean -k 2",
    "without sums": "--no-updatable -k 2",
    "columns in another order": "-c d,a-b -k 2",
    "a truth": "-c a-d,on -k 2",
    "weights": "-c a-d --weights w -k 2",
    "reliable weights": "-c a-d --weights w --weights-kind reliability --ddof 1 -k 2",
    "supervised": "--method supervised --label kind -k 2",
    "supervised by numbers": "--method supervised --label w --label-kernel rbf -s -k 2",
    "supervised, in a kernel": "--method supervised --label kind --kernel rbf --gamma 0.3 -k 2",
    "a kernel": "--method kernel -k 2",
    "a kernel with numbers": "--method kernel --kernel polynomial --degree 2 --coef0 -1.5 -s -k 2",
    "a kernel of neighbours": "--method kernel --kernel isomap --neighbours 4 -k 2",
    "landmarks": "--method kernel --landmarks 5 --seed 2 -k 2",
}
OTHERS = {
    "em": ("holes.csv", "--missing em -k 1"),
    "dropped": ("holes.csv", "--missing drop -k 1"),
    "precomputed": ("square.csv", "--method kernel --kernel precomputed -k 2"),
    "triples": ("cells.csv", "--triples user,item,value -k 2"),
    "triples with zeros": ("cells.csv", "--triples user,item,value --absent zero -k 2"),
}
FITS = {name: ("rows.csv", ("" if "-c" in words.split() else "-x kind,w,on ") + words) for name, words in ROWS.items()}


@pytest.mark.parametrize("name", [*FITS, *OTHERS])
def test_the_command_gives_the_same_bytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, words = {**FITS, **OTHERS}[name]
    monkeypatch.chdir(tmp_path)
    Path(DATA).symlink_to(DATA_FOLDER / rows)
    assert run(["fit", DATA, "-q", *words.split(), "-o", "one.npz"]) == 0
    made = fit_command(pcatool.load_model("one.npz"), "other.npz")
    assert made.command is not None
    assert run([*made.command[1:], "-q"]) == 0
    assert Path("one.npz").read_bytes() == Path("other.npz").read_bytes(), as_shell_line(made.command)


def command(model: Model, **asked: int) -> str:
    return as_shell_line(fit_command(model, **asked).command or [])


def fit(names: list[str]) -> Model:
    X = np.random.default_rng(0).normal(size=(2 * len(names), len(names)))
    return pcatool.fit(pd.DataFrame(X, columns=names), components=1)


def test_odd_names_find_their_columns_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commas, dashes, blanks, quotes, numbers, globs: each as it stands; what no page shows by a glob."""
    monkeypatch.chdir(tmp_path)
    names = ["-x", "a,b", " c", "it's", '"', "3", "1", "d*", "e-f", "e", "é", "x1", "x2", "x3", "x4", "x1-x4", "y\n,[z"]
    model = fit(names)
    X = np.random.default_rng(0).normal(size=(2 * len(names), len(names)))
    pd.DataFrame(X, columns=names).to_parquet("data.parquet")
    made = fit_command(model).command
    assert made is not None and all(word.isprintable() for word in made)
    again = run(["fit", "data.parquet", "-q", *made[3:]])
    assert (again, pcatool.load_model("model.npz")) == (0, model)


def test_numbered_columns_are_a_range() -> None:
    model = fit([*(f"p{i}" for i in range(8, 13)), "q01", "q02", "z"])
    made = fit_command(model)
    assert as_shell_line(made.command or []) == "pcatool fit data.csv -c p8-p12,q01,q02,z -k 1 -o model.npz"
    assert made.remarks == [
        "the range p8-p12 selects both columns that it names, and all columns between them in the table"
    ]


def test_a_vector_is_named_whole() -> None:
    assert command(fit([*(f"v[{i}]" for i in range(6)), "w"])).startswith("pcatool fit data.csv -c v,w ")


def test_very_many_names_are_left_out() -> None:
    made = fit_command(fit([f"{'x' * 40}{i}" for i in range(0, 600, 5)]))
    assert as_shell_line(made.command or []) == "pcatool fit data.csv -k 1 -o model.npz"
    assert made.remarks == [
        "the command does not name the 120 columns; without -c, the command uses all columns of numbers"
    ]


def test_other_numbers_of_components(folder: Path) -> None:
    model = pcatool.fit(folder / "sample_data" / "houses.csv")
    assert command(model, components=2) == "pcatool fit data.csv -c price,area -k 2 -o model.npz"


def test_what_a_model_cannot_tell_is_said(folder: Path) -> None:
    houses = folder / "sample_data" / "houses.csv"
    old = pcatool.fit(houses, components=1)
    aligned = fit_command(pcatool.fit(houses, components=1, align_to=old))
    assert "--align-to older.npz" in as_shell_line(aligned.command or [])
    assert aligned.remarks == [
        "replace older.npz with the file of the older model: the model does not hold the name of this file"
    ]
    merged = fit_command(pcatool.update(old, houses))
    assert as_shell_line(merged.command or []) == "pcatool fit data.csv -c price,area -k 1 -o model.npz"
    assert "update, merge, subtract or refit" in merged.remarks[0]
    triples = fit_command(pcatool.load_model(DATA_FOLDER / "triples.npz"))
    assert triples.remarks == ["replace user,item,value with your column names: the model does not hold these names"]


def test_scikit_learn_has_no_command() -> None:
    made = fit_command(fit(["a", "b"]).with_meta(solver=SCIKIT_LEARN))
    assert made == (None, ["the model was fitted by scikit-learn"])


@pytest.mark.parametrize("seed", ["3", None, -1, 1.5])
def test_a_seed_that_is_none_is_refused(seed: object) -> None:
    with pytest.raises(pcatool.ModelError, match=r"^the setting 'seed' is .*, not a whole number of 0 or more$"):
        fit(["a", "b"]).with_meta(seed=seed)


def test_models_of_other_makes_have_a_command(folder: Path) -> None:
    """A file of the first format, and one that a later fit gave: a command that a fit would take."""
    for path in [DATA_FOLDER.parent / "houses_format_1.npz", *DATA_FOLDER.glob("*.npz")]:
        model = pcatool.load_model(path)
        assert fit_command(model).command, path
        assert dumps(model)
