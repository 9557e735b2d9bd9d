"""What certificates of kernel models claim, against eigenvalues in extended precision.

No eigenvalue that is vouched for is off by more than 1e-8 of itself, and none by more than its bound; ordinary fits are
still vouched for.
"""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

from kernels import oracle
from kernels.helpers import Array, fit, roll, whole_fit
from methods.supervision import fit as supervised_fit
from pcatool.errors import DataError, RefusedError
from pcatool.model.model import Model

KERNELS = (
    "rbf",
    "polynomial",
    "sigmoid",
    "laplacian",
    "cosine",
    "linear",
    "mds",
    "precomputed",
    "isomap",
    "lle",
    "laplacian-eigenmap",
)
SEEDS = 12  # for each kernel


def check(model: Model, exact: list[Any]) -> None:
    certificate = model.meta["certificate"]
    for j, bound in enumerate(certificate["relative_error"]):
        off = abs(mp.mpf(float(model.eigenvalues[j])) - exact[j])
        assert bound is None or off <= bound * abs(float(model.eigenvalues[j])), f"PC{j + 1} is off by {off}"
        assert not certificate["vouched"][j] or off <= 1e-8 * exact[j], f"PC{j + 1} is vouched for, off by {off}"


def table(rng: np.random.Generator, n: int, d: int) -> Array:
    """Rows of a kind drawn at random, half of them far from 0."""
    X = rng.standard_normal((n, d))
    kind = rng.integers(6)
    if kind == 1:  # columns of different scale
        X = X * 10.0 ** rng.uniform(-6, 6, d)
    elif kind == 2:  # tight clusters far apart
        X = X * 10.0 ** rng.uniform(-6, -1) + rng.integers(0, 3, n)[:, None] * 10.0 ** rng.uniform(-1, 5)
    elif kind == 3:  # equal rows
        X = X[rng.integers(0, max(n // 2, 2), n)]
    elif kind == 4:  # whole numbers
        X = np.round(2 * X)
    return np.asarray(X + 10.0 ** rng.uniform(0, 8) * (rng.random() < 0.5))


def numbers(rng: np.random.Generator, kernel: str, n: int) -> dict[str, Any]:
    """Numbers of a kernel, ordinary or extreme."""
    wild, asked = rng.random() < 0.6, {"kernel": kernel}
    if kernel in ("rbf", "polynomial", "sigmoid", "laplacian"):
        asked["gamma"] = 10.0 ** (rng.uniform(-12, 12) if wild else rng.uniform(-2, 2))
    if kernel == "polynomial":
        asked["degree"] = float(rng.integers(1, 31)) if rng.random() < 0.8 else rng.uniform(0.3, 5)
    if kernel in ("polynomial", "sigmoid"):
        asked["coef0"] = rng.choice([1.0, -1.0]) * 10.0 ** rng.uniform(-3, 10) if wild else rng.uniform(-2, 3)
    if kernel in oracle.GRAPHS:
        asked["neighbours"] = int(rng.integers(1, n))
    return {name: float(number) if isinstance(number, float) else number for name, number in asked.items()}


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_certificate_vouches_falsely(kernel: str, seed: int) -> None:
    rng = np.random.default_rng([KERNELS.index(kernel), seed])
    n, d = int(rng.integers(4, 13)), int(rng.integers(1, 7))
    X = table(rng, n, d)
    asked = {**numbers(rng, kernel, n), "ddof": int(rng.integers(2)), "center": bool(rng.random() < 0.75)}
    if kernel == "precomputed":
        A = rng.standard_normal((n, n))
        X = (A @ A.T if rng.random() < 0.5 else A + A.T) + 10.0 ** rng.uniform(0, 8) * (rng.random() < 0.5)
    else:
        asked |= {"standardize": bool(rng.random() < 0.3), "center_rows": bool(d > 1 and rng.random() < 0.15)}
    try:
        model = fit(X, components="all", **asked)
    except (DataError, RefusedError):
        return  # overflow, a graph that falls apart, nothing above rounding: refused in words
    check(model, oracle.of_fit(X, asked))


def two_clusters(spread: float, apart: float) -> Array:
    rng = np.random.default_rng(0)
    return np.asarray(spread * rng.standard_normal((16, 3)) + apart * (np.arange(16) % 2)[:, None])


HARD: dict[str, tuple[Array, dict[str, Any]]] = {
    "far clusters": (two_clusters(1e-3, 10.0), {"kernel": "rbf"}),
    "far clusters, gamma large": (two_clusters(1e-6, 1e3), {"kernel": "rbf", "gamma": 1e12}),
    "far clusters, farther": (two_clusters(1e-3, 1e6), {"kernel": "rbf", "gamma": 1e-2}),
    "laplacian, far clusters": (two_clusters(1e-3, 1e6), {"kernel": "laplacian", "gamma": 10.0}),
    "sigmoid, large coef0": (two_clusters(0.5, 1.0), {"kernel": "sigmoid", "gamma": 1.0, "coef0": 12.0}),
    "sigmoid that cancels": (two_clusters(1e-3, 0.0) + 100.0, {"kernel": "sigmoid", "gamma": 1.0, "coef0": -30000.0}),
    "polynomial, large coef0": (two_clusters(0.5, 1.0), {"kernel": "polynomial", "coef0": 1e9, "degree": 2.0}),
    "polynomial that cancels": (
        two_clusters(1e-3, 0.0) + 100.0,
        {"kernel": "polynomial", "gamma": 1.0, "coef0": -30000.0, "degree": 3.0},
    ),
    "degree 30": (two_clusters(0.5, 1.0), {"kernel": "polynomial", "degree": 30.0, "gamma": 5.0}),
    "cosine, far from 0": (two_clusters(1e-3, 0.0) + 1e4, {"kernel": "cosine"}),
    "cosine, scaled at an offset": (two_clusters(1.0, 0.0) + 1e8, {"kernel": "cosine", "standardize": True}),
    "small gamma": (two_clusters(1.0, 1.0), {"kernel": "rbf", "gamma": 1e-10}),
}


@pytest.mark.parametrize("case", HARD)
def test_what_rounding_does_to_kernel_values_is_in_the_bound(case: str) -> None:
    X, asked = HARD[case]
    try:
        model = fit(X, components="all", **asked)
    except (DataError, RefusedError):
        pytest.fail("an eigenvalue stands out of rounding, or should")
    check(model, oracle.of_fit(X, asked))


HARDLY_DIFFERENT: dict[str, tuple[Array, dict[str, Any]]] = {
    "laplacian": (np.array([[1.0], [2.0], [4.0], [8.0], [9.0]]), {"kernel": "laplacian", "gamma": 2e-14}),
    "rbf": (np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 7.0], [8.0, 2.0]]), {"kernel": "rbf", "gamma": 1e-15}),
    "polynomial": (two_clusters(0.5, 1.0), {"kernel": "polynomial", "coef0": 1e13, "degree": 2.5}),
    "cosine": (two_clusters(1e-7, 0.0) + 1.0, {"kernel": "cosine"}),
}


