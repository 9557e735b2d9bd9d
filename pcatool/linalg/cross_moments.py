"""Cross-moments M = X^T H Y of features and labels, one block at a time, and the spectrum of M M^T.

X (n, d) are the features, Y (n, t) the labels; H subtracts the column means.

As in moments.py, each block is centred on its own mean and blocks are merged by the formula of Chan, Golub and LeVeque.
The formula also holds for products of two tables, so an offset of the columns costs no digits.
Labels are numbers or classes. For classes, Y has one 0/1 indicator column per class; Y is formed only for few classes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.eigen import jacobi_wide, triangle
from pcatool.linalg.moments import Centre, center_block
from pcatool.linalg.spectrum import (
    BACKWARD,
    EPS,
    Spectrum,
    Wish,
    backward_error,
    clip_eigenvalues,
    complete_basis,
    count_positive,
    eigenvalue_shifts,
    has_enough_digits,
    is_graded,
    rank_of,
    safe_divisors,
    upper_median,
)

__all__ = ["CrossMoments", "ProductMatrix", "spectrum_of_cross", "spectrum_of_quadratic"]

# Up to this many classes a product with the 0/1 indicator matrix is faster than sorting the rows.
FEW_CLASSES = 64


class CrossMoments(NamedTuple):
    """Sums over some rows that supervised PCA with the label kernel Y Y^T needs: means, squares and cross-moments."""

    centre: Centre  # of the features
    squares: Array  # (d,) sum of (x - mu)^2
    label: Centre  # of the labels; for classes, the means are the shares of rows in each class
    label_squares: Array  # (t,) sum of (y - nu)^2
    cross: Array  # (t, d) sum of (y - nu)(x - mu)^T
    slots: NDArray[np.intp]  # (t,) number of each label's column in Y, from 0: some rows may lack whole classes

    @classmethod
    def of_numbers(cls, X: Array, Y: Array, x_origin: Array, y_origin: Array) -> CrossMoments:
        """Return the cross-moments of features X (n, d) and numeric labels Y (n, t).

        The origins (d,) and (t,) are subtracted from the rows first; only sums with equal origins can be merged.
        """
        centre, Xc, x_rest = center_block(X, x_origin)
        label, Yc, y_rest = center_block(Y, y_origin)
        with np.errstate(over="ignore", invalid="ignore"):
            cross = Yc.T @ Xc
            cross -= np.outer(y_rest, x_rest / len(X))
        return cls(centre, _squares(Xc, x_rest), label, _squares(Yc, y_rest), cross, np.arange(Y.shape[1]))

    @classmethod
    def of_classes(cls, X: Array, codes: NDArray[np.intp], x_origin: Array) -> CrossMoments:
        """Return the cross-moments of features X (n, d) and class numbers `codes` (n,), about `x_origin` (d,)."""
        centre, Xc, rest = center_block(X, x_origin)
        slots, counts, cross = class_sums(Xc, codes)
        n, zeros = len(X), np.zeros(len(slots))
        shares = counts / n
        label = Centre(n, float(n), float(n) * (n - 1), zeros, shares, zeros, (counts > 0) & (counts < n))
        with np.errstate(over="ignore", invalid="ignore"):
            cross -= np.outer(counts, rest / n)
        return cls(centre, _squares(Xc, rest), label, counts * (1.0 - shares), cross, slots)

    @property
    def size(self) -> int:
        """Number of elements of `cross`."""
        return int(self.cross.size)

    @property
    def sizes(self) -> Array:
        """Sums of squares (d + 1,) to which relative rounding errors refer: of each feature, then of all labels."""
        return np.append(self.squares, self.label_squares.sum())

    @property
    def t(self) -> int:
        """Number of columns of Y, as far as these rows show: the largest of `slots`, plus 1."""
        return int(self.slots.max()) + 1

    def merge(self, other: CrossMoments) -> CrossMoments:
        """Return the cross-moments of these rows followed by the rows of `other`; may overwrite `self.cross`."""
        t = max(self.t, other.t)
        left, right = self._spread(t), other._spread(t)
        centre, delta, weight = left.centre.merge(right.centre)
        label, gap, _ = left.label.merge(right.label)
        cross = left.cross
        with np.errstate(over="ignore", invalid="ignore"):
            cross += right.cross
            cross += np.outer(gap * weight, delta)
            squares = left.squares + right.squares + delta * (delta * weight)
            label_squares = left.label_squares + right.label_squares + gap * (gap * weight)
        return CrossMoments(centre, squares, label, label_squares, cross, left.slots)

    def subtract(self, other: CrossMoments) -> CrossMoments:
        """Return the cross-moments of these rows without the rows of `other`, which must be among these rows."""
        t = max(self.t, other.t)
        left, right = self._spread(t), other._spread(t)
        centre, delta, weight = left.centre.subtract(right.centre)
        label, gap, _ = left.label.subtract(right.label)
        with np.errstate(over="ignore", invalid="ignore"):
            cross = left.cross - right.cross - np.outer(gap * weight, delta)
            squares = left.squares - right.squares - delta * (delta * weight)
            label_squares = left.label_squares - right.label_squares - gap * (gap * weight)
        return CrossMoments(centre, squares, label, label_squares, cross, left.slots)

    def with_squares(self, squares: Array) -> CrossMoments:
        """Return a copy with `squares` (d,) as the sums of squares of the features."""
        return self._replace(squares=squares)

    def without(self, columns: NDArray[np.intp]) -> CrossMoments:
        """Return a copy with squares and cross-moments 0 for the features at the indices `columns`, as if constant."""
        squares, cross = self.squares.copy(), self.cross.copy()
        squares[columns] = cross[:, columns] = 0.0
        return self._replace(squares=squares, cross=cross)

    def take(self, columns: NDArray[np.intp]) -> CrossMoments:
        """Return the cross-moments of the features at the indices `columns` only."""
        return self._replace(
            centre=self.centre.take(columns), squares=self.squares[columns], cross=self.cross[:, columns]
        )

    def of_labels(self, places: NDArray[np.intp]) -> CrossMoments:
        """Return the cross-moments of the labels at the indices `places` only, renumbered from 0."""
        return self._replace(
            label=self.label.take(places),
            label_squares=self.label_squares[places],
            cross=self.cross[places],
            slots=np.arange(len(places)),
        )

    def _spread(self, t: int) -> CrossMoments:
        """Return the cross-moments with all columns 0 to t - 1 of Y; sums of columns not in `slots` are 0."""
        if np.array_equal(self.slots, np.arange(t)):
            return self

        def spread(values: NDArray[Any]) -> NDArray[Any]:
            out = np.zeros((t, *values.shape[1:]), values.dtype)
            out[self.slots] = values
            return out

        old = self.label
        label = old._replace(
            origin=spread(old.origin), high=spread(old.high), low=spread(old.low), varies=spread(old.varies)
        )
        return self._replace(
            label=label, label_squares=spread(self.label_squares), cross=spread(self.cross), slots=np.arange(t)
        )


def class_sums(X: Array, codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array, Array]:
    """Return t class numbers (t,), the number of rows in each class (t,), and the sum of the rows of X in each (t, d).

    `codes` (n,) are the class numbers of the rows X (n, d). If there are at most FEW_CLASSES classes, the result
    includes classes without rows.
    """
    class_count = int(codes.max()) + 1
    if class_count <= FEW_CLASSES:
        E = (codes[:, None] == np.arange(class_count)).astype(np.float64)
        return np.arange(class_count), E.sum(axis=0), E.T @ X
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    counts = np.diff(np.append(starts, len(codes))).astype(np.float64)
    return ordered[starts], counts, np.add.reduceat(X[order], starts, axis=0)


def _squares(Y: Array, rest: Array) -> Array:
    """Return the sums of squares (d,) of centred columns Y (n, d), corrected for the rounding of their means.

    `rest` (d,) are the sums of the columns, which would be 0 without rounding.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return np.asarray(np.einsum("ij,ij->j", Y, Y) - rest * (rest / len(Y)))


