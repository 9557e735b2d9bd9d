"""The sums of EM over blocks of rows with NaN in the holes; rows of one pattern share their posterior."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.missing.em_step import LOG_2_PI, Parameters, Sums
from pcatool.missing.likelihood import curvature, parameters
from pcatool.missing.patterns import Index, same_holes
from pcatool.missing.posterior import Posterior, pairs
from pcatool.missing.units import Units
from pcatool.solvers.rows import Rows

__all__ = ["Blocks", "working_bytes"]

# Numbers worked on at a time: half a megabyte stays in the cache, and threads do not wait for memory.
SLAB = 1 << 16

# Of wide rows so many at a time nevertheless: their sums are larger than they are.
FEWEST_ROWS = 64


def working_bytes(d: int, k: int) -> int:
    """Of a slab and what becomes of it."""
    return 8 * 16 * max(SLAB, FEWEST_ROWS * max(d, k * k))


class Blocks(NamedTuple):
    """A table of blocks of rows."""

    rows: Rows
    units: Units
    result: int  # bytes of the sums

    def sums(self, at: Parameters, center: bool) -> Sums:
        parts = self.rows.map(lambda X, w: _of_block(self.units.rows(X), w, at, center), size=self.result)
        return reduce(Sums.merge, parts)

    def curvature(self, at: Parameters, center: bool) -> Array:
        size = 8 * parameters(len(at.W), at.W.shape[1], center) ** 2
        return reduce(np.add, self.rows.map(lambda X, w: curvature(self.units.rows(X), w, at, center), size=size))

    def product(self, V: Array) -> Array:
        """Y^T Y V for the rows Y with 0 in the holes."""

        def of_block(X: Array, w: Array | None) -> Array:
            Y = self.units.rows(X)
            Y = np.where(np.isnan(Y), 0.0, Y)
            YV = Y @ V
            return np.asarray(Y.T @ (YV if w is None else w[:, None] * YV))

        return sum(self.rows.map(of_block, size=V.nbytes), np.zeros_like(V))


def _of_block(Y: Array, w: Array | None, at: Parameters, center: bool) -> Sums:
    w = np.ones(len(Y)) if w is None else w
    height = max(SLAB // max(at.W.shape[1] ** 2, Y.shape[1]), FEWEST_ROWS)
    slabs = range(0, len(Y), height)
    return reduce(Sums.merge, (_of_slab(Y[i : i + height], w[i : i + height], at, center) for i in slabs))


def _of_slab(Y: Array, w: Array, at: Parameters, center: bool) -> Sums:
    W, mu, noise = at
    observed = ~np.isnan(Y)
    w = np.where(observed.any(axis=1), w, 0.0)
    first, group = same_holes(observed)
    patterns = observed[first].astype(np.float64)
    posterior = Posterior.of(patterns @ pairs(W.T).T, patterns.sum(axis=1), W.shape[1], noise)

    X = np.where(observed, Y - mu, 0.0)
    Z = posterior.scores(W.T @ X.T, group)
    rest = np.where(observed, X - (W @ Z).T, 0.0)
    residual = np.einsum("ij,ij->i", rest, rest)
    distance = residual / noise + np.einsum("ih,ih->h", Z, Z)  # x^T C^-1 x as a sum of squares, so nothing cancels
    each = observed.sum(axis=1) * LOG_2_PI + posterior.log_det[group] + distance

    Z1 = np.vstack([Z, np.ones(len(Y))]) if center else Z
    doubt = np.bincount(group, w) * posterior.covariance
    moments = _by_pattern(w * pairs(Z1), group)
    moments[np.triu_indices(len(Z1))[1] < len(Z)] += doubt
    return Sums(
        -0.5 * float(w @ each),
        patterns.T @ moments.T,
        X.T @ (w * Z1).T,
        float(w @ residual),
        doubt.sum(axis=1),
        moments.sum(axis=1),
    )


def _by_pattern(moments: Array, group: Index) -> Array:
    """Sums over the rows of each pattern, (m (m + 1) / 2, u)."""
    together = np.argsort(group, kind="stable")
    begins = np.flatnonzero(np.diff(group[together], prepend=-1))
    return np.asarray(np.add.reduceat(moments[:, together], begins, axis=1))
