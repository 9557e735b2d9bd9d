"""Which eigenvalues a fit finds and stores: all if there are up to 1,000, else those that -k needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.arrays import Array
from pcatool.errors import RefusedError, UsageError
from pcatool.methods.base import warn_uncertain
from pcatool.model.model import Model
from pcatool.pipeline.scree import _evidence_of
from pcatool.progress import Reporter
from pcatool.rules.base import compare

N, D = 2100, 1050


@pytest.fixture(scope="module")
def wide() -> Array:
    """Rows with 30 strong directions, so that 0.9 of the variance needs few components."""
    rng = np.random.default_rng(11)
    signal = (rng.standard_normal((N, 30)) * np.linspace(9, 4, 30)) @ rng.standard_normal((30, D))
    return np.asarray(signal + rng.standard_normal((N, D)) + 100 * rng.standard_normal(D))


@pytest.fixture(scope="module")
def every(wide: Array) -> Model:
    return pcatool.fit(wide, components=7, eigenvalues="all")


def test_all_are_found_where_they_are_asked_for(wide: Array, every: Model) -> None:
    true = np.linalg.eigvalsh(np.cov(wide.T, bias=True))[::-1]
    assert len(every.eigenvalues) == D
    assert np.abs(every.eigenvalues - true).max() <= 1e-12 * true[0]
    assert every.meta["eigenvalues"] == "all"
    assert "proof" not in every.meta["certificate"]
    assert every.meta["certificate"]["trace_closure"] <= 1e-12


@pytest.mark.parametrize("components", [1, 7, 0.5, 0.9])
@pytest.mark.parametrize("more", [{}, {"standardize": True}, {"center": False}, {"updatable": True}], ids=str)
def test_only_those_that_k_needs_are_found_in_a_wide_table(
    wide: Array, components: int | float, more: dict[str, Any]
) -> None:
    few = pcatool.fit(wide, components=components, **more)
    full = pcatool.fit(wide, components=components, eigenvalues="all", **more)
    k = few.k
    assert k == full.k
    assert len(few.eigenvalues) == k
    assert few.meta["certificate"]["proof"] == "cholesky"
    assert all(few.meta["certificate"]["vouched"])
    assert few.total_variance == full.total_variance
    squares = np.sum((full.eigenvalues / full.total_variance) ** 2)
    assert few.meta["squared_shares"] == pytest.approx(squares, rel=1e-12)
    assert "squared_shares" not in full.meta
    assert np.abs(few.eigenvalues - full.eigenvalues[:k]).max() <= 1e-12 * full.eigenvalues[0]
    assert np.abs(few.basis - full.basis).max() <= 1e-9
    assert few.eigenvalues.sum() / few.total_variance >= (components if isinstance(components, float) else 0)


def test_lapack_counts_where_eigenvalues_are_too_close() -> None:
    """Column pairs repeat, so that each eigenvalue occurs twice: three components cut a pair."""
    rng = np.random.default_rng(3)
    block = rng.standard_normal((1300, 520)) * np.linspace(3, 1, 520)
    rows = np.block([[block, np.zeros_like(block)], [np.zeros_like(block), block]])
    model = pcatool.fit(rows, components=3, center=False)
    assert model.meta["certificate"]["proof"] == "lapack"
    assert len(model.eigenvalues) == 4
    assert model.meta["certificate"]["close_pairs"] == [[1, 2], [3, 4]]


@pytest.mark.parametrize("components", [1, 9, 0.6])
@pytest.mark.parametrize("more", [{}, {"standardize": True}, {"center": False}], ids=str)
def test_only_those_that_k_needs_are_found_from_inner_products(components: float, more: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    X = (rng.standard_normal((1050, 30)) * np.linspace(9, 4, 30)) @ rng.standard_normal((30, 2200))
    X += rng.standard_normal(X.shape) + 10
    few = pcatool.fit(X, components=components, **more)
    full = pcatool.fit(X, components=components, eigenvalues="all", **more)
    k = full.k
    assert few.meta["solver"] == full.meta["solver"] == "dual"
    assert len(full.eigenvalues) >= 1050
    assert (few.k, len(few.eigenvalues)) == (k, k)
    assert few.meta["certificate"]["proof"] == "cholesky"
    assert all(few.meta["certificate"]["vouched"])
    assert np.abs(few.eigenvalues - full.eigenvalues[:k]).max() <= 1e-12 * full.eigenvalues[0]
    assert np.abs(few.basis - full.basis).max() <= 1e-9
    squares = np.sum((full.eigenvalues / full.total_variance) ** 2)
    assert few.meta["squared_shares"] == pytest.approx(squares, rel=1e-12)


@pytest.mark.parametrize("more", [{}, {"standardize": True}, {"center": False}], ids=str)
@pytest.mark.parametrize("components", [1, 5, 10, 20, 0.5])
def test_equal_eigenvalues_are_all_found(components: float, more: dict[str, Any]) -> None:
    """Three rows of each of 1,100 classes, as 0 and 1: LAPACK's bisection loses some of 1,099 equal eigenvalues."""
    X = np.tile(np.eye(1100), (3, 1))
    model = pcatool.fit(X, components=components, solver="covariance", **more)
    k = components if isinstance(components, int) else 550
    assert model.k == k
    assert model.basis.shape == (1100, k)
    true = 1.0 if "standardize" in more else 1 / 1100
    scale = 1100 / 1099 if "standardize" in more else 1.0
    assert np.abs(model.eigenvalues[:k] / (true * scale) - 1).max() <= 1e-12
    assert all(model.meta["certificate"]["vouched"])


