"""A spectrum, eigenvalues with bounds on their errors, and the one rule for each of rank, clipping and rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array

Wish = int | float | str  # how many components: a number, a share of the variance, or a rule

__all__ = [
    "EPS",
    "Spectrum",
    "Wish",
    "backward",
    "clipped",
    "completed",
    "first",
    "is_graded",
    "is_sharp",
    "middle",
    "orthonormal",
    "positive",
    "rank_of",
    "unit",
]

EPS = float(np.finfo(np.float64).eps)

# Columns whose scales differ by more than this are worth looking at: less is no more than a few digits.
UNEQUAL = 10.0

# Jacobi is asked where the plain way leaves an eigenvalue fewer than ten digits.
SHARP = 1e-10

# Up to this many columns Jacobi costs a few hundredths of a second.
FEW = 300

# Numbers that are made orthonormal at a time.
AT_ONCE = 1 << 20

# Backward errors of LAPACK's drivers are a few eps * largest, growing slowly with the size; measured ones stay below a
# third of (BACKWARD + sqrt(size)) * eps over the cases of the test suite.
BACKWARD = 4


class Spectrum(NamedTuple):
    """Eigenvalues, descending and not negative, zero past the rank; orthonormal eigenvectors beside them."""

    eigenvalues: Array  # (m,)
    leading: Callable[[int], Array]  # k -> the first k eigenvectors (d, k), k <= m
    rank: int
    route: str  # "eigh", "svd", "gram" or "jacobi"
    error: Array  # (m,) bounds on the absolute error of each eigenvalue, as far as rounding goes

    def sized(self, most: int) -> Spectrum:
        """With `most` eigenvalues: no more than there can be, and zeros for rows that stand for several."""
        m = len(self.eigenvalues)
        if most <= m:
            return self._replace(eigenvalues=self.eigenvalues[:most], error=self.error[:most])
        zeros = np.zeros(most - m)

        def leading(k: int) -> Array:
            return self.leading(k) if k <= m else completed(self.leading(m), k)

        values, error = np.concatenate([self.eigenvalues, zeros]), np.concatenate([self.error, zeros])
        return self._replace(eigenvalues=values, error=error, leading=leading)


def rank_of(values: NDArray[np.floating[Any]], size: int, noise: float = 0.0) -> int:
    """How many of the descending eigenvalues or singular values of a matrix of unit scale are above its rounding.

    The bound is that of numpy.linalg.matrix_rank, size * eps * largest, or the rounding already in the entries.
    """
    if not len(values) or values[0] <= 0:
        return 0
    return int(np.count_nonzero(values > size * max(EPS * float(values[0]), noise)))


def unit(length: Array) -> Array:
    """Lengths to divide by: 1 where there is nothing to divide."""
    return np.where(length > 0, length, 1.0)


def middle(values: Array) -> float:
    """The upper median; numpy's own would import a good part of numpy for it."""
    return float(np.partition(values, len(values) // 2)[len(values) // 2])


def backward(size: int, largest: float) -> float:
    return (BACKWARD + float(np.sqrt(size))) * EPS * float(largest)


def is_graded(scale: Array) -> bool:
    """Are the columns of so different a scale that taking it out could bring small eigenvalues back?"""
    return float(scale.max()) > UNEQUAL * float(scale.min())


def is_sharp(values: Array, error: Array, rank: int, wish: Wish) -> bool:
    """Are the eigenvalues that matter known to SHARP of themselves?

    All of them matter while d is small; of many, those that are kept, since Jacobi takes eight times as long.
    """
    if len(values) <= FEW or isinstance(wish, str):
        wanted = rank
    elif isinstance(wish, int):
        wanted = min(wish, rank)
    else:
        wanted = min(int(np.searchsorted(np.cumsum(values), wish * values.sum())) + 1, rank)
    return bool(np.all(error[:wanted] < SHARP * values[:wanted]))


def positive(values: Array, rank: int) -> int:
    """The rank, less the eigenvalues that rounding has pushed to 0 or below."""
    return min(rank, int(np.count_nonzero(values > 0)))


def clipped(values: Array, rank: int) -> Array:
    """The one clipping rule: 0 past the rank; before it, rounding may have pushed one below 0 or out of order."""
    values = np.maximum(values, 0.0)
    values[rank:] = 0.0
    return np.sort(values)[::-1]


def first(vectors: Array) -> Callable[[int], Array]:
    return lambda k: vectors[:, :k]


def orthonormal(V: Array) -> Array:
    """Make the columns of V (d, k) orthonormal, leading first, each on the side that it was. V is overwritten.

    LAPACK and numpy need four more matrices of the size that they are given, so they are given some columns at a time.
    """
    d, k = V.shape
    step = max(AT_ONCE // d, 1)
    for at in range(0, k, step):
        done, some = V[:, :at], V[:, at : at + step]
        for _ in range(2 if at else 1):  # twice is enough (Kahan, Parlett)
            if at:
                some -= done @ (done.T @ some)
            Q, R = np.linalg.qr(some)
            np.multiply(Q, np.where(np.diagonal(R) < 0, -1.0, 1.0), out=some)
    return V


def completed(V: Array, k: int) -> Array:
    """V (d, r) with further orthonormal columns up to k, never d x d."""
    d, r = V.shape
    W = np.random.default_rng(0).standard_normal((d, k - r))
    for _ in range(2):  # twice is enough (Kahan, Parlett)
        W = np.linalg.qr(W - V @ (V.T @ W))[0]
    return np.hstack([V, W])
