"""Order and sign components like those of an older model.

Directions are not changed, nor which of them are kept: a component may be turned round, and components of nearly equal
eigenvalues may trade places. Every eigenvalue stays beside its component.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, UsageError, listed
from pcatool.model.model import Model
from pcatool.model.validate import NEAR_EQUAL
from pcatool.progress import Notices

__all__ = ["aligned_to", "check_older", "cosines", "matched"]

Indices = NDArray[np.intp]

# Cosines this small, or this far apart, are rounding, which must not decide.
ROUNDING = 1e-8

# A component less like the one in its place than this has its sign from the one that it is most like.
LIKE = 0.5


def check_older(old: Model, *, method: str, in_kernel: bool, standardized: bool) -> None:
    """Refuse an older model whose components cannot be held against those of such a fit."""
    if in_kernel or "kernel" in old.meta:
        raise UsageError(
            "--align-to: the components of a kernel model lie in the space of its kernel, and those of two fits in two",
            "leave out --align-to",
        )
    older = str(old.meta.get("method", "pca"))
    if older != method:
        raise UsageError(f"--align-to: a {method} model does not follow a {older} model", f"give --method {older}")
    if old.standardized != standardized:
        which, flag = ("is", "give --standardize too") if old.standardized else ("is not", "leave out --standardize")
        raise UsageError(f"--align-to: the older model {which} standardised, so its components have other units", flag)


def aligned_to(model: Model, old: Model, notices: Notices) -> Model:
    """This model with each component where the one most like it stands in the older model, and turned as that is.

    Component j may stand where the i-th largest eigenvalue stood only if its own is within a tenth of that one; among
    such orders the one with the largest sum of |cosine| is taken. `meta["aligned"]` keeps the places by size.
    """
    check_older(old, method=method_of(model), in_kernel="kernel" in model.meta, standardized=model.standardized)
    _tell_others(model, old, notices)
    C = cosines(model, old)
    order = _order(model, C)
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
    """Of the angles between the components of two models, (k, k_old); a column that one lacks has no part in it."""
    places = {name: j for j, name in enumerate(old.columns)}
    here = [j for j, name in enumerate(model.columns) if name in places]
    there = [places[model.columns[j]] for j in here]
    return np.asarray(model.basis[here].T @ old.basis[there])


def matched(alike: Array) -> tuple[Indices, Indices]:
    """Rows and columns of a table of likeness, paired so that the sum is largest; -inf is never chosen."""
    if alike.shape[0] > alike.shape[1]:
        columns, rows = matched(alike.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    wished = np.argmax(alike, axis=1)
    if len(set(wished.tolist())) == len(wished):  # each can have what it is most like
        return np.arange(len(wished)), wished
    from scipy.optimize import linear_sum_assignment  # takes a fifth of a second

    rows, columns = linear_sum_assignment(alike, maximize=True)
    return rows, columns


def _tell_others(model: Model, old: Model, notices: Notices) -> None:
    """Columns that only one of the models has."""
    new, known = set(model.columns), set(old.columns)
    if new.isdisjoint(known):
        raise DataError(
            f"--align-to: no column is in both models: {listed(model.columns)} here, {listed(old.columns)} there",
            "align to a model of the same columns",
        )
    for whose, names in (
        ("only here", [name for name in model.columns if name not in known]),
        ("only in the older model", [name for name in old.columns if name not in new]),
    ):
        if names:
            notices.note(f"--align-to: {whose}, so left out of the comparison: {listed(names)}")


def _order(model: Model, C: Array) -> Indices:
    """Which component stands at each place, (k,); those past the rank stay where they are."""
    k = model.k
    values = model.eigenvalues[:k]
    near = np.abs(values[:, None] - values) <= NEAR_EQUAL * values
    near &= values > 0
    np.fill_diagonal(near, True)
    stay = np.arange(k)
    alike = np.zeros((k, k))
    known = min(k, C.shape[1])
    alike[:, :known] = np.abs(C[:, :known])
    alike[stay, stay] += ROUNDING  # without a reason to move, a component stays
    _, places = matched(np.where(near, alike, -np.inf))
    return np.argsort(places)


def _signs(C: Array) -> Array:
    """+1 or -1 for the components in their places, by their cosines with the older ones, (k,)."""
    k, known = C.shape
    partner = np.argmax(np.abs(C), axis=1)
    own = np.arange(min(k, known))
    alike = np.abs(C[own, own]) >= LIKE
    partner[own[alike]] = own[alike]
    cosine = C[np.arange(k), partner]
    return np.where(cosine < -ROUNDING, -1.0, 1.0)


def _reordered(certificate: Mapping[str, Any], order: Indices) -> dict[str, Any]:
    """What is proved of each component follows it."""
    moved = dict(certificate)
    for name in ("relative_error", "vouched"):
        if name in moved:
            moved[name] = [moved[name][j] for j in order]
    place = {int(j) + 1: i + 1 for i, j in enumerate(order)}
    pairs = (sorted(place.get(j, j) for j in pair) for pair in moved.get("close_pairs", []))
    return moved | {"close_pairs": sorted(pairs)}
