"""Dependence of columns on labels, Q = X^T H Ky H X, from cross-moments in one pass or from rows held in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Accumulator, Array, Block, block_rows, nothing_to_fit
from pcatool.errors import DataError, RefusedError
from pcatool.linalg.cross_moments import (
    CrossMoments,
    ProductMatrix,
    class_sums,
    spectrum_of_cross,
    spectrum_of_quadratic,
)
from pcatool.linalg.moments import Centre, center_block, center_rows
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.spectrum import EPS, Spectrum
from pcatool.methods.base import FitResources, Labels
from pcatool.methods.label_kernels import (
    DIAGONAL_ROUNDING,
    LabelKernel,
    check_numbers,
    constant_label,
    distinct,
    full_factor,
    low_rank_factor,
    product_with,
)
from pcatool.progress import Reporter
from pcatool.resources import limit_text, need_text, or_admitting
from pcatool.solvers.base import (
    MIN_VARIANCE,
    Problem,
    Solution,
    check_solvable,
    column_rounding,
    make_solution,
    scale_of,
    too_few_rows,
)
from pcatool.solvers.estimate import total_bytes
from pcatool.solvers.rows import Rows
from pcatool.wording import counted, grouped, listed

__all__ = [
    "COPIES",
    "FACTOR_COPIES",
    "HELD_COPIES",
    "HOLDS_NO_ROWS",
    "CrossMomentsAccumulator",
    "Dependence",
    "SupervisedTask",
    "center_features",
    "check_targets",
    "check_total",
    "hold_rows",
    "label_moments_rounding",
    "no_dependence_error",
    "one_pass_text",
    "refuse_above",
    "solve_by_cross_moments",
    "solve_by_label_kernel",
    "solve_cross_moments",
]

# Copies of a matrix that is decomposed: the matrix, the scaled matrix, a triangle, singular vectors, LAPACK's copies.
COPIES = 6


class SupervisedTask(NamedTuple):
    """A supervised fit: rows with labels after the features, and the settings."""

    rows: Rows
    problem: Problem
    labels: Labels
    kernel: LabelKernel
    resources: FitResources
    center_rows: bool  # whether the mean of its features is subtracted from each row
    reporter: Reporter

    def split(self, block: Array) -> tuple[Array, Array]:
        """Return the features (h, d), minus the mean of each row if `center_rows`, and labels (h, t) of a block."""
        X, Y = block[:, : self.problem.d], block[:, self.problem.d :]
        return (center_rows(X) if self.center_rows else X), Y

    @property
    def origin(self) -> tuple[Array, Array]:
        """Features (d,) and labels (t,) of the first row, which are subtracted from all rows to keep sums small."""
        X, Y = self.split(self.rows.origin[None, :])
        return X[0], Y[0]


class Dependence(NamedTuple):
    """Eigenvalues and eigenvectors of Q = X^T H Ky H X, and the solver that computed them.

    X are the features, H subtracts column means, and Ky is the kernel matrix of the labels.
    """

    solution: Solution
    possible: int  # largest possible number of eigenvalues above 0
    solver: str
    reason: str
    classes: int | None = None  # number of classes; None for labels that are numbers


class Columns(NamedTuple):
    """Centre, scale and rounding error of the features, in the units of the fit."""

    centre: Centre
    variances: Array  # (d,) in original units
    sigma: Array  # (d,) divisor of each column
    length: Array  # (d,) |x - mu| / sigma of each column
    rounding: Array  # (d,) relative rounding error of each column

    @classmethod
    def of(cls, centre: Centre, squares: Array, problem: Problem) -> Columns:
        """Compute from the centre and the sums of squared deviations (d,).

        Raise an error for fewer than two rows, for columns that are all constant, and if squares overflow or underflow.
        """
        n, constant = centre.rows, ~centre.varies
        divisor = n - problem.ddof
        with np.errstate(all="ignore"):
            variances = squares / max(divisor, 1)
            sigma = scale_of(variances, constant, problem)
            length = np.sqrt(squares) / sigma
            total = float(np.sum(np.square(length)))
        if n < 2:  # also without centring: H is what makes the fit supervised
            raise too_few_rows()
        check_solvable(problem, n, divisor, constant, variances, total)
        return cls(centre, variances, sigma, length, problem.rounding(centre, squares))

    @property
    def varying(self) -> int:
        return int(np.count_nonzero(self.centre.varies))


def refuse_above(limit: int | None, need: int, what: str, remedy: str, *, known: bool = False) -> None:
    """Raise `RefusedError` if `need` bytes are more than the limit; a limit of None allows everything.

    `what` is the work that takes these bytes, `remedy` the words to type. `known` says that the fit never needs more,
    so that the remedy also names the memory limit that admits the fit.
    """
    if limit is not None and need > limit:
        raise RefusedError(
            f"{what} takes about {need_text(need)}; {limit_text(limit)}",
            or_admitting(remedy, need) if known else remedy,
        )


def no_dependence_error(labels: Labels) -> DataError:
    """Return the error for columns that do not depend on the labels."""
    noun = "label" if len(labels.names) == 1 else "labels"
    return DataError(
        f"no column depends on {noun} {listed(labels.names)}: the products of the columns with the {noun} are only "
        "rounding error",
        "name another label with --label, or other columns with -c",
    )


def solve_product(
    problem: Problem,
    labels: Labels,
    columns: Columns,
    M: ProductMatrix,
    solver: str,
    reason: str,
    classes: int | None = None,
) -> Dependence:
    """Return the eigenvalues and eigenvectors of Q = M M^T, from the singular values of M (d, t).

    Raise `DataError` if no column depends on the labels.
    """
    A = M.values
    with np.errstate(all="ignore"):
        total = float(np.einsum("ij,ij->", A, A))
    check_total(total, A)
    spectrum = spectrum_of_cross(M, problem.wish)
    return make_dependence(
        problem, labels, columns, spectrum, total, lambda V: A @ (A.T @ V), M.max_rank, solver, reason, classes
    )


def check_total(total: float, A: Array) -> None:
    """Raise `RefusedError` if `total`, the trace of Q, overflows or underflows a double.

    A is the matrix that `total` comes from: 0 is no underflow if A is all zeros.
    """
    if not np.isfinite(total):
        raise RefusedError("products of the values and the label overflow a double", "rescale the columns or the label")
    if total < MIN_VARIANCE and A.any():
        raise RefusedError(
            "products of the values and the label underflow a double", "rescale the columns or the label"
        )


def make_dependence(
    problem: Problem,
    labels: Labels,
    columns: Columns,
    spectrum: Spectrum,
    total: float,
    apply: Callable[[Array], Array],
    possible: int,
    solver: str,
    reason: str,
    classes: int | None = None,
) -> Dependence:
    """Return the dependence with this spectrum of Q, whose trace is `total`; `apply` maps V to Q V.

    `possible` is the largest possible number of eigenvalues above 0. Raise `DataError` if no column depends on the
    labels.
    """
    if spectrum.rank == 0:
        raise no_dependence_error(labels)
    most = min(columns.centre.rows, problem.d)
    spectrum = spectrum.resized(most)
    solution = make_solution(problem, columns.centre, columns.variances, columns.sigma, total, spectrum, apply)
    return Dependence(solution._replace(mean=np.zeros(problem.d)), possible, solver, reason, classes)


def solve_by_cross_moments(task: SupervisedTask) -> Dependence:
    """Return the dependence on labels with the kernel Ky = Y Y^T, from M = X^T H Y, in one pass over the rows."""
    return solve_cross_moments(task.rows.reduce(CrossMomentsAccumulator(task)), task.problem, task.labels)


class CrossMomentsAccumulator(Accumulator[Block, CrossMoments]):
    """Adds up the cross-moments of rows and labels, and checks the memory limit as the number of classes grows."""

    def __init__(self, task: SupervisedTask) -> None:
        self.task = task
        self.origin = task.origin

    @property
    def part_bytes(self) -> int:
        """Bytes of the products of one block, columns by labels; each row of a block may be of another class."""
        labels, d = self.task.labels, self.task.problem.d
        return 8 * d * (block_rows(d) if labels.classes else labels.width)

    def of_block(self, block: Block) -> CrossMoments:
        """Return the cross-moments of one block."""
        X, Y = self.task.split(block[0])
        if self.task.labels.classes:
            return CrossMoments.of_classes(X, Y[:, 0].astype(np.intp), self.origin[0])
        return CrossMoments.of_numbers(X, Y, *self.origin)

    def merge(self, one: CrossMoments, other: CrossMoments) -> CrossMoments:
        """Return the cross-moments of the rows of `one` followed by those of `other`; overwrites `one`.

        Raise `RefusedError` if `one` has more classes than the memory limit allows.
        """
        return self.finish(one).merge(other)

    def finish(self, part: CrossMoments) -> CrossMoments:
        """Return `part` unchanged; raise `RefusedError` if it has more classes than the memory limit allows."""
        d, t = self.task.problem.d, part.t
        refuse_above(
            self.task.resources.limit,
            total_bytes(d, 8 * COPIES * d * t),
            f"a table of {counted(d, 'column')} by {grouped(t)} classes of label {listed(self.task.labels.names)}",
            "if the label is a number, use --label-kernel linear; else use fewer columns (-c, -x)",
        )
        return part


def label_moments_rounding(moments: CrossMoments, problem: Problem, classes: bool) -> Array:
    """Return relative rounding errors (d + 1,) of cross-moments: one for each column, then one for the labels.

    The last is 0 if the labels are `classes`.
    """
    n = moments.centre.rows
    rounding = problem.rounding(moments.centre, moments.squares)
    return np.append(rounding, 0.0 if classes else column_rounding(moments.label.high, moments.label_squares / n).max())


def solve_cross_moments(
    moments: CrossMoments, problem: Problem, labels: Labels, rounding: Array | None = None
) -> Dependence:
    """Return the dependence of columns on labels, from cross-moments alone.

    `rounding` (d + 1,) is as from `label_moments_rounding`, which is called if it is None. Raise `DataError` if the
    labels are constant or no column depends on the labels.
    """
    d = problem.d
    columns = Columns.of(moments.centre, moments.squares, problem)
    n, t = moments.centre.rows, moments.t
    if labels.classes and t < 2:
        raise constant_label(labels.names, labels.levels()[0])
    if not labels.classes:
        check_numbers(labels, moments.label.mean, moments.label.varies, moments.label_squares)
    rounding = label_moments_rounding(moments, problem, labels.classes) if rounding is None else rounding
    with np.errstate(all="ignore"):
        M = (moments.cross / columns.sigma).T
    possible = min(n - 1, columns.varying, t - 1 if labels.classes else int(moments.label.varies.sum()))
    product = ProductMatrix(
        M,
        columns.length,
        np.sqrt(moments.label_squares),
        rounding[:-1] + rounding[-1],
        n,
        possible,
        scale_rounding=problem.scale_rounding(rounding[:-1]),
    )
    classes = t if labels.classes else None
    reason = one_pass_text(d, labels, classes)
    dependence = solve_product(problem, labels, columns, product, "cross-moment", reason, classes)
    if not problem.keeps_sums:
        return dependence
    names = tuple(labels.levels()) if labels.classes else ()
    return dependence._replace(
        solution=dependence.solution._replace(statistic=Statistic.summed(moments, rounding, names))
    )


def one_pass_text(d: int, labels: Labels, classes: int | None = None) -> str:
    """Return the text that says why solver `cross-moment` was chosen for d columns.

    `classes` is the number of classes; None if unknown, or for labels that are numbers.
    """
    columns = "the column" if d == 1 else f"each of {grouped(d)} columns"
    if labels.classes:
        each = "each class" if classes is None else f"each of {grouped(classes)} classes"
        return f"one pass over the rows adds up {columns} for {each}"
    product = columns if d == 1 else "each column"
    label = "the label" if labels.width == 1 else f"each of {grouped(labels.width)} labels"
    return f"one pass over the rows adds up the products of {product} with {label}"


# Copies of the rows that are held: as read, in one table, centred, and summed by label.
HELD_COPIES = 4

# Copies of the factor L: two while it is centred, its product with the kernel, L^T Kx L with its eigenvectors and
# LAPACK's workspace, and Theta; measured: 6.5 where L is n x n.
FACTOR_COPIES = 7

HOLDS_NO_ROWS = "to keep no rows in memory, give --label-kernel linear (or delta for classes), without --kernel"


def solve_by_label_kernel(task: SupervisedTask) -> Dependence:
    """Return the dependence of columns on labels with the kernel rbf, with all rows in memory.

    Ky is factored where it has low rank or d > n, else multiplied a few rows at a time.
    """
    problem, run = task.problem, task.resources.engine.map
    X, Y = hold_rows(task)
    columns, Xc = center_features(task, X)
    check_targets(task, Y)
    n, d, kernel = len(Xc), problem.d, task.kernel
    values, codes = distinct(Y)
    _, counts, sums = class_sums(Xc, codes)
    del X, Xc
    sums /= columns.sigma
    possible = min(n - 1, columns.varying, len(values) - 1)
    scale_rounding = problem.scale_rounding(columns.rounding)
    product = ProductMatrix(
        sums, columns.length, np.sqrt(n), columns.rounding, n, possible, DIAGONAL_ROUNDING * n, scale_rounding
    )
    # Rounding error of the label kernel, of the sums over equal labels, and of the sum over all labels.
    kernel_rounding = kernel.rounding_norm(values, counts) + n * EPS * (float(counts.max()) + len(values))
    name, what = "dual" if d > n else "label-kernel", f"the kernel matrix of {len(values)} distinct labels"
    G = low_rank_factor(kernel, values)
    if G is None and d > n:
        need = total_bytes(d, 8 * (n * d + 3 * len(values) ** 2))
        table = f"the kernel matrix of {grouped(len(values))} distinct labels"
        refuse_above(task.resources.limit, need, table, "use --label-kernel linear, which needs far less memory")
        G = full_factor(kernel, values, run)
    if G is not None:
        reason = f"{what} has rank {len(G)}" + (f", and the rows are fewer than the {d} columns" if d > n else "")
        return solve_product(
            problem,
            task.labels,
            columns,
            product._replace(values=(G @ sums).T, kernel_rounding=kernel_rounding + n * len(G) * EPS),
            name,
            reason,
        )
    Q, norm = product_with(kernel, values, sums, counts, run)
    check_total(float(np.trace(Q)), Q)
    spectrum = spectrum_of_quadratic(product._replace(values=Q, norm=np.sqrt(norm), kernel_rounding=kernel_rounding))
    total, reason = float(np.trace(Q)), f"{what} is computed in parts"
    return make_dependence(problem, task.labels, columns, spectrum, total, lambda V: Q @ V, possible, name, reason)


def hold_rows(task: SupervisedTask) -> tuple[Array, Array]:
    """Return all rows in memory: features (n, d) and labels (n, t) as read.

    Raise `RefusedError` as soon as the rows, the program and the reading take more than the memory limit, and `NoRows`
    without rows.
    """
    blocks: list[Array] = []
    count = 0
    width, reading = task.problem.d + task.labels.width, task.resources.reading(task.resources.threads)
    for block in task.rows.map(lambda block: block[0], size=8 * block_rows(width) * width):
        blocks.append(block)
        count += len(block)
        need = total_bytes(width, reading + 8 * count * HELD_COPIES * width)
        refuse_above(task.resources.limit, need, f"holding the first {grouped(count)} rows", HOLDS_NO_ROWS)
    if not blocks:
        raise nothing_to_fit()
    table = np.concatenate(blocks)
    return np.array(table[:, : task.problem.d], order="C"), np.array(table[:, task.problem.d :], order="C")


def center_features(task: SupervisedTask, X: Array) -> tuple[Columns, Array]:
    """Return centre and scale of the columns of X (n, d), and the rows less the column means (n, d), not scaled.

    With `task.center_rows`, the mean of each row is subtracted first. X may be overwritten. Raises an error if no fit
    is possible, for example with constant columns only.
    """
    X = center_rows(X) if task.center_rows else X
    centre, Xc, rest = center_block(X, X[0].copy(), out=X)
    with np.errstate(all="ignore"):
        Xc -= rest / len(Xc)
        squares = np.einsum("ij,ij->j", Xc, Xc)
    return Columns.of(centre, squares, task.problem), Xc


def check_targets(task: SupervisedTask, Y: Array) -> None:
    """Raise `DataError` if the labels Y (n, t) are constant, and `RefusedError` if their squares overflow.

    Report a note if hardly any two labels are similar at the gamma of the rbf label kernel.
    """
    if task.labels.classes:
        if not Y.any():
            raise constant_label(task.labels.names, task.labels.levels()[0])
        return
    with np.errstate(all="ignore"):
        shifted = Y - Y[0]
        check_numbers(task.labels, Y[0], shifted.any(axis=0), np.square(shifted).sum(axis=0))
    better_gamma = None if task.kernel.is_product else task.kernel.better_gamma(Y)
    if better_gamma is not None:
        task.reporter.note(
            f"with --label-gamma {task.kernel.gamma:g}, hardly any two rows have similar values of "
            f"{listed(task.labels.names)}, so the result is close to plain PCA; try --label-gamma {better_gamma:.2g}"
        )
