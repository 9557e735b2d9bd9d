"""Count, mean and scatter of rows, one block at a time, accurate at any offset; and centring of single rows.

Three steps keep the digits that the textbook form X^T X - n mu mu^T loses:
1. The first row is subtracted from every row.
2. Each block is centred on its own mean before it is multiplied, and the scatter is corrected for the rounding of this
   mean.
3. Blocks are merged by the formula of Chan, Golub and LeVeque (1983, The American Statistician 37(3)), with the mean
   held as an unevaluated sum of two doubles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Accumulator, Array, Block, slabs
from pcatool.linalg.spectrum import EPS

__all__ = [
    "Centre",
    "ColumnMoments",
    "ColumnMomentsAccumulator",
    "Moments",
    "MomentsAccumulator",
    "center_block",
    "center_rows",
    "estimated_weight_errors",
    "row_means",
]


@np.errstate(over="ignore", invalid="ignore")  # overflow is visible in the result
def center_rows(X: Array) -> Array:
    """Return X (n, d) with the mean of each row subtracted from this row, accurate at any offset.

    The first observed cell of the row is subtracted before the mean is computed, so the numbers are small, and a row of
    equal cells gives exact zeros. Missing cells (NaN) stay missing; the mean is over the other cells.
    """
    Y = X - _first_cells(X)[:, None]
    Y -= _means(Y)[:, None]
    return Y


@np.errstate(over="ignore", invalid="ignore")  # overflow is visible in the result
def row_means(X: Array) -> Array:
    """Return the mean (n,) of each row of X (n, d) over its cells that are not NaN, accurate at any offset.

    The mean of a row without such cells is NaN.
    """
    first = _first_cells(X)
    means: Array = first + _means(X - first[:, None])
    return means


def _first_cells(X: Array) -> Array:
    """Return the first cell of each row that is not NaN, (n,); NaN for a row of only NaN."""
    first = X[:, 0].copy()
    missing = np.flatnonzero(np.isnan(first))
    first[missing] = X[missing, (~np.isnan(X[missing])).argmax(axis=1)]
    return first


def _means(Y: Array) -> Array:
    """Return the mean (n,) of each row of Y (n, d) over its cells that are not NaN, by plain addition.

    Columns are added one after the other, so the bits of a row's mean do not depend on the number of rows.
    """
    sums: Array = np.add.reduce(np.asfortranarray(Y), axis=1)
    missing = np.flatnonzero(np.isnan(sums))
    if len(missing) == 0:
        return np.asarray(sums / Y.shape[1])
    observed = np.full(len(Y), Y.shape[1])
    observed[missing] = (~np.isnan(Y[missing])).sum(axis=1)
    sums[missing] = np.add.reduce(np.where(np.isnan(Y[missing].T), 0.0, Y[missing].T), axis=0)
    return np.asarray(sums / np.where(observed > 0, observed, np.nan))


# Rows that `_varying` checks first: they show for most columns that the column varies.
FEW = 8

# Largest bound below which every whole number is exact in a double.
EXACT = 2.0**53

# Numpy sums pairwise: a term takes part in at most this many additions, plus one for each doubling of the length.
ADDITIONS = 25

# Smallest positive double: absolute error of a product that underflows.
LEAST = 5e-324


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum a + b and its exact rounding error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


class Centre(NamedTuple):
    """Count, weight and column means of some rows, about an origin; part of all sums, such as `Moments`.

    Only centres with the same origin can be merged.
    """

    rows: int
    weight: float  # number of rows, or the sum of their weights
    pairs: float  # sum of w_i w_j over i != j: (sum w)^2 - sum w^2 without the cancellation
    origin: Array  # (d,) subtracted from every row
    high: Array  # (d,) mean of the shifted rows: the leading double of a pair
    low: Array  # (d,) the trailing double of the pair
    varies: NDArray[np.bool_]  # (d,) whether some row differs from the origin in this column
    weight_error: float = 0.0  # error bound of `weight`; 0 for whole weights, whose sum is exact
    pairs_error: float = 0.0  # error bound of `pairs`

    @property
    def mean(self) -> Array:
        """Column means in the units of the data, (d,)."""
        high, low = two_sum(self.origin, self.high)
        return high + (low + self.low)

    def merge(self, other: Centre) -> tuple[Centre, Array, float]:
        """Return the centre of both groups of rows, delta (d,) and a weight.

        delta is the mean of `other` minus the mean of self. The scatter of both groups is the sum of their scatters
        plus weight * delta delta^T.
        """
        weight = self.weight + other.weight
        delta = (other.high - self.high) + (other.low - self.low)
        high, low = two_sum(self.high, delta * (other.weight / weight))
        high, low = two_sum(high, low + self.low)
        varies = self.varies | other.varies
        pairs = self.pairs + other.pairs + 2 * self.weight * other.weight
        errors = self._errors(other, weight, pairs, self.weight, other.weight)
        merged = Centre(self.rows + other.rows, weight, pairs, self.origin, high, low, varies, *errors)
        return merged, delta, self.weight * (other.weight / weight)

    def with_origin_zero(self) -> Centre:
        """Return the centre of the same rows with origin 0; `varies` is kept, so constant columns stay constant."""
        high, low = two_sum(self.origin, self.high)
        high, low = two_sum(high, low + self.low)
        return self._replace(origin=np.zeros(len(high)), high=high, low=low)

    def subtract(self, other: Centre) -> tuple[Centre, Array, float]:
        """Undo `merge`: return the centre of these rows without the rows of `other`, delta (d,) and a weight.

        delta is the mean of `other` minus the mean of the remaining rows. The scatter of the remaining rows is the
        scatter of self minus that of `other` minus weight * delta delta^T.
        """
        weight = self.weight - other.weight
        gap = (other.high - self.high) + (other.low - self.low)
        high, low = two_sum(self.high, gap * (-other.weight / weight))
        high, low = two_sum(high, low + self.low)
        pairs = max(self.pairs - other.pairs - 2 * weight * other.weight, 0.0)
        weight_error, pairs_error = self._errors(other, self.weight, self.pairs, weight, other.weight)
        left = self._replace(
            rows=self.rows - other.rows,
            weight=weight,
            pairs=pairs,
            high=high,
            low=low,
            weight_error=weight_error,
            pairs_error=pairs_error,
        )
        delta = (other.high - high) + (other.low - low)
        return left, delta, weight * (other.weight / self.weight)

    def _errors(self, other: Centre, weight: float, pairs: float, one: float, two: float) -> tuple[float, float]:
        """Return the bounds `weight_error` and `pairs_error` of the result of `merge` or `subtract`.

        `weight` and `pairs` are the largest of the numbers that are added or subtracted; `one` and `two` are the
        weights of the two groups of rows, whose product is a term of `pairs`.
        """
        off = self.weight_error + other.weight_error
        if off or weight >= EXACT or not (self.weight.is_integer() and other.weight.is_integer()):
            off += EPS * weight / 2
        product = self.pairs_error + other.pairs_error + 2 * off * (one + two + off)
        if product or pairs >= EXACT or not (self.pairs.is_integer() and other.pairs.is_integer()):
            product += 2 * EPS * pairs + LEAST
        return off, product

    def divisor_error(self, ddof: int, *, reliability: bool) -> float:
        """Return the relative error bound of `divisor(ddof)`; infinite if the divisor is not above 0.

        `reliability` says that the weights are reliability weights, not frequencies. When rows are removed, the bound
        grows: the errors of the sum of weights remain, and the sum becomes smaller.
        """
        divisor = self.divisor(ddof, reliability=reliability)
        if not divisor > 0:
            return math.inf
        if reliability and ddof == 1:
            off = self.weight_error / self.weight + self.pairs_error / self.pairs
        else:
            off = self.weight_error / divisor
        return off + EPS if off else 0.0

    def divisor(self, ddof: int, *, reliability: bool) -> float:
        """Return the divisor of the variance: W - ddof, with W the number of rows or the sum of their weights w.

        With ddof 1 and `reliability`, for reliability weights, the divisor is W - sum w^2 / W.
        """
        return self.pairs / self.weight if reliability and ddof == 1 else self.weight - ddof

    def take(self, columns: NDArray[np.intp]) -> Centre:
        """Return the centre of the columns at these indices only."""
        fields = ("origin", "high", "low", "varies")
        return self._replace(**{name: getattr(self, name)[columns] for name in fields})


def _varying(Y: Array) -> NDArray[np.bool_]:
    """Return a mask (d,) of the columns of Y (n, d) that are not all zero; a few rows are checked first, for speed."""
    varies = np.asarray(Y[:FEW].any(axis=0))
    if not varies.all():
        varies[~varies] = Y[:, ~varies].any(axis=0)
    return varies


def center_block(
    X: Array, origin: Array, w: Array | None = None, *, out: Array | None = None
) -> tuple[Centre, Array, Array]:
    """Return the centre of the rows X (n, d), the centred rows times sqrt(w), and the weighted sum of the centred rows.

    This sum (d,) would be 0 without rounding. `w` (n,) are the weights; without weights, each is 1. `origin` (d,) is
    subtracted from the rows first. `out` (n, d), which may be X, is overwritten by the second result.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        Y = np.subtract(X, origin, out=out)
        varies = _varying(Y)
        if w is None:
            weight = float(len(X))
            pairs = weight * (weight - 1)
            errors = (0.0, 0.0)
            mean = Y.mean(axis=0)
            Y -= mean
            rest = Y.sum(axis=0)
        else:
            weight = float(w.sum())
            pairs = 2 * float(w[1:] @ np.cumsum(w)[:-1])
            errors = _sum_errors(w, weight, pairs)
            mean = (w @ Y) / weight
            Y -= mean
            rest = w @ Y
            Y *= np.sqrt(w)[:, None]
    high, low = two_sum(mean, rest / weight)
    return Centre(len(X), weight, pairs, origin, high, low, varies, *errors), Y, rest


