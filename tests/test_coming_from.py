"""The listings in the help topic `coming-from` are the same numbers, to the last digit. R and scikit-learn are run; the
listing of PROC PRINCOMP is a published one, of a run by Altair SLC: the topic says where."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pcatool
from documents import ROOT, TOPICS, Block
from programs import need

PLAYERS = ROOT / "sample_data" / "players.csv"
NAME = r"[A-Za-z_]+"
NUMBER = r"-?\d*\.\d+"


@pytest.fixture(scope="module")
def model() -> pcatool.Model:
    return pcatool.fit(pd.read_csv(PLAYERS), standardize=True, ddof=1, components="all")


@pytest.fixture(scope="module")
def scores(model: pcatool.Model) -> np.ndarray:
    """Of the first three players."""
    return pcatool.transform(model, pd.read_csv(PLAYERS)).to_numpy()[:3]


def block(language: str) -> Block:
    (found,) = TOPICS["coming-from"].section("The same numbers, side by side").commands(language)
    return found


def rows(text: str, begin: str, numbers: int) -> list[list[str]]:
    """The numbers, as they are printed, of lines that begin so."""
    return [
        re.findall(NUMBER, line) for line in text.splitlines()
        if re.match(rf"{begin}\s", line) and len(re.findall(NUMBER, line)) == numbers
    ]  # fmt: skip


def agree(printed: list[list[str]], ours: np.ndarray) -> None:
    """Every printed digit is that of our number, but for the sign of a column as a whole."""
    assert np.shape(printed) == ours.shape
    for texts, column in zip(zip(*printed, strict=True), ours.T, strict=True):
        digits = [len(text.partition(".")[2]) for text in texts]
        theirs = [float(text) for text in texts]
        sign = np.sign(theirs @ column)
        assert [f"{number:.{places}f}" for number, places in zip(theirs, digits, strict=True)] == [
            f"{sign * number:.{places}f}" for number, places in zip(column, digits, strict=True)
        ]


def test_proc_princomp(model: pcatool.Model, scores: np.ndarray) -> None:
    statistics, values, vectors, few = block("sas").shown.split("\n\n")
    means, spreads = rows(statistics, NAME, 3)
    assert model.std is not None
    for printed, ours in ((means, model.mean), (spreads, model.std)):
        for text, number in zip(printed, ours, strict=True):
            agree([[text]], np.array([[number]]))

    table = [re.findall(NUMBER, line) for line in values.splitlines()[1:]]
    variance = model.variance
    agree([[row[0], *row[-2:]] for row in table], np.c_[model.eigenvalues, variance.share, variance.cumulative])
    agree([row[1:2] for row in table[:-1]], -np.diff(model.eigenvalues)[:, None])
    agree(rows(vectors, NAME, 3), model.basis)
    assert tuple(re.findall(rf"^{NAME}", vectors.lower(), re.MULTILINE)) == model.columns
    agree(rows(few, r"\s*\d", 3), scores)


def test_the_signs_of_scores_are_those_of_directions(model: pcatool.Model, scores: np.ndarray) -> None:
    """In each listing a component that has another sign than here has it in both tables."""
    _, _, vectors, few = block("sas").shown.split("\n\n")
    first, second = (rows(text, begin, 3) for text, begin in ((vectors, NAME), (few, r"\s*\d")))
    assert np.array_equal(*(np.sign(np.array(a, float) * b) for a, b in ((first, model.basis), (second, scores))))


def test_r_as_it_stands(model: pcatool.Model, scores: np.ndarray) -> None:
    first, *rest = block("r").shown.splitlines()
    agree([[text] for text in re.findall(NUMBER, first)], model.eigenvalues[:, None])
    agree(rows("\n".join(rest), NAME, 3), model.basis)
    agree(rows("\n".join(rest), r"\[\d,\]", 3), scores)


def test_r_prints_it(tmp_path: Path) -> None:
    need("Rscript")
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    script = block("r")
    done = subprocess.run(["Rscript", "-e", script.code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, script.shown), done.stderr


def test_scikit_learn(model: pcatool.Model, scores: np.ndarray) -> None:
    """Compare the numbers; test_documents.py runs the block."""
    numbers = re.findall(r"-?\d+\.\d*", block("python").shown)
    ours = np.concatenate([model.eigenvalues, model.basis.T.ravel(), scores.ravel()])
    for text, number in zip(numbers, ours, strict=True):
        assert abs(float(text) - number) < 0.6 * 10.0 ** -len(text.partition(".")[2]), text


def test_rows_with_holes_are_left_out_as_by_sas() -> None:
    frame = pd.read_csv(PLAYERS).astype(float)
    frame.loc[7, "assists"] = np.nan
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 1 of 20 rows"):
        ours = pcatool.fit(frame, standardize=True, ddof=1, missing="drop", components="all")
    assert ours.n_samples == 19
    correlations = np.corrcoef(frame.drop(7).to_numpy().T)
    np.testing.assert_allclose(ours.eigenvalues, np.linalg.eigvalsh(correlations)[::-1], rtol=1e-12)


def test_standardised_scores_are_whitened_ones(model: pcatool.Model) -> None:
    """`out=` with `std` of SAS, `scale(p$x)` of R."""
    frame = pd.read_csv(PLAYERS)
    plain = pcatool.transform(model, frame)
    white = pcatool.fit(frame, standardize=True, ddof=1, components="all", whiten="pca", epsilon=0)
    np.testing.assert_allclose(pcatool.transform(white, frame), plain / plain.std(), atol=1e-12)
