"""Approximate rows from scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from kernels.helpers import Array, cloud, fit, kernel_of, roll
from pcatool.blocks import in_turn
from pcatool.errors import DataError, RefusedError, UsageError
from pcatool.kernels.model import KernelModel
from pcatool.model import Model


def lost(model: Model, X: Array, true: Array | None = None) -> float:
    """What the way there and back loses, of what the mean alone would."""
    true = X if true is None else true
    return float(((model.reconstruct(model.project(X)) - true) ** 2).sum() / ((true - true.mean(axis=0)) ** 2).sum())


def circle(n: int, noise: float, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    turn = rng.uniform(0, 2 * np.pi, n)
    true = np.column_stack([np.cos(turn), np.sin(turn)])
    return true + noise * rng.standard_normal((n, 2)), true


def test_a_noisy_circle_comes_back_a_circle() -> None:
    X, _ = circle(300, 0.1)
    new, true = circle(200, 0.1, seed=1)
    model = fit(X, gamma=1.0, components=4).with_preimage()
    assert lost(model, new, true) < 0.03


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
    for way in (model.reversible, lambda: model.reconstruct(np.zeros((1, 3))), lambda: model.there_and_back(cloud())):
        with pytest.raises(UsageError, match=r"cannot reconstruct rows exactly.*--preimage gives an approximation"):
            way()


def test_a_table_that_is_the_kernel_has_no_rows_to_come_back_to() -> None:
    K = kernel_of("rbf", 5).matrix(cloud(), in_turn)
    with pytest.raises(UsageError, match=r"the table was the kernel itself.*another --kernel"):
        fit(K, kernel="precomputed", components=2).with_preimage()


def test_too_many_scores_are_refused() -> None:
    model = fit(cloud(), components=3).with_preimage()
    assert isinstance(model, KernelModel)
    assert model.reversible() is model
    assert model.with_preimage() is model
    with pytest.raises(DataError, match="4 scores in a row, the model has 3 components"):
        model.reconstruct(np.zeros((1, 4)))


def test_scores_that_overflow_are_refused() -> None:
    """As a damaged file may give them: dual vectors of landmarks are of any length."""
    model = fit(cloud(30, 3), components=2, landmarks=9)
    wild = replace(model, dual_vectors=model.dual_vectors * 1e200).with_preimage()
    with pytest.raises(RefusedError, match="overflow a double"):
        wild.reconstruct(np.ones((1, 2)))