def estimated_weight_errors(rows: int, weight: float, pairs: float) -> tuple[float, float]:
    """Return estimated errors of the sums `weight` and `pairs` of a `Centre`, for models that store no bounds.

    Whole sums are exact; other errors add up like the steps of a random walk.
    """
    step = EPS * math.sqrt(rows)
    weight_error, pairs_error = (0.0 if sum_.is_integer() and sum_ < EXACT else step * sum_ for sum_ in (weight, pairs))
    return weight_error, pairs_error


def _sum_errors(w: Array, weight: float, pairs: float) -> tuple[float, float]:
    """Return error bounds of `weight`, the sum of w (n,), and of `pairs`, the sum of w_i w_j over i != j.

    The bound of `pairs` is larger, because numpy adds the products one after the other, not pairwise.
    """
    n = len(w)
    whole = bool(np.all(w == np.rint(w)))
    off = 0.0 if n < 2 or (whole and weight < EXACT) else min(n, ADDITIONS + math.log2(n)) * EPS / 2 * weight
    return off, 0.0 if n < 2 or (whole and pairs < EXACT) else n * (EPS * pairs + LEAST)


class Moments(NamedTuple):
    """The centre and the scatter of some rows, a sufficient statistic for PCA."""

    centre: Centre
    scatter: Array  # (d, d) sum of w (x - mu)(x - mu)^T

    @classmethod
    def of_block(cls, X: Array, origin: Array, w: Array | None = None) -> Moments:
        """Return the moments, about `origin` (d,), of the rows X (n, d) with weights w (n,)."""
        centre, Y, rest = center_block(X, origin, w)
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = Y.T @ Y
            scatter -= np.outer(rest, rest / centre.weight)
        return cls(centre, scatter)

    def merge(self, other: Moments) -> Moments:
        """Return the moments of these rows followed by the rows of `other`; overwrites self's scatter."""
        centre, delta, weight = self.centre.merge(other.centre)
        scatter = self.scatter
        with np.errstate(over="ignore", invalid="ignore"):
            scatter += other.scatter
            scatter += np.outer(delta, delta * weight)
        return Moments(centre, scatter)

    def subtract(self, other: Moments) -> Moments:
        """Return the moments of these rows without the rows of `other`, which must be among these rows."""
        centre, delta, weight = self.centre.subtract(other.centre)
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = self.scatter - other.scatter
            scatter -= np.outer(delta, delta * weight)
            scatter = (scatter + scatter.T) / 2  # the asymmetry may be as large as the entries that remain
        return Moments(centre, scatter)

    def with_squares(self, squares: Array) -> Moments:
        """Return a copy with `squares` (d,) on the diagonal of the scatter."""
        scatter = self.scatter.copy()
        np.fill_diagonal(scatter, squares)
        return Moments(self.centre, scatter)

    def without(self, columns: NDArray[np.intp]) -> Moments:
        """Return a copy with the scatter 0 in the rows and columns at the indices `columns`, as if constant."""
        if not len(columns):
            return self
        scatter = self.scatter.copy()
        scatter[columns] = scatter[:, columns] = 0.0
        return Moments(self.centre, scatter)

    def take(self, columns: NDArray[np.intp]) -> Moments:
        """Return the moments of the columns at these indices only."""
        return Moments(self.centre.take(columns), self.scatter[np.ix_(columns, columns)])

    @property
    def size(self) -> int:
        """Number of elements of the scatter."""
        return int(self.scatter.size)

    @property
    def squares(self) -> Array:
        """Sum of w (x - mu)^2 of each column, (d,)."""
        return np.diagonal(self.scatter)

    @property
    def sizes(self) -> Array:
        """Sums of squares (d,) to which relative rounding errors refer: those of the columns."""
        return self.squares

    def scatter_about_zero(self, *, overwrite: bool = False) -> Array:
        """Return the sum of w x x^T (d, d): the scatter plus W mu mu^T, two terms that do not cancel.

        With `overwrite`, the result takes the place of the scatter.
        """
        mu = self.centre.mean
        S = self.scatter if overwrite else self.scatter.copy()
        for rows in slabs(len(mu)):  # some rows at a time, without a second matrix
            S[rows] += np.outer(mu[rows], mu * self.centre.weight)
        return S


