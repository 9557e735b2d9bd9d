"""Eigenvalues with bounds on their errors, the rules for rank, clipping and rounding, and perturbation bounds.

How far the eigenvalues of a symmetric matrix move when its entries are off, in first and in second order.
In the basis of its eigenvectors a matrix is diag(l), and what is known of its entries bounds those of its error E:
|E_ij| <= N_ij = p_i q_j + q_i p_j + r_i r_j, with p, q, r >= 0. Eigenvalue j is no larger than the largest of the part
of diag(l) + E that belongs to indices i >= j, and no smaller than the smallest of that of i <= j (Courant and Fischer).
It has moved by less than t where, on that part, N is no larger than D = diag(|l_j - l_i| + t): where the norm of
D^(-1/2) N D^(-1/2) is at most 1. Of the first two terms that norm is sum p q / D + sqrt(sum p^2 / D * sum q^2 / D),
of the last sum r^2 / D. Eigenvalues far from the j-th add N_ij^2 / gap to N_jj, those that are close all of N_ij.

(Parlett 1980, The Symmetric Eigenvalue Problem, 10.2 and 11.5.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array

__all__ = [
    "EPS",
    "Spectrum",
    "Wish",
    "backward",
    "clipped",
    "completed",
    "displacement",
    "first",
    "is_graded",
    "is_sharp",
    "largest_drop",
    "middle",
    "orthonormal",
    "positive",
    "rank_of",
    "unit",
]

Wish = int | float | str  # how many components: a number, a share of the variance, or a rule

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


def largest_drop(eigenvalues: Array) -> int:
    """The j for which lambda_j - lambda_(j+1) is largest, the first of equals; 0 when nothing drops.

    Drops that differ by the rounding of the eigenvalues are equal: 3, 2, 1 falls after 1 however it was computed.
    """
    if len(eigenvalues) < 2:
        return 0
    drops = eigenvalues[:-1] - eigenvalues[1:]
    rounding = 8 * len(eigenvalues) * np.finfo(float).eps * float(eigenvalues[0])
    largest = float(drops.max())
    return int(np.flatnonzero(drops >= largest - rounding)[0]) + 1 if largest > rounding else 0


# Every step begins and ends with a bound that holds; more of them hardly sharpen it.
STEPS = 12
SETTLED = 0.99

# What a bound from the nearest eigenvalue alone may be of that in first order before all eigenvalues are looked at.
LOOSE = 1.1

# Numbers worked with at a time where they are.
PERTURBED_AT_ONCE = 1 << 18

# The sums are of numbers above 0, and round by a part of themselves.
ROUNDED = 1 + 1e-9


def displacement(values: Array, p: Array, q: Array, r: Array | None = None, *, rank: int | None = None) -> Array:
    """Bounds (d,) on the moves of descending eigenvalues (d,), for such p, q and r (d,); sharp before the rank."""
    largest = float(values[0])
    if not (largest > 0 and np.isfinite(largest)):
        return np.full(len(values), np.inf)
    root = np.sqrt(largest)  # in units of the largest, so that squares neither overflow nor underflow
    values, p, q = values / largest, p / root, q / root
    r = np.zeros_like(p) if r is None else r / root
    own = 2 * p * q + r * r
    down = _to_one_side(values, p, q, r, own, rank)
    up = _to_one_side(-values[::-1], p[::-1], q[::-1], r[::-1], own[::-1], rank, reverse=True)[::-1]
    return np.asarray(np.maximum(down, up) * (ROUNDED * largest))


def _to_one_side(
    values: Array, p: Array, q: Array, r: Array, own: Array, rank: int | None, *, reverse: bool = False
) -> Array:
    """How far each may move towards those before it, by those after it; `values` descend."""
    d = len(values)
    rest = [_after(a * b) for a, b in ((p, q), (p, p), (q, q), (r, r))]
    gap = np.append(values[:-1] - values[1:], np.inf)
    most = _sum(p * q + rest[0], p * p + rest[1], q * q + rest[2], r * r + rest[3])
    t = most
    for _ in range(STEPS):  # as if all that come after were as near as the next
        part = t / (gap + t + (t == 0))
        pq, pp, qq, rr = (
            own_part + more * part for own_part, more in zip((p * q, p * p, q * q, r * r), rest, strict=True)
        )
        t = np.minimum(t, _sum(pq, pp, qq, rr))
    loose = t > LOOSE * own
    if rank is not None:
        loose[: d - rank if reverse else 0] = False
        loose[d if reverse else rank :] = False
    at = np.flatnonzero(loose)
    height = max(PERTURBED_AT_ONCE // d, 1)
    for first in range(0, len(at), height):
        some = at[first : first + height]
        t[some] = _by_all(values, p, q, r, some, t[some])
    return t


def _by_all(values: Array, p: Array, q: Array, r: Array, at: NDArray[np.intp], t: Array) -> Array:
    """The bounds of some of them, from bounds that hold."""
    after = np.arange(len(values)) >= at[:, None]
    gaps = values[at][:, None] - values
    for _ in range(STEPS):
        part = np.where(after, t[:, None] / (np.maximum(gaps, 0.0) + t[:, None] + (t == 0)[:, None]), 0.0)
        smaller = np.minimum(t, _sum(part @ (p * q), part @ (p * p), part @ (q * q), part @ (r * r)))
        if np.all(smaller >= SETTLED * t):
            return smaller
        t = smaller
    return t


def _sum(pq: Array, pp: Array, qq: Array, rr: Array) -> Array:
    return np.asarray(pq + np.sqrt(pp) * np.sqrt(qq) + rr)


def _after(terms: Array) -> Array:
    """(d,) sums of all that come after each."""
    return np.append(np.cumsum(terms[::-1])[::-1][1:], 0.0)