@pytest.mark.parametrize("case", HARDLY_DIFFERENT)
def test_a_total_that_rounding_takes_digits_from_is_no_less_than_its_parts(case: str) -> None:
    """All values of the kernel are nearly equal, and rounding makes some eigenvalues negative."""
    X, asked = HARDLY_DIFFERENT[case]
    model = fit(X, components="all", **asked)
    assert model.eigenvalues.sum() <= model.total_variance * (1 + 1e-8)
    check(model, oracle.of_fit(X, asked))


def test_an_exponent_far_below_the_rounding_of_the_product_is_not_taken_for_zero() -> None:
    """Rows whose squares are 1e18 and whose distances matter: products alone would say that all are far apart."""
    X, asked = two_clusters(1e-6, 1e3), {"kernel": "rbf", "gamma": 1e12}
    K = np.exp(-1e12 * ((X[:, None] - X) ** 2).sum(axis=2))
    values = np.linalg.eigvalsh(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())[::-1] / 16
    np.testing.assert_allclose(fit(X, components=4, **asked).eigenvalues[:4], values[:4], rtol=1e-3)


def test_a_long_chain() -> None:
    """Each row is nearest to the one before it, so the graph is a path, with eigenvalues 1 / (2 - 2 cos(pi j / n))."""
    n = 1500
    X = np.cumsum(1.001 ** np.arange(n))[:, None]
    model = fit(X, kernel="laplacian-eigenmap", neighbours=1, components=20)
    exact = [1 / (2 - 2 * mp.cos(mp.pi * j / n)) / n for j in range(1, 21)]
    check(model, exact)
    assert model.meta["certificate"]["vouched"][0]


