"""Rows with holes under a linear model: their least-squares scores, what of the components was seen, and fills.

The scores of a row are z = argmin |y_o - B_o z|^2 over its observed cells o: one small problem per pattern of holes,
solved by the SVD of B_o; where that leaves z open, the shortest. Given the variances of the scores and of the noise, z
is the posterior mean of probabilistic PCA instead, which is what fills holes best. Only observed cells are worked on,
rows of equally many together, and a row gets the same bits whatever other rows stand beside it, and in whatever form.
Cost: 10 k^2 a cell of every pattern and 2 k a cell of every row. Memory: a few slabs of SLAB numbers.
SciPy: `scipy.linalg.lstsq(B[o], y[o], cond=OPEN)`, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.blas import threads
from pcatool.linalg.sparse import SparseRows
from pcatool.linalg.spectrum import EPS
from pcatool.missing.patterns import Index, Mask, column_keys, same_cells

__all__ = ["OPEN", "coverage", "coverage_of_cells", "fill", "project_cells", "project_with_holes"]

# A singular value of B_o below this leaves its direction open. B is known to about EPS and its columns have length 1:
# division by sqrt(EPS) leaves half of the digits, by less than that mostly rounding.
OPEN = float(np.sqrt(EPS))

# Numbers worked on at a time: 4 MB stay in the cache.
SLAB = 1 << 19


def project_with_holes(Y: Array, B: Array, *, variances: Array | None = None, noise: float = 0.0) -> Array:
    """Scores (n, k) of rows Y (n, d), in the units of the fit with NaN in the holes; NaN for a row of holes only.

    With `variances` (k,) of the scores without noise and `noise`, the variance of the noise in each cell, these are
    posterior means, drawn towards 0 by as much as the observed cells leave open.
    """
    parts = [project_cells(cells, B, variances=variances, noise=noise) for cells in _compressed(Y)]
    return np.concatenate([np.empty((0, B.shape[1])), *parts])


def project_cells(cells: SparseRows, B: Array, *, variances: Array | None = None, noise: float = 0.0) -> Array:
    """The same of the cells that are there, in the units of the fit."""
    keys = column_keys(cells.d)
    Z = np.full((cells.n, B.shape[1]), np.nan)
    with threads(1):
        for rows, at in _equally_long(cells, B.shape[1]):
            columns = cells.columns[at]
            first, pattern = same_cells(columns, keys)
            P = _solvers(B[columns[first]], variances, noise, columns.shape[1] == len(B))
            # One small product for each row, whatever stands beside it; as one large one BLAS would choose its order.
            Z[rows] = ((P if len(P) == 1 else P[pattern]) @ cells.values[at][:, :, None])[:, :, 0]
    return Z


def _equally_long(cells: SparseRows, k: int) -> Iterator[tuple[Index, Index]]:
    """Numbers of rows with c cells each, (h,), and where these are, (h, c); at most SLAB numbers for k components."""
    counts = cells.counts
    order = np.argsort(counts, kind="stable")
    lengths, begins = np.unique(counts[order], return_index=True)
    for c, begin, end in zip(lengths.tolist(), begins, np.append(begins[1:], len(order)), strict=True):
        height = max(SLAB // max(c * k, 1), 1)
        for at in range(begin if c else end, end, height):
            rows = order[at : min(at + height, end)]
            yield rows, cells.starts[rows][:, None] + np.arange(c)


def _solvers(B: Array, variances: Array | None, noise: float, complete: bool) -> Array:
    """What makes scores of the observed cells, (u, k, c), of B_o (u, c, k): the pseudo-inverse, or damped by noise."""
    if variances is None and complete:
        return np.ascontiguousarray(B.transpose(0, 2, 1))  # exactly, as for any row without holes
    scale = np.ones(B.shape[2]) if variances is None else np.sqrt(np.maximum(variances, 0.0))
    U, s, Vt = np.linalg.svd(B * scale, full_matrices=False)
    if variances is None or noise == 0:
        open_ = s <= OPEN * scale.max()
        gain = np.where(open_, 0.0, 1.0 / np.where(open_, 1.0, s))
    else:
        gain = s / (s * s + noise)
    return np.asarray(scale[:, None] * ((Vt * gain[:, :, None]).transpose(0, 2, 1) @ U.transpose(0, 2, 1)))


def coverage(holes: Mask, B: Array, eigenvalues: Array) -> Array:
    """Of each row the share of the components' variance in the cells that are there, (n,).

    That is sum_j lambda_j |B_oj|^2 / sum_j lambda_j: 1 without holes, 0 for a row of holes only.
    """
    parts = [coverage_of_cells(cells, B, eigenvalues) for cells in _compressed(np.where(holes, np.nan, 0.0))]
    return np.concatenate([np.empty(0), *parts])


def coverage_of_cells(cells: SparseRows, B: Array, eigenvalues: Array) -> Array:
    """The same of rows in compressed form."""
    carried = (B * B) @ eigenvalues[: B.shape[1]]
    some = cells.counts > 0
    share = np.zeros(cells.n)
    if some.any():
        # Both sums in one order, so that a row without holes gets 1 exactly.
        seen = np.add.reduceat(carried[cells.columns], cells.starts[:-1][some])
        share[some] = seen / np.add.reduceat(carried, [0])
    return share


def _compressed(Y: Array) -> Iterator[SparseRows]:
    """The cells of rows with NaN in the holes, some rows at a time."""
    height = max(SLAB // Y.shape[1], 1)
    return (SparseRows.of_dense(Y[at : at + height]) for at in range(0, len(Y), height))


def fill(X: Array, R: Array) -> Array:
    """The rows X with only their holes replaced, by what stands in R."""
    return np.where(np.isnan(X), R, X)