class ProductMatrix(NamedTuple):
    """M = X^T H Y, or Q = X^T H Ky H X with a label kernel Ky (n, n), and bounds on the errors of its entries.

    X (n, d) are the features, Y (n, t) the labels; H subtracts the column means.
    """

    values: Array  # M (d, t) for `spectrum_of_cross`, or Q (d, d) for `spectrum_of_quadratic`
    length: Array  # (d,) lengths of the centred columns of X
    norm: Array | float  # (t,) lengths of the centred columns of Y; or one number, the root of a bound on |Ky|
    # (d,) the error of entry ij of M is at most rounding_i * length_i * norm_j, and that of entry ij of Q at most
    # (rounding_i + rounding_j) * length_i * length_j * norm^2
    rounding: Array
    rows: int  # number n of rows
    max_rank: int  # largest possible rank in exact arithmetic
    omitted_norm: float = 0.0  # norm of the part of the label kernel that M M^T leaves out
    scale_rounding: Array | float = 0.0  # (d,) relative errors of the scales by which the rows of M were divided
    kernel_rounding: float = 0.0  # norm of further rounding errors of the label kernel; does not affect the rank


def spectrum_of_cross(M: ProductMatrix, wish: Wish) -> Spectrum:
    """Return the spectrum of M M^T from the SVD of M (d, t), which keeps twice the digits of M M^T.

    Jacobi may replace the SVD if eigenvalues have too few digits for `wish`, the requested components.
    No d x d matrix is formed when t < d. The rank is that of the correlations: M divided by the column lengths of both
    tables. The tolerance of the rank is the rounding of the entries or, if larger, that of numpy.linalg.matrix_rank.
    """
    d, t = M.values.shape
    with one_blas_thread():
        correlations = np.linalg.svd(_compact(_normalized(M.values, M.length, M.norm)), compute_uv=False)
        rank = _rank(correlations, M)
        F = _compact(M.values)
        U, s, _ = np.linalg.svd(F, full_matrices=False)
    plain = backward_error(max(d, t), float(s[0]))
    error = _eigenvalue_errors(M, U, s, plain)
    if (
        not rank
        or M.omitted_norm
        or not is_graded(safe_divisors(np.abs(F).max(axis=1)))
        or has_enough_digits(s * s, error, rank, wish)
    ):
        return _spectrum(U, s * s, error, rank, "svd")
    values, U = jacobi_wide(F.T)
    s = np.sqrt(values)
    steepness = float(correlations[0] / correlations[rank - 1])
    return _spectrum(
        U, s * s, _eigenvalue_errors(M, U, s, np.minimum(d * BACKWARD * EPS * steepness * s, plain)), rank, "jacobi"
    )


