"""The moments of rows of many columns: one scatter matrix, which all threads fill together.

With more than WIDE_COLUMNS columns, a scatter for each block of rows (`moments.MomentsAccumulator`) takes much memory,
and to merge it takes as long as to compute it. Here blocks are joined to JOINED_ROWS rows, centred on their own mean,
and their products are added to one scatter, slab by slab, in a fixed order. The upper triangle is computed and mirrored
at the end. The formulas are those of `moments`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pcatool.arrays import Array, Block, Runner, nothing_to_fit, slabs
from pcatool.linalg.moments import Centre, Moments, center_block

__all__ = ["JOINED_ROWS", "WIDE_COLUMNS", "wide_moments"]

# Above this number of columns, one scatter is filled by all threads.
WIDE_COLUMNS = 1000

# Rows of a joined block.
JOINED_ROWS = 1024


def wide_moments(blocks: Iterable[Block], origin: Array, run: Runner) -> Moments:
    """Return the moments, about `origin` (d,), of the rows of `blocks`; raise `NoRows` without rows.

    The rows of each block are overwritten. `run` runs the tasks.
    """
    d = len(origin)
    total: Centre | None = None
    scatter = np.zeros((0, 0))
    for X, w in blocks:
        centres, rests = _centered(X, w, origin, run)
        if total is None:
            scatter, total, delta, weight = np.zeros((d, d)), centres, np.zeros(d), 0.0
        else:
            total, delta, weight = total.merge(centres)
        correction = np.stack([rests, delta])
        factors = np.stack([rests / -centres.weight, delta * weight])

        _add_products(scatter, X, correction, factors, run)
        del X
    if total is None:
        raise nothing_to_fit()
    for rows in slabs(d):
        scatter[rows.stop :, rows] = scatter[rows, rows.stop :].T
        upper = np.triu(scatter[rows, rows])
        scatter[rows, rows] = upper + np.triu(upper, 1).T
    return Moments(total, scatter)


def _add_products(scatter: Array, Y: Array, left: Array, right: Array, run: Runner) -> None:
    """Add Y^T Y + left^T right to the upper triangle of `scatter` (d, d), for Y (n, d) and left, right (m, d)."""

    def add(rows: slice) -> None:
        slab = Y[:, rows]
        for columns, others in ((rows, slab), (slice(rows.stop, None), Y[:, rows.stop :])):
            part = slab.T @ others  # of a matrix with itself, half the work
            part += left[:, rows].T @ right[:, columns]
            scatter[rows, columns] += part

    for _ in run(add, slabs(len(scatter))):  # the longest first
        pass


def _centered(X: Array, w: Array | None, origin: Array, run: Runner) -> tuple[Centre, Array]:
    """Centre the rows X (n, d) in place and multiply them by sqrt(w); return their centre and a vector (d,).

    The vector is the weighted sum of the centred rows, which would be 0 without rounding. The results are those of
    `center_block`, computed for some columns at a time.
    """

    def center(columns: slice) -> tuple[Centre, Array]:
        centre, _, rest = center_block(X[:, columns], origin[columns], w, out=X[:, columns])
        return centre, rest

    centres, rests = zip(*run(center, slabs(X.shape[1])), strict=True)
    joined = {name: np.concatenate([getattr(centre, name) for centre in centres]) for name in ("high", "low", "varies")}
    return centres[0]._replace(origin=origin, **joined), np.concatenate(rests)
