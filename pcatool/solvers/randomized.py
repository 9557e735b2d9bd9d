"""Leading components from a block Krylov space, grown from a seeded random start until its own residuals are small.

When to prefer it: neither d x d nor n x n fits, and k is small. Every pass multiplies by S once, S V = Xc^T (Xc V) / n,
a block of rows at a time; Rayleigh and Ritz pick the best directions in all that the passes have spanned.
Passes: one for means and scales, one for the start, and as many as the residuals ask for; a space that grows too large
is compressed to its leading directions. Cost a pass: 4 n d (k + 10). Memory: 12 d (k + 10), whatever n.
SciPy: `scipy.sparse.linalg.eigsh` on the same operator.
Musco and Musco 2015, NeurIPS 28; Halko, Martinsson, Tropp 2011, SIAM Review 53(2).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.moments import Centre, center_block
from pcatool.linalg.spectrum import EPS
from pcatool.progress import doing
from pcatool.solvers.base import (
    Estimate,
    Problem,
    Solution,
    check_solvable,
    scale_of,
)
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.rows import Rows

__all__ = ["Randomized", "by_products", "krylov_bytes"]

# Directions carried beyond those asked for: the gap to the last of them sets the speed of convergence.
EXTRA = 10

# An eigenvalue is done when its residual proves it to this part of itself.
DONE = 1e-9

# Blocks of directions kept before the space is compressed.
DEEP = 5

# Columns up to which the whole space is as cheap as a part of it.
WHOLE = 512

# Passes after which it gives up asking for more and says how far it got.
MOST_PASSES = 60

# A share of the variance starts with this many components and doubles.
START = 32


def krylov_bytes(d: int, k: int, n: int | None = None) -> int:
    """Of the space, what S makes of it, the best directions in it and what S makes of these; and of what is added."""
    width = min(k + EXTRA, d)
    space = min(DEEP * width, d, (n or d) + width)  # n rows span no more
    return 8 * d * (4 * space + 6 * width)


class Randomized:
    """Seeded block Krylov iteration with its own stopping test."""

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        if d <= min(k + EXTRA, WHOLE):
            return Covariance().estimate(d, n, k)
        return Estimate("2 and a few more", krylov_bytes(d, k, n), 8 * d * (k + EXTRA), copies=3)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        k = problem.wish if isinstance(problem.wish, int) else problem.d
        if problem.d <= min(k + EXTRA, WHOLE):
            return Covariance().solve(rows, problem)  # the subspace would be the whole space
        rows.several_passes()
        return self._solve(rows, problem)

    def _solve(self, rows: Rows, problem: Problem) -> Solution:
        doing("pass 1")
        centre, squares = _column_moments(rows)
        count = itertools.count(2)

        def product(V: Array, sigma: Array) -> Array:
            doing(f"pass {next(count)}")

            def of_block(X: Array, w: Array | None) -> Array:
                # Through the origin, since the mean as one double has lost what a small spread far out needs.
                Y = ((X - centre.origin) - (centre.high + centre.low) if problem.center else X) / sigma
                return np.asarray(Y.T @ (Y @ V if w is None else w[:, None] * (Y @ V)))

            return sum(rows.map(of_block, size=V.nbytes), np.zeros_like(V))

        return by_products(centre, squares, product, problem)


def by_products(centre: Centre, squares: Array, product: Callable[[Array, Array], Array], problem: Problem) -> Solution:
    """From the columns' squares about their mean, and `product`, (V, sigma) -> Y^T Y V for the rows Y over sigma."""
    divisor = problem.divisor(centre)
    safe = divisor if divisor > 0 else 1.0
    constant = ~centre.varies
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        variances = squares / safe
        sigma = scale_of(variances, constant, problem)
        mean = centre.mean if problem.center else np.zeros(problem.d)
        about = variances if problem.center else variances + centre.mean**2 * (centre.weight / safe)
        total = float(np.sum(about / sigma**2))
    check_solvable(problem, centre.rows, divisor, constant, variances, total, centre)

    def apply(V: Array) -> Array:
        return product(V, sigma) / safe

    most = min(centre.rows - problem.center, problem.d)
    # To unit trace: squares of residuals must neither overflow nor underflow.
    space = _leading(lambda V: apply(V) / total, problem, most).times(total)
    return _solution(centre, mean, sigma, squares, total, space, problem, apply)


class Ritz(NamedTuple):
    """Approximate eigenpairs and what is proven of them."""

    values: Array  # (m,)
    vectors: Array  # (d, m)
    images: Array  # (d, m) S times the vectors
    error: Array  # (m,) bounds from the residuals

    def times(self, factor: float) -> Ritz:
        """The same of a multiple of S."""
        return Ritz(self.values * factor, self.vectors, self.images * factor, self.error * factor)


