"""Solvers that draw random numbers, where the subspace is smaller than the space: converged, seeded, and honest.

On the small matrices of `cases.py` the subspace is everything. Here it is not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import ortho_group

from pcatool.model.model import Model
from pcatool.model.npz import dumps
from pcatool.registry import SOLVERS
from solvers import tolerances as within
from solvers.cases import Array, fit

SEEDED = [name for name in SOLVERS if SOLVERS[name].seeded]
seeded_solver = pytest.mark.parametrize("solver", SEEDED)

N, D, K = 220, 190, 5


def spectrum(values: Array) -> Callable[[np.random.Generator], Array]:
    """Rows whose scatter has these eigenvalues and no others, but for rounding."""

    def make(rng: np.random.Generator) -> Array:
        m = len(values)
        Z = rng.normal(size=(N, m))
        U = np.linalg.qr(Z - Z.mean(axis=0))[0] * np.sqrt(N)
        return (U * np.sqrt(values)) @ np.linalg.qr(rng.normal(size=(D, m)))[0].T

    return make


KINDS: dict[str, Callable[[np.random.Generator], Array]] = {
    "falling by a power": spectrum(np.arange(1.0, 151.0) ** -1.0),
    "falling fast": spectrum(np.float_power(2, -np.arange(40))),
    "nearly flat": spectrum(np.linspace(2.0, 1.0, 150)),
    "a cluster at the cut": spectrum(np.concatenate([[9.0, 8.0, 7.0, 6.0], np.full(4, 5.0), np.full(120, 1.0)])),
    "rank below k": spectrum(np.array([3.0, 2.0, 1.0])),
    "noise": lambda rng: rng.normal(size=(N, D)),
    "offset 1e8": lambda rng: spectrum(np.arange(1.0, 101.0) ** -1.0)(rng) + 1e8,
    "few rows": lambda rng: rng.normal(size=(50, D)) * np.float_power(0.97, np.arange(D)),
}
kinds = pytest.mark.parametrize("kind", KINDS)
settings = pytest.mark.parametrize(
    "options",
    [{}, {"center": False}, {"standardize": True}, {"ddof": 1}],
    ids=lambda options: " ".join(options) or "plain",
)


def rows(kind: str) -> Array:
    return KINDS[kind](np.random.default_rng(len(kind)))


def firm(model: Model, k: int) -> list[int]:
    """Components whose eigenvalue stands off its neighbours by a hundredth of it, so that their direction is firm."""
    values = np.concatenate([[np.inf], model.eigenvalues[: k + 1]])
    return [j for j in range(k) if min(values[j] - values[j + 1], values[j + 1] - values[j + 2]) > 0.01 * values[j + 1]]


@seeded_solver
@kinds
@settings
def test_leading_components_are_those_of_the_reference(solver: str, kind: str, options: dict[str, bool | int]) -> None:
    X = rows(kind)
    found = fit(X, solver=solver, components=K, **options)
    reference = fit(X, solver="svd", components=K, **options)
    rank = min(K, reference.meta["rank"])
    if kind == "offset 1e8" and not options.get("center", True):
        rank = found.meta["rank"]  # about 0 the offset is all there is to see: 1e18 against 1
    assert found.meta["rank"] == rank
    error = np.abs(found.eigenvalues[:K] - reference.eigenvalues[:K])
    assert np.all(error[:rank] <= within.CONVERGED * reference.eigenvalues[:rank])
    assert np.all(found.eigenvalues[found.meta["rank"] : K] == 0)
    assert abs(found.total_variance - reference.total_variance) <= within.AGREEMENT * reference.total_variance
    for j in firm(reference, rank):
        assert np.abs(found.basis[:, j] - reference.basis[:, j]).max() <= within.CONVERGED_DIRECTION
    assert np.abs(found.basis.T @ found.basis - np.eye(K)).max() <= within.ORTHONORMAL


@seeded_solver
@kinds
def test_certificate_admits_what_is_left(solver: str, kind: str) -> None:
    X = rows(kind)
    model = fit(X, solver=solver, components=K)
    reference = fit(X, solver="svd", components=K)
    rank = model.meta["rank"]
    error = np.abs(model.eigenvalues[:rank] - reference.eigenvalues[:rank]) / reference.eigenvalues[:rank]
    assert np.all(error <= np.array(model.meta["certificate"]["relative_error"][:rank]) + within.AGREEMENT)
    assert model.meta["certificate"].get("trace_closure") is None  # most eigenvalues are not known


@seeded_solver
@kinds
def test_same_seed_same_bytes_other_seed_same_numbers(solver: str, kind: str) -> None:
    X = rows(kind)
    one, again, other = (fit(X, solver=solver, components=K, seed=seed) for seed in (1, 1, 2))
    assert dumps(one) == dumps(again)
    assert one.meta["seed"] == 1
    rank = one.meta["rank"]
    assert other.meta["rank"] == rank
    error = np.abs(one.eigenvalues[:rank] - other.eigenvalues[:rank])
    assert np.all(error <= 2 * within.CONVERGED * one.eigenvalues[:rank])


@seeded_solver
def test_an_offset_that_takes_digits_of_the_mean_changes_nothing(solver: str) -> None:
    """Steps of 2^-25 are the smallest at 2^27: a mean in one double is off by up to half of one."""
    X = np.rint(30 * np.random.default_rng(4).normal(size=(N, D)) * np.float_power(0.97, np.arange(D))) * 2.0**-25
    plain, shifted = (fit(rows, solver=solver, components=K) for rows in (X, X + 2.0**27))
    assert np.all(X + 2.0**27 - 2.0**27 == X)
    error = np.abs(shifted.eigenvalues[:K] / plain.eigenvalues[:K] - 1)
    assert error.max() <= 2 * within.CONVERGED
    assert np.abs(shifted.basis - plain.basis).max() <= within.CONVERGED_DIRECTION


@seeded_solver
def test_units_and_turns_do_not_matter(solver: str) -> None:
    X = rows("falling by a power")
    one = fit(X, solver=solver, components=K)
    for other in (fit(X * 1e-140, solver=solver, components=K), fit(X * 1e140, solver=solver, components=K)):
        assert np.abs(other.variance.share[:K] - one.variance.share[:K]).max() <= within.CONVERGED
    Q = ortho_group.rvs(60, random_state=np.random.default_rng(1))
    turned = X.copy()
    turned[:, :60] = X[:, :60] @ Q
    other = fit(turned, solver=solver, components=K)
    assert np.abs(other.eigenvalues[:K] / one.eigenvalues[:K] - 1).max() <= 2 * within.CONVERGED


@seeded_solver
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_share_of_the_variance(solver: str, share: float) -> None:
    X = rows("falling fast")
    found, reference = (fit(X, solver=name, components=share) for name in (solver, "svd"))
    assert found.k == reference.k
    assert (
        np.abs(found.variance.cumulative[: found.k] - reference.variance.cumulative[: found.k]).max()
        <= within.CONVERGED
    )


@seeded_solver
def test_training_rows_score_zero_past_the_rank(solver: str) -> None:
    X = rows("rank below k")
    model = fit(X, solver=solver, components=K)
    assert model.meta["rank"] == 3
    assert np.all(model.project(X)[:, 3:] == 0)
