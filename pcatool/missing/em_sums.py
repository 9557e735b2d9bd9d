"""Sums over rows from which an EM step is computed: of blocks with NaN in the missing cells, and of compressed rows.

A slab is a few rows of a block, or of the compressed rows, whose arrays fit into the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from pcatool.arrays import Accumulator, Array, ArraySum, Block, Engine
from pcatool.linalg.sparse import SparseRows
from pcatool.missing.census import Index, group_by_pattern, order_by_group
from pcatool.missing.em_step import LOG_2_PI, EMSums, Parameters, Posterior, Units, pack_products
from pcatool.missing.likelihood import parameter_count, second_derivatives
from pcatool.solvers.rows import Rows

__all__ = ["Blocks", "Cells", "cells_at_a_time", "working_bytes"]

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Numbers in one slab of a block: half a megabyte stays in the cache, and threads do not wait for memory.
BLOCK_SLAB = 1 << 16

# Least rows in a slab, also of wide rows: the sums of a slab are larger than its rows.
FEWEST_ROWS = 64


def working_bytes(d: int, k: int) -> int:
    """Bytes of one slab of a block, and of the arrays that are computed from the slab."""
    return 8 * 16 * max(BLOCK_SLAB, FEWEST_ROWS * max(d, k * k))


Item = TypeVar("Item")


class StepAccumulator(Accumulator[Item, EMSums]):
    """Adds up the sums of an EM step, `function(item)`, of all items; `nbytes` are the bytes of one `EMSums`."""

    def __init__(self, function: Callable[[Item], EMSums], nbytes: int = 1) -> None:
        self.function = function
        self.nbytes = nbytes

    @property
    def part_bytes(self) -> int:
        """Bytes of one `EMSums`."""
        return self.nbytes

    def of_block(self, block: Item) -> EMSums:
        """Return the sums of one item."""
        return self.function(block)

    def merge(self, one: EMSums, other: EMSums) -> EMSums:
        """Return the sums over the rows of `one` and `other` together."""
        return one.merge(other)


class Blocks(NamedTuple):
    """Rows in blocks, and the units of EM; each method is one pass over the rows."""

    rows: Rows
    units: Units
    result: int  # bytes of one `EMSums`

    def sums(self, at: Parameters, center: bool) -> EMSums:
        """Return the sums of an EM step at the parameters `at`; `center` says that the mean is a parameter."""

        def of_block(block: Block) -> EMSums:
            X, w = block
            return _of_rows(self.units.rows(X), w, at, center)

        return self.rows.reduce(StepAccumulator(of_block, self.result))

    def second_derivatives(self, at: Parameters, center: bool) -> Array:
        """Return the second derivatives (p, p) of the log-likelihood by the p parameters, at the parameters `at`.

        `center` says that the mean is a parameter. The order is that of `likelihood.second_derivatives`.
        """

        def of_block(block: Block) -> Array:
            X, w = block
            return second_derivatives(self.units.rows(X), w, at, center)

        return self.rows.reduce(ArraySum(of_block, 8 * parameter_count(len(at.W), at.W.shape[1], center) ** 2))

    def product(self, V: Array) -> Array:
        """Return Y^T diag(w) Y V for V (d, m), with the rows Y in the units of EM and 0 in their missing cells.

        w are the weights of the rows, by default 1.
        """

        def of_block(block: Block) -> Array:
            X, w = block
            Y = self.units.rows(X)
            Y = np.where(np.isnan(Y), 0.0, Y)
            YV = Y @ V
            return np.asarray(Y.T @ (YV if w is None else w[:, None] * YV))

        return self.rows.reduce(ArraySum(of_block, V.nbytes))


def _of_rows(Y: Array, w: Array | None, at: Parameters, center: bool) -> EMSums:
    """Return the sums of an EM step of a block Y (h, d), in the units of EM, with weights (h,), at the parameters `at`.

    `center` says that the mean is a parameter. A slab of rows is worked on at a time.
    """
    w = np.ones(len(Y)) if w is None else w
    height = max(BLOCK_SLAB // max(at.W.shape[1] ** 2, Y.shape[1]), FEWEST_ROWS)
    slabs = range(0, len(Y), height)
    return reduce(EMSums.merge, (_of_rows_slab(Y[i : i + height], w[i : i + height], at, center) for i in slabs))


def _of_rows_slab(Y: Array, w: Array, at: Parameters, center: bool) -> EMSums:
    """Return the sums of an EM step of a slab Y (h, d) with weights w (h,); the parameters are as for `_of_rows`.

    One posterior is computed for each pattern of missing cells.
    """
    W, mu, noise = at
    observed = ~np.isnan(Y)
    w = np.where(observed.any(axis=1), w, 0.0)
    first, group = group_by_pattern(observed)
    patterns = observed[first].astype(np.float64)
    posterior = Posterior.of(patterns @ pack_products(W.T).T, patterns.sum(axis=1), W.shape[1], noise)

    X = np.where(observed, Y - mu, 0.0)
    Z = posterior.scores(W.T @ X.T, group)
    rest = np.where(observed, X - (W @ Z).T, 0.0)
    residual = np.einsum("ij,ij->i", rest, rest)
    distance = residual / noise + np.einsum("ih,ih->h", Z, Z)  # x^T C^-1 x as a sum of squares, so nothing cancels
    each = observed.sum(axis=1) * LOG_2_PI + posterior.log_det[group] + distance

    Z1 = np.vstack([Z, np.ones(len(Y))]) if center else Z
    covariances = np.bincount(group, w) * posterior.covariance
    moments = _by_pattern(w * pack_products(Z1), group)
    moments[np.triu_indices(len(Z1))[1] < len(Z)] += covariances
    return EMSums(
        -0.5 * float(w @ each),
        patterns.T @ moments.T,
        X.T @ (w * Z1).T,
        float(w @ residual),
        covariances.sum(axis=1),
        moments.sum(axis=1),
    )


def _by_pattern(moments: Array, group: Index) -> Array:
    """Sum `moments` (m (m + 1) / 2, h), a column per row, over the rows of each pattern: (m (m + 1) / 2, u).

    `group` (h,) is the pattern number of each row.
    """
    together, begins = order_by_group(group)
    return np.asarray(np.add.reduceat(moments[:, together], begins, axis=1))


# Numbers in one slab of cells: the numbers gathered for the cells of a slab stay in the cache.
SLAB = 1 << 19


def cells_at_a_time(d: int, k: int) -> int:
    """Number of cells in a slab of compressed rows.

    Slabs are larger for many columns, so that merging the sums costs less than computing the sums.
    """
    return max(SLAB // k, 2 * d)


class Slab(NamedTuple):
    """A few rows in compressed form."""

    cells: SparseRows  # the rows, in the units of EM
    observed: csr_array  # (n, d) 1 in each observed cell


class Cells(NamedTuple):
    """Rows in compressed form, cut into slabs; has the methods of `Blocks`."""

    slabs: list[Slab]
    engine: Engine

    @classmethod
    def of(cls, table: SparseRows, units: Units, k: int, engine: Engine) -> Cells:
        """Convert the cells to the units of EM, drop empty rows, and cut the rows into slabs."""
        used = table._replace(starts=table.starts[np.append(True, table.counts > 0)])  # without empty rows
        used = units.cells(used)
        parts = [used.part(*ends) for ends in used.cut(cells_at_a_time(table.d, k))]
        ones = np.ones(max(len(part.values) for part in parts))
        return cls([Slab(part, part.matrix(ones[: len(part.values)])) for part in parts], engine)

    def sums(self, at: Parameters, center: bool) -> EMSums:
        """Return the sums of an EM step at the parameters `at`; `center` says that the mean is a parameter."""
        WW = np.ascontiguousarray(pack_products(at.W.T).T)
        return self.engine.reduce(self.slabs, StepAccumulator(lambda slab: _of_slab(*slab, at, WW, center)))

    def second_derivatives(self, at: Parameters, center: bool) -> Array:
        """Return the second derivatives (p, p) of the log-likelihood at the parameters `at`, as in `Blocks`."""
        return self.engine.reduce(self.slabs, ArraySum(lambda slab: _curvature_of_slab(slab.cells, at, center)))

    def product(self, V: Array) -> Array:
        """Return Y^T Y V for the rows Y in the units of EM with 0 in the missing cells; V is (d, m)."""
        product = np.zeros_like(V)
        for slab in self.slabs:
            Y = slab.cells.matrix()
            width = max(SLAB // slab.cells.n, 1)
            for at in range(0, V.shape[1], width):
                product[:, at : at + width] += Y.T @ (Y @ V[:, at : at + width])
        return product


def _curvature_of_slab(cells: SparseRows, at: Parameters, center: bool) -> Array:
    height = max(SLAB // cells.d, 1)
    parts = ((i, min(i + height, cells.n)) for i in range(0, cells.n, height))
    return reduce(np.add, (second_derivatives(cells.dense(*part, np.nan), None, at, center) for part in parts))


def _of_slab(cells: SparseRows, observed: csr_array, at: Parameters, WW: Array, center: bool) -> EMSums:
    """Return the sums of an EM step of the rows of one slab, at the parameters `at`.

    `observed` (n, d) has 1 in each observed cell; `WW` (d, k (k + 1) / 2) holds the products W_ci W_cj with i <= j.
    `center` says that the mean is a parameter.
    """
    W, mu, noise = at
    k = W.shape[1]
    posterior = Posterior.of(observed @ WW, cells.counts, k, noise)

    x = cells.values - mu[cells.columns]
    X = cells.matrix(x)
    Z = posterior.scores((X @ W).T)
    rest = x - np.einsum("ij,ij->i", np.repeat(Z.T, cells.counts, axis=0), W[cells.columns])
    residual = float(rest @ rest)
    distance = residual / noise + float(np.einsum("ih,ih->", Z, Z))  # a sum of squares, so nothing cancels

    Z1 = np.vstack([Z, np.ones(cells.n)]) if center else Z
    moments = pack_products(Z1)
    moments[np.triu_indices(len(Z1))[1] < k] += posterior.covariance
    return EMSums(
        -0.5 * (len(x) * LOG_2_PI + float(posterior.log_det.sum()) + distance),
        observed.T @ moments.T,
        X.T @ Z1.T,
        residual,
        posterior.covariance.sum(axis=1),
        moments.sum(axis=1),
    )
