"""Supervised PCA where Ky = Y Y^T: from the products of columns and labels, in one pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pcatool.arrays import Array, block_rows
from pcatool.errors import listed
from pcatool.linalg.cross_moments import CrossMoments, Uncertain
from pcatool.linalg.row_sums import Statistic
from pcatool.methods.base import Labels
from pcatool.methods.dependence import COPIES, Columns, Dependence, Task, from_product, refuse_above
from pcatool.methods.label_kernels import check_numbers, constant_label
from pcatool.solvers.base import Problem, rounding
from pcatool.solvers.plan import with_program
from pcatool.solvers.rows import nothing_to_fit

__all__ = ["by_cross_moments", "cross_moments_of", "noise_of", "of_cross_moments"]


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


def noise_of(moments: CrossMoments, problem: Problem, classes: bool) -> Array:
    """(d + 1,) relative rounding of each column and of the labels, just added up."""
    n = moments.centre.rows
    noise = problem.noise(moments.centre, moments.squares)
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
    noise = noise_of(moments, problem, labels.classes) if noise is None else noise
    with np.errstate(all="ignore"):
        M = (moments.cross / columns.sigma).T
    possible = min(n - 1, columns.varying, t - 1 if labels.classes else int(moments.label.varies.sum()))
    uncertain = Uncertain(
        M,
        columns.length,
        np.sqrt(moments.label_squares),
        noise[:-1] + noise[-1],
        n,
        possible,
        scales=problem.scales(noise[:-1]),
    )
    classes = t if labels.classes else None
    what = f"{t} classes" if labels.classes else "1 label" if t == 1 else f"{t} labels"
    reason = f"one pass for the products of {d} columns and {what}"
    made = from_product(problem, labels, columns, uncertain, "cross-moment", reason, classes)
    if not problem.keeps:
        return made
    names = tuple(labels.levels()) if labels.classes else ()
    return made._replace(solution=made.solution._replace(statistic=Statistic.summed(moments, noise, names)))


def _merged(task: Task, parts: Iterator[CrossMoments]) -> CrossMoments:
    """All cross-moments in their order, weighed as the classes grow in number."""
    merged: CrossMoments | None = None
    for part in parts:
        merged = part if merged is None else merged.merge(part)
        refuse_above(
            task.supply.limit,
            with_program(task.problem.d, 8 * COPIES * task.problem.d * merged.t),
            f"{merged.t} classes of {listed(task.labels.names)} by {task.problem.d} columns",
            "a label with so many values may be a number: --label-kernel linear",
        )
    if merged is None:
        raise nothing_to_fit()
    return merged
