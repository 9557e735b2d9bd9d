"""Order and sign components like those of an older model.

The set of kept directions does not change: a component may change its sign, and components with nearly equal
eigenvalues may trade places. Every eigenvalue stays with its component.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, UsageError
from pcatool.model.model import Model, component_name
from pcatool.model.validate import NEAR_EQUAL
from pcatool.progress import Reporter
from pcatool.wording import MOST_LISTED, counted, grouped, listed

__all__ = ["aligned_to", "best_matching", "check_older", "cosines"]

Indices = NDArray[np.intp]

# A cosine below this, or a difference of two cosines below this, is rounding error and must not decide.
ROUNDING = 1e-8

# A component whose cosine with the old one in its place is below this takes its sign from the most similar old one.
LEAST_SIMILARITY = 0.5


def check_older(old: Model, *, method: str, in_kernel: bool, standardized: bool) -> None:
    """Raise `UsageError` if the components of the model `old` are not comparable with those of a planned fit.

    The other arguments describe the planned fit; `in_kernel` says that it has a kernel.
    """
    for has_kernel, which in ((in_kernel, "new"), ("kernel" in old.meta, "older")):
        if has_kernel:
            linear = f"give --align-to a model fitted with --method {method} and without --kernel, or "
            raise UsageError(
                f"--align-to: the {which} model has a kernel, and its components cannot be compared with the "
                "components of another fit",
                f"{'' if in_kernel else linear}leave out --align-to",
            )
    older = str(old.meta.get("method", "pca"))
    if older != method:
        raise UsageError(
            f"--align-to: a {method} model cannot be aligned to a {older} model",
            f"give --align-to a model fitted with --method {method}",
        )
    if old.standardized != standardized:
        which, how = (
            ("is standardised, but the new model is not", "without")
            if old.standardized
            else ("is not standardised, but the new model is", "with")
        )
        raise UsageError(f"--align-to: the older model {which}", f"give --align-to a model fitted {how} --standardize")


def aligned_to(model: Model, old: Model, reporter: Reporter) -> Model:
    """Return the model with each component in the place, and with the sign, of the most similar component of `old`.

    A component may take the place of the i-th largest eigenvalue only if both eigenvalues differ by at most a tenth.
    Among such orders, the one with the largest sum of |cosine| is taken. `meta["aligned"]` holds, for each place, the
    rank by eigenvalue of its component. Report a note for columns that are in only one of the models, and a warning for
    components that hardly resemble the old component in the same place.
    """
    check_older(old, method=method_of(model), in_kernel="kernel" in model.meta, standardized=model.standardized)
    _note_other_columns(model, old, reporter)
    C = cosines(model, old)
    order = _order(model, C)
    _warn_of_others(model, C[order], reporter)
    B = model.basis[:, order] * _signs(C[order])
    values = model.eigenvalues.copy()
    values[: model.k] = values[order]
    meta = {**model.meta, "aligned": (order + 1).tolist()}
    if "certificate" in meta:
        meta["certificate"] = _reordered(meta["certificate"], order)
    return replace(model, basis=B, eigenvalues=values, meta=meta)


def method_of(model: Model) -> str:
    return str(model.meta.get("method", "pca"))


def cosines(model: Model, old: Model) -> Array:
    """Return the cosines (k, k_old) between the components of two models, over their common columns."""
    places = {name: j for j, name in enumerate(old.columns)}
    here = [j for j, name in enumerate(model.columns) if name in places]
    there = [places[model.columns[j]] for j in here]
    return np.asarray(model.basis[here].T @ old.basis[there])


def best_matching(similarity: Array) -> tuple[Indices, Indices]:
    """Return row indices, and the column index paired with each row, for the largest sum of similarities.

    Each row and each column is used at most once; the pairs are as many as the shorter side. -inf is never chosen.
    """
    if similarity.shape[0] > similarity.shape[1]:
        columns, rows = best_matching(similarity.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    preferred = np.argmax(similarity, axis=1)
    if len(set(preferred.tolist())) == len(preferred):  # all prefer different columns
        return np.arange(len(preferred)), preferred
    from scipy.optimize import linear_sum_assignment  # imported late: it takes a fifth of a second

    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return rows, columns


def _note_other_columns(model: Model, old: Model, reporter: Reporter) -> None:
    """Report a note for columns that are in only one of the models.

    Raise `DataError` if no column is in both.
    """
    new, known = set(model.columns), set(old.columns)
    if new.isdisjoint(known):
        raise DataError(
            f"--align-to: no column of the new model ({listed(model.columns)}) is in the older model "
            f"({listed(old.columns)})",
            "give --align-to a model with the same columns",
        )
    for whose, names in (
        ("the new model", [name for name in model.columns if name not in known]),
        ("the older model", [name for name in old.columns if name not in new]),
    ):
        if names:
            reporter.note(f"--align-to ignores columns that are only in {whose}: {listed(names)}")


def _order(model: Model, C: Array) -> Indices:
    """Return the index of the component for each place, (k,), by the cosines C (k, k_old) with old components.

    Components past the rank keep their places.
    """
    k = model.k
    values = model.eigenvalues[:k]
    near = np.abs(values[:, None] - values) <= NEAR_EQUAL * values
    near &= values > 0
    np.fill_diagonal(near, True)
    current = np.arange(k)
    similarity = np.zeros((k, k))
    known = min(k, C.shape[1])
    similarity[:, :known] = np.abs(C[:, :known])
    similarity[current, current] += ROUNDING  # prefers the current place among equals
    _, places = best_matching(np.where(near, similarity, -np.inf))
    return np.argsort(places)


def _signs(C: Array) -> Array:
    """Return +1 or -1 for each component in its new place, (k,), by the cosines C (k, k_old) with old components.

    With this sign, a component has a positive cosine with the old component in its place or, if these two are not
    similar, with the most similar old component.
    """
    k, known = C.shape
    partner = np.argmax(np.abs(C), axis=1)
    own = np.arange(min(k, known))
    similarity = np.abs(C[own, own]) >= LEAST_SIMILARITY
    partner[own[similarity]] = own[similarity]
    cosine = C[np.arange(k), partner]
    return np.where(cosine < -ROUNDING, -1.0, 1.0)


def _warn_of_others(model: Model, C: Array, reporter: Reporter) -> None:
    """Warn about components that hardly resemble the old component with the same number.

    C (k, k_old) are the cosines of the components in their new places with the old components.
    """
    own = np.diagonal(C)
    unlike = [j for j in np.flatnonzero(np.abs(own) < LEAST_SIMILARITY).tolist() if model.eigenvalues[j] > 0]
    if unlike:
        found = ", ".join(f"{abs(own[j]):.2f} for {component_name(j + 1)}" for j in unlike[:MOST_LISTED])
        more = f" and {grouped(len(unlike) - MOST_LISTED)} more" if len(unlike) > MOST_LISTED else ""
        those, numbers = ("the component", "number") if len(unlike) == 1 else ("the components", "numbers")
        what = counted(len(unlike), "component") + (" is" if len(unlike) == 1 else " are")
        reporter.warn(
            f"--align-to: {what} not similar to {those} with the same {numbers} in the older model: |cosine| "
            f"{found}{more}; pcatool diff shows the most similar components"
        )


def _reordered(certificate: Mapping[str, Any], order: Indices) -> dict[str, Any]:
    """Return a copy of a certificate whose entries follow the new order of the components."""
    moved = dict(certificate)
    for name in ("relative_error", "vouched"):
        if name in moved:
            moved[name] = [moved[name][j] for j in order]
    place = {int(j) + 1: i + 1 for i, j in enumerate(order)}
    pairs = (sorted(place.get(j, j) for j in pair) for pair in moved.get("close_pairs", []))
    return moved | {"close_pairs": sorted(pairs)}
