"""What README.md prints side by side is one thing, to the last digit. R and scikit-learn are run; of SAS there is only
what README.md shows, in the layout of PROC PRINCOMP, which was not compared with a run of SAS or with its guide."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pcatool
from programs import need
from readme import ROOT, Block, blocks, section

CRIME = ROOT / "sample_data" / "crime.csv"
NAME = r"[A-Za-z_]+"
NUMBER = r"-?\d*\.\d+"


@pytest.fixture(scope="module")
def model() -> pcatool.Model:
    return pcatool.fit(pd.read_csv(CRIME), columns="murder-auto_theft", standardize=True, ddof=1, components="all")


def block(language: str) -> Block:
    (found,) = [one for one in blocks(language) if one.code in section("Coming from SAS, R or scikit-learn")]
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


def test_sas(model: pcatool.Model) -> None:
    values, vectors = block("sas").shown.split("\n\n")
    ours = np.c_[model.eigenvalues, model.variance.share, model.variance.cumulative]
    table = [re.findall(NUMBER, line) for line in values.splitlines()[1:]]
    agree([[row[0], *row[-2:]] for row in table], ours)
    agree([row[1:2] for row in table[:-1]], -np.diff(model.eigenvalues)[:, None])
    agree(rows(vectors, NAME, 7), model.basis)
    names = re.findall(rf"^{NAME}", vectors, re.MULTILINE)
    assert [name.lower() for name in names] == list(model.columns)


def test_r_as_it_stands(model: pcatool.Model) -> None:
    shown = block("r").shown
    first, *rest = shown.splitlines()
    agree([[text] for text in re.findall(NUMBER, first)], model.eigenvalues[:, None])
    named = rows("\n".join(rest), NAME, 4)
    agree(named[:7], model.basis[:, :4])
    scores = pcatool.transform(model, pd.read_csv(CRIME)).to_numpy()
    agree(named[7:], scores[:2, :4])


def test_r_prints_it(tmp_path: Path) -> None:
    need("Rscript")
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    script = block("r")
    done = subprocess.run(["Rscript", "-e", script.code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, script.shown), done.stderr


def test_scikit_learn(model: pcatool.Model) -> None:
    """That it prints this, test_readme.py sees to."""
    (python,) = [one for one in blocks("python") if "crime.csv" in one.code]
    numbers = re.findall(r"-?\d+\.\d*", python.shown)
    scores = pcatool.transform(model, pd.read_csv(CRIME)).to_numpy()
    ours = np.concatenate([model.eigenvalues, model.basis.T[:2].ravel(), scores[:2, :4].ravel()])
    for text, number in zip(numbers, ours, strict=True):
        assert abs(float(text) - number) < 0.6 * 10.0 ** -len(text.partition(".")[2]), text


def test_rows_with_holes_are_left_out_as_by_sas() -> None:
    """In a later example of the guide Wyoming lacks a number."""
    frame = pd.read_csv(CRIME).set_index("state")
    frame.loc["Wyoming", "murder"] = np.nan
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 1 of 50 rows"):
        ours = pcatool.fit(frame, standardize=True, ddof=1, missing="drop", components="all")
    assert ours.n_samples == 49
    correlations = np.corrcoef(frame.drop("Wyoming").to_numpy().T)
    np.testing.assert_allclose(ours.eigenvalues, np.linalg.eigvalsh(correlations)[::-1], rtol=1e-12)


def test_standardised_scores_are_whitened_ones(model: pcatool.Model) -> None:
    """`out=` with `std` of SAS, `scale(p$x)` of R."""
    frame = pd.read_csv(CRIME).drop(columns="state")
    plain = pcatool.transform(model, frame)
    white = pcatool.fit(frame, standardize=True, ddof=1, components="all", whiten="pca", epsilon=0)
    np.testing.assert_allclose(pcatool.transform(white, frame), plain / plain.std(), atol=1e-12)
