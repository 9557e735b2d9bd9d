"""Remove rows from the sums of a model, where enough digits are left."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from pcatool.errors import DataError, RefusedError, grouped, listed, show
from pcatool.linalg.cross_moments import CrossMoments
from pcatool.linalg.eigen import unit_spectrum
from pcatool.linalg.moments import Moments
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.spectrum import EPS
from pcatool.methods.sums import rounding_about_zero
from pcatool.model.model import Model
from pcatool.progress import Reporter

__all__ = ["check_digits", "check_scales", "make_subtraction"]

# Largest relative error of the squares of a column: with a larger error, too little is known of its scale.
DIGITS = 1e-8
# Largest growth of the error of an eigenvalue that was worse than DIGITS: one digit.
WORSE = 10.0


def make_subtraction(model: Model, reporter: Reporter) -> Callable[[Statistic, Statistic], Statistic]:
    """Return a function that subtracts sums: (whole, gone) -> sums of the rows that are left.

    The function raises `DataError` if `gone` cannot be part of `whole`, and `RefusedError` if cancellation leaves too
    few digits.
    """

    def subtract(whole: Statistic, gone: Statistic) -> Statistic:
        left = whole.centre.rows - gone.centre.rows
        if left < 1 or not whole.centre.weight > gone.centre.weight:
            raise DataError(
                f"cannot remove {grouped(gone.centre.rows)} of {grouped(whole.centre.rows)} rows: none would be left",
                "remove fewer rows, or fit anew",
            )
        if unknown := [name for name in gone.classes if name not in whole.classes]:
            raise _not_among(f"class {listed(unknown)} is not in the model")
        rest = _of_known_weight(model, whole, gone)
        if len(wrong := np.flatnonzero(rest.sums.squares < 0)):
            raise _not_among(f"column {show(model.columns[wrong[0]])} would have a variance below 0")
        if isinstance(rest.sums, CrossMoments) and np.any(rest.sums.label_squares < 0):
            raise _not_among("the model has fewer rows with these labels")
        if model.standardized:
            check_scales(rest, model.columns)
        if len(rest.uncertain_columns):
            names = listed(model.columns[j] for j in rest.uncertain_columns)
            if model.centered and not rest.centre.varies.any():
                raise RefusedError(
                    f"cancellation leaves no variance distinguishable from rounding error in {names}",
                    "fit the remaining rows",
                )
            reporter.note(f"the remaining variance is indistinguishable from rounding error in {names}")
        _check_products(rest)
        return rest

    return subtract


def _of_known_weight(model: Model, whole: Statistic, gone: Statistic) -> Statistic:
    """Return the sums that are left.

    Raise `RefusedError` if too few digits are left of a weight that variances are, or may be, divided by.
    """
    rest = whole.subtract(gone)
    reliability = model.meta.get("weights_kind") == "reliability"
    error = max(rest.centre.divisor_error(ddof, reliability=reliability) for ddof in {0, model.ddof, int(reliability)})
    if error > DIGITS:
        raise RefusedError(
            f"the remaining weight would be accurate only to {min(error, 1.0):.0e} of its value: "
            "cancellation has lost its digits",
            "fit the remaining rows",
        )
    return rest


def check_scales(statistic: Statistic, columns: Sequence[str]) -> None:
    """Raise `RefusedError` if a column would be divided by a scale with too few digits."""
    rounding = 2 * statistic.feature_rounding
    inaccurate = np.flatnonzero((statistic.sums.squares > 0) & ~(rounding <= DIGITS)).tolist()
    if inaccurate:
        names, error = [columns[i] for i in inaccurate], rounding[inaccurate[0]]
        said = f"would be accurate only to {error:.0e} of its value" if error < 1 else "would be only rounding error"
        raise RefusedError(
            f"the variance of column {show(names[0])} {said}: cancellation leaves fewer than 8 digits of the scale "
            "of the column",
            f"leave it out first (pcatool refit -x {','.join(names)}), or fit the remaining rows",
        )


def _check_products(rest: Statistic) -> None:
    """Raise `DataError` if no rows can have these sums: some direction has a variance below 0."""
    rest = rest.without(rest.uncertain_columns)
    if isinstance(rest.sums, Moments):
        smallest = float(unit_spectrum(rest.sums.scatter)[-1])
        if smallest < -2 * float(np.sqrt(len(rest.rounding)) * np.linalg.norm(rest.rounding + EPS)):
            raise _not_among("some combination of columns would have a variance below 0")


def check_digits(before: Model, after: Model) -> None:
    """Raise `RefusedError` if a component of `after` has lost digits that it had in `before`."""
    had, has = _known(before), _known(after)
    # Only as many components are compared as so many rows can have. In a supervised model a lost component is no error:
    # it may have gone with the rows.
    rank = after.meta.get("rank", 0) if after.meta.get("method") == "pca" else after.k
    for j, then in enumerate(had[: after.n_samples - after.centered]):
        lost = after.meta.get("method") == "pca" and j >= rank
        if j >= len(has) and not lost:
            break
        now = _rounding_share(before, after, j) if lost else has[j]
        if now > (DIGITS if then <= DIGITS else WORSE * then):
            known = f", {after.eigenvalues[j]:.3g}, would be accurate only to {now:.0e} of its value"
            raise RefusedError(
                f"the eigenvalue of PC{j + 1}{' could not be distinguished from 0' if lost else known}: cancellation "
                "has lost its digits",
                "fit the remaining rows, or keep fewer components (pcatool refit -k)",
            )


def _known(model: Model) -> list[float]:
    """Relative errors of the kept eigenvalues, up to the first eigenvalue that is 0."""
    errors = model.meta.get("certificate", {}).get("relative_error", [])
    return list(itertools.takewhile(lambda error: error is not None, errors))


def _rounding_share(before: Model, after: Model, j: int) -> float:
    """Return the rounding error of the rest along component j of `before`, as a share of its old eigenvalue.

    If the share is small, the component is gone with the rows; else it may still be there. The error of entry ij of the
    rest is at most 2 sqrt(e_i e_j), where e_i is the error of square i (`Statistic.subtract`).
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
