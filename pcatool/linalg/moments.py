"""Count, mean and scatter of rows, one block at a time, accurate at any offset; and centring of single rows.

Count, mean and scatter of rows, one block at a time, to nearly the last digit whatever the offset.
Three steps keep the digits that the textbook form X^T X - n mu mu^T loses:
the first row is subtracted from every row; each block is centred on its own mean before it is multiplied, and the
rounding of that mean is taken back out; blocks are merged by the formula of Chan, Golub and LeVeque (1983, The American
Statistician 37(3)) with the mean held as an unevaluated sum of two doubles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.spectrum import EPS

__all__ = ["Centre", "Moments", "center_block", "center_rows", "gather", "row_means", "usual_errors"]


@np.errstate(over="ignore", invalid="ignore")  # shows in the result
def center_rows(X: Array) -> Array:
    """X (n, d) with its own mean subtracted from each row, to the last digit however bright the row is.

    A cell of it goes first: what is left is small, and equal cells leave nothing at all. Holes stay holes, and the mean
    is that of the other cells.
    """
    Y = X - _first_cells(X)[:, None]
    Y -= _means(Y)[:, None]
    return Y


@np.errstate(over="ignore", invalid="ignore")  # shows in the result
def row_means(X: Array) -> Array:
    """(n,) each row's own mean."""
    first = _first_cells(X)
    means: Array = first + _means(X - first[:, None])
    return means


def _first_cells(X: Array) -> Array:
    """(n,) of each row a cell that is there; NaN for none."""
    first = X[:, 0].copy()
    holes = np.flatnonzero(np.isnan(first))
    first[holes] = X[holes, (~np.isnan(X[holes])).argmax(axis=1)]
    return first


def _means(Y: Array) -> Array:
    """Column after column, so that a row's mean does not depend on how many rows come with it."""
    sums: Array = np.add.reduce(np.asfortranarray(Y), axis=1)
    holes = np.flatnonzero(np.isnan(sums))
    if len(holes) == 0:
        return np.asarray(sums / Y.shape[1])
    there = np.full(len(Y), Y.shape[1])
    there[holes] = (~np.isnan(Y[holes])).sum(axis=1)
    sums[holes] = np.add.reduce(np.where(np.isnan(Y[holes].T), 0.0, Y[holes].T), axis=0)
    return np.asarray(sums / np.where(there > 0, there, np.nan))


# Rows that are looked at before all are.
FEW = 8

# Whole numbers up to here are exact.
EXACT = 2.0**53

# numpy adds numbers up in pairs of pairs: no term takes part in more additions than these and one for each doubling.
ADDITIONS = 25

