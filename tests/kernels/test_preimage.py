"""Approximate rows from scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from kernels.helpers import Array, cloud, fit, kernel_of, roll
from pcatool.arrays import run_serially
from pcatool.errors import DataError, RefusedError, UsageError
from pcatool.kernels.model import KernelModel
from pcatool.model.model import Model


def lost(model: Model, X: Array, true: Array | None = None) -> float:
    """What the way there and back loses, of what the mean alone would."""
    true = X if true is None else true
    return float(((model.reconstruct(model.project(X)) - true) ** 2).sum() / ((true - true.mean(axis=0)) ** 2).sum())


def circle(n: int, noise: float, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    turn = rng.uniform(0, 2 * np.pi, n)
    true = np.column_stack([np.cos(turn), np.sin(turn)])
    return true + noise * rng.standard_normal((n, 2)), true


def gain(model: Model, X: Array, true: Array) -> float:
    """The mean squared distance to the clean rows after the way there and back, of that before."""
    return float(((model.reconstruct(model.project(X)) - true) ** 2).sum() / ((X - true) ** 2).sum())


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_removed_from_a_ring(seed: int) -> None:
    X, true = circle(400, 0.15, seed)
    new, clean = circle(400, 0.15, seed + 100)
    model = fit(X, gamma=1.0, components=5).with_preimage()
    assert gain(model, X, true) < 0.7
    assert gain(model, new, clean) < 0.7


def spiral(n: int, noise: float, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    t = rng.uniform(1.5 * np.pi, 4.5 * np.pi, n)
    true = np.column_stack([t * np.cos(t), t * np.sin(t)]) / 10
    return true + noise * rng.standard_normal((n, 2)), true


def clusters(n: int, noise: float, seed: int = 0) -> tuple[Array, Array]:
    true = 3 * np.random.default_rng(9).standard_normal((6, 4))[np.arange(n) % 6]
    return true + noise * np.random.default_rng(seed).standard_normal((n, 4)), true


def noisy_digits(n: int, noise: float, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    true = load_digits().data[rng.permutation(1797)[:n]] / 16
    return true + noise * rng.standard_normal(true.shape), true


NOISY = {
    "ring": (circle, 0.15, {"gamma": 5.0, "components": 5}, 0.75),
    "ring, little noise": (circle, 0.01, {"gamma": 1.0, "components": 10}, 0.7),
    "ring, isomap": (circle, 0.15, {"kernel": "isomap", "components": 2}, 0.75),
    "ring, laplacian": (circle, 0.15, {"kernel": "laplacian", "components": 5}, 0.75),
    "ring, cosine": (circle, 0.15, {"kernel": "cosine", "components": 2}, 0.75),
    "ring, landmarks": (circle, 0.15, {"gamma": 1.0, "components": 5, "landmarks": 100}, 0.75),
    "ring, standardised": (circle, 0.15, {"gamma": 0.5, "components": 5, "standardize": True}, 0.75),
    "spiral": (spiral, 0.05, {"gamma": 5.0, "components": 10}, 0.95),
    "clusters": (clusters, 0.5, {"gamma": 0.25, "components": 5}, 0.25),
    "digits": (noisy_digits, 0.25, {"gamma": 1 / 64, "components": 16}, 0.5),
}


@pytest.mark.parametrize("case", NOISY)
def test_noise_is_removed_from_rows_new_and_known(case: str) -> None:
    make, noise, asked, most = NOISY[case]
    X, true = make(400, noise, 1)
    new, clean = make(400, noise, 2)
    model = fit(X, **asked).with_preimage()
    assert gain(model, X, true) < most
    assert gain(model, new, clean) < most


LITTLE = {
    "ring": (lambda: circle(300, 0.0)[0], {"gamma": 1.0, "components": 5}),
    "ring, few components": (lambda: circle(300, 0.0)[0], {"gamma": 5.0, "components": 2}),
    "spiral": (lambda: spiral(300, 0.0)[0], {"gamma": 5.0, "components": 10}),
    "square": (lambda: np.random.default_rng(0).random((300, 2)), {"gamma": 1.0, "components": 5}),
    "cloud": (lambda: np.random.default_rng(0).standard_normal((300, 4)), {"gamma": 0.25, "components": 5}),
    "roll": (roll, {"gamma": 0.01, "components": 10}),
    "digits": (lambda: noisy_digits(400, 0.0)[0], {"gamma": 1 / 64, "components": 40}),
}


@pytest.mark.parametrize("case", LITTLE)
def test_little_is_lost_where_there_is_no_noise(case: str) -> None:
    make, asked = LITTLE[case]
    X = make()
    assert lost(fit(X, **asked).with_preimage(), X) < 0.05


def test_what_all_components_hold_is_no_noise() -> None:
    X, _ = circle(60, 0.3)
    assert lost(fit(X, kernel="mds", components=2).with_preimage(), X) < 1e-12
    assert lost(fit(X, kernel="rbf", gamma=1.0, components=59).with_preimage(), X) < 1e-6


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_few_rows(n: int) -> None:
    X = cloud(n, 3)
    model = fit(X, components=1).with_preimage()
    assert np.isfinite(model.reconstruct(model.project(X))).all()
    assert lost(model, X) <= 1.0 + 1e-9


def test_a_kernel_without_values_beside_its_rows() -> None:
    """A broken power has none below 0: no step is measured there, and rows are predicted as well as can be."""
    X = np.abs(cloud(60, 3)) * 1e-3
    model = fit(X, kernel="polynomial", degree=2.5, coef0=0, gamma=1, components=3).with_preimage()
    assert lost(model, X) < 1.0


def test_digits_beat_the_mean_by_far() -> None:
    X = load_digits().data[:900]
    model = fit(X[:700], gamma=0.001, components=32).with_preimage()
    assert lost(model, X[700:]) < 0.15


@pytest.mark.parametrize("asked", [{}, {"standardize": True}, {"center": False}, {"landmarks": 60}], ids=str)
def test_the_linear_kernel_comes_back(asked: dict[str, object]) -> None:
    X = cloud()
    model = fit(X, kernel="linear", components=5, **asked).with_preimage()
    assert lost(model, X) < 1e-10
    assert model.squared_error(X).max() < 1e-9


@pytest.mark.parametrize("name", ["laplacian", "cosine", "mds", "isomap", "lle", "laplacian-eigenmap"])
def test_other_kernels_come_near(name: str) -> None:
    X = roll()
    assert lost(fit(X, kernel=name, components=8).with_preimage(), X) < 0.15


def test_fewer_scores_give_what_they_can() -> None:
    X = cloud()
    model = fit(X, components=5).with_preimage()
    Z = model.project(X)
    errors = [float(((model.reconstruct(Z[:, :m]) - X) ** 2).sum()) for m in (1, 3, 5)]
    assert errors[0] > errors[1] > errors[2]
    assert_allclose(model.truncated(3).reconstruct(Z[:, :3]), model.reconstruct(Z[:, :3]))


def test_the_same_every_time_however_many_rows() -> None:
    X = cloud(1300, 3)  # more than it learns from
    model = fit(X, gamma=0.02, components=3)
    Z = model.project(X)
    one, two = (model.with_preimage().reconstruct(Z) for _ in range(2))
    assert one.tobytes() == two.tobytes()
    assert ((one - X) ** 2).sum() < 0.05 * ((X - X.mean(axis=0)) ** 2).sum()


def test_squared_error_is_that_of_the_rows_in_units_of_the_fit() -> None:
    X = cloud()
    model = fit(X, components=3, standardize=True).with_preimage()
    R = (X - model.reconstruct(model.project(X))) / X.std(axis=0)
    assert_allclose(model.squared_error(X), (R**2).sum(axis=1), rtol=1e-9)


def test_without_the_word_it_is_refused() -> None:
    model = fit(cloud(), components=3)
    for way in (
        model.reversible,
        lambda: model.reconstruct(np.zeros((1, 3))),
        lambda: model.project_and_reconstruct(cloud()),
    ):
        with pytest.raises(
            UsageError, match=r"cannot reconstruct rows exactly.*; give --preimage for an approximation"
        ):
            way()


def test_a_kernel_matrix_needs_another_fit_before_a_preimage() -> None:
    model = fit(cloud(20, 3) @ cloud(20, 3).T, kernel="precomputed", components=2)
    with pytest.raises(UsageError, match=r"kernel matrix.*then reconstruct with the new model and --preimage$"):
        model.reversible()


def test_a_table_that_is_the_kernel_has_no_rows_to_come_back_to() -> None:
    K = kernel_of("rbf", 5).matrix(cloud(), run_serially)
    with pytest.raises(UsageError, match=r"fitted to a kernel matrix.*another --kernel"):
        fit(K, kernel="precomputed", components=2).with_preimage()


def test_too_many_scores_are_refused() -> None:
    model = fit(cloud(), components=3).with_preimage()
    assert isinstance(model, KernelModel)
    assert model.reversible() is model
    assert model.with_preimage() is model
    with pytest.raises(DataError, match="a row has 4 scores, but the model has 3 components"):
        model.reconstruct(np.zeros((1, 4)))


def test_scores_that_overflow_are_refused() -> None:
    """As a damaged file may give them: dual vectors of landmarks are of any length."""
    model = fit(cloud(30, 3), components=2, landmarks=9)
    wild = replace(model, dual_vectors=model.dual_vectors * 1e200).with_preimage()
    with pytest.raises(RefusedError, match="overflow a double"):
        wild.reconstruct(np.ones((1, 2)))