@pytest.mark.parametrize("which", ["auto", "kept"])
def test_frequency_weights_allow_more_components_than_rows(which: str) -> None:
    X = np.random.default_rng(1).integers(-9, 9, (5, 1001)).astype(float)
    frame = pd.DataFrame(np.column_stack([X, np.full(5, 10.0)]), columns=[f"c{j}" for j in range(1001)] + ["w"])
    with pytest.warns(pcatool.PcatoolWarning, match="PC5 to PC8 explain no variance"):
        model = pcatool.fit(frame, components=8, weights="w", solver="covariance", eigenvalues=which)
    assert model.basis.shape == (1001, 8)
    assert model.meta["rank"] == 4


def test_up_to_1000_columns_all_are_found_unless_only_the_kept_are_wanted() -> None:
    X = np.random.default_rng(0).standard_normal((300, 20)) * np.arange(1, 21)
    assert len(pcatool.fit(X, components=4).eigenvalues) == 20
    for solver in ("auto", "covariance", "tsqr", "svd", "dual"):
        model = pcatool.fit(X, components=4, eigenvalues="kept", solver=solver)
        assert len(model.eigenvalues) == 4
        assert len(model.meta["certificate"]["vouched"]) == 4
        assert "trace_closure" not in model.meta["certificate"]
    assert len(pcatool.fit(X, components="kaiser", standardize=True, eigenvalues="kept").eigenvalues) < 20


def test_a_model_with_few_eigenvalues_says_which_option_finds_the_others(wide: Array) -> None:
    model = pcatool.fit(wide, components=7)
    remedy = 'fit with a larger value of components, or with solver="covariance" and eigenvalues="all"'
    with pytest.raises(RefusedError, match=remedy):
        pcatool.explain_variance(model, threshold=0.999)
    reasons = {verdict.rule: verdict.reason for verdict in compare(_evidence_of(model, 0))}
    assert reasons["kaiser"] == (
        f"rule kaiser needs all eigenvalues, but only the largest {len(model.eigenvalues)} are known; "
        "fit with --solver covariance and --eigenvalues all"
    )
    remedy = "fit with a larger -k, or with --solver covariance and --eigenvalues all"
    assert reasons["0.99"].endswith(f"of the variance, not 0.99; {remedy}")


def test_a_table_is_explained_with_all_eigenvalues_unless_k_is_a_number(wide: Array) -> None:
    assert len(pcatool.explain_variance(wide)) == D
    assert len(pcatool.explain_variance(wide, components=5)) == 5
    assert pcatool.explain_variance(wide, threshold=0.99999) > 30


def test_eigenvalues_that_cannot_be_had_are_refused(wide: Array) -> None:
    with pytest.raises(UsageError, match="solver randomized finds only the leading eigenvalues; leave out"):
        pcatool.fit(wide, components=3, solver="randomized", eigenvalues="all")
    with pytest.raises(UsageError, match='eigenvalues does not go with missing="em"; leave out eigenvalues'):
        pcatool.fit(wide, components=3, missing="em", eigenvalues="kept")
    with pytest.raises(UsageError, match='eigenvalues does not go with method="kernel"; leave out eigenvalues'):
        pcatool.fit(wide, components=3, method="kernel", eigenvalues="all")


@pytest.mark.parametrize(
    ("uncertain", "named"),
    [
        ([3], "PC3: the eigenvalue is"),
        ([3, 4, 5], "PC3 to PC5: the eigenvalues are"),
        ([3, 5], "PC3, PC5: the eigenvalues are"),
    ],
)
def test_only_inaccurate_eigenvalues_are_named(uncertain: list[int], named: str) -> None:
    reporter = Reporter()
    warn_uncertain(reporter, uncertain, "")
    assert reporter.warnings == [f"{named} accurate to fewer than 8 digits"]