# The least number that a double holds: what a product near the lower end of doubles is off by, beside its rounding.
LEAST = 5e-324


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as the rounded sum and what the rounding left out, exactly (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


class Centre(NamedTuple):
    """Count and mean of some rows, about an origin that all rows share."""

    rows: int
    weight: float  # the number of rows, or the sum of their weights
    pairs: float  # sum of w_i w_j over i != j: (sum w)^2 - sum w^2 without its cancellation
    origin: Array  # (d,) subtracted from every row
    high: Array  # (d,) mean of the shifted rows, as a pair of doubles
    low: Array  # (d,)
    varies: NDArray[np.bool_]  # (d,) some row differs from the origin in this column
    weight_error: float = 0.0  # the most that `weight` is off by; 0 of whole weights, which add up exactly
    pairs_error: float = 0.0  # likewise of `pairs`

    @property
    def mean(self) -> Array:
        """The column means in the units of the data."""
        high, low = two_sum(self.origin, self.high)
        return high + (low + self.low)

    def merge(self, other: Centre) -> tuple[Centre, Array, float]:
        """The centre of both, the difference of their means, and the weight of its square in the scatter."""
        weight = self.weight + other.weight
        delta = (other.high - self.high) + (other.low - self.low)
        high, low = two_sum(self.high, delta * (other.weight / weight))
        high, low = two_sum(high, low + self.low)
        varies = self.varies | other.varies
        pairs = self.pairs + other.pairs + 2 * self.weight * other.weight
        errors = self._errors(other, weight, pairs, self.weight, other.weight)
        merged = Centre(self.rows + other.rows, weight, pairs, self.origin, high, low, varies, *errors)
        return merged, delta, self.weight * (other.weight / weight)

    def about_zero(self) -> Centre:
        """The same rows about 0, which is no row of anybody's; a column that is constant still does not vary."""
        high, low = two_sum(self.origin, self.high)
        high, low = two_sum(high, low + self.low)
        return self._replace(origin=np.zeros(len(high)), high=high, low=low)

    def less(self, other: Centre) -> tuple[Centre, Array, float]:
        """What `merge` undoes: the centre of the rows that are left without the others, and the same two beside it."""
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
        """The errors of a weight and of pairs that come of these and others by one addition or subtraction.

        `weight` and `pairs` are the largest numbers in it, and `one` and `two` those whose product is in the pairs.
        """
        off = self.weight_error + other.weight_error
        if off or weight >= EXACT or not (self.weight.is_integer() and other.weight.is_integer()):
            off += EPS * weight / 2
        product = self.pairs_error + other.pairs_error + 2 * off * (one + two + off)
        if product or pairs >= EXACT or not (self.pairs.is_integer() and other.pairs.is_integer()):
            product += 2 * EPS * pairs + LEAST
        return off, product

    def blur(self, ddof: int, *, reliability: bool) -> float:
        """To what part of itself `divisor` is known: the rounding of a sum of weights outlives what is taken off it."""
        divisor = self.divisor(ddof, reliability=reliability)
        if not divisor > 0:
            return math.inf
        if reliability and ddof == 1:
            off = self.weight_error / self.weight + self.pairs_error / self.pairs
        else:
            off = self.weight_error / divisor
        return off + EPS if off else 0.0

    def divisor(self, ddof: int, *, reliability: bool) -> float:
        """n - ddof; with weights the number of rows is their sum W, and reliability takes W - sum w^2 / W."""
        return self.pairs / self.weight if reliability and ddof == 1 else self.weight - ddof

    def take(self, columns: NDArray[np.intp]) -> Centre:
        """Of some columns only."""
        fields = ("origin", "high", "low", "varies")
        return self._replace(**{name: getattr(self, name)[columns] for name in fields})


def _varying(Y: Array) -> NDArray[np.bool_]:
    """Which columns hold something but 0; the first rows tell of most."""
    varies = np.asarray(Y[:FEW].any(axis=0))
    if not varies.all():
        varies[~varies] = Y[:, ~varies].any(axis=0)
    return varies


def center_block(
    X: Array, origin: Array, w: Array | None = None, *, out: Array | None = None
) -> tuple[Centre, Array, Array]:
    """The centre of the rows X (n, d), the rows about it times sqrt(w), and the sum that rounding left in them.

    `out` takes the rows about the centre; it may be X.
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


def usual_errors(rows: int, weight: float, pairs: float) -> tuple[float, float]:
    """Errors of sums of weights of which no more is known: as of the steps of a random walk, or none of counts."""
    step = EPS * math.sqrt(rows)
    weight_error, pairs_error = (0.0 if sum_.is_integer() and sum_ < EXACT else step * sum_ for sum_ in (weight, pairs))
    return weight_error, pairs_error


def _sum_errors(w: Array, weight: float, pairs: float) -> tuple[float, float]:
    """How far the sum of weights may be off, and that of their products, which is taken one after the other."""
    n = len(w)
    whole = bool(np.all(w == np.rint(w)))
    off = 0.0 if n < 2 or (whole and weight < EXACT) else min(n, ADDITIONS + math.log2(n)) * EPS / 2 * weight
    return off, 0.0 if n < 2 or (whole and pairs < EXACT) else n * (EPS * pairs + LEAST)


class Moments(NamedTuple):
    """The sufficient statistic of PCA for some rows."""

    centre: Centre
    scatter: Array  # (d, d) sum of w (x - mu)(x - mu)^T

    @classmethod
    def of_block(cls, X: Array, origin: Array, w: Array | None = None) -> Moments:
        centre, Y, rest = center_block(X, origin, w)
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = Y.T @ Y
            scatter -= np.outer(rest, rest / centre.weight)
        return cls(centre, scatter)

    def merge(self, other: Moments) -> Moments:
        """Moments of these rows followed by the others; self's scatter is used up."""
        centre, delta, weight = self.centre.merge(other.centre)
        scatter = self.scatter
        with np.errstate(over="ignore", invalid="ignore"):
            scatter += other.scatter
            scatter += np.outer(delta, delta * weight)
        return Moments(centre, scatter)

    def less(self, other: Moments) -> Moments:
        """Moments of these rows without the others, which are among them."""
        centre, delta, weight = self.centre.less(other.centre)
        with np.errstate(over="ignore", invalid="ignore"):
            scatter = self.scatter - other.scatter
            scatter -= np.outer(delta, delta * weight)
            scatter = (scatter + scatter.T) / 2  # what is left may be no larger than their difference
        return Moments(centre, scatter)

    def with_squares(self, squares: Array) -> Moments:
        """The same with other squares (d,)."""
        scatter = self.scatter.copy()
        np.fill_diagonal(scatter, squares)
        return Moments(self.centre, scatter)

    def without(self, columns: NDArray[np.intp]) -> Moments:
        """The same with nothing but the mean in some columns."""
        if not len(columns):
            return self
        scatter = self.scatter.copy()
        scatter[columns] = scatter[:, columns] = 0.0
        return Moments(self.centre, scatter)

    def take(self, columns: NDArray[np.intp]) -> Moments:
        """Of some columns only."""
        return Moments(self.centre.take(columns), self.scatter[np.ix_(columns, columns)])

    @property
    def size(self) -> int:
        """How many products there are."""
        return int(self.scatter.size)

    @property
    def squares(self) -> Array:
        """(d,) sum of w (x - mu)^2 of each column."""
        return np.diagonal(self.scatter)

    @property
    def sizes(self) -> Array:
        """(d,) what rounding is told in parts of."""
        return self.squares

    def scatter_about_zero(self) -> Array:
        """Sum of w x x^T: both parts are positive, so nothing cancels."""
        mu = self.centre.mean
        return self.scatter + np.outer(mu, mu * self.centre.weight)


def gather(parts: Iterable[Moments]) -> Moments:
    """Moments of all blocks, merged in their order."""
    return reduce(Moments.merge, parts)
