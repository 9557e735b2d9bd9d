"""Rows with holes under a linear model: their least-squares scores, what of the components was seen, and fills.

The scores of a row are z = argmin |y_o - B_o z|^2 over its observed cells o: one small problem per pattern of holes,
solved by the SVD of B_o; where that leaves z open, the shortest. Given the variances of the scores and of the noise, z
is the posterior mean of probabilistic PCA instead, which is what fills holes best. A row gets the same bits whatever
other rows stand beside it. Cost: 10 u d k^2 for u patterns and 2 n d k for n rows. Memory: a few slabs of SLAB numbers.
SciPy: `scipy.linalg.lstsq(B[o], y[o], cond=OPEN)`, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pcatool.linalg.blas import threads
from pcatool.linalg.spectral import EPS
from pcatool.model import Array

__all__ = ["OPEN", "Mask", "coverage", "fill", "hole_keys", "project_with_holes", "same_holes"]

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

# A singular value of B_o below this leaves its direction open. B is known to about EPS and its columns have length 1:
# division by sqrt(EPS) leaves half of the digits, by less than that mostly rounding.
OPEN = float(np.sqrt(EPS))

# Numbers worked on at a time: 4 MB stay in the cache.
SLAB = 1 << 19

# An odd number with well mixed bits and two shifts, from the finaliser of SplitMix64 (Steele, Lea, Flood 2014, OOPSLA).
MIX = np.uint64(0xBF58476D1CE4E5B9)
SHIFT = np.uint64(31)


def project_with_holes(Y: Array, B: Array, *, variances: Array | None = None, noise: float = 0.0) -> Array:
    """Scores (n, k) of rows Y (n, d), in the units of the fit with NaN in the holes; NaN for a row of holes only.

    With `variances` (k,) of the scores without noise and `noise`, the variance of the noise in each cell, these are
    posterior means, drawn towards 0 by as much as the observed cells leave open.
    """
    Y = np.ascontiguousarray(Y)  # the order of a sum follows the layout
    observed = ~np.isnan(Y)
    filled = np.where(observed, Y, 0.0)
    Z = np.empty((len(Y), B.shape[1]))
    with threads(1):
        for rows, pattern, patterns in _slabs(observed, max(SLAB // B.size, 1)):
            P = _solvers(patterns, B, variances, noise)
            # A sum along contiguous cells takes one order whatever stands beside; a product by BLAS does not.
            Z[rows] = (P[pattern] * filled[rows, None, :]).sum(axis=2)
    Z[~observed.any(axis=1)] = np.nan
    return Z


def _slabs(observed: Mask, most: int) -> Iterator[tuple[Index, Index, Mask]]:
    """At most so many rows at a time, those of one pattern together: their numbers, which pattern each has, and these.

    Of long runs of one pattern the later slabs solve it again, which costs a part in `most`.
    """
    first, group = same_holes(observed)
    order = np.argsort(group, kind="stable")
    for at in range(0, len(order), most):
        rows = order[at : at + most]
        least = group[rows[0]]
        yield rows, group[rows] - least, observed[first[least : group[rows[-1]] + 1]]


def _solvers(observed: Mask, B: Array, variances: Array | None, noise: float) -> Array:
    """What makes scores of the observed cells, (u, k, d) for u patterns: the pseudo-inverse of B_o, or damped by noise.

    Holes are rows of zeros: these change neither the singular values nor the other columns of the inverse.
    """
    scale = np.ones(B.shape[1]) if variances is None else np.sqrt(np.maximum(variances, 0.0))
    U, s, Vt = np.linalg.svd(np.where(observed[:, :, None], B * scale, 0.0), full_matrices=False)
    if variances is None or noise == 0:
        open_ = s <= OPEN * scale.max()
        gain = np.where(open_, 0.0, 1.0 / np.where(open_, 1.0, s))
    else:
        gain = s / (s * s + noise)
    P: Array = scale[:, None] * ((Vt * gain[:, :, None]).transpose(0, 2, 1) @ U.transpose(0, 2, 1))
    if variances is None:
        P[observed.all(axis=1)] = B.T  # exactly, as for any row without holes
    return P


def coverage(holes: Mask, B: Array, eigenvalues: Array) -> Array:
    """Of each row the share of the components' variance in the cells that are there, (n,).

    That is sum_j lambda_j |B_oj|^2 / sum_j lambda_j: 1 without holes, 0 for a row of holes only.
    """
    carried = (B * B) @ eigenvalues[: B.shape[1]]
    seen = np.where(np.ascontiguousarray(holes), 0.0, carried)
    # Both sums in one order, so that a row without holes gets 1 exactly.
    share: Array = seen.sum(axis=1) / np.ascontiguousarray(carried[None, :]).sum(axis=1)
    return share


def fill(X: Array, R: Array) -> Array:
    """The rows X with only their holes replaced, by what stands in R."""
    return np.where(np.isnan(X), R, X)


def same_holes(observed: Mask) -> tuple[Index, Index]:
    """The first row of each pattern of holes, and the number of each row's pattern."""
    _, first, group = np.unique(hole_keys(observed), return_index=True, return_inverse=True)
    if not np.array_equal(observed[first[group]], observed):  # two patterns came by one key: each row for itself
        first = group = np.arange(len(observed))
    return first, group


def hole_keys(observed: Mask) -> Keys:
    """A number for each row that says where its holes are, (n,); up to 64 columns no two patterns share one."""
    n, d = observed.shape
    packed = np.zeros((n, -(-d // 64) * 8), dtype=np.uint8)
    packed[:, : -(-d // 8)] = np.packbits(observed, axis=1)
    key = np.zeros(n, dtype=np.uint64)
    for word in packed.view(np.uint64).T:
        key = (key ^ word) * MIX
        key ^= key >> SHIFT
    return key
