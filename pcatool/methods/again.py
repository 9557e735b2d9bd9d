"""A fit from sums over rows alone: those that a model keeps, with other rows or other settings, or those of parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import ModelError, RefusedError
from pcatool.linalg.blas import threads
from pcatool.linalg.eigen import of_factor
from pcatool.linalg.moments import Moments
from pcatool.linalg.row_sums import AGREES, Statistic
from pcatool.linalg.spectrum import EPS
from pcatool.linalg.triangle import Triangle
from pcatool.methods.base import Fit, Labels
from pcatool.methods.kept import rule_with_rows
from pcatool.methods.pca import PCA, SMOOTHING, Solved, evidence
from pcatool.model.model import Model
from pcatool.options import FitOptions, parse_components
from pcatool.progress import Notices
from pcatool.rules.base import decide
from pcatool.solvers.base import Problem, Solution, finish
from pcatool.solvers.covariance import Covariance

__all__ = ["about_zero", "fit_again", "options_of"]


def options_of(model: Model, **changes: Any) -> FitOptions:
    """The options of the fit that made a model, as far as they shape it, with some of them changed."""
    meta = model.meta
    default = SMOOTHING * (model.total_variance / model.d)
    given = {
        "components": meta.get("components", model.k),
        "standardize": model.standardized,
        "center": model.centered,
        "center_rows": model.rows_centered,
        "ddof": model.ddof,
        "method": meta.get("method", "pca"),
        "whiten": model.whitening,
        "epsilon": None if model.whitening == "none" or model.epsilon == default else model.epsilon,
        "missing": meta.get("missing", "error"),
        "weights": meta.get("weights"),
        "weights_kind": meta.get("weights_kind", "frequency"),
        "label": tuple(meta.get("labels", ())),
        "label_kernel": meta.get("label_kernel"),
        "seed": meta.get("seed", 0),
        "updatable": True,
    }
    return FitOptions(**{**given, **changes})


def fit_again(
    statistic: Statistic, columns: tuple[str, ...], options: FitOptions, notices: Notices, reason: str | None = None
) -> Fit:
    """The model of such sums, with a certificate of its own; without a reason for the solver they were kept."""
    reason = f"from the sums kept of {statistic.centre.rows} rows" if reason is None else reason
    if rule := rule_with_rows(parse_components(options.components)):
        raise RefusedError(
            f"-k {rule} needs the rows, and a model keeps sums over them", "pcatool refit -k sets another k"
        )
    with threads(1), np.errstate(all="ignore"):  # what overflows or underflows is refused by name
        if options.method == "supervised":
            return _with_labels(statistic, columns, options, notices, reason)
        method = PCA(options, notices)
        problem = method.problem(columns, statistic.centre.rows)
        name, solution = _solved(statistic, problem._replace(keeps=False))
        if solution.rank == 0:
            raise RefusedError("the sums hold no component that is told from rounding", "fit the rows themselves")
        if float(solution.eigenvalues.sum()) > solution.total_variance * (1 + AGREES):
            raise RefusedError("the sums leave a variance below 0: what cancels has eaten their digits", "fit the rows")
        left_out = _left_out(statistic) / problem.divisor(statistic.centre)
        if not problem.center:
            left_out += _left_out_about_zero(statistic, problem, solution)
        solution = _kept(solution, statistic if problem.keeps else None, left_out)
        known = evidence(solution, problem)
        return method.finished(problem, Solved(name, reason, solution, decide(problem.wish, known)), known)


def _kept(solution: Solution, statistic: Statistic | None, left_out: float) -> Solution:
    """With what the columns that were left out may add to each eigenvalue, and the sums where they are kept."""
    return solution._replace(error=solution.error + left_out, statistic=statistic)


def _left_out(statistic: Statistic) -> float:
    """The most that squares of columns not told from rounding may add up to."""
    flat = statistic.flat
    return float(np.sum(statistic.sums.squares[flat] * (1 + 2 * statistic.rounding[flat])))


def _left_out_about_zero(statistic: Statistic, problem: Problem, solution: Solution) -> float:
    """The most that such columns may add about 0, where their means stay: by products of both with all others.

    Nor can a column move an eigenvalue by more than its sum of squares, which is little of a mean near 0.
    """
    flat, divisor, means = statistic.flat, problem.divisor(statistic.centre), statistic.centre.mean
    whole = (
        2 * float(np.sum(np.square(np.abs(means[flat]) + statistic.drift[flat]))) * statistic.centre.weight / divisor
    )
    spread = np.sqrt(_left_out(statistic) / divisor)
    mean = np.linalg.norm(statistic.drift[flat]) * np.sqrt(statistic.centre.weight / divisor)
    deviations = np.linalg.norm(np.sqrt(solution.variances) / solution.std)
    products = float(2 * spread * deviations + mean * (2 * np.sqrt(solution.total_variance) + mean))
    return min(products, whole)


def _solved(statistic: Statistic, problem: Problem) -> tuple[str, Solution]:
    known = statistic.without(statistic.flat)
    noise, uncentred = known.rounding, about_zero(statistic)
    uncentred[statistic.flat] = 2 * EPS  # what these may add is told beside it
    match known.sums:
        case Moments() as moments:
            return "covariance", Covariance().finish(moments, problem, noise, uncentred)
        case Triangle(centre, R):
            return "tsqr", finish(centre, R.copy(), problem, of_factor, noise, uncentred)
        case _:
            raise ModelError("sums over rows and labels in a model without labels", "fit the model anew")


def about_zero(statistic: Statistic) -> Array:
    """(d,) rounding of sums about 0: that of squares about the mean, and that of the mean as a part of all squares."""
    squares, centre = statistic.sums.squares, statistic.centre
    all_ = squares + centre.weight * centre.mean**2
    mean = statistic.drift * np.sqrt(centre.weight / all_)
    blur = centre.weight_error / centre.weight
    return np.asarray(np.fmax(statistic.rounding * (squares / all_) + mean * (1 + mean), 2 * EPS) + blur)


def _with_labels(
    statistic: Statistic, columns: tuple[str, ...], options: FitOptions, notices: Notices, reason: str
) -> Fit:
    from pcatool.linalg.cross_moments import CrossMoments
    from pcatool.methods.cross_moments import of_cross_moments
    from pcatool.methods.label_kernels import LabelKernel
    from pcatool.methods.supervised import SupervisedPCA

    known = statistic.without(statistic.flat)
    sums = known.sums
    if not isinstance(sums, CrossMoments):
        raise ModelError("sums over rows without labels in a supervised model", "fit the model anew")
    method = SupervisedPCA(options, notices)
    labels = Labels(options.label, bool(statistic.classes), sums.t, lambda: list(statistic.classes))
    problem = method.problem(columns, statistic.centre.rows)._replace(keeps=False)
    found = of_cross_moments(sums, problem, labels, known.noise)
    left_out = _left_out(statistic) * float(sums.label_squares.sum())
    found = found._replace(solution=_kept(found.solution, statistic, left_out), reason=reason or found.reason)
    return method.finished_with(found, problem, labels, LabelKernel.of(options, labels))
