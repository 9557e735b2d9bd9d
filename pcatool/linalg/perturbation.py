"""How far the eigenvalues of a symmetric matrix move when its entries are off, in first and in second order.

In the basis of its eigenvectors a matrix is diag(l), and what is known of its entries bounds those of its error E:
|E_ij| <= N_ij = p_i q_j + q_i p_j + r_i r_j, with p, q, r >= 0. Eigenvalue j is no larger than the largest of the part
of diag(l) + E that belongs to indices i >= j, and no smaller than the smallest of that of i <= j (Courant and Fischer).
It has moved by less than t where, on that part, N is no larger than D = diag(|l_j - l_i| + t): where the norm of
D^(-1/2) N D^(-1/2) is at most 1. Of the first two terms that norm is sum p q / D + sqrt(sum p^2 / D * sum q^2 / D),
of the last sum r^2 / D. Eigenvalues far from the j-th add N_ij^2 / gap to N_jj, those that are close all of N_ij.

(Parlett 1980, The Symmetric Eigenvalue Problem, 10.2 and 11.5.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array

__all__ = ["displacement"]

# Every step begins and ends with a bound that holds; more of them hardly sharpen it.
STEPS = 12
SETTLED = 0.99

# What a bound from the nearest eigenvalue alone may be of that in first order before all eigenvalues are looked at.
LOOSE = 1.1

# Numbers worked with at a time where they are.
AT_ONCE = 1 << 18

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
    height = max(AT_ONCE // d, 1)
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
