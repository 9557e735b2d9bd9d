"""Numbers others have printed, and numbers another program computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA as Other

from pcatool.linalg.eigen import fix_signs
from pcatool.registry import SOLVERS
from solvers import tolerances as within
from solvers.cases import Array, Run, fit, fitted, over

every_solver = pytest.mark.parametrize("solver", list(SOLVERS))

USARRESTS = Path(__file__).resolve().parents[1] / "data" / "usarrests.csv"


# --- printed ---


@pytest.fixture(scope="module")
def usarrests() -> Array:
    """Arrests per 100,000 in the 50 states, 1973, as R carries them (McNeil 1977): Murder, Assault, UrbanPop, Rape."""
    X = np.loadtxt(USARRESTS, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))
    assert X.shape == (50, 4)
    np.testing.assert_allclose(X.mean(axis=0), [7.788, 170.76, 65.54, 21.232], rtol=1e-12)
    return X


@every_solver
def test_usarrests_standardised(solver: str, usarrests: Array) -> None:
    """R: prcomp(USArrests, scale. = TRUE), which divides by n - 1."""
    model = fit(usarrests, solver=solver, components="all", standardize=True, ddof=1)
    sdev = [1.5748783, 0.9948694, 0.5971291, 0.4164494]
    assert np.abs(np.sqrt(model.eigenvalues) - sdev).max() <= within.PRINTED_SEVEN
    rotation = [
        [0.5358995, -0.4181809, -0.3412327, -0.6492278],
        [0.5831836, -0.1879856, -0.2681484, 0.7434075],
        [0.2781909, 0.8728062, -0.3780158, -0.1338777],
        [0.5434321, 0.1673186, 0.8177779, -0.0890243],
    ]
    assert np.abs(model.basis - fix_signs(np.array(rotation))).max() <= within.PRINTED_SEVEN
    np.testing.assert_allclose(model.variance.share, [0.62006, 0.24744, 0.0891, 0.04336], atol=5.1e-5)
    assert np.abs(model.std - [4.355510, 83.337661, 14.474763, 9.366385]).max() <= 6e-7


@every_solver
def test_usarrests_as_they_are(solver: str, usarrests: Array) -> None:
    model = fit(usarrests, solver=solver, components="all", ddof=1)
    assert np.abs(np.sqrt(model.eigenvalues) - [83.732400, 14.212402, 6.489426, 2.482790]).max() <= 6e-7


@every_solver
def test_iris(solver: str) -> None:
    """scikit-learn's copy, divisor n - 1."""
    model = fit(load_iris().data, solver=solver, components="all", ddof=1)
    assert np.abs(model.eigenvalues - [4.22824171, 0.24267075, 0.07820950, 0.02383509]).max() <= within.PRINTED
    first = [0.36138659, -0.08452251, 0.85667061, 0.3582892]
    assert np.abs(model.basis[:, 0] - first).max() <= within.PRINTED


@every_solver
def test_houses_of_the_lecture(solver: str) -> None:
    """Price and area; the slide's scores are 7.07, -4.24, 2.83, -5.66 and 0."""
    X = np.array([[10, 10], [2, 2], [7, 7], [1, 1], [5, 5]], dtype=np.float64)
    model = fit(X, solver=solver, components=2)
    expected = np.array([5, -3, 2, -4, 0]) * np.sqrt(2)
    Z = model.project(X)
    assert np.abs(Z[:, 0] - expected).max() <= within.ALGEBRA
    assert np.all(Z[:, 1] == 0)
    np.testing.assert_array_equal(np.round(Z[:, 0], 2), [7.07, -4.24, 2.83, -5.66, 0])
    assert model.eigenvalues[1] == 0
    assert model.meta["rank"] == 1
    assert fit(X, solver=solver, components="all").k == 1


# --- scikit-learn ---

# Kinds on which its own errors stay below ours: it centres the rounded mean away once, and squares nothing.
COMPARABLE = ("tall", "wide", "square", "n = d + 1", "rank-deficient", "duplicate columns", "one column",
              "constant column", "two rows", "whole numbers", "counts and flags")  # fmt: skip


@over(lambda run: run.case.name in COMPARABLE and run.center and run.ddof == 1)
def test_scikit_learn_full(run: Run) -> None:
    model = fitted(run)
    Y = run.X / model.std
    other = Other(svd_solver="full").fit(Y)
    m, rank = min(run.X.shape), model.meta["rank"]
    largest = model.eigenvalues[0]
    assert np.abs(model.eigenvalues[:m] - other.explained_variance_).max() <= within.OTHER_PROGRAM * largest
    shares = other.explained_variance_ratio_
    assert np.abs(model.variance.share[:m] - shares).max() <= within.OTHER_PROGRAM
    assert np.abs(model.mean / model.std - other.mean_).max() <= within.OTHER_PROGRAM
    # The kept spaces, whichever axes repeated eigenvalues leave free in them.
    ours, theirs = model.basis[:, :rank], other.components_[:rank].T
    assert np.abs(ours @ ours.T - theirs @ theirs.T).max() <= within.OTHER_PROGRAM * 1e3
    back = other.inverse_transform(other.transform(Y))
    assert np.abs(model.reconstruct(model.project(run.X)) / model.std - back).max() <= within.OTHER_PROGRAM * 1e3


@over(lambda run: run.case.name == "tall" and run.center and run.ddof == 1)
def test_scores_are_those_of_scikit_learn_but_for_signs(run: Run) -> None:
    model = fitted(run)
    other = Other(svd_solver="full").fit(run.X / model.std)
    Z = other.transform(run.X / model.std) * np.sign(np.sum(other.components_.T * model.basis, axis=0))
    assert np.abs(model.project(run.X) - Z).max() <= within.OTHER_PROGRAM * np.abs(Z).max()