class MomentsAccumulator(Accumulator[Block, Moments]):
    """Adds up blocks of rows to `Moments`; the origin (d,) is subtracted from each row."""

    def __init__(self, origin: Array) -> None:
        self.origin = origin

    @property
    def part_bytes(self) -> int:
        """Bytes of the scatter of one block."""
        return 8 * len(self.origin) ** 2

    def of_block(self, block: Block) -> Moments:
        """Return the moments of one block."""
        X, w = block
        return Moments.of_block(X, self.origin, w)

    def merge(self, one: Moments, other: Moments) -> Moments:
        """Return the moments of the rows of `one` followed by those of `other`; overwrites the scatter of `one`."""
        return one.merge(other)


class ColumnMoments(NamedTuple):
    """The centre of some rows and the sums of squares of their columns, without the d x d scatter."""

    centre: Centre
    squares: Array  # (d,) sum of w (x - mu)^2

    @classmethod
    def of_block(cls, X: Array, origin: Array, w: Array | None = None) -> ColumnMoments:
        """Return the column moments, about `origin` (d,), of the rows X (n, d) with weights w (n,)."""
        centre, Y, rest = center_block(X, origin, w)
        with np.errstate(over="ignore", invalid="ignore"):
            return cls(centre, np.einsum("ij,ij->j", Y, Y) - rest * rest / centre.weight)

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        """Return the column moments of these rows followed by the rows of `other`."""
        with np.errstate(over="ignore", invalid="ignore"):
            centre, delta, weight = self.centre.merge(other.centre)
            return ColumnMoments(centre, self.squares + other.squares + delta * delta * weight)


class ColumnMomentsAccumulator(Accumulator[Block, ColumnMoments]):
    """Adds up blocks of rows to `ColumnMoments`; the origin (d,) is subtracted from each row."""

    def __init__(self, origin: Array) -> None:
        self.origin = origin

    @property
    def part_bytes(self) -> int:
        """Bytes of one sum over rows, (d,)."""
        return 8 * len(self.origin)

    def of_block(self, block: Block) -> ColumnMoments:
        """Return the column moments of one block."""
        X, w = block
        return ColumnMoments.of_block(X, self.origin, w)

    def merge(self, one: ColumnMoments, other: ColumnMoments) -> ColumnMoments:
        """Return the column moments of the rows of `one` followed by those of `other`."""
        return one.merge(other)
