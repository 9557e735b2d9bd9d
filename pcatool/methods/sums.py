"""Fits from sums over rows: add up parts, merge them exactly or remove some, and fit again without the rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import DataError, ModelError, RefusedError, UsageError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.cross_moments import CrossMoments
from pcatool.linalg.eigen import spectrum_of_factor, unit_spectrum
from pcatool.linalg.moments import Moments, MomentsAccumulator
from pcatool.linalg.row_sums import TOTAL_TOLERANCE, Statistic
from pcatool.linalg.spectrum import EPS
from pcatool.linalg.triangle import Triangle, TriangleAccumulator
from pcatool.methods.base import Fit, FitResources, Labels, rule_with_rows
from pcatool.methods.pca import PCA, SMOOTHING, Solved, evidence
from pcatool.model.model import Model
from pcatool.options import FitOptions, parse_components
from pcatool.options.fields import options_of_settings
from pcatool.options.fitting import ADDITIVE_SOLVERS, why_not_in_parts
from pcatool.progress import Reporter
from pcatool.rules.base import decide
from pcatool.solvers.base import Problem, Solution, solve_factor
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.plan import Plan, make_plan
from pcatool.wording import grouped, listed, show

__all__ = [
    "MergeableSums",
    "check_adds_up",
    "check_digits",
    "check_scales",
    "fit_from_statistic",
    "fit_sums",
    "make_subtraction",
    "options_of",
    "plan_sums",
    "sums_of",
]

if TYPE_CHECKING:
    from pcatool.missing.mean_imputation import MissingSums


def options_of(model: Model, **changes: Any) -> FitOptions:
    """Return the options that would fit this model again, from its settings; `changes` replace some of the options."""
    given = {"components": model.k, "updatable": True, **options_of_settings(FitOptions, model.meta)}
    if model.epsilon == SMOOTHING * (model.total_variance / model.d):
        given["epsilon"] = None  # the default, which depends on the rows
    return FitOptions(**{**given, **changes})


def fit_from_statistic(
    statistic: Statistic, columns: tuple[str, ...], options: FitOptions, reporter: Reporter, reason: str | None = None
) -> Fit:
    """Fit a model to sums over rows, without the rows; its certificate is computed anew.

    `reason` explains the choice of the solver; by default it says that the sums were kept. Raise `RefusedError` if a
    rule needs the rows, or if the sums hold no component that is distinguishable from rounding error.
    """
    reason = f"from stored sums over {grouped(statistic.centre.rows)} rows" if reason is None else reason
    if rule := rule_with_rows(parse_components(options.components)):
        raise RefusedError(
            f"-k {rule} needs the rows, but a model keeps only sums over rows",
            "first choose a number of components or a share of the variance, for example with pcatool refit -k 0.99",
        )
    with one_blas_thread(), np.errstate(all="ignore"):  # overflow and underflow are refused with a message
        if options.method == "supervised":
            return _fit_with_labels(statistic, columns, options, reporter, reason)
        method = PCA(options, reporter)
        problem = method.problem(columns, statistic.centre.rows)
        name, solution = _solved(statistic, problem._replace(keeps_sums=False))
        if solution.rank == 0:
            raise RefusedError(
                "the sums give no component that is distinguishable from rounding error", "run pcatool fit on the rows"
            )
        if float(solution.eigenvalues.sum()) > solution.total_variance * (1 + TOTAL_TOLERANCE):
            raise RefusedError(
                "the sums give a variance below 0: rounding leaves too few digits", "run pcatool fit on the rows"
            )
        left_out = _left_out(statistic) / problem.divisor(statistic.centre)
        if not problem.center:
            left_out += _left_out_about_zero(statistic, problem, solution)
        solution = _with_sums(solution, statistic if problem.keeps_sums else None, left_out)
        known = evidence(solution, problem)
        return method.finish_fit(problem, Solved(name, reason, solution, decide(problem.wish, known)), known)


def _with_sums(solution: Solution, statistic: Statistic | None, left_out: float) -> Solution:
    """Return the solution with `statistic` as the sums to store, and with `left_out` added to its error bounds."""
    return solution._replace(error=solution.error + left_out, statistic=statistic)


def _left_out(statistic: Statistic) -> float:
    """Return a bound on the sum of squares of the columns whose variance is indistinguishable from rounding error."""
    columns = statistic.uncertain_columns
    return float(np.sum(statistic.sums.squares[columns] * (1 + 2 * statistic.feature_rounding[columns])))


def _left_out_about_zero(statistic: Statistic, problem: Problem, solution: Solution) -> float:
    """Return a bound on how far the columns of `_left_out` move an eigenvalue of an uncentred fit, beyond `_left_out`.

    An uncentred fit keeps the means of these columns and drops their deviations. The result, in units of the
    eigenvalues, is the smaller of two bounds: from the products of these columns with all columns, and from their sums
    of squares about 0, as no column moves an eigenvalue by more than its sum of squares.
    """
    columns, divisor, means = statistic.uncertain_columns, problem.divisor(statistic.centre), statistic.centre.mean
    whole = (
        2
        * float(np.sum(np.square(np.abs(means[columns]) + statistic.mean_error[columns])))
        * statistic.centre.weight
        / divisor
    )
    spread = np.sqrt(_left_out(statistic) / divisor)
    mean = np.linalg.norm(statistic.mean_error[columns]) * np.sqrt(statistic.centre.weight / divisor)
    deviations = np.linalg.norm(np.sqrt(solution.variances) / solution.std)
    products = float(2 * spread * deviations + mean * (2 * np.sqrt(solution.total_variance) + mean))
    return min(products, whole)


def _solved(statistic: Statistic, problem: Problem) -> tuple[str, Solution]:
    """Return the name of the solver, and the solution from the sums without the `uncertain_columns` of `statistic`."""
    remaining = statistic.without(statistic.uncertain_columns)
    rounding, uncentred = remaining.feature_rounding, rounding_about_zero(statistic)
    uncentred[statistic.uncertain_columns] = 2 * EPS  # what these columns may add is bounded by `_left_out_about_zero`
    match remaining.sums:
        case Moments() as moments:
            return "covariance", Covariance().solve_moments(moments, problem, rounding, uncentred)
        case Triangle(centre, R):
            return "tsqr", solve_factor(centre, R.copy(), problem, spectrum_of_factor, rounding, uncentred)
        case _:
            raise ModelError(
                "the model is not supervised, but its sums over rows contain labels", "fit the model again"
            )


def rounding_about_zero(statistic: Statistic) -> Array:
    """Return the relative rounding error (d,) of the sum of squares about 0 of each column.

    This is the error of the squares about the mean plus the error of the mean, as a share of the squares about 0.
    """
    squares, centre = statistic.sums.squares, statistic.centre
    all_ = squares + centre.weight * centre.mean**2
    mean = statistic.mean_error * np.sqrt(centre.weight / all_)
    weight_rounding = centre.weight_error / centre.weight
    return np.asarray(
        np.fmax(statistic.feature_rounding * (squares / all_) + mean * (1 + mean), 2 * EPS) + weight_rounding
    )


def _fit_with_labels(
    statistic: Statistic, columns: tuple[str, ...], options: FitOptions, reporter: Reporter, reason: str
) -> Fit:
    """Fit supervised PCA to sums over rows and labels, without the rows; `reason` explains the choice of the solver.

    Raise `ModelError` if the sums contain no labels, and `DataError` if no column depends on the labels.
    """
    from pcatool.linalg.cross_moments import CrossMoments
    from pcatool.methods.dependence import solve_cross_moments
    from pcatool.methods.label_kernels import LabelKernel
    from pcatool.methods.supervised import SupervisedPCA

    remaining = statistic.without(statistic.uncertain_columns)
    sums = remaining.sums
    if not isinstance(sums, CrossMoments):
        raise ModelError("the model is supervised, but its sums over rows contain no labels", "fit the model again")
    method = SupervisedPCA(options, reporter)
    labels = Labels(options.label, bool(statistic.classes), sums.t, lambda: list(statistic.classes))
    problem = method.problem(columns, statistic.centre.rows)._replace(keeps_sums=False)
    found = solve_cross_moments(sums, problem, labels, remaining.rounding)
    left_out = _left_out(statistic) * float(sums.label_squares.sum())
    found = found._replace(solution=_with_sums(found.solution, statistic, left_out), reason=reason or found.reason)
    return method.finish_dependence(found, problem, labels, LabelKernel.of(options, labels))


MergeableSums = Union[Statistic, "MissingSums"]


def sums_of(
    blocks: Iterable[Array], columns: tuple[str, ...], options: FitOptions, resources: FitResources, *, triangular: bool
) -> MergeableSums | None:
    """Return the sums over the rows of `blocks`, which can be merged with others; None if there are no rows.

    `triangular` asks for a triangular factor, with twice as many digits, instead of the scatter.
    """
    with one_blas_thread(), np.errstate(all="ignore"):
        if resources.labels is not None:
            return _sums_with_labels(blocks, columns, options, resources, resources.labels)
        method = PCA(options, Reporter())
        rows = method.rows(blocks, columns, resources)
        if rows.n == 0:
            return None
        if options.missing == "mean":
            from pcatool.missing.mean_imputation import MissingSums, PairsAccumulator

            return MissingSums.summed(rows.reduce(PairsAccumulator(rows.origin)))
        origin = rows.origin
        sums = rows.reduce(TriangleAccumulator(origin)) if triangular else rows.reduce(MomentsAccumulator(origin))
        rounding = method.problem(columns, rows.n).rounding(sums.centre, sums.squares)
        return Statistic.summed(sums, rounding)


def _sums_with_labels(
    blocks: Iterable[Array], columns: tuple[str, ...], options: FitOptions, resources: FitResources, labels: Labels
) -> Statistic | None:
    """Return the sums over the rows of `blocks` and their labels; None if there are no rows."""
    from pcatool.methods.dependence import CrossMomentsAccumulator, label_moments_rounding
    from pcatool.methods.supervised import SupervisedPCA

    task, _ = SupervisedPCA(options, Reporter()).task(blocks, columns, resources)
    if task.rows.n == 0:
        return None
    sums = task.rows.reduce(CrossMomentsAccumulator(task))
    return Statistic.summed(
        sums,
        label_moments_rounding(sums, task.problem, labels.classes),
        tuple(labels.levels()) if labels.classes else (),
    )


def plan_sums(options: FitOptions, columns: tuple[str, ...], labels: Labels | None, rows: int | None) -> Plan:
    """Return the plan of a fit that merges sums over parts of the rows, and computes the components from these alone.

    `labels` are those of a supervised fit, else None; `rows` is the expected number of rows, None if unknown.
    """
    if labels is not None:
        return _plan_with_labels(options, columns, labels)._replace(rows=rows)
    method = PCA(options, Reporter())
    problem = method.problem(columns, None)
    name, why = method.choose(problem)
    if name not in ADDITIVE_SOLVERS or options.missing == "mean":
        name, why = "covariance", f"{problem.d} x {problem.d} scatter matrices of parts of the rows are added up"
    return make_plan(name, why, problem._replace(keeps_sums=True), rows, 1)  # the sums stay beside S


def _plan_with_labels(options: FitOptions, columns: tuple[str, ...], labels: Labels) -> Plan:
    """Return the plan of a supervised fit from sums, for an unknown number of rows."""
    from pcatool.methods.supervised import SupervisedPCA

    return SupervisedPCA(options, Reporter()).plan((), columns, resources=FitResources(labels=labels))


def check_adds_up(options: FitOptions) -> None:
    """Raise `UsageError` if the options need all rows in one place, so that sums over parts are not enough."""
    reason = why_not_in_parts(options.sum_settings(rule_with_rows(parse_components(options.components))))
    if reason is not None:
        raise UsageError(*reason)


def fit_sums(
    sums: MergeableSums, columns: tuple[str, ...], options: FitOptions, reporter: Reporter, reason: str
) -> Fit:
    """Fit a model to sums over all rows; see `fit_from_statistic` for `reason` and errors."""
    if isinstance(sums, Statistic):
        return fit_from_statistic(sums, columns, options, reporter, reason)
    from pcatool.methods.missing_data import IncompletePCA

    with one_blas_thread(), np.errstate(all="ignore"):
        return IncompletePCA(options, reporter).of_sums(sums, columns, reason)


# --- removal of rows ---

# Largest relative error of the squares of a column: with a larger error, too little is known of its scale.
DIGITS = 1e-8
# Largest growth of the error of an eigenvalue that was worse than DIGITS: one digit.
WORSE = 10.0


# What no remaining rows can have: words of errors.
NEGATIVE = "have a variance below 0"


def make_subtraction(model: Model, reporter: Reporter) -> Callable[[Statistic, Statistic], Statistic]:
    """Return a function (whole, gone) -> sums over the remaining rows, for sums with the columns of `model`.

    The function raises `DataError` if the rows of `gone` cannot be among those of `whole`, and `RefusedError` if
    rounding leaves too few digits. The function reports a note for columns that keep no variance.
    """

    def subtract(whole: Statistic, gone: Statistic) -> Statistic:
        left = whole.centre.rows - gone.centre.rows
        if left < 1:
            raise DataError(
                f"cannot remove {grouped(gone.centre.rows)} of {grouped(whole.centre.rows)} rows: no row would be left",
                "remove fewer rows",
            )
        if not whole.centre.weight > gone.centre.weight:
            raise _not_among(
                f"the weights of the rows to remove add up to {gone.centre.weight:g}, and the weights of all rows of "
                f"the model to {whole.centre.weight:g}"
            )
        if unknown := [name for name in gone.classes if name not in whole.classes]:
            raise _not_among(f"the model has no class {listed(unknown)}")
        rest = _difference(model, whole, gone)
        if len(wrong := np.flatnonzero(rest.sums.squares < 0)):
            raise _not_among(f"column {show(model.columns[wrong[0]])} of the remaining rows would {NEGATIVE}")
        if isinstance(rest.sums, CrossMoments) and np.any(rest.sums.label_squares < 0):
            raise _not_among(_wrong_label(model, rest.classes, rest.sums))
        if model.standardized:
            check_scales(rest, model.columns)
        if len(rest.uncertain_columns):
            uncertain = [model.columns[j] for j in rest.uncertain_columns]
            names = f"{'column' if len(uncertain) == 1 else 'columns'} {listed(uncertain)}"
            if model.centered and not rest.centre.varies.any():
                raise RefusedError(
                    f"rounding leaves too few digits: the remaining variance of {names} is indistinguishable from "
                    "rounding error",
                    "run pcatool fit on the remaining rows",
                )
            reporter.note(f"the remaining variance of {names} is indistinguishable from rounding error")
        _check_products(rest)
        return rest

    return subtract


def _wrong_label(model: Model, classes: Sequence[str], rest: CrossMoments) -> str:
    """Return why no rows can have the labels of `rest`: a class has too few rows, or a variance is below 0."""
    if classes:
        lacking = show(classes[int(np.argmin(rest.label.mean))])
        return f"the rows to remove include more rows of class {lacking} than the model has"
    return (
        f"label {show(model.meta['labels'][int(np.argmin(rest.label_squares))])} of the remaining rows would {NEGATIVE}"
    )


def _difference(model: Model, whole: Statistic, gone: Statistic) -> Statistic:
    """Return the sums `whole` minus the sums `gone`.

    Raise `RefusedError` if rounding leaves too few digits of the divisor of variances, for any `--ddof`.
    """
    rest = whole.subtract(gone)
    reliability = model.meta.get("weights_kind") == "reliability"
    error = max(rest.centre.divisor_error(ddof, reliability=reliability) for ddof in {0, model.ddof, int(reliability)})
    if error > DIGITS:
        raise RefusedError(
            f"the sum of the remaining weights would have a relative error of {min(error, 1.0):.0e}: "
            "rounding leaves too few digits",
            "run pcatool fit on the remaining rows",
        )
    return rest


def check_scales(statistic: Statistic, columns: Sequence[str]) -> None:
    """Raise `RefusedError` if the variance of a column, which standardising divides by, has too few digits."""
    rounding = 2 * statistic.feature_rounding
    inaccurate = np.flatnonzero((statistic.sums.squares > 0) & ~(rounding <= DIGITS)).tolist()
    if inaccurate:
        names, error = [columns[i] for i in inaccurate], rounding[inaccurate[0]]
        said = f"would have a relative error of {error:.0e}" if error < 1 else "would be only rounding error"
        what = f"the variance of column {show(names[0])} {said}: rounding leaves fewer than 8 correct digits"
        if len(names) > 1:
            what = f"rounding leaves fewer than 8 correct digits in the variances of columns {listed(names)}"
        raise RefusedError(
            what,
            f"leave {'this column' if len(names) == 1 else 'these columns'} out first "
            f"(pcatool refit -x {quote(','.join(names))}), or run pcatool fit on the rows of the new model",
        )


def _check_products(statistic: Statistic) -> None:
    """Raise `DataError` if no rows can have the scatter of `statistic`, if any: a direction has a variance below 0."""
    statistic = statistic.without(statistic.uncertain_columns)
    if isinstance(statistic.sums, Moments):
        smallest = float(unit_spectrum(statistic.sums.scatter)[-1])
        if smallest < -2 * float(np.sqrt(len(statistic.rounding)) * np.linalg.norm(statistic.rounding + EPS)):
            raise _not_among(f"some combination of columns of the remaining rows would {NEGATIVE}")


def check_digits(before: Model, after: Model) -> None:
    """Raise `RefusedError` if removing rows from the model `before` cost a component of `after` too many digits."""
    had, has = _relative_errors(before), _relative_errors(after)
    # The remaining rows may have fewer components: only as many are compared. In a supervised model a lost component is
    # no error, because its dependence may have come from the removed rows.
    rank = after.meta.get("rank", 0) if after.meta.get("method") == "pca" else after.k
    for j, then in enumerate(had[: after.n_samples - after.centered]):
        lost = after.meta.get("method") == "pca" and j >= rank
        if j >= len(has) and not lost:
            break
        now = _rounding_share(before, after, j) if lost else has[j]
        if now > (DIGITS if then <= DIGITS else WORSE * then):
            fewer = f", or keep fewer components first (pcatool refit -k {j})" if j else ""
            known = f" ({after.eigenvalues[j]:.3g}) would have a relative error of {now:.0e}"
            raise RefusedError(
                f"the eigenvalue of PC{j + 1}{' could not be distinguished from 0' if lost else known}: rounding "
                "leaves too few digits",
                f"run pcatool fit on the remaining rows{fewer}",
            )


def _relative_errors(model: Model) -> list[float]:
    """Return the relative errors of the kept eigenvalues from the certificate, up to the first unknown error."""
    errors = model.meta.get("certificate", {}).get("relative_error", [])
    return list(itertools.takewhile(lambda error: error is not None, errors))


def _rounding_share(before: Model, after: Model, j: int) -> float:
    """Return the rounding error of the variance in `after` along component j of `before`, from 0.

    The result is a share of the eigenvalue in `before`, at most 1. If the result is small, the component vanished with
    the removed rows; else rounding may hide the component. The error of entry ij of the remaining sums is at most
    2 sqrt(e_i e_j), where e_i is the error of square i (`Statistic.subtract`).
    """
    statistic = after.statistic
    assert statistic is not None
    squares, rounding = statistic.sums.squares, statistic.feature_rounding
    if not after.centered:
        rounding, squares = rounding_about_zero(statistic), squares + statistic.centre.weight * statistic.centre.mean**2
    errors = np.sqrt(rounding * squares / statistic.centre.weight) / after.std
    return min(1.0, 2 * float(np.abs(before.basis[:, j]) @ errors) ** 2 / float(before.eigenvalues[j]))


def _not_among(why: str) -> DataError:
    return DataError(
        f"some of the rows to remove are not in the model: {why}", "give rows that the model was fitted to"
    )
