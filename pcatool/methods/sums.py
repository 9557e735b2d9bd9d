"""What a fit adds up over rows, so that parts of them can be added up anywhere and merged exactly."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pcatool.errors import PcatoolError, UsageError
from pcatool.holes.pairs import HoledSums, gather_pairs, of_block, pair_bytes
from pcatool.linalg.blas import threads
from pcatool.linalg.statistic import Statistic
from pcatool.methods.again import fit_again
from pcatool.methods.base import Fit, Labels, Supply
from pcatool.methods.incomplete import IncompletePCA
from pcatool.methods.labels import LabelKernel
from pcatool.methods.pca import PCA
from pcatool.model import Array
from pcatool.notices import Notices
from pcatool.options import FitOptions, parse_components
from pcatool.registry import RULES
from pcatool.rules.base import split_rule
from pcatool.solvers.base import rounding
from pcatool.solvers.covariance import moments_of
from pcatool.solvers.plan import make_plan
from pcatool.solvers.rows import Rows
from pcatool.solvers.tsqr import triangle_of

__all__ = ["Sums", "adding_up", "fit_sums", "sums_of"]

Sums = Statistic | HoledSums

# Solvers whose work on a block adds up.
ADD_UP = ("covariance", "tsqr")


def sums_of(
    blocks: Iterable[Array], columns: tuple[str, ...], options: FitOptions, supply: Supply, *, triangular: bool
) -> Sums | None:
    """The sums over some rows; None of no rows. `triangular` ones have twice the digits."""
    with threads(1), np.errstate(all="ignore"):
        if supply.labels is not None:
            return _with_labels(blocks, columns, options, supply, supply.labels)
        rows = PCA(options, Notices()).rows(blocks, columns, supply)
        if rows.n == 0:
            return None
        if options.missing == "mean":
            return _with_holes(rows, len(columns))
        sums = (triangle_of if triangular else moments_of)(rows, len(columns))
        return Statistic.summed(sums, rounding(sums.centre.high, sums.squares / sums.centre.weight))


def _with_labels(
    blocks: Iterable[Array], columns: tuple[str, ...], options: FitOptions, supply: Supply, labels: Labels
) -> Statistic | None:
    from pcatool.methods.dependence import cross_moments_of, noise_of
    from pcatool.methods.supervised import SupervisedPCA

    task, _ = SupervisedPCA(options, Notices()).task(blocks, columns, supply)
    if task.rows.n == 0:
        return None
    sums = cross_moments_of(task)
    return Statistic.summed(sums, noise_of(sums, labels.classes), tuple(labels.levels()) if labels.classes else ())


def _with_holes(rows: Rows, d: int) -> HoledSums:
    origin = rows.origin
    return HoledSums.summed(gather_pairs(rows.map(lambda X, w: of_block(X, origin, w), size=pair_bytes(d))))


def adding_up(options: FitOptions, columns: tuple[str, ...], labels: Labels | None, limit: int) -> tuple[str, str]:
    """The solver, and why, where only sums over parts of the rows are at hand; what needs the rows is refused."""
    if (reason := _needs_rows(options, labels)) is not None:
        raise reason
    if labels is not None:
        return "cross-moment", ""  # the reason tells how many labels there are
    method = PCA(options, Notices())
    problem = method.problem(columns, None)
    name, why = method.choose(problem)
    if name not in ADD_UP or options.missing == "mean":
        name, why = "covariance", f"a {problem.d} x {problem.d} scatter, which adds up over parts of the rows"
    make_plan(name, why, problem, None, 1).check(limit, problem)
    return name, why


def _needs_rows(options: FitOptions, labels: Labels | None) -> PcatoolError | None:
    """What does not add up, and the way out."""
    rule = parse_components(options.components)
    name = split_rule(rule)[0] if isinstance(rule, str) else ""
    elsewhere = "--engine threads does it on one machine"
    if options.triples:
        return UsageError("--triples cannot be spread over parts: any line may add to any row", elsewhere)
    if options.kernel is not None or options.method == "kernel":
        return UsageError(
            f"--method {options.method} with a kernel cannot be spread over parts: every row is multiplied with every "
            "other",
            elsewhere,
        )
    if options.missing == "em":
        return UsageError(
            "--missing em cannot be spread over parts: it passes over the rows again and again",
            f"--missing mean or drop takes one pass; {elsewhere}",
        )
    if options.solver not in ("auto", *ADD_UP):
        return UsageError(
            f"--solver {options.solver} cannot be spread over parts: it needs all rows in one place",
            "--solver covariance or tsqr adds up what parts of the rows say",
        )
    if options.missing == "mean" and options.solver == "tsqr":
        return UsageError(
            "--solver tsqr with --missing mean cannot be spread over parts: it needs the means first",
            "--solver covariance takes one pass",
        )
    if name and not RULES[name].alone:
        return UsageError(f"-k {name} cannot be spread over parts: it needs the rows themselves", "take another rule")
    if labels is not None and not LabelKernel.of(options, labels).streams:
        return UsageError(
            f"--label-kernel {LabelKernel.of(options, labels).name} cannot be spread over parts: every label is "
            "compared with every other",
            "--label-kernel delta or linear adds up",
        )
    return None


def fit_sums(sums: Sums, columns: tuple[str, ...], options: FitOptions, notices: Notices, reason: str) -> Fit:
    """The model of all rows from their sums."""
    if isinstance(sums, HoledSums):
        with threads(1), np.errstate(all="ignore"):
            return IncompletePCA(options, notices).of_sums(sums, columns, reason)
    return fit_again(sums, columns, options, notices, reason)
