"""How far EM has ended from its maximum: second derivatives, and what is claimed, against a likelihood of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from missing.dense import density, summit
from missing.made import Array, cells_of, fit, made, problem_of, punched, rows_of
from often import often
from pcatool.engines.threads import Threads
from pcatool.errors import DataError
from pcatool.missing import likelihood as of_likelihood
from pcatool.missing.em import EMFit, fit_em
from pcatool.missing.em_step import Parameters
from pcatool.missing.likelihood import second_derivatives

# Second differences of a likelihood of a few hundred, over steps of 1e-3: rounding 1e-13 / 1e-6, and the next term.
DIFFERENCES = 1e-5

# Where the yardstick ends: its own steps are less than 1e-11, of parameters near 1.
YARDSTICK = 1e-10


def vector(at: Parameters, center: bool) -> Array:
    """As `second_derivatives` has them: each row of W with its mean, then the logarithm of the noise."""
    rows = np.column_stack([at.W, at.mu]) if center else at.W
    return np.append(rows.ravel(), math.log(at.noise))


def log_likelihood(X: Array, v: Array, k: int, center: bool) -> float:
    d = X.shape[1]
    rows = v[:-1].reshape(d, k + center)
    W, mean = rows[:, :k], rows[:, k] if center else np.zeros(d)
    return density(X, mean, W @ W.T + math.exp(v[-1]) * np.eye(d))


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(("n", "d", "k"), [(9, 3, 1), (6, 4, 2), (4, 6, 3)])
def test_second_derivatives_are_differences_of_the_density(n: int, d: int, k: int, center: bool) -> None:
    rng = np.random.default_rng(n)
    X = punched(made(n, d, [4, 2][:d], 0.5, 1).X, 0.3, 2)
    X[1] = X[0]  # rows of one pattern
    at = Parameters(rng.normal(size=(d, k)), rng.normal(size=d) * center, 0.4)
    v, step = vector(at, center), 1e-3
    p = len(v)
    H = np.empty((p, p))
    for i, j in np.ndindex(p, p):
        e, f = step * np.eye(p)[i], step * np.eye(p)[j]
        around = [log_likelihood(X, v + a * e + b * f, k, center) * a * b for a in (1, -1) for b in (1, -1)]
        H[i, j] = math.fsum(around) / (4 * step * step)
    found = second_derivatives(X, None, at, center)
    np.testing.assert_allclose(found, H, rtol=0, atol=DIFFERENCES * np.abs(H).max())


def test_a_weight_is_as_many_rows() -> None:
    X = punched(made(20, 5, [4, 2], 0.5, 1).X, 0.3, 2)
    times = np.random.default_rng(3).integers(1, 4, 20)
    at = Parameters(np.random.default_rng(4).normal(size=(5, 2)), np.zeros(5), 0.5)
    weighted = second_derivatives(X, times.astype(float), at, True)
    np.testing.assert_allclose(
        weighted, second_derivatives(np.repeat(X, times, axis=0), None, at, True), rtol=1e-11, atol=1e-11
    )


def any_model(seed: int) -> tuple[Array, int, dict[str, Any]]:
    """A table with holes, a number of components and settings, drawn at random."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 50)), int(rng.integers(2, 9))
    k = int(rng.integers(1, min(n, d, 4) + 1))
    signal = list(10 ** rng.uniform(-1, 1.5, size=int(rng.integers(1, min(n, d, 4) + 1))))
    X = punched(made(n, d, signal, float(rng.choice([0.1, 0.5, 1])), seed).X, float(rng.choice([0.05, 0.2, 0.4])), seed)
    return X, k, {"center": bool(rng.random() < 0.7), "standardize": bool(rng.random() < 0.4)}


def at_summit(X: Array, k: int, fitted: EMFit, center: bool) -> Array:
    """Eigenvalues (k,) at the maximum that the yardstick climbs to from where EM ended."""
    inner = min(k, X.shape[1] - 1)
    W = fitted.basis[:, :inner] * np.sqrt(fitted.eigenvalues[:inner] - fitted.noise_variance)
    W, _, noise = summit(X / fitted.std, (W, fitted.mean / fitted.std, fitted.noise_variance), center)
    values = np.linalg.svd(W, compute_uv=False) ** 2 + noise
    return np.append(values, np.full(k - inner, noise))


def test_the_maximum_is_no_farther_than_claimed() -> None:
    """The claim is no more than ten times too large either, in most models."""
    tight, claimed = [], 0
    for seed in range(often(40)):
        X, k, settings = any_model(seed)
        try:
            fitted = fit(X, k, **settings)
        except DataError as error:
            assert "observed cells, but the data have" in str(error) or "no value; leave the column" in str(error), seed
            continue
        bounded = fitted.bounded()
        if not fitted.iterations or not bounded.proved:
            continue
        claimed += 1
        top = at_summit(X, k, fitted, settings["center"])
        off, error = np.abs(top - fitted.eigenvalues[:k]), bounded.error[:k]
        assert np.all(off <= error + YARDSTICK * top[0]), (seed, off, error)
        tight.append(bool(np.all(error <= 10 * off + YARDSTICK * top[0])))
    assert claimed > often(40) * 0.7
    assert np.mean(tight) > 0.9


def test_the_model_stays_where_em_ended() -> None:
    fitted = fit(punched(made(60, 6, [9, 4], 0.6, 3).X, 0.3, 4), 2)
    bounded = fitted.bounded()
    assert bounded.proved
    assert not fitted.proved
    for name in ("mean", "basis", "eigenvalues", "std"):
        assert getattr(bounded, name).tobytes() == getattr(fitted, name).tobytes()


def test_cells_and_blocks_and_threads_agree() -> None:
    X = punched(made(300, 9, [9, 4], 0.6, 3).X, 0.4, 4)
    X = X[np.isfinite(X).any(axis=1)]
    by_rows = fit(X, 2).bounded()
    found = []
    for count in (1, 2):
        with Threads(count) as pool:
            found.append(fit_em(cells_of(X, 0), problem_of(9), 2, engine=pool).bounded())
    assert found[0].proved
    assert found[0].error.tobytes() == found[1].error.tobytes()
    np.testing.assert_allclose(found[0].error, by_rows.error, rtol=0.05)


def test_where_nothing_bounds_it_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise = fit(punched(made(200, 12, [5, 3], 0, 0).X, 0.3, 1), 2)
    assert without_noise.exact
    assert not without_noise.bounded().proved

    X = punched(made(60, 6, [9, 4], 0.6, 3).X, 0.3, 4)
    early = fit_em(rows_of(X), problem_of(6), 2, most_steps=1)
    bounded = early.bounded()  # from afar Newton's steps lead there, or it is not said how far it is
    off = np.abs(at_summit(X, 2, early, True) - early.eigenvalues[:2])
    assert not bounded.proved or np.all(off <= bounded.error[:2])

    monkeypatch.setattr(of_likelihood, "MOST_PARAMETERS", 10)
    assert not fit(X, 2).bounded().proved


def test_without_holes_the_claim_is_that_of_the_solver() -> None:
    fitted = fit(made(60, 6, [9, 4], 0.6, 3).X, 2)
    assert fitted.bounded().proved
    assert fitted.bounded().error.tobytes() == fitted.error.tobytes()
