"""Solver `randomized`: leading components from a block Krylov space, grown until the residuals are small.

When to prefer it: neither d x d nor n x n fits, and k is small. Every pass multiplies by S once, S V = Xc^T (Xc V) / n,
one block of rows at a time; the seed sets the random start. Rayleigh-Ritz takes the best directions from the space that
all passes have spanned.
Passes: one for means and scales, one for the start, and more until the residuals are small; a space that grows too
large is compressed to its leading directions. Cost per pass: 4 n d (k + 10). Memory: 12 d (k + 10), and the n d numbers
of the rows if there is room; else these are in a file.
SciPy: `scipy.sparse.linalg.eigsh` on the same operator.
Musco and Musco 2015, NeurIPS 28; Halko, Martinsson, Tropp 2011, SIAM Review 53(2).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array, ArraySum, Block, empty_block, slabs
from pcatool.linalg.moments import Centre, ColumnMomentsAccumulator
from pcatool.linalg.spectrum import EPS
from pcatool.progress import doing
from pcatool.resources import release_free_memory
from pcatool.solvers.base import ColumnScales, Problem, Solution
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.estimate import Estimate
from pcatool.solvers.rows import Rows

__all__ = ["Randomized", "by_products", "krylov_bytes"]

# Directions in addition to those asked for: the gap to the last of them sets the speed of convergence.
EXTRA_DIRECTIONS = 10

# An eigenvalue has converged when its residual bounds its relative error by this.
CONVERGED = 1e-9

# Most blocks of directions before the space is compressed.
MOST_BLOCKS = 5

# Most columns for which `covariance` costs no more than a Krylov space, which would then have all dimensions.
WHOLE_SPACE_COLUMNS = 512

# Most passes; after them the result is returned with the error that was reached.
MOST_PASSES = 60

# Numbers of each column in the first pass: sums, their parts, and means and scales in between.
COLUMN_SUMS = 16

# First number of components for a share of the variance; doubled until enough.
FIRST_COMPONENTS = 32


def krylov_bytes(d: int, k: int, n: int | None = None) -> int:
    """Return the most bytes of the Krylov iteration for k components of d columns and n rows, None if unknown.

    Either residuals are measured: the space, S times the space, the best directions in the space and S times these,
    four copies of a slab of the directions, and the new block with its product. Or a smaller space grows: the space,
    S times the space, the best directions and S times these, the blocks before and after, and five copies of a block.
    With few rows, a space that has nearly all its dimensions still gets a whole block.
    """
    width, space = _sizes(d, k, n)
    smaller = max(min(space, (MOST_BLOCKS - 1) * width), width)
    return 8 * d * max(4 * space + 4 * -(-space // MOST_BLOCKS) + 2 * width, 4 * smaller + 7 * width)


def _sizes(d: int, k: int, n: int | None) -> tuple[int, int]:
    """Return the number of directions in a block, and the most in the space, as in `krylov_bytes`."""
    width = min(k + EXTRA_DIRECTIONS, d)
    return width, min(MOST_BLOCKS * width, d, (n or d) + width)  # n rows span at most n dimensions


class Randomized:
    """Solver `randomized`: block Krylov iteration that stops when its residuals are small."""

    def estimate(self, problem: Problem, n: int | None, k: int) -> Estimate:
        d = problem.d
        if d <= min(k + EXTRA_DIRECTIONS, WHOLE_SPACE_COLUMNS):
            return Covariance().estimate(problem, n, k)
        # In further passes: the space, S times the space, the last and the new block, the sum so far and the next one.
        # Two copies of a block: the rows about their mean in `of_block` below, and freed memory too small for a block.
        width, space = _sizes(d, k, n)
        again, solving = 8 * d * (2 * space + 4 * width), krylov_bytes(d, k, n)
        return Estimate("2 and a few more", COLUMN_SUMS * 8 * d, 8 * d * width, again=again, solving=solving, copies=2)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        k = problem.wish if isinstance(problem.wish, int) else problem.d
        if problem.d <= min(k + EXTRA_DIRECTIONS, WHOLE_SPACE_COLUMNS):
            return Covariance().solve(rows, problem)  # the subspace would be the whole space
        rows.several_passes()
        return self._solve(rows, problem)

    def _solve(self, rows: Rows, problem: Problem) -> Solution:
        """Return the solution: one pass over the rows for the column moments, and one pass for each product with S."""
        doing("pass 1")
        with np.errstate(over="ignore", invalid="ignore"):
            centre, squares = rows.reduce(ColumnMomentsAccumulator(rows.origin))
        count = itertools.count(2)

        mean = centre.high + centre.low

        def product(V: Array, sigma: Array) -> Array:
            doing(f"pass {next(count)}")
            release_free_memory()  # what work on the directions has freed would come on top of the blocks of the pass

            def of_block(block: Block) -> Array:
                X, w = block
                Y = X
                if problem.center or problem.standardize:
                    Y = empty_block(*X.shape)
                    for some in slabs(problem.d):  # a slab stays in the cache for all three steps
                        part = Y[:, some]
                        # Subtract the origin first: the mean in one double lacks digits if columns lie far from 0.
                        np.subtract(X[:, some], centre.origin[some] if problem.center else 0.0, out=part)
                        if problem.center:
                            part -= mean[some]
                        if problem.standardize:
                            part /= sigma[some]
                return np.asarray(Y.T @ (Y @ V if w is None else w[:, None] * (Y @ V)))

            total = rows.reduce(ArraySum(of_block, V.nbytes))
            release_free_memory()  # what reading has freed would come on top of the work on the directions
            return total

        return by_products(centre, squares, product, problem)


def by_products(centre: Centre, squares: Array, product: Callable[[Array, Array], Array], problem: Problem) -> Solution:
    """Return the solution by a Krylov iteration that needs only products with the scatter.

    `squares` (d,) are the sums of squares of the columns about their mean. `product(V, sigma)` returns Y^T Y V (d, k),
    where Y are the rows, centred if the problem is centred, with the columns divided by sigma (d,).
    """
    scales = ColumnScales.of(problem, centre, squares)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        about = scales.variances
        if not problem.center:
            about = about + centre.mean**2 * (centre.weight / scales.safe_divisor)
        total = float(np.sum(about / scales.sigma**2))
    scales.check(problem, centre, total)

    def apply(V: Array) -> Array:
        return product(V, scales.sigma) / scales.safe_divisor

    most = min(centre.rows - problem.center, problem.d)
    # Scaled to unit trace: squares of residuals must neither overflow nor underflow.
    space = _leading(lambda V: apply(V) / total, problem, most).times(total)
    return _solution(centre, scales, squares, total, space, problem, apply)


class Ritz(NamedTuple):
    """Approximate eigenpairs of S, the scatter after scaling and division, with bounds on their errors."""

    values: Array  # (m,)
    vectors: Array  # (d, m)
    images: Array  # (d, m) S times the vectors
    error: Array  # (m,) bounds from the residuals

    def times(self, factor: float) -> Ritz:
        """Return the eigenpairs, images and bounds multiplied by a factor, for S times this factor."""
        return Ritz(self.values * factor, self.vectors, self.images * factor, self.error * factor)


def _leading(apply: Callable[[Array], Array], problem: Problem, most: int) -> Ritz:
    """Return the leading eigenpairs of S, scaled to trace 1, as many as `problem.wish` needs, and possibly more.

    `apply` multiplies by S; S has at most `most` eigenvalues above 0. A rule needs all of these. For a share of the
    variance, the number is doubled until the share is reached.
    """
    wish = problem.wish
    if isinstance(wish, str):  # a rule needs all eigenvalues
        return _krylov(apply, problem, most)
    if isinstance(wish, int):
        return _krylov(apply, problem, min(wish, most))
    k = min(FIRST_COMPONENTS, most)
    while True:
        found = _krylov(apply, problem, k)
        if found.values[:k].sum() >= wish or k == most:
            return found
        k = min(2 * k, most)


def _krylov(apply: Callable[[Array], Array], problem: Problem, k: int) -> Ritz:
    """Return the k leading eigenpairs of S, and possibly more, with relative error CONVERGED or after MOST_PASSES.

    `apply` multiplies by S.
    """
    d = problem.d
    width = min(k + EXTRA_DIRECTIONS, d)
    rng = np.random.default_rng(problem.seed)
    Q, _ = np.linalg.qr(rng.standard_normal((d, width)))
    SQ = apply(Q)
    newest = SQ
    for _ in range(MOST_PASSES):
        found = _rayleigh_ritz(Q, SQ, k)
        if np.all(found.error[:k] <= CONVERGED * np.maximum(found.values[:k], EPS * found.values[0])):
            return found
        if Q.shape[1] + width > min(MOST_BLOCKS * width, d):
            Q, SQ = found.vectors[:, :width], found.images[:, :width]
            newest = SQ - Q * found.values[:width]
        fresh = _orthonormal_to(Q, newest)
        if fresh.shape[1] == 0:
            return found  # the space is invariant: nothing new can be reached
        del found  # free memory before the next one is computed
        newest = apply(fresh)
        Q, SQ = np.hstack([Q, fresh]), np.hstack([SQ, newest])
    return _rayleigh_ritz(Q, SQ, k)


def _orthonormal_to(Q: Array, W: Array) -> Array:
    """Return orthonormal directions (d, m) that span W minus its projection on Q, up to rounding error."""
    size = np.linalg.norm(W, axis=0)
    W = W[:, size > 0] / size[size > 0]
    for _ in range(2):  # twice is enough (Kahan, Parlett)
        W = W - Q @ (Q.T @ W)
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    U = U[:, s > 1e-12]  # relative to columns of length 1
    U = U[:, : max(len(Q) - Q.shape[1], 0)]
    U = U - Q @ (Q.T @ U)
    return np.linalg.qr(U)[0] if U.shape[1] else U


def _rayleigh_ritz(Q: Array, SQ: Array, k: int) -> Ritz:
    """Return the m approximate eigenpairs of S in the space of Q (d, m), from SQ = S Q; the first k are needed."""
    T = Q.T @ SQ
    values, C = np.linalg.eigh((T + T.T) / 2)
    values, C = values[::-1], C[:, ::-1]
    vectors, images = Q @ C, SQ @ C
    residual = np.empty(len(values))
    step = max(len(values) // MOST_BLOCKS, 1)
    for at in range(0, len(values), step):  # in slabs, without another copy of all directions
        some = slice(at, at + step)
        residual[some] = np.linalg.norm(images[:, some] - vectors[:, some] * values[some], axis=0)
    return Ritz(values, vectors, images, _error(values, residual, k))


def _error(values: Array, residual: Array, k: int) -> Array:
    """Return error bounds (m,) of the descending `values` (m,), from the lengths `residual` (m,) of their residuals.

    A bound is the residual r; for the first k values it is r^2 / gap if that is less, with the gap to value k + 1, the
    first that is not needed (Parlett 1980, The Symmetric Eigenvalue Problem, 11.7).
    """
    error = residual.copy()
    if k < len(values):
        gap = values[:k] - (values[k] + residual[k])
        sure = gap > residual[:k]
        error[:k] = np.where(sure, np.minimum(residual[:k], residual[:k] ** 2 / np.where(sure, gap, 1.0)), residual[:k])
    return error


def _solution(
    centre: Centre,
    scales: ColumnScales,
    squares: Array,
    total: float,
    found: Ritz,
    problem: Problem,
    apply: Callable[[Array], Array],
) -> Solution:
    """Return the solution for the eigenpairs `found`, with eigenvalues of 0 past the rank.

    The error bounds include the rounding of the columns and of the divisor. `squares` (d,) are the sums of squares of
    the columns, `total` is the trace of S, and `apply` multiplies by S.
    """
    rounding = problem.rounding(centre, squares)
    rounding = rounding + problem.scale_rounding(rounding)
    k = min(problem.wish, len(found.values)) if isinstance(problem.wish, int) else len(found.values)
    values = np.maximum(found.values, 0.0)
    rank = int(np.count_nonzero(values[:k] > problem.d * EPS * values[0]))
    values[rank:k] = 0.0
    error = found.error[:k] + 2 * float(rounding.max()) * total + problem.eigenvalue_error(centre) * values[:k]
    return Solution(
        n=centre.rows,
        mean=centre.mean if problem.center else np.zeros(problem.d),
        std=scales.sigma,
        eigenvalues=values[:k],
        error=error,
        leading=lambda count: found.vectors[:, :count],
        total_variance=total,
        rank=rank,
        route="krylov",
        constant=tuple(np.flatnonzero(~centre.varies).tolist()),
        variances=scales.variances,
        apply=apply,
        observations=problem.observations(centre.rows, centre.weight),
    )
