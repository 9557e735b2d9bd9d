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

from pcatool.arrays import Accumulator, Array, Block
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

    A cell of the row is subtracted first, so the differences are small, and a row of equal cells gives exact zeros.
    Missing cells (NaN) stay missing; the mean is over the other cells.
    """
    Y = X - _first_cells(X)[:, None]
    Y -= _means(Y)[:, None]
    return Y


@np.errstate(over="ignore", invalid="ignore")  # overflow is visible in the result
def row_means(X: Array) -> Array:
    """Return the mean of each row over its cells that are not NaN, (n,)."""
    first = _first_cells(X)
    means: Array = first + _means(X - first[:, None])
    return means


def _first_cells(X: Array) -> Array:
    """Return the first cell of each row that is not NaN, (n,); NaN if all are missing."""
    first = X[:, 0].copy()
    missing = np.flatnonzero(np.isnan(first))
    first[missing] = X[missing, (~np.isnan(X[missing])).argmax(axis=1)]
    return first


def _means(Y: Array) -> Array:
    """Return the mean of each row over its cells that are not NaN, (n,).

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
    """Count, weight and mean of some rows, about an origin; held by every part of sums over rows.

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
        """Return the centre of both groups, the difference of their means (d,), and the weight of its square.

        The merged scatter is the sum of both scatters plus this weight times delta delta^T.
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
        """Undo `merge`: return the centre of these rows without the rows of `other`.

        Also returned, as by `merge`: the difference of the means (d,), and the weight of its square in the scatter.
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
        """Return the error bounds of the weight and pairs that result from one addition or subtraction.

        `weight` and `pairs` are the largest numbers in the operation; `one` and `two` are the weights whose product is
        added to the pairs.
        """
        off = self.weight_error + other.weight_error
        if off or weight >= EXACT or not (self.weight.is_integer() and other.weight.is_integer()):
            off += EPS * weight / 2
        product = self.pairs_error + other.pairs_error + 2 * off * (one + two + off)
        if product or pairs >= EXACT or not (self.pairs.is_integer() and other.pairs.is_integer()):
            product += 2 * EPS * pairs + LEAST
        return off, product

    def divisor_error(self, ddof: int, *, reliability: bool) -> float:
        """Return the relative error bound of `divisor`; infinite if the divisor is not above 0.

        The rounding errors of a sum of weights remain when rows are removed, and the sum becomes smaller.
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
        """Return the divisor of the variance: W - ddof, with W the number of rows or the sum of their weights.

        Reliability weights with ddof 1 give W - sum w^2 / W.
        """
        return self.pairs / self.weight if reliability and ddof == 1 else self.weight - ddof

    def take(self, columns: NDArray[np.intp]) -> Centre:
        """Return the centre of the given columns only."""
        fields = ("origin", "high", "low", "varies")
        return self._replace(**{name: getattr(self, name)[columns] for name in fields})


def _varying(Y: Array) -> NDArray[np.bool_]:
    """Return a mask (d,) of the columns that are not all zero; the first few rows are checked first, for speed."""
    varies = np.asarray(Y[:FEW].any(axis=0))
    if not varies.all():
        varies[~varies] = Y[:, ~varies].any(axis=0)
    return varies


def center_block(
    X: Array, origin: Array, w: Array | None = None, *, out: Array | None = None
) -> tuple[Centre, Array, Array]:
    """Return the centre of the rows X (n, d), the centred rows times sqrt(w), and the weighted sum of the centred rows.

    This sum (d,) would be 0 without rounding. `out` receives the centred rows; `out` may be X.
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
    """Return estimated errors of the sums `weight` and `pairs` when no bounds were saved.

    Whole sums are exact; other errors add up like the steps of a random walk.
    """
    step = EPS * math.sqrt(rows)
    weight_error, pairs_error = (0.0 if sum_.is_integer() and sum_ < EXACT else step * sum_ for sum_ in (weight, pairs))
    return weight_error, pairs_error


def _sum_errors(w: Array, weight: float, pairs: float) -> tuple[float, float]:
    """Return error bounds of the sum of the weights w (n,) and of the sum of their products.

    The products are added one after the other, not pairwise.
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
        """Return the moments of the rows X (n, d) with weights w (n,)."""
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
        """Return a copy with the given sums of squares (d,) on the diagonal."""
        scatter = self.scatter.copy()
        np.fill_diagonal(scatter, squares)
        return Moments(self.centre, scatter)

    def without(self, columns: NDArray[np.intp]) -> Moments:
        """Return a copy in which the given columns are constant, equal to their mean."""
        if not len(columns):
            return self
        scatter = self.scatter.copy()
        scatter[columns] = scatter[:, columns] = 0.0
        return Moments(self.centre, scatter)

    def take(self, columns: NDArray[np.intp]) -> Moments:
        """Return the moments of the given columns only."""
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
        """Reference values (d,) of the relative rounding errors: the sums of squares of the columns."""
        return self.squares

    def scatter_about_zero(self) -> Array:
        """Return the sum of w x x^T (d, d). Both terms are positive semidefinite, so no digits cancel."""
        mu = self.centre.mean
        return self.scatter + np.outer(mu, mu * self.centre.weight)


class MomentsAccumulator(Accumulator[Block, Moments]):
    """Adds up the moments of rows, about an origin (d,)."""

    def __init__(self, origin: Array) -> None:
        self.origin = origin

    @property
    def part_bytes(self) -> int:
        """Bytes of one scatter."""
        return 8 * len(self.origin) ** 2

    def of_block(self, block: Block) -> Moments:
        """Return the moments of one block."""
        X, w = block
        return Moments.of_block(X, self.origin, w)

    def merge(self, one: Moments, other: Moments) -> Moments:
        """Return the moments of both; overwrites the scatter of `one`."""
        return one.merge(other)


class ColumnMoments(NamedTuple):
    """The centre and the sums of squares of the columns of some rows, without the d x d scatter."""

    centre: Centre
    squares: Array  # (d,) sum of w (x - mu)^2

    @classmethod
    def of_block(cls, X: Array, origin: Array, w: Array | None = None) -> ColumnMoments:
        """Return the column moments of the rows X (n, d) with weights w (n,)."""
        centre, Y, rest = center_block(X, origin, w)
        with np.errstate(over="ignore", invalid="ignore"):
            return cls(centre, np.einsum("ij,ij->j", Y, Y) - rest * rest / centre.weight)

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        """Return the column moments of these rows followed by the rows of `other`."""
        with np.errstate(over="ignore", invalid="ignore"):
            centre, delta, weight = self.centre.merge(other.centre)
            return ColumnMoments(centre, self.squares + other.squares + delta * delta * weight)


class ColumnMomentsAccumulator(Accumulator[Block, ColumnMoments]):
    """Adds up the column moments of rows, about an origin (d,)."""

    def __init__(self, origin: Array) -> None:
        self.origin = origin

    @property
    def part_bytes(self) -> int:
        """Bytes of one row of sums."""
        return 8 * len(self.origin)

    def of_block(self, block: Block) -> ColumnMoments:
        """Return the column moments of one block."""
        X, w = block
        return ColumnMoments.of_block(X, self.origin, w)

    def merge(self, one: ColumnMoments, other: ColumnMoments) -> ColumnMoments:
        """Return the column moments of both."""
        return one.merge(other)