def _column_moments(rows: Rows) -> tuple[Centre, Array]:
    """Centre and sums of squares of the columns, without their products."""
    origin = rows.origin

    def of_block(X: Array, w: Array | None) -> tuple[Centre, Array]:
        centre, Y, rest = center_block(X, origin, w)
        return centre, np.einsum("ij,ij->j", Y, Y) - rest * rest / centre.weight

    def merged(one: tuple[Centre, Array], other: tuple[Centre, Array]) -> tuple[Centre, Array]:
        centre, delta, weight = one[0].merge(other[0])
        return centre, one[1] + other[1] + delta * delta * weight

    with np.errstate(over="ignore", invalid="ignore"):
        return reduce(merged, rows.map(of_block, size=8 * len(origin)))


def _leading(apply: Callable[[Array], Array], problem: Problem, most: int) -> Ritz:
    """Enough converged pairs for the wish: a number, all of them for a rule, a share by doubling."""
    wish = problem.wish
    if isinstance(wish, str):  # a rule judges by all of them
        return _krylov(apply, problem, most)
    if isinstance(wish, int):
        return _krylov(apply, problem, min(wish, most))
    k = min(START, most)
    while True:
        found = _krylov(apply, problem, k)
        if found.values[:k].sum() >= wish or k == most:
            return found
        k = min(2 * k, most)


def _krylov(apply: Callable[[Array], Array], problem: Problem, k: int) -> Ritz:
    """The k leading eigenpairs of S, to DONE."""
    d = problem.d
    width = min(k + EXTRA, d)
    rng = np.random.default_rng(problem.seed)
    Q, _ = np.linalg.qr(rng.standard_normal((d, width)))
    SQ = apply(Q)
    newest = SQ
    for _ in range(MOST_PASSES):
        found = _rayleigh_ritz(Q, SQ, k)
        if np.all(found.error[:k] <= DONE * np.maximum(found.values[:k], EPS * found.values[0])):
            return found
        if Q.shape[1] + width > min(DEEP * width, d):
            Q, SQ = found.vectors[:, :width], found.images[:, :width]
            newest = SQ - Q * found.values[:width]
        fresh = _orthonormal_to(Q, newest)
        if fresh.shape[1] == 0:
            return found  # the space is invariant: nothing new can be reached
        del found  # or it lies beside the next
        newest = apply(fresh)
        Q, SQ = np.hstack([Q, fresh]), np.hstack([SQ, newest])
    return _rayleigh_ritz(Q, SQ, k)


def _orthonormal_to(Q: Array, W: Array) -> Array:
    """Orthonormal directions of W outside the space of Q; those that rounding made are left out."""
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
    T = Q.T @ SQ
    values, C = np.linalg.eigh((T + T.T) / 2)
    values, C = values[::-1], C[:, ::-1]
    vectors, images = Q @ C, SQ @ C
    residual = np.empty(len(values))
    step = max(len(values) // DEEP, 1)
    for at in range(0, len(values), step):  # a few directions at a time: no more copies of all of them
        some = slice(at, at + step)
        residual[some] = np.linalg.norm(images[:, some] - vectors[:, some] * values[some], axis=0)
    return Ritz(values, vectors, images, _error(values, residual, k))


def _error(values: Array, residual: Array, k: int) -> Array:
    """Each value lies within its residual r of an eigenvalue, and within r^2 / gap when the unwanted ones are that far.

    (Parlett 1980, The Symmetric Eigenvalue Problem, 11.7; the gap is to the first value that was not asked for.)
    """
    error = residual.copy()
    if k < len(values):
        gap = values[:k] - (values[k] + residual[k])
        sure = gap > residual[:k]
        error[:k] = np.where(sure, np.minimum(residual[:k], residual[:k] ** 2 / np.where(sure, gap, 1.0)), residual[:k])
    return error


def _solution(
    centre: Centre,
    mean: Array,
    sigma: Array,
    squares: Array,
    total: float,
    found: Ritz,
    problem: Problem,
    apply: Callable[[Array], Array],
) -> Solution:
    noise = problem.noise(centre, squares)
    noise = noise + problem.scales(noise)
    k = min(problem.wish, len(found.values)) if isinstance(problem.wish, int) else len(found.values)
    values = np.maximum(found.values, 0.0)
    rank = int(np.count_nonzero(values[:k] > problem.d * EPS * values[0]))
    values[rank:k] = 0.0
    error = found.error[:k] + 2 * float(noise.max()) * total + problem.divided(centre) * values[:k]
    return Solution(
        n=centre.rows,
        mean=mean,
        std=sigma,
        eigenvalues=values[:k],
        error=error,
        leading=lambda count: found.vectors[:, :count],
        total_variance=total,
        rank=rank,
        route="krylov",
        constant=tuple(np.flatnonzero(~centre.varies).tolist()),
        variances=squares / problem.divisor(centre),
        apply=apply,
        counted=problem.counted(centre.rows, centre.weight),
    )
