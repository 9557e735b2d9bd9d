"""Block Lanczos on matrices with known eigenvalues."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernels.helpers import Array
from pcatool.kernels.eigen import LANCZOS, choose_solver, expected_space
from pcatool.kernels.lanczos import leading_pairs
from pcatool.linalg.blas import threads

N = 400

SPECTRA: dict[str, Callable[[], Array]] = {
    "falling": lambda: 0.9 ** np.arange(N),
    "flat": lambda: np.linspace(1, 0.5, N),
    "one": lambda: np.eye(1, N)[0],
    "few": lambda: np.where(np.arange(N) < 7, 3.0, 0.0),
    "thirty copies": lambda: np.concatenate([[5.0], np.full(30, 2.0), np.linspace(1, 0.1, N - 31)]),
    "copies on top": lambda: np.concatenate([np.full(60, 2.0), np.linspace(1, 0.1, N - 60)]),
    "steep": lambda: 10.0 ** -np.linspace(0, 12, N),
    "zero": lambda: np.zeros(N),
}


# Values so near each other may take the whole space; then it gives up, and LAPACK does the work.
HARD = ("flat", "thirty copies", "copies on top")


@pytest.mark.parametrize("k", [1, 5, 27, 50])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_finds_them_all(spectrum: str, k: int) -> None:
    values = SPECTRA[spectrum]()
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((N, N)))[0]
    A = (Q * values) @ Q.T
    A = (A + A.T) / 2
    with threads(1):  # as in a fit
        pairs = leading_pairs(lambda V: A @ V, N, lambda found: min(k, len(found)), max_space=N, fixed_count=k)
    if pairs is None:
        assert spectrum in HARD
        return
    assert_allclose(pairs.values, values[:k], atol=1e-12 * max(values[0], 1e-300))
    assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(k), atol=1e-12)
    assert np.abs(A @ pairs.vectors - pairs.vectors * pairs.values).max() <= 1e-13 * max(values[0], 1e-300)


def test_gives_up_within_its_space() -> None:
    A = np.diag(np.linspace(1, 0.5, N))
    assert leading_pairs(lambda V: A @ V, N, lambda found: 5, max_space=60, fixed_count=5) is None


@pytest.mark.parametrize(
    ("n", "wish", "definite", "flat", "name", "why"),
    [
        (1024, 3, True, False, "lapack", "are computed quickly"),
        (5000, 10, True, False, "lanczos", "few components"),
        (5000, 0.9, True, False, "lanczos", "few components"),
        (5000, 313, True, False, "lapack", "313 components of 5,000 rows are too many"),
        (5000, 10, False, False, "lapack", "may have negative eigenvalues"),
        (5000, "all", True, False, "lapack", "every eigenvalue"),
        (5000, 2, True, True, "lapack", "nearly equal"),
    ],
)
def test_the_choice(n: int, wish: int | float | str, definite: bool, flat: bool, name: str, why: str) -> None:
    solver, reason = choose_solver(n, wish, definite=definite, flat_spectrum=flat)
    assert solver == name
    assert why in reason


@pytest.mark.parametrize(
    ("wish", "rank", "known"), [(3, None, True), (0.9, 20, True), (0.9, None, False), (0.9, 300, False)]
)
def test_a_space_is_expected_where_lanczos_ends_for_certain(wish: float, rank: int | None, known: bool) -> None:
    """A share of the variance may take every component, but no more than the rank."""
    assert choose_solver(2000, wish, definite=True, flat_spectrum=False)[0] == LANCZOS
    space = expected_space(2000, wish, rank)
    assert (space is not None) == known
    assert space is None or 3 <= space <= 1000
