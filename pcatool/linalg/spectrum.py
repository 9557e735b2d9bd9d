"""Eigenvalues with error bounds (`Spectrum`), the rules for rank, clipping and rounding, and perturbation bounds.

`eigenvalue_shifts` bounds how far the eigenvalues of a symmetric matrix move when its entries have errors, in first and
in second order. In the basis of its eigenvectors the matrix is diag(l). Its error E is bounded entry by entry:
|E_ij| <= N_ij = p_i q_j + q_i p_j + r_i r_j, with p, q, r >= 0. By Courant and Fischer, eigenvalue j of diag(l) + E is
at most the largest eigenvalue of the submatrix with indices i >= j, and at least the smallest eigenvalue of the
submatrix with indices i <= j. So eigenvalue j moves by less than t if N <= D on this submatrix, with
D = diag(|l_j - l_i| + t): if the norm of D^(-1/2) N D^(-1/2) is at most 1. The first two terms of N contribute
sum p q / D + sqrt(sum p^2 / D * sum q^2 / D) to this norm, and the last term sum r^2 / D. An eigenvalue i far from the
j-th one adds N_ij^2 / gap to N_jj; a close one adds all of N_ij.

(Parlett 1980, The Symmetric Eigenvalue Problem, 10.2 and 11.5.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.resources import release_free_memory

__all__ = [
    "EPS",
    "Spectrum",
    "Wish",
    "backward_error",
    "clip_eigenvalues",
    "complete_basis",
    "count_positive",
    "eigenvalue_shifts",
    "finds_leading",
    "has_enough_digits",
    "is_graded",
    "largest_drop",
    "leading_columns",
    "most_leading",
    "orthonormal",
    "rank_of",
    "safe_divisors",
    "upper_median",
]

Wish = int | float | str  # requested components: a number, a share of the variance, or the name of a rule

EPS = float(np.finfo(np.float64).eps)

# Ratio of column scales above which Jacobi is considered; a smaller ratio costs only a few digits.
GRADED_RATIO = 10.0

# Relative error above which Jacobi is used: LAPACK left an eigenvalue fewer than ten digits.
JACOBI_ERROR = 1e-10

# Up to this many columns Jacobi takes only a few hundredths of a second, so all eigenvalues must have this accuracy.
ALL_DIGITS_COLUMNS = 300

# Up to this size of the matrix, all eigenvalues are found.
ALL_FOUND_COLUMNS = 1000

# Least number of columns per component, for Lanczos. With fewer, LAPACK takes about as long.
COLUMNS_PER_COMPONENT = 20

# Elements per step of `orthonormal`.
AT_ONCE = 1 << 20

# Backward errors of LAPACK's drivers are a few eps * largest and grow slowly with the size. Measured errors stay below
# a third of (BACKWARD + sqrt(size)) * eps over the cases of the test suite.
BACKWARD = 4


class Spectrum(NamedTuple):
    """Eigenvalues with error bounds, and orthonormal eigenvectors; the result of the eigensolvers in `eigen`.

    The eigenvalues are descending, not negative, and 0 past the rank. The rank is judged on columns of unit length, and
    the eigenvalues of columns of small scale keep their own relative accuracy.
    """

    eigenvalues: Array  # (m,)
    leading: Callable[[int], Array]  # k -> the first k eigenvectors (d, k), k <= m
    rank: int
    route: str  # algorithm: "eigh", "lanczos", "evr", "svd", "gram" or "jacobi"
    error: Array  # (m,) bounds on the absolute rounding error of each eigenvalue
    # Where only the leading eigenvalues are known: the sum of the squares of all, each divided by the sum of all.
    squared_shares: float | None = None

    def resized(self, count: int) -> Spectrum:
        """Return the spectrum cut, or padded with zeros, to `count` eigenvalues.

        If only the leading eigenvalues are known, they are cut but not padded. Padding is for frequency weights: the
        observations, and so the eigenvalues, can outnumber the weighted rows.
        """
        m = len(self.eigenvalues)
        if count > m and self.squared_shares is not None:
            return self
        if count <= m:
            return self._replace(eigenvalues=self.eigenvalues[:count], error=self.error[:count])
        zeros = np.zeros(count - m)

        def leading(k: int) -> Array:
            return self.leading(k) if k <= m else complete_basis(self.leading(m), k)

        values, error = np.concatenate([self.eigenvalues, zeros]), np.concatenate([self.error, zeros])
        return self._replace(eigenvalues=values, error=error, leading=leading)


def rank_of(values: NDArray[np.floating[Any]], size: int, rounding: float = 0.0) -> int:
    """Return the number of descending eigenvalues or singular values above rounding, for a matrix of unit scale.

    The tolerance is that of numpy.linalg.matrix_rank, size * eps * largest value, or size * `rounding` if larger, with
    `rounding` the error of the entries of the matrix and `size` its larger dimension.
    """
    if not len(values) or values[0] <= 0:
        return 0
    return int(np.count_nonzero(values > size * max(EPS * float(values[0]), rounding)))


def safe_divisors(length: Array) -> Array:
    """Return the lengths with 1 in place of 0, so that they can be divisors."""
    return np.where(length > 0, length, 1.0)


def upper_median(values: Array) -> float:
    """Return the median of the values; if their number is even, the upper of the two middle values."""
    # numpy.median imports more modules
    return float(np.partition(values, len(values) // 2)[len(values) // 2])


def backward_error(size: int, largest: float) -> float:
    """Return a bound on the absolute errors of LAPACK's eigenvalues or singular values, given the largest of these.

    `size` is the larger dimension of the matrix.
    """
    return (BACKWARD + float(np.sqrt(size))) * EPS * float(largest)


def is_graded(scale: Array) -> bool:
    """Return whether the scales of columns differ so much that Jacobi may be more accurate for small eigenvalues."""
    return float(scale.max()) > GRADED_RATIO * float(scale.min())


def has_enough_digits(values: Array, error: Array, rank: int, wish: Wish) -> bool:
    """Return whether the eigenvalues that `wish` needs have a relative error below JACOBI_ERROR.

    A number of components or a share of the variance needs the leading eigenvalues. A rule needs all within the rank.
    If there are at most ALL_DIGITS_COLUMNS eigenvalues, all within the rank are checked in any case.
    """
    if len(values) <= ALL_DIGITS_COLUMNS or isinstance(wish, str):
        wanted = rank
    elif isinstance(wish, int):
        wanted = min(wish, rank)
    else:
        wanted = min(int(np.searchsorted(np.cumsum(values), wish * values.sum())) + 1, rank)
    return bool(np.all(error[:wanted] < JACOBI_ERROR * values[:wanted]))


def finds_leading(size: int, wish: Wish, which: str) -> bool:
    """Return whether only the leading eigenvalues of a matrix (size, size) are computed, not all.

    `wish` are the requested components; a rule needs all eigenvalues. `which` is the value of --eigenvalues: all, kept
    or auto, which depends on the size and on the number of components.
    """
    if isinstance(wish, str) or which == "all":
        return False
    if which == "kept":
        return True
    return size > ALL_FOUND_COLUMNS and (not isinstance(wish, int) or wish <= most_leading(size))


def most_leading(d: int) -> int:
    """Return the largest number of components of d columns that are left to Lanczos; more are left to LAPACK."""
    return d // COLUMNS_PER_COMPONENT


def count_positive(values: Array, rank: int) -> int:
    """Return the rank, or the number of `values` above 0 if that is smaller because of rounding."""
    return min(rank, int(np.count_nonzero(values > 0)))


def clip_eigenvalues(values: Array, rank: int) -> Array:
    """Return the eigenvalues descending, at least 0, and 0 past the rank: the one clipping rule.

    Rounding may have made an eigenvalue negative or changed the order.
    """
    values = np.maximum(values, 0.0)
    values[rank:] = 0.0
    return np.sort(values)[::-1]


def leading_columns(vectors: Array) -> Callable[[int], Array]:
    """Return the function k -> first k columns of `vectors` (d, m), for `Spectrum.leading`."""
    return lambda k: vectors[:, :k]


def orthonormal(V: Array) -> Array:
    """Make the columns of V (d, k) orthonormal from left to right, keeping their signs; return V, overwritten.

    Columns are processed a few at a time, because a QR factorisation allocates four more matrices of its input's size.
    """
    d, k = V.shape
    step = max(AT_ONCE // d, 1)
    for at in range(0, k, step):
        done, some = V[:, :at], V[:, at : at + step]
        for _ in range(2 if at else 1):  # two passes are enough (Kahan, Parlett)
            if at:
                some -= done @ (done.T @ some)
            Q, R = np.linalg.qr(some)
            np.multiply(Q, np.where(np.diagonal(R) < 0, -1.0, 1.0), out=some)
    release_free_memory()  # the matrices of QR are too small to be reused by later steps
    return V


def complete_basis(V: Array, k: int) -> Array:
    """Return V (d, r), whose columns are orthonormal, with further orthonormal columns appended: (d, k) in all."""
    d, r = V.shape
    W = np.random.default_rng(0).standard_normal((d, k - r))
    for _ in range(2):  # two passes are enough (Kahan, Parlett)
        W = np.linalg.qr(W - V @ (V.T @ W))[0]
    return np.hstack([V, W])


def largest_drop(eigenvalues: Array) -> int:
    """Return the number j of eigenvalues before the largest drop lambda_j - lambda_(j+1); 0 if all are equal.

    Drops that differ only by rounding error count as equal, and the first of them counts: 3, 2, 1 gives 1.
    """
    if len(eigenvalues) < 2:
        return 0
    drops = eigenvalues[:-1] - eigenvalues[1:]
    rounding = 8 * len(eigenvalues) * np.finfo(float).eps * float(eigenvalues[0])
    largest = float(drops.max())
    return int(np.flatnonzero(drops >= largest - rounding)[0]) + 1 if largest > rounding else 0


# Most fixed-point steps. The bound is valid after every step, and more steps hardly improve it. The iteration also
# ends when no bound shrinks below SETTLED times its value.
STEPS = 12
SETTLED = 0.99

# A bound from the nearest eigenvalue alone is refined with all eigenvalues if it exceeds the first-order bound by this
# factor.
LOOSE = 1.1

# Elements per step of this refinement.
PERTURBED_AT_ONCE = 1 << 18

# Margin for the rounding of the bounds. The sums have positive terms, so their relative rounding error is small.
ROUNDED = 1 + 1e-9


def eigenvalue_shifts(values: Array, p: Array, q: Array, r: Array | None = None, *, rank: int | None = None) -> Array:
    """Return bounds (d,) on how far the descending eigenvalues `values` (d,) of a matrix move by errors of its entries.

    In the basis of the eigenvectors, the error of entry ij is at most N_ij = p_i q_j + q_i p_j + r_i r_j with p, q, r
    (d,), as in the docstring of the module. Past `rank` the bounds are valid but not sharp. The bounds are infinite if
    the largest eigenvalue is not positive and finite.
    """
    largest = float(values[0])
    if not (largest > 0 and np.isfinite(largest)):
        return np.full(len(values), np.inf)
    root = np.sqrt(largest)  # in units of the largest, so that squares neither overflow nor underflow
    values, p, q = values / largest, p / root, q / root
    r = np.zeros_like(p) if r is None else r / root
    first_order = 2 * p * q + r * r
    upwards = _to_one_side(values, p, q, r, first_order, rank)
    downwards = _to_one_side(-values[::-1], p[::-1], q[::-1], r[::-1], first_order[::-1], rank, reverse=True)[::-1]
    return np.asarray(np.maximum(upwards, downwards) * (ROUNDED * largest))


def _to_one_side(
    values: Array, p: Array, q: Array, r: Array, first_order: Array, rank: int | None, *, reverse: bool = False
) -> Array:
    """Return bounds (d,) on how far each of the descending `values` moves upwards; the bound of j uses indices i >= j.

    `first_order` (d,) is N_jj, the first-order bound, with N from p, q, r as in the docstring of the module. With
    `reverse`, all arrays are in reversed order, so the indices within `rank` are the last ones.
    """
    d = len(values)
    rest = [_later_sums(a * b) for a, b in ((p, q), (p, p), (q, q), (r, r))]
    gap = np.append(values[:-1] - values[1:], np.inf)
    no_gap = _error_norm(p * q + rest[0], p * p + rest[1], q * q + rest[2], r * r + rest[3])
    t = no_gap
    for _ in range(STEPS):  # treats all later eigenvalues as if they were as close as the next one
        part = t / (gap + t + (t == 0))
        pq, pp, qq, rr = (
            own_part + more * part for own_part, more in zip((p * q, p * p, q * q, r * r), rest, strict=True)
        )
        t = np.minimum(t, _error_norm(pq, pp, qq, rr))
    loose = t > LOOSE * first_order
    if rank is not None:
        loose[: d - rank if reverse else 0] = False
        loose[d if reverse else rank :] = False
    at = np.flatnonzero(loose)
    height = max(PERTURBED_AT_ONCE // d, 1)
    for first in range(0, len(at), height):
        some = at[first : first + height]
        t[some] = _refined(values, p, q, r, some, t[some])
    return t


def _refined(values: Array, p: Array, q: Array, r: Array, at: NDArray[np.intp], t: Array) -> Array:
    """Return smaller bounds of the eigenvalues at the indices `at`, from valid bounds t of the same eigenvalues."""
    after = np.arange(len(values)) >= at[:, None]
    gaps = values[at][:, None] - values
    for _ in range(STEPS):
        part = np.where(after, t[:, None] / (np.maximum(gaps, 0.0) + t[:, None] + (t == 0)[:, None]), 0.0)
        smaller = np.minimum(t, _error_norm(part @ (p * q), part @ (p * p), part @ (q * q), part @ (r * r)))
        if np.all(smaller >= SETTLED * t):
            return smaller
        t = smaller
    return t


def _error_norm(pq: Array, pp: Array, qq: Array, rr: Array) -> Array:
    """Return a bound on the norm of D^(-1/2) N D^(-1/2), with N and D as in the docstring of the module.

    The arguments are the sums of p q / D, p^2 / D, q^2 / D and r^2 / D.
    """
    return np.asarray(pq + np.sqrt(pp) * np.sqrt(qq) + rr)


def _later_sums(terms: Array) -> Array:
    """Return, for each term, the sum of all terms after it, (d,); 0 for the last."""
    return np.append(np.cumsum(terms[::-1])[::-1][1:], 0.0)
