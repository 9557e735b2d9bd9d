"""PCA of a table in compressed form, where absent cells are 0 or the mean of their column.

When to prefer it: counts and other tables of mostly zeros, or a table to be filled with means, too large for memory
with all its cells. The result is that of `covariance`, `dual` or `randomized` on the whole table: from the d x d
scatter, the n x n inner products, or a block Krylov space, whichever is small, by products of sparse matrices. The
centred table is never formed, because it has few zeros (`linalg.sparse`).
Cost, with c present cells in a row or column: `covariance` sum of c^2 over rows, and 9 d^3; `dual` sum of c^2 over
columns, and 9 n^3; `randomized` 4 k per cell and pass.
Memory: up to GIVEN_BYTES + TRANSPOSED_BYTES bytes per cell, and d^2, n^2 or d k. SciPy: `scipy.sparse.linalg.svds`, of
an operator that centres.
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.blas import factorise_both, one_blas_thread
from pcatool.linalg.eigen import MOST_ROWS_IN_PARALLEL
from pcatool.linalg.sparse import ShiftedRows, SparseRows
from pcatool.linalg.spectrum import (
    Spectrum,
    backward_error,
    clip_eigenvalues,
    count_positive,
    orthonormal,
    rank_of,
    safe_divisors,
    upper_median,
)
from pcatool.resources import release_free_memory
from pcatool.solvers.base import Problem, Solution, check_columns, check_solvable, make_solution, scale_of
from pcatool.solvers.covariance import Covariance, scatter_bytes
from pcatool.solvers.estimate import Estimate
from pcatool.solvers.plan import (
    COLUMNS_PER_COMPONENT,
    DUAL_ROWS,
    SCATTER_COLUMNS,
    few_components_text,
    inner_products_text,
    not_randomized,
)
from pcatool.solvers.randomized import by_products, krylov_bytes
from pcatool.wording import grouped

__all__ = ["choose_sparse", "estimate_sparse", "solve_sparse"]

# Bytes per present cell. GIVEN_BYTES: cells as given, and centred. SCALED_BYTES: a scaled copy. TRANSPOSED_BYTES: a
# transposed copy for the products that form a small matrix, or a copy sorted with the zeros of columns that are more
# than half full.
GIVEN_BYTES, SCALED_BYTES, TRANSPOSED_BYTES = 24, 32, 72


def choose_sparse(problem: Problem, n: int) -> tuple[str, str]:
    """Return the name of the solver whose method is used for n sparse rows, and the reason as text."""
    d, wish = problem.d, problem.wish
    size = f"{grouped(d)} x {grouped(d)}"
    if n <= DUAL_ROWS and (2 * n <= d or d > SCATTER_COLUMNS):
        return "dual", inner_products_text(n, d)
    if d <= SCATTER_COLUMNS:
        return "covariance", f"a {size} scatter matrix, computed from the given cells"
    if isinstance(wish, float) or (isinstance(wish, int) and wish * COLUMNS_PER_COMPONENT <= min(n, d)):
        return "randomized", few_components_text(wish, d)
    if n < d:
        return "dual", f"{not_randomized(wish)}, so a {grouped(n)} x {grouped(n)} matrix of inner products is computed"
    return "covariance", f"{not_randomized(wish)}, so a {size} scatter matrix is computed"


def estimate_sparse(problem: Problem, n: int, cells: int, k: int) -> Estimate:
    """Return passes and memory of a fit with k kept components, including the `cells` stored cells of the n rows."""
    d, name = problem.d, choose_sparse(problem, n)[0]
    beside = 32 << 20  # SciPy's sparse matrices, and slabs
    if name == "randomized":
        need = beside + (GIVEN_BYTES + SCALED_BYTES) * cells + krylov_bytes(d, k, n) + 16 * n * k
        return Estimate("1", need, without_blocks=True)
    need = beside + (GIVEN_BYTES + TRANSPOSED_BYTES) * cells
    if name == "dual":
        return Estimate("1", need + 8 * (6 * n * n + 4 * d * k), without_blocks=True)
    after = beside + GIVEN_BYTES * cells + Covariance().estimate(problem, n, k).solving
    return Estimate("1", need + 2 * scatter_bytes(d), solving=after, without_blocks=True)


def solve_sparse(cells: SparseRows, problem: Problem, absent: str) -> Solution:
    """Return the solution of a table whose absent cells are 0 (`absent` is "zero") or the column mean ("mean").

    Raise `DataError` or `RefusedError` if no component can be computed; for means, also if a column has no cell.
    """
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        table = (ShiftedRows.with_zeros if absent == "zero" else ShiftedRows.with_means)(cells)
        if absent == "mean":
            check_columns(np.bincount(cells.columns, minlength=cells.d), problem.columns)
        name, _ = choose_sparse(problem, cells.n)
        if name == "covariance":
            moments = table.moments()
            release_free_memory()
            return Covariance().solve_moments(moments, problem, overwrite=not problem.keeps_sums)
        if name == "dual":
            return _dual(table, problem)
        return _krylov(table, problem)


def _krylov(table: ShiftedRows, problem: Problem) -> Solution:
    """Return the solution by a block Krylov iteration, from products with the rows of `table`."""
    rows = table if problem.center else table.uncentered()

    def product(V: Array, sigma: Array) -> Array:
        return rows.product(V / sigma[:, None]) / sigma[:, None]

    return by_products(table.centre, table.squares, product, problem)


def _dual(table: ShiftedRows, problem: Problem) -> Solution:
    """Return the solution from the n x n inner products of the rows."""
    centre, constant = table.centre, ~table.centre.varies
    divisor = problem.divisor(centre)
    safe_divisor = divisor if divisor > 0 else 1.0
    variances = table.squares / safe_divisor
    sigma = scale_of(variances, constant, problem)
    mean_squares = variances if problem.center else variances + centre.mean**2 * (centre.weight / safe_divisor)
    total = float(np.sum(mean_squares / sigma**2))
    check_solvable(problem, table.n, divisor, constant, variances, total, centre)
    F = (table if problem.center else table.uncentered()).scaled(1.0 / (sigma * np.sqrt(safe_divisor)))
    lengths = np.sqrt(mean_squares) / sigma
    rounding = problem.rounding(centre, table.squares)
    spectrum = _of_inner_products(F, lengths, rounding, problem.scale_rounding(rounding))
    return make_solution(problem, centre, variances, sigma, total, spectrum, F.product)


def _of_inner_products(F: ShiftedRows, lengths: Array, rounding: Array, scale_rounding: Array | float) -> Spectrum:
    """Return the spectrum of F^T F from the eigenvectors of F F^T.

    `lengths` (d,) are the norms of the columns of F, each with relative error `rounding` (d,); `scale_rounding` are the
    relative errors of the numbers by which the columns were divided.
    """
    R, K = F.scaled(1.0 / safe_divisors(lengths)).inner(), F.inner()
    scaled, (values, U) = factorise_both(
        lambda: np.linalg.eigvalsh(R), lambda: np.linalg.eigh(K), in_parallel=F.n <= MOST_ROWS_IN_PARALLEL
    )
    values, U = values[::-1], U[:, ::-1]
    rank = count_positive(values, rank_of(scaled[::-1], len(lengths), upper_median(rounding)))

    def leading(k: int) -> Array:
        with one_blas_thread():
            return orthonormal(F.back(U[:, :k]))  # directions of small eigenvalues lose orthogonality

    error = np.full(F.n, 2 * float(((rounding + scale_rounding) * lengths) @ lengths) + backward_error(F.n, values[0]))
    return Spectrum(clip_eigenvalues(values, rank), leading, rank, "gram", error)
