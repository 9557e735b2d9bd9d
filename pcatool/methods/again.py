"""A fit taken up again from the sums that its model keeps, with other rows or other settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pcatool.errors import ModelError
from pcatool.linalg.blas import threads
from pcatool.linalg.moments import Moments
from pcatool.linalg.spectral import of_factor
from pcatool.linalg.statistic import Statistic
from pcatool.linalg.triangle import Triangle
from pcatool.methods.base import Fit, Labels, Supply
from pcatool.methods.pca import PCA, SMOOTHING, Solved, evidence
from pcatool.model import Array, Model
from pcatool.notices import Notices
from pcatool.options import FitOptions
from pcatool.rules.base import decide
from pcatool.solvers.base import Problem, Solution, rounding
from pcatool.solvers.covariance import Covariance, moments_of
from pcatool.solvers.factor import finish
from pcatool.solvers.tsqr import triangle_of

__all__ = ["fit_again", "options_of", "sums_of"]


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


def sums_of(
    blocks: Iterable[Array], columns: tuple[str, ...], options: FitOptions, like: Statistic, supply: Supply
) -> Statistic | None:
    """The sums over some rows, as the fit of such a model would add them up; None of no rows."""
    with threads(1), np.errstate(all="ignore"):
        if supply.labels is not None:
            return _sums_with_labels(blocks, columns, options, supply, supply.labels)
        rows = PCA(options, Notices()).rows(blocks, columns, supply)
        if rows.n == 0:
            return None
        add_up = triangle_of if isinstance(like.sums, Triangle) else moments_of
        sums = add_up(rows, len(columns))
        return Statistic.summed(sums, rounding(sums.centre.high, sums.squares / sums.centre.weight))


def _sums_with_labels(
    blocks: Iterable[Array], columns: tuple[str, ...], options: FitOptions, supply: Supply, labels: Labels
) -> Statistic | None:
    from pcatool.methods.dependence import cross_moments_of, noise_of
    from pcatool.methods.supervised import SupervisedPCA

    task, _ = SupervisedPCA(options, Notices()).task(blocks, columns, supply)
    if task.rows.n == 0:
        return None
    sums = cross_moments_of(task)
    return Statistic.summed(sums, noise_of(sums, labels.classes), tuple(labels.levels()) if labels.classes else ())


def fit_again(statistic: Statistic, columns: tuple[str, ...], options: FitOptions, notices: Notices) -> Fit:
    """The model of such sums, with a certificate of its own."""
    with threads(1), np.errstate(all="ignore"):  # what overflows or underflows is refused by name
        if options.method == "supervised":
            return _with_labels(statistic, columns, options, notices)
        method = PCA(options, notices)
        problem = method.problem(columns, statistic.centre.rows)
        name, solution = _solved(statistic, problem)
        known = evidence(solution, problem)
        reason = f"from the sums kept of {statistic.centre.rows} rows"
        return method.finished(problem, Solved(name, reason, solution, decide(problem.wish, known)), known)


def _solved(statistic: Statistic, problem: Problem) -> tuple[str, Solution]:
    match statistic.sums:
        case Moments() as moments:
            return "covariance", Covariance().finish(moments, problem, statistic.noise)
        case Triangle(centre, R):
            return "tsqr", finish(centre, R.copy(), problem, of_factor, statistic.noise)
        case _:
            raise ModelError("sums over rows and labels in a model without labels", "fit the model anew")


def _with_labels(statistic: Statistic, columns: tuple[str, ...], options: FitOptions, notices: Notices) -> Fit:
    from pcatool.linalg.cross import CrossMoments
    from pcatool.methods.dependence import of_cross_moments
    from pcatool.methods.labels import LabelKernel
    from pcatool.methods.supervised import SupervisedPCA

    sums = statistic.sums
    if not isinstance(sums, CrossMoments):
        raise ModelError("sums over rows without labels in a supervised model", "fit the model anew")
    method = SupervisedPCA(options, notices)
    labels = Labels(options.label, bool(statistic.classes), sums.t, lambda: list(statistic.classes))
    problem = method.problem(columns, statistic.centre.rows)
    found = of_cross_moments(sums, problem, labels, statistic.noise)
    found = found._replace(reason=f"from the sums kept of {statistic.centre.rows} rows")
    return method.finished_with(found, problem, labels, LabelKernel.of(options, labels))
