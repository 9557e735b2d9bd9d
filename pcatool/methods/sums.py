"""What a fit adds up over rows, so that parts of them can be added up anywhere and merged exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Union

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import UsageError
from pcatool.linalg.blas import threads
from pcatool.linalg.row_sums import Statistic
from pcatool.methods.again import fit_again
from pcatool.methods.base import Fit, Labels, Supply
from pcatool.methods.kept import rule_with_rows
from pcatool.methods.pca import PCA
from pcatool.options import FitOptions, parse_components
from pcatool.progress import Notices
from pcatool.solvers.covariance import moments_of
from pcatool.solvers.plan import Plan, make_plan
from pcatool.solvers.rows import Rows
from pcatool.solvers.tsqr import triangle_of

if TYPE_CHECKING:
    from pcatool.missing.mean_imputation import HoledSums

__all__ = ["Sums", "check_adds_up", "fit_sums", "plan_sums", "sums_of"]

Sums = Union[Statistic, "HoledSums"]

# Solvers whose work on a block adds up.
ADD_UP = ("covariance", "tsqr")


def sums_of(
    blocks: Iterable[Array], columns: tuple[str, ...], options: FitOptions, supply: Supply, *, triangular: bool
) -> Sums | None:
    """The sums over some rows; None of no rows. `triangular` ones have twice the digits."""
    with threads(1), np.errstate(all="ignore"):
        if supply.labels is not None:
            return _with_labels(blocks, columns, options, supply, supply.labels)
        method = PCA(options, Notices())
        rows = method.rows(blocks, columns, supply)
        if rows.n == 0:
            return None
        if options.missing == "mean":
            return _with_holes(rows, len(columns))
        sums = (triangle_of if triangular else moments_of)(rows, len(columns))
        noise = method.problem(columns, rows.n).noise(sums.centre, sums.squares)
        return Statistic.summed(sums, noise)


def _with_labels(
    blocks: Iterable[Array], columns: tuple[str, ...], options: FitOptions, supply: Supply, labels: Labels
) -> Statistic | None:
    from pcatool.methods.cross_moments import cross_moments_of, noise_of
    from pcatool.methods.supervised import SupervisedPCA

    task, _ = SupervisedPCA(options, Notices()).task(blocks, columns, supply)
    if task.rows.n == 0:
        return None
    sums = cross_moments_of(task)
    return Statistic.summed(
        sums, noise_of(sums, task.problem, labels.classes), tuple(labels.levels()) if labels.classes else ()
    )


def _with_holes(rows: Rows, d: int) -> HoledSums:
    from pcatool.missing.mean_imputation import HoledSums, gather_pairs, of_block, pair_bytes

    origin = rows.origin
    return HoledSums.summed(gather_pairs(rows.map(lambda X, w: of_block(X, origin, w), size=pair_bytes(d))))


def plan_sums(options: FitOptions, columns: tuple[str, ...], labels: Labels | None, rows: int | None) -> Plan:
    """What becomes of sums over parts of the rows; only solvers that need no more than these."""
    if labels is not None:
        return _plan_with_labels(options, columns, labels)._replace(rows=rows)
    method = PCA(options, Notices())
    problem = method.problem(columns, None)
    name, why = method.choose(problem)
    if name not in ADD_UP or options.missing == "mean":
        name, why = "covariance", f"a {problem.d} x {problem.d} scatter, which adds up over parts of the rows"
    return make_plan(name, why, problem, rows, 1)


def _plan_with_labels(options: FitOptions, columns: tuple[str, ...], labels: Labels) -> Plan:
    from pcatool.methods.label_kernels import LabelKernel
    from pcatool.methods.supervised import SupervisedPCA

    kernel = LabelKernel.of(options, labels)
    if not kernel.streams:
        raise UsageError(
            f"--label-kernel {kernel.name} cannot be spread over parts: every label is compared with every other",
            "--label-kernel delta or linear adds up",
        )
    return SupervisedPCA(options, Notices()).plan((), columns, supply=Supply(labels=labels))


def check_adds_up(options: FitOptions) -> None:
    """Refuse what needs the rows in one place, naming the way out."""
    reason, remedy = next(((why, remedy) for given, why, remedy in _needing_rows(options) if given), ("", ""))
    if reason:
        raise UsageError(reason, remedy)


def _needing_rows(options: FitOptions) -> list[tuple[bool, str, str]]:
    rule = rule_with_rows(parse_components(options.components))
    here = "--engine threads does it on one machine"
    return [
        (bool(options.triples), "--triples cannot be spread over parts: any line may add to any row", here),
        (
            options.method == "kernel" or options.kernel is not None,
            f"--method {options.method} with a kernel cannot be spread over parts: it compares all rows",
            here,
        ),
        (
            options.missing == "em",
            "--missing em cannot be spread over parts: it passes over the rows again and again",
            f"--missing mean or drop takes one pass; {here}",
        ),
        (
            options.solver not in ("auto", *ADD_UP),
            f"--solver {options.solver} cannot be spread over parts: it needs all rows in one place",
            "--solver covariance or tsqr adds up what parts of the rows say",
        ),
        (
            options.solver == "tsqr" and options.missing == "mean",
            "--solver tsqr with --missing mean cannot be spread over parts: it needs the means first",
            "--solver covariance takes one pass",
        ),
        (
            bool(rule),
            f"-k {rule} cannot be spread over parts: it needs the rows themselves",
            f"another rule goes by the eigenvalues; {here}",
        ),
    ]


def fit_sums(sums: Sums, columns: tuple[str, ...], options: FitOptions, notices: Notices, reason: str | None) -> Fit:
    """The model of all rows from their sums."""
    if isinstance(sums, Statistic):
        return fit_again(sums, columns, options, notices, reason)
    from pcatool.methods.missing_data import IncompletePCA

    with threads(1), np.errstate(all="ignore"):
        return IncompletePCA(options, notices).of_sums(sums, columns, reason or "")
