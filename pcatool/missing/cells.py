"""The sums of EM over rows of which only the cells that are there are held; cost k^2 a cell, whatever is absent."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pcatool.arrays import Array, Runner
from pcatool.linalg.sparse import SparseRows
from pcatool.missing.em_step import LOG_2_PI, Parameters, Sums
from pcatool.missing.likelihood import curvature
from pcatool.missing.posterior import Posterior, pairs
from pcatool.missing.units import Units

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Cells", "cells_at_a_time"]

# Numbers worked on at a time: what is gathered for the cells of a slab stays in the cache.
SLAB = 1 << 19


def cells_at_a_time(d: int, k: int) -> int:
    """More of many columns, so that merging sums costs less than taking them."""
    return max(SLAB // k, 2 * d)


class Slab(NamedTuple):
    cells: SparseRows  # in EM's units
    there: csr_array  # 1 in each cell


class Cells(NamedTuple):
    """A table of cells, parted by rows."""

    slabs: list[Slab]
    run: Runner

    @classmethod
    def of(cls, table: SparseRows, units: Units, k: int, run: Runner) -> Cells:
        used = table._replace(starts=table.starts[np.append(True, table.counts > 0)])  # rows that have a cell
        used = units.cells(used)
        parts = [used.part(*ends) for ends in used.cut(cells_at_a_time(table.d, k))]
        ones = np.ones(max(len(part.values) for part in parts))
        return cls([Slab(part, part.matrix(ones[: len(part.values)])) for part in parts], run)

    def sums(self, at: Parameters, center: bool) -> Sums:
        WW = np.ascontiguousarray(pairs(at.W.T).T)
        return reduce(Sums.merge, self.run(lambda slab: _of_slab(*slab, at, WW, center), self.slabs))

    def curvature(self, at: Parameters, center: bool) -> Array:
        return reduce(np.add, self.run(lambda slab: _curvature_of_slab(slab.cells, at, center), self.slabs))

    def product(self, V: Array) -> Array:
        """Y^T Y V for the rows Y with 0 in the holes."""
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
    return reduce(np.add, (curvature(cells.dense(*part, np.nan), None, at, center) for part in parts))


def _of_slab(cells: SparseRows, there: csr_array, at: Parameters, WW: Array, center: bool) -> Sums:
    W, mu, noise = at
    k = W.shape[1]
    posterior = Posterior.of(there @ WW, cells.counts, k, noise)

    x = cells.values - mu[cells.columns]
    X = cells.matrix(x)
    Z = posterior.scores((X @ W).T)
    rest = x - np.einsum("ij,ij->i", np.repeat(Z.T, cells.counts, axis=0), W[cells.columns])
    residual = float(rest @ rest)
    distance = residual / noise + float(np.einsum("ih,ih->", Z, Z))  # a sum of squares, so nothing cancels

    Z1 = np.vstack([Z, np.ones(cells.n)]) if center else Z
    moments = pairs(Z1)
    moments[np.triu_indices(len(Z1))[1] < k] += posterior.covariance
    return Sums(
        -0.5 * (len(x) * LOG_2_PI + float(posterior.log_det.sum()) + distance),
        there.T @ moments.T,
        X.T @ Z1.T,
        residual,
        posterior.covariance.sum(axis=1),
        moments.sum(axis=1),
    )