def _compact(M: Array) -> Array:
    """Return M (d, t) if t <= d, else a d x d matrix with the same left singular vectors and values."""
    return M if M.shape[1] <= M.shape[0] else triangle(M.T).T


def _rank(correlations: NDArray[np.floating[Any]], M: ProductMatrix) -> int:
    """Return the rank of M; `correlations` are the descending singular values of M / (length_i * norm_j)."""
    size = max(*M.values.shape, math.isqrt(M.rows))
    rank = min(rank_of(correlations, size, upper_median(M.rounding)), M.max_rank)
    if M.omitted_norm:
        rank = min(rank, rank_of(correlations**2, size, M.omitted_norm / float(np.square(M.norm).sum())))
    return rank


def _eigenvalue_errors(M: ProductMatrix, U: Array, s: Array, solver: Array | float) -> Array:
    """Return error bounds (m,) of the eigenvalues s^2 of M M^T, for the left singular vectors U (d, m) of M.

    `solver` bounds the errors of the singular values s (m,) in the decomposition; the bounds add the rounding of the
    entries of M and the part of the label kernel that M leaves out.
    """
    (d, m), norm = U.shape, float(np.linalg.norm(M.norm))
    weight, rounding = np.abs(U) * M.length[:, None], M.rounding + M.scale_rounding
    shift, lengths = rounding @ weight * norm, weight.sum(axis=0)
    if m < d:  # the directions outside the range of M, represented by one
        s = np.append(s, 0.0)
        shift = np.append(shift, np.linalg.norm(rounding * M.length) * norm)
        lengths = np.append(lengths, np.linalg.norm(M.length))
        solver = np.append(np.broadcast_to(solver, m), np.max(solver))
    shift = shift + solver
    return eigenvalue_shifts(s * s, shift, s + shift / 2, math.sqrt(M.omitted_norm + M.kernel_rounding) * lengths)[:m]


def spectrum_of_quadratic(Q: ProductMatrix) -> Spectrum:
    """Return the spectrum of Q (d, d) in a `ProductMatrix`, by `eigh`, for a label kernel Ky too large to factorise."""
    d, norm = len(Q.values), float(Q.norm)
    with one_blas_thread():
        scaled = np.linalg.eigvalsh(_normalized(Q.values, Q.length * norm, Q.length * norm))[::-1]
        values, U = np.linalg.eigh(Q.values)
    values, U = values[::-1], U[:, ::-1]
    rank = rank_of(scaled, max(d, math.isqrt(Q.rows)), 2 * upper_median(Q.rounding))
    rank = min(count_positive(values, rank), Q.max_rank)
    weight = np.abs(U) * Q.length[:, None]
    lengths = weight.sum(axis=0)
    error = eigenvalue_shifts(
        values, norm * (Q.rounding @ weight), norm * lengths, math.sqrt(Q.kernel_rounding) * lengths
    )
    error += backward_error(d, float(values[0]))
    return _spectrum(U, values, error, rank, "eigh")


def _spectrum(U: Array, values: Array, error: Array, rank: int, route: str) -> Spectrum:
    """Return the Spectrum with eigenvectors U (d, m) and eigenvalues `values` (m,) up to the rank.

    Past the rank, the eigenvalues are 0 and the eigenvectors are any orthonormal completion.
    """

    def leading(k: int) -> Array:
        return U[:, :k] if k <= rank else complete_basis(U[:, :rank], k)

    return Spectrum(clip_eigenvalues(values, rank), leading, rank, route, error)


def _normalized(M: Array, rows: Array, columns: Array | float) -> Array:
    """Return M (d, t), each row divided by `rows` (d,) and each column by `columns` (t,); divisors of 0 count as 1."""
    return np.asarray(M / safe_divisors(rows)[:, None] / safe_divisors(np.asarray(columns)))
