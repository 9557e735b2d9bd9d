"""Q = X^T H Ky H X taken apart: from cross-moments in one pass, or with the rows held where Ky is no Y Y^T."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pcatool.blocks import block_rows
from pcatool.errors import DataError, RefusedError, listed
from pcatool.linalg.centring import center_rows
from pcatool.linalg.cross import CrossMoments, Uncertain, class_sums, of_cross, of_quadratic
from pcatool.linalg.moments import Centre, center_block
from pcatool.linalg.spectral import Spectrum
from pcatool.linalg.statistic import Statistic
from pcatool.memory import size_text
from pcatool.methods.base import Labels, Supply
from pcatool.methods.labels import (
    NOTHING,
    LabelKernel,
    check_numbers,
    constant_label,
    distinct,
    low_rank,
    product_with,
    whole,
)
from pcatool.model import Array
from pcatool.notices import Notices
from pcatool.solvers.base import SMALLEST, Problem, Solution, assembled, check_solvable, one_row, rounding, scale_of
from pcatool.solvers.rows import Rows, nothing_to_fit

__all__ = [
    "COPIES",
    "HELD_COPIES",
    "HOLDS_NO_ROWS",
    "Columns",
    "Dependence",
    "Task",
    "by_cross_moments",
    "by_label_kernel",
    "centred",
    "check_targets",
    "check_total",
    "cross_moments_of",
    "held",
    "independent",
    "noise_of",
    "of_cross_moments",
    "refuse_above",
]

# A matrix that is taken apart: itself, its scaled copy, a triangle, singular vectors, and LAPACK's own of each.
COPIES = 6

# Rows that are held: as read, in one table, centred, and summed by label.
HELD_COPIES = 4

HOLDS_NO_ROWS = "--label-kernel delta or linear, without --kernel, holds no rows"


class Task(NamedTuple):
    """Rows whose labels follow the features, and what is asked of them."""

    rows: Rows
    problem: Problem
    labels: Labels
    kernel: LabelKernel
    supply: Supply
    center_rows: bool
    notices: Notices

    def split(self, block: Array) -> tuple[Array, Array]:
        """Features and label columns of a block."""
        X, Y = block[:, : self.problem.d], block[:, self.problem.d :]
        return (center_rows(X) if self.center_rows else X), Y

    @property
    def origin(self) -> tuple[Array, Array]:
        X, Y = self.split(self.rows.origin[None, :])
        return X[0], Y[0]


class Dependence(NamedTuple):
    """What was found, how, and how many eigenvalues could be above 0."""

    solution: Solution
    possible: int
    solver: str
    reason: str
    classes: int | None = None


class Columns(NamedTuple):
    """The features in the units of the fit."""

    centre: Centre
    variances: Array  # (d,) as read
    sigma: Array  # (d,)
    length: Array  # (d,) |x - mu| / sigma of each column
    noise: Array  # (d,) relative rounding of each

    @classmethod
    def of(cls, centre: Centre, squares: Array, problem: Problem) -> Columns:
        n, constant = centre.rows, ~centre.varies
        divisor = n - problem.ddof
        with np.errstate(all="ignore"):
            variances = squares / max(divisor, 1)
            sigma = scale_of(variances, constant, problem)
            length = np.sqrt(squares) / sigma
            total = float(np.sum(np.square(length)))
        if n < 2:  # not about zero either: H is what makes it supervised
            raise one_row()
        check_solvable(problem, n, divisor, constant, variances, total)
        return cls(centre, variances, sigma, length, rounding(centre.high, variances))

    @property
    def varying(self) -> int:
        return int(np.count_nonzero(self.centre.varies))


def by_cross_moments(task: Task) -> Dependence:
    """Ky = Y Y^T: M = X^T H Y in one pass."""
    return of_cross_moments(cross_moments_of(task), task.problem, task.labels)


def cross_moments_of(task: Task) -> CrossMoments:
    """The cross-moments of all rows."""
    labels, d = task.labels, task.problem.d
    x_origin, y_origin = task.origin

    def of_block(block: Array, w: Array | None) -> CrossMoments:
        X, Y = task.split(block)
        if labels.classes:
            return CrossMoments.of_classes(X, Y[:, 0].astype(np.intp), x_origin)
        return CrossMoments.of_numbers(X, Y, x_origin, y_origin)

    size = 8 * d * (block_rows(d) if labels.classes else labels.width)
    return _merged(task, task.rows.map(of_block, size=size))


def noise_of(moments: CrossMoments, classes: bool) -> Array:
    """(d + 1,) relative rounding of each column and of the labels, just added up."""
    n = moments.centre.rows
    noise = rounding(moments.centre.high, moments.squares / n)
    return np.append(noise, 0.0 if classes else rounding(moments.label.high, moments.label_squares / n).max())


def of_cross_moments(moments: CrossMoments, problem: Problem, labels: Labels, noise: Array | None = None) -> Dependence:
    """From cross-moments alone, and what is known of their digits if they were added up before."""
    d = problem.d
    columns = Columns.of(moments.centre, moments.squares, problem)
    n, t = moments.centre.rows, moments.t
    if labels.classes and t < 2:
        raise constant_label(labels.names, labels.levels()[0])
    if not labels.classes:
        check_numbers(labels, moments.label.mean, moments.label.varies, moments.label_squares)
    noise = noise_of(moments, labels.classes) if noise is None else noise
    with np.errstate(all="ignore"):
        M = (moments.cross / columns.sigma).T
    possible = min(n - 1, columns.varying, t - 1 if labels.classes else int(moments.label.varies.sum()))
    uncertain = Uncertain(M, columns.length, np.sqrt(moments.label_squares), noise[:-1] + noise[-1], n, possible)
    classes = t if labels.classes else None
    what = f"{t} classes" if labels.classes else "1 label" if t == 1 else f"{t} labels"
    reason = f"one pass for the products of {d} columns and {what}"
    found = _from_product(problem, labels, columns, uncertain, "cross-moment", reason, classes)
    if not problem.keeps:
        return found
    names = tuple(labels.levels()) if labels.classes else ()
    return found._replace(solution=found.solution._replace(statistic=Statistic.summed(moments, noise, names)))


def _merged(task: Task, parts: Iterator[CrossMoments]) -> CrossMoments:
    """All cross-moments in their order, weighed as the classes grow in number."""
    merged: CrossMoments | None = None
    for part in parts:
        merged = part if merged is None else merged.merge(part)
        refuse_above(
            task.supply.limit,
            8 * COPIES * task.problem.d * merged.t,
            f"{merged.t} classes of {listed(task.labels.names)} by {task.problem.d} columns",
            "a label with so many values may be a number: --label-kernel linear",
        )
    if merged is None:
        raise nothing_to_fit()
    return merged


def by_label_kernel(task: Task) -> Dependence:
    """Ky of rbf: taken apart where it has a low rank or d > n, else multiplied a few rows at a time."""
    problem, run = task.problem, task.supply.run
    X, Y = held(task, lambda count: 8 * count * HELD_COPIES * (problem.d + task.labels.width))
    columns, Xc = centred(task, X)
    check_targets(task, Y)
    n, d, kernel = len(Xc), problem.d, task.kernel
    values, codes = distinct(Y)
    _, counts, sums = class_sums(Xc, codes)
    del X, Xc
    sums /= columns.sigma
    possible = min(n - 1, columns.varying, len(values) - 1)
    uncertain = Uncertain(sums, columns.length, np.sqrt(n), columns.noise, n, possible, NOTHING * n)
    name, what = "dual" if d > n else "label-kernel", f"a label kernel over {len(values)} distinct labels"
    G = low_rank(kernel, values)
    if G is None and d > n:
        refuse_above(task.supply.limit, 8 * 3 * len(values) ** 2, what, "--label-kernel linear needs no such matrix")
        G = whole(kernel, values, run)
    if G is not None:
        reason = f"{what} of rank {len(G)}" + (f": fewer rows than the {d} columns" if d > n else "")
        return _from_product(problem, task.labels, columns, uncertain._replace(values=(G @ sums).T), name, reason)
    Q, norm = product_with(kernel, values, sums, counts, run)
    check_total(float(np.trace(Q)), Q)
    spectrum = of_quadratic(uncertain._replace(values=Q, norm=np.sqrt(norm)))
    total, reason = float(np.trace(Q)), f"{what}, in parts"
    return _found(problem, task.labels, columns, spectrum, total, lambda V: Q @ V, possible, name, reason)


def held(task: Task, need: Callable[[int], int]) -> tuple[Array, Array]:
    """All rows in memory, features and labels as they came, weighed as they come: so many rows need so many bytes."""
    blocks: list[Array] = []
    count = 0
    width = task.problem.d + task.labels.width
    for block in task.rows.map(lambda block, w: block, size=8 * block_rows(width) * width):
        blocks.append(block)
        count += len(block)
        refuse_above(task.supply.limit, need(count), f"the first {count} rows in memory", HOLDS_NO_ROWS)
    if not blocks:
        raise nothing_to_fit()
    table = np.concatenate(blocks)
    return np.array(table[:, : task.problem.d], order="C"), np.array(table[:, task.problem.d :], order="C")


def refuse_above(limit: int | None, need: int, what: str, remedy: str) -> None:
    if limit is not None and need > limit:
        raise RefusedError(
            f"{what}: that takes about {size_text(need)}, the limit is {size_text(limit)} "
            "(--memory, else half of what is free)",
            remedy,
        )


def centred(task: Task, X: Array) -> tuple[Columns, Array]:
    """What is known of the columns of X (n, d), and its rows about their mean; X may be used up."""
    X = center_rows(X) if task.center_rows else X
    centre, Xc, rest = center_block(X, X[0].copy(), out=X)
    with np.errstate(all="ignore"):
        Xc -= rest / len(Xc)
        squares = np.einsum("ij,ij->j", Xc, Xc)
    return Columns.of(centre, squares, task.problem), Xc


def check_targets(task: Task, Y: Array) -> None:
    """Refuse labels Y (n, t) on which nothing can depend, and say where their kernel hardly looks at them."""
    if task.labels.classes:
        if not Y.any():
            raise constant_label(task.labels.names, task.labels.levels()[0])
        return
    with np.errstate(all="ignore"):
        shifted = Y - Y[0]
        check_numbers(task.labels, Y[0], shifted.any(axis=0), np.square(shifted).sum(axis=0))
    wider = None if task.kernel.streams else task.kernel.wider(Y)
    if wider is not None:
        task.notices.note(
            f"--label-gamma {task.kernel.gamma:g} finds hardly any two rows alike in {listed(task.labels.names)}, "
            f"so the answer is close to that of PCA; {wider:.2g} would suit their distances"
        )


def independent(labels: Labels) -> DataError:
    noun = "label" if len(labels.names) == 1 else "labels"
    return DataError(
        f"no column depends on {noun} {listed(labels.names)}: their products are 0 but for rounding",
        "give another label or other columns",
    )


def _from_product(
    problem: Problem,
    labels: Labels,
    columns: Columns,
    M: Uncertain,
    solver: str,
    reason: str,
    classes: int | None = None,
) -> Dependence:
    """From M with Q = M M^T."""
    A = M.values
    with np.errstate(all="ignore"):
        total = float(np.einsum("ij,ij->", A, A))
    check_total(total, A)
    spectrum = of_cross(M, problem.wish)
    return _found(problem, labels, columns, spectrum, total, lambda V: A @ (A.T @ V), M.most, solver, reason, classes)


def check_total(total: float, A: Array) -> None:
    if not np.isfinite(total):
        raise RefusedError("products of the values and the label overflow a double", "rescale the columns or the label")
    if total < SMALLEST and A.any():
        raise RefusedError(
            "products of the values and the label underflow a double", "rescale the columns or the label"
        )


def _found(
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
    if spectrum.rank == 0:
        raise independent(labels)
    most = min(columns.centre.rows, problem.d)
    spectrum = spectrum.sized(most)
    solution = assembled(problem, columns.centre, columns.variances, columns.sigma, total, spectrum, apply)
    return Dependence(solution._replace(mean=np.zeros(problem.d)), possible, solver, reason, classes)
