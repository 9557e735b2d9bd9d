"""Moments of rows whose missing cells are replaced by column means, in one pass.

With y = x - mu in an observed cell and 0 in a missing cell, the scatter of the filled rows is sum y y^T. The mean is
known only at the end. So each block is centred on the means of its own observed cells, and sums of blocks are merged
about their common means, as in `linalg.moments`. Moving a mean needs two more sums for every two columns i and j: the
weight of the rows that observe both, and the sum of y_j over the rows that observe i.
Blocks without missing cells are summed by `linalg.moments`: a complete table gets the bits of a fit without imputation.
Cost: n d^2, and twice that for the columns with missing cells. Memory: 3 d^2, and as much for each block under way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Accumulator, Array, Block
from pcatool.linalg.moments import Centre, Moments, estimated_weight_errors, two_sum
from pcatool.linalg.row_sums import STEP, relative_errors
from pcatool.linalg.spectrum import EPS
from pcatool.solvers.base import check_columns, column_rounding

__all__ = ["MissingSums", "PairSums", "PairsAccumulator", "moving_bytes", "pair_bytes"]

# Bytes of the rows of a d x d matrix that are moved to other means at a time: a merge needs no second matrix.
SLAB_BYTES = 1 << 18

# Working copies of these rows while they are moved, one for each term of the sum.
SLAB_COPIES = 5


def pair_bytes(d: int) -> int:
    """Bytes of the three d x d matrices of a `PairSums`."""
    return 3 * 8 * d * d


def moving_bytes(d: int) -> int:
    """Working bytes to change the means of a `PairSums`, or to merge two of them, besides their matrices."""
    return SLAB_COPIES * min(SLAB_BYTES, 8 * d * d)


def _slabs(d: int) -> Iterator[slice]:
    """Yield slices of the rows of a d x d matrix, each of at most SLAB_BYTES, but of at least one row."""
    step = max(SLAB_BYTES // (8 * d), 1)
    return (slice(at, at + step) for at in range(0, d, step))


class PairSums(NamedTuple):
    """Sums over rows with missing cells, about the means of the observed cells.

    A cell is y = x - origin - high - low if it is observed, and y = 0 if it is missing. Made of blocks by
    `PairsAccumulator`, then merged in order of the rows.
    """

    rows: int  # number of rows
    weight: float  # number of rows, or the sum of their weights
    pairs: float  # sum of w_i w_j over i != j
    origin: Array  # (d,) subtracted from every row
    high: Array  # (d,) means of the shifted cells, as a pair of doubles; 0 for a column without observed cells
    low: Array  # (d,) second part of the pair
    first: Array  # (d,) an observed cell of each column, NaN for none
    varies: NDArray[np.bool_]  # (d,) whether an observed cell differs from `first`
    both: Array  # (d, d) [i, j]: weight of the rows that observe both columns i and j
    cross: Array  # (d, d) [i, j]: sum of w y_j over the rows that observe column i
    scatter: Array  # (d, d) sum of w y y^T

    @classmethod
    def of_plain(cls, moments: Moments) -> PairSums:
        """Return the sums over complete rows, from their moments.

        All of `cross` is 0: each entry is the sum of a whole column about its mean.
        """
        c, d = moments.centre, len(moments.scatter)
        return cls(
            c.rows, c.weight, c.pairs, c.origin, c.high, c.low, c.origin, c.varies,
            np.full((d, d), c.weight), np.zeros((d, d)), moments.scatter,
        )  # fmt: skip

    @property
    def observed_weight(self) -> Array:
        """Weight of the observed cells of each column, (d,)."""
        return np.diagonal(self.both)

    def _cross_about(self, t: Array, rows: slice) -> Array:
        """Return the rows `rows` of the matrix `cross`, about means that are larger by t (d,)."""
        return self.cross[rows] - self.both[rows] * t

    def _scatter_about(self, t: Array, rows: slice) -> Array:
        """Return the rows `rows` of the matrix `scatter`, about means that are larger by t (d,)."""
        crossed = (self.cross[:, rows] * t[:, None]).T
        return self.scatter[rows] - self.cross[rows] * t[rows, None] - crossed + np.outer(t[rows], t) * self.both[rows]

    def _move(self, t: Array) -> None:
        """Overwrite `scatter` and `cross` with sums about means that are larger by t (d,); `high` and `low` stay."""
        # The scatter is first, since it needs the old `cross`.
        for rows in _slabs(len(t)):
            self.scatter[rows] = self._scatter_about(t, rows)
        for rows in _slabs(len(t)):
            self.cross[rows] = self._cross_about(t, rows)

    def merge(self, other: PairSums) -> PairSums:
        """Return the sums over the rows of `self` followed by those of `other`; overwrites the matrices of `self`."""
        mine, theirs = self.observed_weight > 0, other.observed_weight > 0
        delta = np.where(mine & theirs, (other.high - self.high) + (other.low - self.low), 0.0)
        share = np.divide(
            other.observed_weight, self.observed_weight + other.observed_weight, out=np.zeros(len(delta)), where=theirs
        )
        high, low = two_sum(np.where(mine, self.high, other.high), delta * share)
        high, low = two_sum(high, low + np.where(mine, self.low, other.low))
        self._move((high - self.high) + (low - self.low))
        t = (high - other.high) + (low - other.low)
        for rows in _slabs(len(t)):
            self.scatter[rows] += other._scatter_about(t, rows)
            self.cross[rows] += other._cross_about(t, rows)
        np.add(self.both, other.both, out=self.both)
        return PairSums(
            self.rows + other.rows,
            self.weight + other.weight,
            self.pairs + other.pairs + 2 * self.weight * other.weight,
            self.origin,
            high,
            low,
            np.where(mine, self.first, other.first),
            self.varies | other.varies | (mine & theirs & (self.first != other.first)),
            self.both,
            self.cross,
            self.scatter,
        )

    def with_origin_zero(self) -> PairSums:
        """Return the sums with origin 0 and adapted means, so that `origin` shows no row of the input."""
        high, low = two_sum(self.origin, self.high)
        high, low = two_sum(high, low + self.low)
        none = self.observed_weight == 0
        high[none] = low[none] = 0.0
        return self._replace(origin=np.zeros(len(high)), high=high, low=low)

    def check(self, columns: Sequence[str]) -> None:
        """Raise `DataError` if a column has no observed cell."""
        check_columns(self.observed_weight, columns)

    def filled(self) -> Moments:
        """Return the moments of the rows with column means in the missing cells."""
        errors = estimated_weight_errors(self.rows, self.weight, self.pairs)
        centre = Centre(self.rows, self.weight, self.pairs, self.origin, self.high, self.low, self.varies, *errors)
        return Moments(centre, self.scatter)


class MissingSums(NamedTuple):
    """Sums over the rows of a part of the input, with missing cells, and bounds on the rounding of these sums.

    The sums of several parts can be merged.
    """

    pairs: PairSums  # sums with origin 0
    rounding: Array  # (d,) bound on the relative rounding error of the centred cells of each column

    @classmethod
    def summed(cls, sums: Moments | PairSums) -> MissingSums:
        """Return the sums about the origin 0, from sums about any other, such as the first row, with error bounds."""
        pairs = PairSums.of_plain(sums) if isinstance(sums, Moments) else sums
        with np.errstate(all="ignore"):
            rounding = column_rounding(pairs.high, np.diagonal(pairs.scatter) / pairs.observed_weight)
        return cls(pairs.with_origin_zero(), rounding)

    def merged(self, other: MissingSums) -> MissingSums:
        """Return the sums over the rows of `self` followed by those of `other`; changes neither.

        Each merge rounds the sums; `rounding` grows by as much as for complete rows.
        """
        pairs = deepcopy(self.pairs).merge(other.pairs)
        mine, theirs, all_ = (np.diagonal(p.scatter) for p in (self.pairs, other.pairs, pairs))
        return MissingSums(
            pairs, relative_errors(STEP * EPS * all_ + self.rounding * mine + other.rounding * theirs, all_)
        )


class PairsAccumulator(Accumulator[Block, Moments | PairSums]):
    """Adds up rows with NaN in the missing cells; the result is `Moments` if no block has a missing cell.

    `origin` (d,) is subtracted first: a cell of each column, NaN for a column without an observed cell.
    """

    def __init__(self, origin: Array) -> None:
        self.origin = origin

    @property
    def part_bytes(self) -> int:
        """Bytes of one `PairSums`."""
        return pair_bytes(len(self.origin))

    @np.errstate(over="ignore", invalid="ignore")  # overflow is visible in the result
    def of_block(self, block: Block) -> Moments | PairSums:
        """Return the sums of one block: `Moments` if no cell is missing and `origin` has no NaN, else `PairSums`."""
        X, w = block
        return _of_rows(X, self.origin, w)

    @np.errstate(over="ignore", invalid="ignore")
    def merge(self, one: Moments | PairSums, other: Moments | PairSums) -> Moments | PairSums:
        """Return the sums over the rows of both, `Moments` if both are; overwrites the matrices of `one`."""
        if isinstance(one, Moments) and isinstance(other, Moments):
            return one.merge(other)
        mine, theirs = (PairSums.of_plain(part) if isinstance(part, Moments) else part for part in (one, other))
        return mine.merge(theirs)


def _of_rows(X: Array, origin: Array, w: Array | None) -> Moments | PairSums:
    """Return the sums over rows X (h, d) with NaN in the missing cells; `Moments` if no cell is missing.

    `origin` (d,) is a cell of each column, NaN for a column without an observed cell; then the result is `PairSums`.
    """
    missing = np.isnan(X).T  # transposed: each column is contiguous
    incomplete = missing.any(axis=1)
    if not incomplete.any() and not np.isnan(origin).any():
        return Moments.of_block(X, origin, w)
    origin = np.where(np.isnan(origin), 0.0, origin)
    observed = (~missing[incomplete]).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        weight = float(len(X)) if w is None else float(w.sum())
        observed_weight = np.full(len(origin), weight)
        observed_weight[incomplete] = observed.sum(axis=1) if w is None else observed @ w
        Y = X.T - origin[:, None]
        np.copyto(Y, 0.0, where=missing)
        first = np.where(observed_weight > 0, X[missing.argmin(axis=1), np.arange(len(origin))], np.nan)
        varies = (((first - origin)[:, None] != Y) & ~missing).any(axis=1)
        mean = (Y.sum(axis=1) if w is None else Y @ w) / np.where(observed_weight > 0, observed_weight, 1.0)
        Y -= mean[:, None]
        np.copyto(Y, 0.0, where=missing)
        weighted = Y if w is None else Y * w
        both = np.minimum.outer(observed_weight, observed_weight)  # right where at least one of two columns is complete
        both[np.ix_(incomplete, incomplete)] = (observed if w is None else observed * w) @ observed.T
        cross = np.zeros_like(both)
        cross[incomplete] = observed @ weighted.T
        pairs = weight * (weight - 1) if w is None else 2 * float(w[1:] @ np.cumsum(w)[:-1])
        low = np.zeros_like(mean)
        scatter = Y @ weighted.T
        part = PairSums(len(X), weight, pairs, origin, mean, low, first, varies, both, cross, scatter)
        return _correct_means(part, weighted.sum(axis=1))


def _correct_means(part: PairSums, rest: Array) -> PairSums:
    """Return the sums about means corrected by their rounding error; overwrites the matrices of `part`.

    `rest` (d,) is the weighted sum of each column about the old means, which only rounding error keeps from 0.
    """
    part.cross[part.observed_weight == part.weight] = rest
    high, low = two_sum(part.high, rest / np.where(part.observed_weight > 0, part.observed_weight, 1.0))
    part._move((high - part.high) + (low - part.low))
    part.cross[part.observed_weight == part.weight] = 0.0
    return part._replace(high=high, low=low)
