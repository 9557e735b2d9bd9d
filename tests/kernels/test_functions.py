"""Values of kernels against their definitions."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from kernels.helpers import POINTWISE, Array, cloud, kernel_of
from pcatool.arrays import run_serially
from pcatool.engines.threads import Threads
from pcatool.errors import DataError
from pcatool.kernels.base import KernelSettings

NUMBERS = {
    "rbf": {"gamma": 0.3},
    "polynomial": {"gamma": 0.3, "degree": 4, "coef0": 0.5},
    "sigmoid": {"gamma": 0.1, "coef0": 0.2},
    "laplacian": {"gamma": 0.4},
}


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("given", [False, True], ids=["defaults", "numbers given"])
def test_values_are_those_of_scikit_learn(name: str, given: bool) -> None:
    X, Y = cloud(90), cloud(20, seed=1)
    numbers = NUMBERS.get(name, {}) if given else {}
    kernel = kernel_of(name, 5, **numbers)
    assert np.allclose(
        kernel.matrix(X, run_serially), pairwise_kernels(X, metric=name, **numbers), rtol=1e-12, atol=1e-14
    )
    assert np.allclose(kernel.cross(Y, X), pairwise_kernels(Y, X, metric=name, **numbers), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", [*POINTWISE, "mds"])
def test_the_matrix_is_exactly_symmetric_whoever_makes_it(name: str) -> None:
    X = cloud(1100, 3)  # several slices
    kernel = kernel_of(name, 3)
    with Threads(1) as one, Threads(2) as two:
        K, other = kernel.matrix(X, one.map), kernel.matrix(X, two.map)
    assert np.array_equal(K, K.T)
    assert K.tobytes() == other.tobytes()


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize(
    ("name", "numbers", "most"),
    [
        ("linear", {}, {2: 2, 5: 5}),
        ("cosine", {}, {2: 2, 5: 5}),
        ("polynomial", {"degree": 3.0}, {2: 10, 5: 56}),
        ("polynomial", {"degree": 1.0}, {2: 3, 5: 6}),
    ],
)
def test_the_rank_of_a_matrix_is_at_most_what_memory_is_planned_for(
    name: str, numbers: dict[str, float], most: dict[int, int], d: int
) -> None:
    kernel = kernel_of(name, d, **numbers)
    assert kernel.most_rank(d) == most[d] == np.linalg.matrix_rank(kernel.matrix(cloud(90, d), run_serially))


@pytest.mark.parametrize(
    ("name", "numbers"), [("rbf", {}), ("laplacian", {}), ("sigmoid", {}), ("polynomial", {"degree": 2.5})]
)
def test_other_kernels_have_no_bound_of_the_rank(name: str, numbers: dict[str, float]) -> None:
    assert kernel_of(name, 5, **numbers).most_rank(5) is None


@pytest.mark.parametrize("name", [*POINTWISE, "mds"])
def test_squared_norms_are_the_diagonal(name: str) -> None:
    X = cloud(30)
    kernel = kernel_of(name, 5)
    assert np.allclose(kernel.squared_norms(X), np.diagonal(kernel.matrix(X, run_serially)), rtol=1e-12, atol=1e-13)


def test_mds_is_half_the_squared_distance_below_zero() -> None:
    X = cloud(40)
    D2 = ((X[:, None] - X) ** 2).sum(axis=2)
    assert np.allclose(kernel_of("mds", 5).matrix(X, run_serially), -D2 / 2, atol=1e-12)


def exact_rbf(x: Array, y: Array, gamma: float) -> float:
    with mpmath.workdps(60):
        square = sum((mpmath.mpf(float(a)) - mpmath.mpf(float(b))) ** 2 for a, b in zip(x, y, strict=True))
        return float(mpmath.exp(-mpmath.mpf(gamma) * square))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_rbf_keeps_its_digits_far_from_zero(offset: float) -> None:
    """Clusters far from each other cannot all be near 0: the product of their rows has lost the digits."""
    X = cloud(12, 3) + offset * (np.arange(12) % 2)[:, None]
    K = kernel_of("rbf", 3, gamma=1.0).matrix(X, run_serially)
    exact = np.array([[exact_rbf(x, y, 1.0) for y in X] for x in X])
    assert np.allclose(K, exact, rtol=1e-11, atol=1e-300)


def test_cosine_of_a_row_of_zeros_is_zero_and_sizes_do_not_matter() -> None:
    X = np.array([[0.0, 0.0], [1e-200, 0.0], [1e200, 1e200]])
    K = kernel_of("cosine", 2).matrix(X, run_serially)
    half = np.sqrt(0.5)
    assert np.allclose(K, [[0, 0, 0], [0, 1, half], [0, half, 1]])


@pytest.mark.parametrize("degree", [1, 2, 3, 7, 64, 65, 0.5, 2.5])
def test_powers(degree: float) -> None:
    X = np.abs(cloud(20)) / 10
    K = kernel_of("polynomial", 5, degree=degree, coef0=1, gamma=0.1).matrix(X, run_serially)
    assert np.allclose(K, (0.1 * X @ X.T + 1) ** degree, rtol=1e-11)


def test_a_broken_power_of_a_negative_number_is_refused() -> None:
    with pytest.raises(
        DataError,
        match=r"negative for some pairs of rows x and y, and .* raised to the power 2.5; give a whole number with",
    ):
        kernel_of("polynomial", 5, degree=2.5, coef0=-100).matrix(cloud(9), run_serially)


def test_settings_hold_what_matters_and_defaults() -> None:
    assert kernel_of("rbf", 4).settings == KernelSettings("rbf", gamma=0.25)
    assert kernel_of("linear", 4).settings.used() == {"name": "linear"}
    used = {"name": "polynomial", "gamma": 0.25, "degree": 3.0, "coef0": 1.0}
    assert kernel_of("polynomial", 4).settings.used() == used
    assert kernel_of("isomap", 4).settings == KernelSettings("isomap", neighbours=10)


@pytest.mark.parametrize(("degree", "coef0", "definite"), [(2, 1, True), (3, 0, True), (2.5, 1, False), (2, -1, False)])
def test_which_polynomials_are_known_to_be_definite(degree: float, coef0: float, definite: bool) -> None:
    assert kernel_of("polynomial", 3, degree=degree, coef0=coef0).is_definite(True) is definite


def test_distances_are_definite_only_about_their_mean() -> None:
    assert kernel_of("mds", 3).is_definite(True)
    assert not kernel_of("mds", 3).is_definite(False)
