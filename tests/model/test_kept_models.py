"""Models of earlier formats, as the program wrote them then: they load, and give the scores that they gave."""

from __future__ import annotations

from csv import DictReader
from pathlib import Path

import numpy as np
import pytest

import pcatool
from fuzz.calls import called, kept_to
from fuzz.models import MODELS, Parts, commands, table_of

DATA = Path(__file__).resolve().parents[1] / "data"


def rows_of(path: Path) -> list[list[float]]:
    """The scores of a table, without the names of users; an empty cell is nan."""
    with path.open(newline="") as file:
        return [[float(cell or "nan") for name, cell in row.items() if name != "user"] for row in DictReader(file)]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_of_format_2_gives_the_scores_it_gave(path: Path, tmp_path: Path) -> None:
    model = pcatool.load_model(path)
    assert model.meta["format_version"] == 2
    triples = ("--triples", "user,item,value") if path.stem.startswith("triples") else ()
    done = called("transform", path, DATA / "format_2" / table_of(path.stem), *triples, "-o", tmp_path / "scores.csv")
    assert done.code == 0, done.said
    found, expected = (rows_of(file) for file in (tmp_path / "scores.csv", path.with_suffix(".csv")))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.nanmax(np.abs(expected)))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_command_takes_a_kept_model(path: Path, tmp_path: Path) -> None:
    for command in commands(path.stem, path, tmp_path):
        done = called(*command)
        kept_to(done, {0, 2, 3, 4})
        assert done.code != 4 or "keeps no sums: " in done.said, done


def test_every_kind_of_model_is_kept() -> None:
    models = [pcatool.load_model(path) for path in MODELS]
    assert {model.meta["method"] for model in models} >= set(pcatool.registry.METHODS)
    kernels = {model.meta["kernel"]["name"] for model in models if "kernel" in model.meta}
    assert kernels == set(pcatool.registry.KERNELS)
    for key in ("center_rows", "whiten", "weights", "em", "absent", "booleans", "landmarks", "labels", "seed"):
        assert any(key in model.meta for model in models), key


def test_words_in_a_model_cannot_steer_a_terminal(tmp_path: Path) -> None:
    parts = Parts((DATA / "format_2" / "supervised.npz").read_bytes())
    parts.meta |= dict.fromkeys(("choice", "reason"), "\x1b[31m\n")
    parts.meta |= {"labels": ["\x1b[31m\n"]}
    parts.arrays["columns"] = np.array(["\x1b[31m\n", *parts.arrays["columns"][1:]])
    model = tmp_path / "m.npz"
    model.write_bytes(parts.packed())
    table = ("explain-variance", model, "--format", "table", "-v")
    for call in (("scree", model, "-v"), table, ("components", model, "--format", "table", "-v")):
        done = called(*call)
        kept_to(done, {0})
        assert "\x1b" not in done.out
