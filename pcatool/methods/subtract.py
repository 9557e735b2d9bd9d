"""Take rows back out of the sums of a model, where enough digits are left."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from pcatool.errors import DataError, RefusedError, listed, show
from pcatool.linalg.cross_moments import CrossMoments
from pcatool.linalg.eigen import unit_spectrum
from pcatool.linalg.moments import Moments
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.spectrum import EPS
from pcatool.methods.sums import about_zero
from pcatool.model.model import Model
from pcatool.progress import Notices

__all__ = ["check_digits", "check_scales", "less"]

# Squares that may be off by more than this part of themselves say too little of the scale of a column.
DIGITS = 1e-8
# An eigenvalue that had fewer may lose no more than one of them.
WORSE = 10.0


def less(model: Model, notices: Notices) -> Callable[[Statistic, Statistic], Statistic]:
    """Taking rows back out of the sums of a model, where they are in it and leave enough digits."""

    def taken(whole: Statistic, gone: Statistic) -> Statistic:
        left = whole.centre.rows - gone.centre.rows
        if left < 1 or not whole.centre.weight > gone.centre.weight:
            raise DataError(
                f"{gone.centre.rows} rows are to be taken out of {whole.centre.rows}: none would be left",
                "take out fewer, or fit anew",
            )
        if unknown := [name for name in gone.classes if name not in whole.classes]:
            raise _not_among(f"class {listed(unknown)} is not in the model")
        rest = _of_known_weight(model, whole, gone)
        if len(wrong := np.flatnonzero(rest.sums.squares < 0)):
            raise _not_among(f"column {show(model.columns[wrong[0]])} would have a variance below 0")
        if isinstance(rest.sums, CrossMoments) and np.any(rest.sums.label_squares < 0):
            raise _not_among("so many with these labels are not in the model")
        if model.standardized:
            check_scales(rest, model.columns)
        if len(rest.flat):
            names = listed(model.columns[j] for j in rest.flat)
            if model.centered and not rest.centre.varies.any():
                raise RefusedError(
                    f"what cancels leaves no variance that is told from rounding in {names}",
                    "fit the rows that are left",
                )
            notices.note(f"no variance is left that is told from rounding in {names}")
        _check_products(rest)
        return rest

    return taken


def _of_known_weight(model: Model, whole: Statistic, gone: Statistic) -> Statistic:
    """What is left; refused where too little is known of the weight that variances are divided by, or may be."""
    rest = whole.less(gone)
    reliability = model.meta.get("weights_kind") == "reliability"
    known = max(rest.centre.blur(ddof, reliability=reliability) for ddof in {0, model.ddof, int(reliability)})
    if known > DIGITS:
        raise RefusedError(
            f"the weight that is left would be known to {min(known, 1.0):.0e} of itself: what cancels has eaten its "
            "digits",
            "fit the rows that are left",
        )
    return rest


def check_scales(statistic: Statistic, columns: Sequence[str]) -> None:
    """Refuse to divide by scales of which too little is known."""
    noise = 2 * statistic.rounding
    blurred = np.flatnonzero((statistic.sums.squares > 0) & ~(noise <= DIGITS)).tolist()
    if blurred:
        names, known = [columns[i] for i in blurred], noise[blurred[0]]
        said = f"would be known to {known:.0e} of itself" if known < 1 else "would be nothing but rounding"
        raise RefusedError(
            f"the variance of column {show(names[0])} {said}: what cancels leaves fewer than 8 digits of the scale "
            "that it is to be divided by",
            f"leave it out first (pcatool refit -x {','.join(names)}), or fit the rows that are left",
        )


def _check_products(rest: Statistic) -> None:
    """Refuse what no rows can add up to."""
    rest = rest.without(rest.flat)
    if isinstance(rest.sums, Moments):
        smallest = float(unit_spectrum(rest.sums.scatter)[-1])
        if smallest < -2 * float(np.sqrt(len(rest.noise)) * np.linalg.norm(rest.noise + EPS)):
            raise _not_among("some combination of columns would have a variance below 0")


def check_digits(before: Model, after: Model) -> None:
    """Refuse a model of which a component has lost the digits that it had."""
    had, has = _known(before), _known(after)
    # So many components rows of such a number can have; of labels none is missed, which may be gone.
    rank = after.meta.get("rank", 0) if after.meta.get("method") == "pca" else after.k
    for j, then in enumerate(had[: after.n_samples - after.centered]):
        lost = after.meta.get("method") == "pca" and j >= rank
        if j >= len(has) and not lost:
            break
        now = _blur(before, after, j) if lost else has[j]
        if now > (DIGITS if then <= DIGITS else WORSE * then):
            known = f", {after.eigenvalues[j]:.3g}, would be known to {now:.0e} of itself"
            raise RefusedError(
                f"the eigenvalue of PC{j + 1}{' could not be told from 0' if lost else known}: what cancels has eaten "
                "its digits",
                "fit the rows that are left, or keep fewer components (pcatool refit -k)",
            )


def _known(model: Model) -> list[float]:
    """To what part of itself each kept eigenvalue is known, as far as there is one that is not 0."""
    errors = model.meta.get("certificate", {}).get("relative_error", [])
    return list(itertools.takewhile(lambda error: error is not None, errors))


def _blur(before: Model, after: Model, j: int) -> float:
    """Rounding of what is left along a component that was there, as a part of what it was.

    Where that is little the component has gone with the rows; else it may be there still. Entry ij of what is left is
    off by 2 sqrt(e_i e_j) at most, e_i being the error of square i (`Statistic.less`).
    """
    statistic = after.statistic
    assert statistic is not None
    squares, noise = statistic.sums.squares, statistic.rounding
    if not after.centered:
        noise, squares = about_zero(statistic), squares + statistic.centre.weight * statistic.centre.mean**2
    errors = np.sqrt(noise * squares / statistic.centre.weight) / after.std
    return min(1.0, 2 * float(np.abs(before.basis[:, j]) @ errors) ** 2 / float(before.eigenvalues[j]))


def _not_among(why: str) -> DataError:
    return DataError(f"the rows to take out are not all among those of the model: {why}", "give rows that were fitted")
