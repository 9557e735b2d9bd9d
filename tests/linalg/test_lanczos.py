"""Block Lanczos on matrices with known eigenvalues."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcatool.arrays import Array
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.lanczos import leading_pairs

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
    with one_blas_thread():  # as in a fit
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
