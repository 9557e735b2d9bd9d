"""Supervised PCA where Ky is no Y Y^T of few columns: with the rows held."""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array, block_rows
from pcatool.errors import listed
from pcatool.linalg.cross_moments import Uncertain, class_sums, of_quadratic
from pcatool.linalg.moments import center_block, center_rows
from pcatool.linalg.spectrum import EPS
from pcatool.methods.dependence import Columns, Dependence, Task, check_total, found, from_product, refuse_above
from pcatool.methods.label_kernels import (
    NOTHING,
    check_numbers,
    constant_label,
    distinct,
    low_rank,
    product_with,
    whole,
)
from pcatool.solvers.plan import with_program
from pcatool.solvers.rows import nothing_to_fit

__all__ = ["FACTOR_COPIES", "HELD_COPIES", "HOLDS_NO_ROWS", "by_label_kernel", "centred", "check_targets", "held"]

# Rows that are held: as read, in one table, centred, and summed by label.
HELD_COPIES = 4

# The factor L, twice while it is centred, its product with the kernel, L^T Kx L with its eigenvectors and LAPACK's
# workspace, and Theta; measured, 6.5 where L is n x n.
FACTOR_COPIES = 7

HOLDS_NO_ROWS = "--label-kernel delta or linear, without --kernel, holds no rows"


def by_label_kernel(task: Task) -> Dependence:
    """Ky of rbf: taken apart where it has a low rank or d > n, else multiplied a few rows at a time."""
    problem, run = task.problem, task.supply.run
    X, Y = held(task)
    columns, Xc = centred(task, X)
    check_targets(task, Y)
    n, d, kernel = len(Xc), problem.d, task.kernel
    values, codes = distinct(Y)
    _, counts, sums = class_sums(Xc, codes)
    del X, Xc
    sums /= columns.sigma
    possible = min(n - 1, columns.varying, len(values) - 1)
    scales = problem.scales(columns.noise)
    uncertain = Uncertain(sums, columns.length, np.sqrt(n), columns.noise, n, possible, NOTHING * n, scales)
    # Rounding of the label kernel, and of the sums over equal labels and over all of them.
    blur = kernel.doubt(values, counts) + n * EPS * (float(counts.max()) + len(values))
    name, what = "dual" if d > n else "label-kernel", f"a label kernel over {len(values)} distinct labels"
    G = low_rank(kernel, values)
    if G is None and d > n:
        need = with_program(d, 8 * (n * d + 3 * len(values) ** 2))
        refuse_above(task.supply.limit, need, what, "--label-kernel linear needs no such matrix")
        G = whole(kernel, values, run)
    if G is not None:
        reason = f"{what} of rank {len(G)}" + (f": fewer rows than the {d} columns" if d > n else "")
        return from_product(
            problem,
            task.labels,
            columns,
            uncertain._replace(values=(G @ sums).T, blur=blur + n * len(G) * EPS),
            name,
            reason,
        )
    Q, norm = product_with(kernel, values, sums, counts, run)
    check_total(float(np.trace(Q)), Q)
    spectrum = of_quadratic(uncertain._replace(values=Q, norm=np.sqrt(norm), blur=blur))
    total, reason = float(np.trace(Q)), f"{what}, in parts"
    return found(problem, task.labels, columns, spectrum, total, lambda V: Q @ V, possible, name, reason)


def held(task: Task) -> tuple[Array, Array]:
    """All rows in memory, features and labels as they came, weighed as they come, with the program and its reading."""
    blocks: list[Array] = []
    count = 0
    width, reading = task.problem.d + task.labels.width, task.supply.reading()
    for block in task.rows.map(lambda block, w: block, size=8 * block_rows(width) * width):
        blocks.append(block)
        count += len(block)
        need = with_program(width, reading + 8 * count * HELD_COPIES * width)
        refuse_above(task.supply.limit, need, f"the first {count} rows in memory", HOLDS_NO_ROWS)
    if not blocks:
        raise nothing_to_fit()
    table = np.concatenate(blocks)
    return np.array(table[:, : task.problem.d], order="C"), np.array(table[:, task.problem.d :], order="C")


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
