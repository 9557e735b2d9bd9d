"""Kernel functions k(x, y) of two rows alone, the squared distances that some need, and the precomputed kernel.

k(x, y) depends on no other row, so new rows are treated like the rows of the fit. The definitions are those of
scikit-learn's pairwise kernels. Each kernel computes a block of values in place.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner
from pcatool.errors import DataError
from pcatool.kernels.base import Kernel, KernelSettings, Prepared, symmetric
from pcatool.wording import counted

__all__ = [
    "EPS",
    "MDS",
    "PRODUCT_ROUNDINGS",
    "RBF",
    "Cosine",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "exact_pairs",
    "squared_distances",
    "squares",
]

EPS = float(np.finfo(np.float64).eps)

# Typical error of |x|^2 + |y|^2 - 2 x.y, in units of eps times |x|^2 + |y|^2.
PRODUCT_ROUNDINGS = 8

# Elements of differences per step of `exact_pairs`.
DIFFERENCES_PER_STEP = 1 << 20


def squares(X: Array) -> Array:
    """Return the squared length |x|^2 of each row x of X (n, d), as (n,)."""
    return np.asarray(np.einsum("ij,ij->i", X, X))


def squared_distances(X: Array, T: Array, *, bound: float = np.inf, allowed: float = np.inf) -> Array:
    """Return the squared distances |x - t|^2 (h, n) of rows X (h, d) and T (n, d).

    By default, all are computed from inner products. Squared distances that may be below `bound`, and whose error may
    be above `allowed`, are computed from differences, which are slow but lose no digits.
    """
    xx, tt = squares(X), squares(T)
    D = (X * -2.0) @ T.T
    D += tt
    D += xx[:, None]
    np.maximum(D, 0.0, out=D)
    if len(T) and len(X) and PRODUCT_ROUNDINGS * EPS * float(xx.max() + tt.max()) > allowed:
        sizes = xx[:, None] + tt
        lost = (bound > D - product_error(X.shape[1]) * sizes) & (PRODUCT_ROUNDINGS * EPS * sizes > allowed)
        rows, others = np.nonzero(lost)
        D[rows, others] = exact_pairs(X, T, rows, others)
    return D


def product_error(d: int) -> float:
    """Return a bound on the rounding error of |x|^2 + |t|^2 - 2 x.t, as a share of |x|^2 + |t|^2, for rows of d cells.

    Each sum of d products has an error of at most d / 2 eps of its terms in any order of summation, and 2 |x.t| is at
    most |x|^2 + |t|^2. The additions contribute less than 3 eps.
    """
    return (d + 4) * EPS


def exact_pairs(X: Array, T: Array, rows: NDArray[np.intp], others: NDArray[np.intp]) -> Array:
    """Return the squared distances |x_i - t_j|^2 (p,) of p pairs of rows, computed from differences.

    `rows` (p,) are the indices i in X, `others` (p,) the indices j in T.
    """
    D = np.empty(len(rows))
    step = max(DIFFERENCES_PER_STEP // max(X.shape[1], 1), 1)
    for start in range(0, len(rows), step):
        pairs = slice(start, start + step)
        D[pairs] = squares(X[rows[pairs]] - T[others[pairs]])
    return D


# exp(-x) is 0 in a double from this x on.
EXP_UNDERFLOW = 750.0

TINY = float(np.finfo(np.float64).tiny)

# Largest accepted error of an exponent, which is the relative error of the kernel value.
EXPONENT_ERROR = 1e-12

# Relative error of exp, tanh and general powers, as bounded by the tests of numpy and of the C library.
FUNCTION_ERROR = 4 * EPS

# Upper bounds of g exp(-g), and of the slopes of exp(-r) and exp(-r^2).
MAX_G_EXP, MAX_SLOPE, MAX_SLOPE_OF_SQUARE = 0.37, 1.0, 0.86

# For 0 <= x <= SMALL_EXPONENT, exp(x) - 1 is below EXPM1_FACTOR * x.
SMALL_EXPONENT, EXPM1_FACTOR = 0.1, 1.06

# Whole powers up to this are computed by multiplication, many times faster than the general power.
MAX_MULTIPLIED_POWER = 64


class Pointwise(Kernel):
    """Base class of kernels whose value depends on two rows alone."""

    def cross(self, X: Array, T: Array) -> Array:
        with np.errstate(all="ignore"):  # overflow is detected later, in the whole matrix or in the results
            return self.values(X, T)

    @abstractmethod
    def values(self, X: Array, T: Array) -> Array:
        """Return the kernel values k(x, t) (h, n) of the rows x of X (h, d) and t of T (n, d)."""

    def squared_norms(self, X: Array) -> Array:
        return np.ones(len(X))

    def matrix(self, X: Array, run: Runner) -> Array:
        return symmetric(lambda rows, others: self.cross(X[rows], X[others]), len(X), run)


class RBF(Pointwise):
    """The Gaussian kernel exp(-gamma |x - y|^2)."""

    uses = ("gamma",)
    invariant = True

    def values(self, X: Array, T: Array) -> Array:
        gamma = float(self.settings.gamma or 0)
        D = squared_distances(X, T, bound=EXP_UNDERFLOW / gamma, allowed=EXPONENT_ERROR / gamma)
        D *= -gamma
        return np.asarray(np.exp(D, out=D))

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """Return bounds (h,) on the sum of the absolute errors in each row of K (h, n).

        The errors come from the arithmetic and from the errors of the rows.
        """
        gamma, d, n = float(self.settings.gamma or 0), X.Y.shape[1], len(T.Y)
        x, t = squares(X.Y) + d * TINY, squares(T.Y) + d * TINY
        lx, lt = np.sqrt(x), np.sqrt(t)
        total, by_t, by_error, by_length, by_both = (K @ np.column_stack([np.ones(n), t, T.error, lt, lt * T.error])).T
        sizes = gamma * (x * total + by_t)  # row sums of the values times gamma (|x|^2 + |t|^2)
        # Distances come from products, except inaccurate ones, which come from differences.
        exact_share = EXPONENT_ERROR * product_error(d) / (PRODUCT_ROUNDINGS * EPS)
        arithmetic = np.minimum(product_error(d) * sizes, exact_share * total)
        arithmetic += (d + 5) * EPS * np.minimum(MAX_G_EXP * n, 2 * sizes) + FUNCTION_ERROR * total
        # The error of |x - t| is the sum e of both rows' errors. The error of the exponent is gamma (2 (|x| + |t|) e +
        # e^2); the error of a value is also bounded by the steepest slope times e.
        e = float(X.error.max() + T.error.max())
        large = gamma * (2 * float(lx.max() + lt.max()) + e) * e
        products = lx * X.error * total + lx * by_error + X.error * by_length + by_both
        by_value = EXPM1_FACTOR * gamma * (2 * products + 2 * e * (X.error * total + by_error))
        by_slope = MAX_SLOPE_OF_SQUARE * np.sqrt(gamma) * (n * X.error + T.error.sum())
        return np.asarray(
            1.01 * arithmetic + (np.minimum(by_value, by_slope) if large <= SMALL_EXPONENT else by_slope) + n * TINY
        )


class Linear(Pointwise):
    """The linear kernel x . y; its kernel PCA equals PCA."""

    shift_cancels = True

    def values(self, X: Array, T: Array) -> Array:
        return X @ T.T

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        return _inner_product_errors(X, T)

    def squared_norms(self, X: Array) -> Array:
        return squares(X)

    def most_rank(self, d: int) -> int | None:
        return d


class MDS(Pointwise):
    """The kernel -|x - y|^2 / 2 of classical scaling.

    Its centred matrix equals that of the linear kernel (Ham et al. 2004).
    """

    invariant = True
    definite_if_centred = True

    def values(self, X: Array, T: Array) -> Array:
        D = squared_distances(X, T)
        D *= -0.5
        return D

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        x, t, n = squares(X.Y), squares(T.Y), len(T.Y)
        lx, lt, e, f = np.sqrt(x), np.sqrt(t), X.error, T.error
        from_rows = n * lx * e + lx * f.sum() + e * lt.sum() + float(lt @ f) + n * e * e + float(f @ f)
        return np.asarray(product_error(X.Y.shape[1]) * (n * x + t.sum()) + from_rows + n * TINY)

    def squared_norms(self, X: Array) -> Array:
        return np.zeros(len(X))


class Polynomial(Pointwise):
    """The polynomial kernel (gamma x . y + coef0)^degree."""

    uses = ("gamma", "degree", "coef0")

    def __init__(self, settings: KernelSettings) -> None:
        super().__init__(settings)
        self.degree = float(settings.degree or 0)
        # A whole power with coef0 >= 0 is a sum of products of definite kernels with nonnegative factors. Other powers
        # need not be definite.
        self.definite = self.degree.is_integer() and float(settings.coef0 or 0) >= 0

    def matrix(self, X: Array, run: Runner) -> Array:
        """Return the kernel matrix (n, n) of the rows X (n, d), not centred.

        Raise DataError if gamma x.y + coef0 is negative for some rows and the degree is not a whole number.
        """
        K = super().matrix(X, run)
        if not self.degree.is_integer() and np.isnan(K.sum()):
            raise DataError(
                "kernel polynomial: gamma x.y + coef0 is negative for some pairs of rows x and y, "
                f"and a negative number cannot be raised to the power {self.degree:g}",
                "give a whole number with --degree, or a larger --coef0",
            )
        return K

    def values(self, X: Array, T: Array) -> Array:
        return self._power(_gamma_coef0(X @ T.T, self.settings))

    def squared_norms(self, X: Array) -> Array:
        return self._power(_gamma_coef0(squares(X), self.settings))

    def most_rank(self, d: int) -> int | None:
        """Return the largest possible rank of the matrix: the number of monomials of d variables up to the degree.

        Return None if the degree is not a whole number.
        """
        return math.comb(d + int(self.degree), d) if self.degree.is_integer() else None

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """Return bounds (h,) on the sum of the absolute errors in each row of K (h, n).

        An error e of b = gamma x.t + coef0 changes b^p by at most p (|b| + e)^(p - 1) e. Hoelder's inequality bounds
        the sum over a row.
        """
        p, n, size = self.degree, len(T.Y), np.abs(K)
        arithmetic = (p * EPS + FUNCTION_ERROR) * size.sum(axis=1) + n * TINY
        if p < 1:
            e = _scaled_errors(X, T, self.settings)
            b = size ** (1 / p)
            return np.asarray(np.where(b > 2 * e, p * e * (b / 2) ** (p - 1), (2 * e) ** p).sum(axis=1) + arithmetic)
        e = _scaled_error_norms(X, T, self.settings, p)
        return np.asarray(p * (size.sum(axis=1) ** (1 / p) + e) ** (p - 1) * e + arithmetic)

    def _power(self, B: Array) -> Array:
        """Return each entry of B to the power `degree`; B is overwritten."""
        is_whole = self.degree.is_integer()
        if is_whole and self.degree <= MAX_MULTIPLIED_POWER:
            return _whole_power(B, int(self.degree))
        with np.errstate(invalid="ignore"):  # a NaN of a new row is refused later, with the row number
            return np.asarray(np.power(B, self.degree, out=B))


class Sigmoid(Pointwise):
    """The kernel tanh(gamma x . y + coef0), which is not positive semidefinite: eigenvalues may be negative."""

    uses = ("gamma", "coef0")
    definite = False

    def values(self, X: Array, T: Array) -> Array:
        return np.asarray(np.tanh(_gamma_coef0(X @ T.T, self.settings)))

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """Return bounds (h,) on the sum of the absolute errors in each row of K (h, n).

        The error e of the argument of tanh is multiplied by the slope 1 - tanh^2, which grows by at most a factor
        exp(2 e) within the error e.
        """
        n = len(T.Y)
        arithmetic = FUNCTION_ERROR * np.abs(K).sum(axis=1) + n * TINY
        by_slope = _scaled_error_norms(X, T, self.settings, 1.0)
        if not by_slope.max() <= SMALL_EXPONENT:  # the error of the argument may be large, so the slope is bounded by 1
            return np.asarray(np.minimum(by_slope, 2.0 * n) + arithmetic)
        slope = K * K
        slope *= -1.25
        slope += 1.25 * (1.0 + 4 * FUNCTION_ERROR)
        gamma, coef0 = float(self.settings.gamma or 0), abs(float(self.settings.coef0 or 0))
        lx, lt = np.sqrt(squares(X.Y)) + X.error, np.sqrt(squares(T.Y)) + T.error
        rounding = (X.Y.shape[1] + 3) * EPS
        by_t, by_length, total = (slope @ np.column_stack([rounding * lt + T.error, lt, np.ones(n)])).T
        return np.asarray(gamma * (lx * by_t + X.error * by_length) + (EPS * coef0 + TINY) * total + arithmetic)

    def squared_norms(self, X: Array) -> Array:
        return np.asarray(np.tanh(_gamma_coef0(squares(X), self.settings)))


class Laplacian(Pointwise):
    """The kernel exp(-gamma |x - y|_1), with the sum of absolute differences."""

    uses = ("gamma",)
    invariant = True
    loads = 30 << 20  # `scipy.spatial`

    def values(self, X: Array, T: Array) -> Array:
        from scipy.spatial.distance import cdist

        D: Array = cdist(X, T, "cityblock")
        D *= -float(self.settings.gamma or 0)
        return np.asarray(np.exp(D, out=D))

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        gamma, d, n = float(self.settings.gamma or 0), X.Y.shape[1], len(T.Y)
        x, t = np.abs(X.Y).sum(axis=1), np.abs(T.Y).sum(axis=1)
        e, f = np.sqrt(d) * X.error, np.sqrt(d) * T.error  # errors in the 1-norm
        total, by_t, by_error = (K @ np.column_stack([np.ones(n), t, f])).T
        arithmetic = (d + 3) * EPS * np.minimum(MAX_G_EXP * n, gamma * (x * total + by_t)) + FUNCTION_ERROR * total
        by_slope = MAX_SLOPE * gamma * (n * e + f.sum())
        by_value = EXPM1_FACTOR * gamma * (e * total + by_error)
        small = gamma * float(e.max() + f.max()) <= SMALL_EXPONENT
        return np.asarray(1.01 * arithmetic + (np.minimum(by_value, by_slope) if small else by_slope) + n * TINY)


class Cosine(Pointwise):
    """The cosine kernel x . y / (|x| |y|); 0 if x or y is all zeros."""

    def values(self, X: Array, T: Array) -> Array:
        return _unit_rows(X) @ _unit_rows(T).T

    def squared_norms(self, X: Array) -> Array:
        return np.where(np.any(X != 0, axis=1), 1.0, 0.0)

    def most_rank(self, d: int) -> int | None:
        return d

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        d, n = X.Y.shape[1], len(T.Y)
        e, f = (_direction_errors(rows) for rows in (X, T))
        return np.asarray(1.1 * (n * (e + (d + 1) * EPS) + f.sum()))


def _inner_product_errors(X: Prepared, T: Prepared) -> Array:
    """Return bounds (h,) on the sum over the rows t of T (n, d) of the absolute errors of x.t, for rows x of X (h, d).

    The arithmetic contributes d / 2 eps of |x| |t| in any order of summation; the rows contribute their own errors.
    """
    lx, lt = np.sqrt(squares(X.Y)), np.sqrt(squares(T.Y))
    rounding = (X.Y.shape[1] + 1) * EPS
    return np.asarray(
        lx * (rounding * lt.sum() + T.error.sum()) + X.error * (lt.sum() + T.error.sum()) + len(lt) * TINY
    )


def _scaled_errors(X: Prepared, T: Prepared, settings: KernelSettings) -> Array:
    """Return bounds (h, n) on the errors of gamma x.t + coef0, for rows x of X (h, d) and t of T (n, d)."""
    gamma, coef0 = float(settings.gamma or 0), abs(float(settings.coef0 or 0))
    lx, lt = np.sqrt(squares(X.Y)) + X.error, np.sqrt(squares(T.Y)) + T.error
    rounding = (X.Y.shape[1] + 3) * EPS
    return np.asarray(gamma * (np.outer(lx, rounding * lt + T.error) + np.outer(X.error, lt)) + EPS * coef0 + TINY)


def _scaled_error_norms(X: Prepared, T: Prepared, settings: KernelSettings, p: float) -> Array:
    """Return bounds (h,) on the p-norms of the rows of the result of `_scaled_errors`, without forming this matrix."""
    gamma, coef0 = float(settings.gamma or 0), abs(float(settings.coef0 or 0))
    lx, lt = np.sqrt(squares(X.Y)) + X.error, np.sqrt(squares(T.Y)) + T.error
    rounding = (X.Y.shape[1] + 3) * EPS
    lengths, errors = _p_norm(lt, p), _p_norm(T.error, p)
    each = (EPS * coef0 + TINY) * len(lt) ** (1 / p)
    return np.asarray(gamma * (lx * (rounding * lengths + errors) + X.error * lengths) + each)


def _p_norm(values: Array, p: float) -> float:
    """Return the p-norm of nonnegative values, without intermediate overflow."""
    largest = float(values.max(initial=0.0))
    return largest * float(((values / largest) ** p).sum()) ** (1 / p) if largest > 0 else 0.0


def _direction_errors(rows: Prepared) -> Array:
    """Return bounds (h,) on the length of the error of each row of `rows` after division by its length."""
    length = np.sqrt(squares(rows.Y))
    from_rows = np.where(rows.error > 0, 2 * rows.error / np.where(length > 0, length, TINY), 0.0)
    return np.asarray(np.minimum(from_rows, 2.0) + (rows.Y.shape[1] / 2 + 4) * EPS)


def _gamma_coef0(B: Array, settings: KernelSettings) -> Array:
    """Return gamma B + coef0, with gamma and coef0 of the settings; B is overwritten."""
    B *= float(settings.gamma or 0)
    B += float(settings.coef0 or 0)
    return B


def _whole_power(B: Array, power: int) -> Array:
    """Return each entry of B to a whole power >= 1, by repeated squaring; B is overwritten."""
    result: Array | None = None
    while power:
        if power & 1:
            result = B.copy() if result is None else result * B
        power >>= 1
        if power:
            B *= B
    assert result is not None
    return result


def _unit_rows(X: Array) -> Array:
    """Return each row of X (n, d) divided by its length; a row of zeros stays zero.

    A row is divided by its largest entry first, so that no square overflows or underflows.
    """
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    Y = X / np.where(largest > 0, largest, 1.0)
    length = np.sqrt(np.einsum("ij,ij->i", Y, Y))[:, None]
    return Y / np.where(length > 0, length, 1.0)


# Largest asymmetry of a precomputed kernel relative to its largest value: allows for tables written with seven digits.
ASYMMETRY = 1e-6


class Precomputed(Kernel):
    """The kernel of a table that is itself the kernel matrix; the matrix need not be positive semidefinite."""

    definite = False
    of_rows = False

    def matrix(self, X: Array, run: Runner) -> Array:
        """Return (X + X^T) / 2; raise DataError unless the table X (n, n) is square and symmetric up to ASYMMETRY."""
        n, d = X.shape
        if n != d:
            raise DataError(
                f"--kernel precomputed: the table has {counted(n, 'row')} and {counted(d, 'column')}, "
                "but a kernel matrix is square",
                "give one row and one column for each sample",
            )
        gap = np.abs(X - X.T)
        i, j = divmod(int(gap.argmax()), n)
        if not gap[i, j] <= ASYMMETRY * float(np.abs(X).max()):
            raise DataError(
                f"--kernel precomputed: the table is not symmetric: row {i + 1}, column {j + 1} is {X[i, j]:.6g}, "
                f"but row {j + 1}, column {i + 1} is {X[j, i]:.6g}",
                "give a symmetric table, with the columns in the same order as the rows",
            )
        return (X + X.T) / 2

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """Return bounds (h,) on the sum of the absolute errors in each row of K (h, n).

        The values of the table count as exact; the only error is the rounding of the mean of K_ij and K_ji.
        """
        return np.asarray(np.abs(K).sum(axis=1) * (EPS / 2))

    def cross(self, X: Array, T: Array) -> Array:
        return np.array(X)