@pytest.mark.parametrize("seed", range(12))
def test_landmarks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel = ("rbf", "polynomial", "sigmoid", "laplacian", "cosine", "linear")[seed % 6]
    X = table(rng, 10, 3)
    asked = {**numbers(rng, kernel, 10), "center": bool(rng.random() < 0.75)}
    try:
        model = fit(X, components=1, landmarks=int(rng.integers(2, 9)), seed=seed, **asked)
    except (DataError, RefusedError):
        return
    chosen = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in model.training_rows]
    check(model, oracle.of_landmarks(X, chosen, asked))


@pytest.mark.parametrize("seed", range(24))
def test_label_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, label = int(rng.integers(4, 12)), ("rbf", "rbf", "delta", "linear")[seed % 4]
    X = table(rng, n, int(rng.integers(1, 6)))
    Y = np.arange(n)[:, None] % 3.0 if label == "delta" else table(rng, n, int(rng.integers(1, 3)))
    asked: dict[str, Any] = {"standardize": bool(rng.random() < 0.3)}
    if rng.random() < 0.6:
        asked |= numbers(rng, ("rbf", "polynomial", "sigmoid", "laplacian", "cosine", "linear")[rng.integers(6)], n)
        if "degree" in asked:
            asked["degree"] = 2.0
    gamma = float(10.0 ** rng.uniform(-8, 8))
    options = {} if label == "delta" else {"label_kernel": label}
    options |= {"label_gamma": gamma} if label == "rbf" else {}
    try:
        model = supervised_fit(X, Y, classes=label == "delta", components=1, **asked, **options).model
    except (DataError, RefusedError):
        return
    check(model, oracle.of_supervised(X, Y, asked, label=label, gamma=gamma))


ORDINARY: dict[str, tuple[Array, dict[str, Any]]] = {
    "iris, rbf": (load_iris().data, {"components": 5}),
    "digits, rbf": (load_digits().data, {"components": 10}),
    "digits, rbf, one scale": (load_digits().data, {"components": 10, "standardize": True}),
    "wine, rbf, one scale": (load_wine().data, {"components": 5, "standardize": True}),
    "wine, linear": (load_wine().data, {"components": 3, "kernel": "linear"}),
    "wine, polynomial": (load_wine().data, {"components": 3, "kernel": "polynomial", "standardize": True}),
    "wine, sigmoid": (load_wine().data, {"components": 3, "kernel": "sigmoid", "standardize": True}),
    "wine, laplacian": (load_wine().data, {"components": 5, "kernel": "laplacian", "standardize": True}),
    "wine, cosine": (load_wine().data, {"components": 3, "kernel": "cosine"}),
    "wine, mds": (load_wine().data, {"components": 3, "kernel": "mds"}),
    "digits, landmarks": (load_digits().data, {"components": 5, "landmarks": 200}),
    "roll, isomap": (roll(), {"components": 2, "kernel": "isomap"}),
    "roll, lle": (roll(), {"components": 2, "kernel": "lle"}),
    "roll, eigenmap": (roll(), {"components": 5, "kernel": "laplacian-eigenmap"}),
}


@pytest.mark.parametrize("case", ORDINARY)
def test_ordinary_fits_are_vouched_for(case: str) -> None:
    X, asked = ORDINARY[case]
    found = whole_fit(X, **asked)
    assert all(found.model.meta["certificate"]["vouched"])
