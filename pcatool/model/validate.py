"""Checks that every model must pass, fitted or read: shapes, order, orthonormality, settings, sums over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcatool.errors import ModelError
from pcatool.linalg.certificate import orthonormality
from pcatool.model.settings import Sizes, check_settings

if TYPE_CHECKING:
    from pcatool.arrays import Array
    from pcatool.linalg.row_sums import Statistic
    from pcatool.model.model import Model

__all__ = ["NEAR_EQUAL", "OPTIONAL", "check_model", "check_orthonormal"]

# Largest |B^T B - I|, and relative error of the other checks. A computed basis is off by a few d * eps; beyond this
# bound, a file was edited or damaged.
ORTHONORMAL = 1e-6

# Variances below this, or above its inverse, have too few digits left to be compared with a standard deviation.
SMALLEST_TOLD = 1e-280

# Number of leading components that are checked against the sums over rows.
LOOKED_AT = 8

UNSORTED = "eigenvalues are not descending from a largest one down to 0 or more"

# Components may be reordered to match an older model if their eigenvalues are nearly equal: the difference is at most
# this share of the eigenvalue that belongs to the place.
NEAR_EQUAL = 0.1

# Arrays that a model may lack.
OPTIONAL = ("variances", "column_means")


def check_model(model: Model) -> None:
    """Raise `ModelError` if shapes, values and settings of a model do not fit together."""
    d = len(model.columns)
    if model.basis.ndim != 2:
        raise ModelError(f"basis has {model.basis.ndim} dimensions, not 2")
    shapes = {"mean": (d,), "std": (d,), "basis": (d, model.basis.shape[1])}
    shapes |= {name: (d,) for name in OPTIONAL if getattr(model, name) is not None}
    for name, shape in shapes.items():
        found = getattr(model, name).shape
        if found != shape:
            raise ModelError(f"{name} has shape {found}, {d} columns need {shape}")
    if model.eigenvalues.ndim != 1 or model.eigenvalues.size < model.k:
        raise ModelError(f"eigenvalues have shape {model.eigenvalues.shape}, there are {model.k} components")
    if d < 1 or model.k < 1 or model.n_samples < 1:
        raise ModelError(f"{d} columns, {model.k} components, {model.n_samples} rows: each must be at least 1")
    for name in ("mean", "std", "basis", "eigenvalues", "total_variance", *shapes):
        if not np.all(np.isfinite(getattr(model, name))):
            raise ModelError(f"{name} holds a value that is not finite")
    if np.any(model.std <= 0):
        raise ModelError("std holds a value that is not above 0")
    if not model.centered and model.mean.any():
        raise ModelError("mean is not 0, and the model is not centred")
    if np.any(model.eigenvalues < 0) or ("aligned" not in model.meta and np.any(np.diff(model.eigenvalues) > 0)):
        raise ModelError(UNSORTED)
    if model.total_variance <= 0:
        raise ModelError(f"total_variance is {model.total_variance}, not above 0")
    if not float(np.sum(model.eigenvalues)) <= model.total_variance * (1 + 1e-6):
        raise ModelError("eigenvalues add up to more than total_variance")
    if len(set(model.columns)) < d:
        raise ModelError("columns hold a name twice")
    try:
        "".join(model.columns).encode("utf-8")
    except (UnicodeError, SystemError):  # SystemError: code points beyond Unicode, in a damaged file
        raise ModelError("columns hold a name that is no text") from None
    if model.variances is not None and np.any(model.variances < 0):
        raise ModelError("variances hold a value below 0")
    model.check_basis()
    _check_settings(model)
    _check_places(model)
    _check_statistic(model)


def _check_statistic(model: Model) -> None:
    """Check the sums over rows, if the model keeps them, against its means, variances and components."""
    if model.statistic is None:
        return
    if model.variances is None:
        raise ModelError("sums over rows without the variances of columns")
    centre = model.statistic.centre
    divisor = centre.divisor(model.ddof, reliability=model.meta.get("weights_kind") == "reliability")
    about_zero = not model.centered or model.meta.get("method") == "supervised"
    model.statistic.check(centre.mean if about_zero else model.mean, model.variances, divisor)
    _check_sums(model, model.statistic, divisor)


def _check_sums(model: Model, statistic: Statistic, divisor: float) -> None:
    """Refuse sums over rows of another method, or whose leading components are not those of the model."""
    supervised = model.meta.get("method") == "supervised"
    classes = model.meta.get("label_kernel") == "delta"
    if ("cross" in statistic.arrays(), bool(statistic.classes)) != (supervised, supervised and classes):
        raise ModelError("the sums are not those of such a model")
    B, values = model.basis[:, :LOOKED_AT], model.eigenvalues[:LOOKED_AT]
    # Divide by the root before the product and again after it: sums and means may each be far from 1.
    root = 1.0 if supervised else np.sqrt(divisor)
    V = B / model.std[:, None] / root
    product = statistic.product(V) / root
    if not supervised and not model.centered:
        mu = statistic.centre.mean * np.sqrt(statistic.centre.weight)
        product = product + np.outer(mu / root, mu @ V)
    off = np.abs(product / model.std[:, None] - B * values[: B.shape[1]])
    if not np.all(off <= ORTHONORMAL * model.eigenvalues.max()):
        raise ModelError("the sums do not have these components and eigenvalues")


def _check_settings(model: Model) -> None:
    """Check the settings, the standard deviations and the whitening of a model."""
    check_settings(
        model.meta,
        Sizes(model.n_samples, model.columns, model.possible, model.directions, model.k, model.eigenvalues.size),
    )
    _check_scale(model)
    if model.whitening == "none":
        return
    if "epsilon" not in model.meta:
        raise ModelError("whitening without an epsilon")
    if not np.all(model.spread() > 0):
        raise ModelError("whitening would divide by an eigenvalue of 0")


def _check_scale(model: Model) -> None:
    """Refuse a `std` that is not 1 or, in a standardised model, not the standard deviations of the columns."""
    if not model.standardized:
        if np.any(model.std != 1):
            raise ModelError("std is not 1, and the model is not standardised")
    elif model.variances is not None:
        told = (model.variances > SMALLEST_TOLD) & (model.variances < 1 / SMALLEST_TOLD)
        if not np.allclose(np.square(model.std[told]), model.variances[told], rtol=ORTHONORMAL, atol=0):
            raise ModelError("std is not that of the columns, and the model is standardised")


def _check_places(model: Model) -> None:
    """Refuse eigenvalues out of descending order, except nearly equal ones reordered to match an older model."""
    places = np.array(model.meta.get("aligned", []), dtype=np.intp) - 1
    if not len(places):
        return
    if "kernel" in model.meta or not model.k <= len(places) <= len(model.eigenvalues):
        raise ModelError(f"aligned gives places to {len(places)} of {model.k} components")
    values, by_size = model.eigenvalues, model.eigenvalues.copy()
    by_size[places] = values[: len(places)]
    if np.any(np.diff(by_size) > 0):
        raise ModelError(UNSORTED)
    moved = np.flatnonzero(places != np.arange(len(places)))
    apart = np.abs(values[moved] - by_size[moved]) > NEAR_EQUAL * by_size[moved]
    if np.any(apart) or np.any(values[moved] == 0):
        raise ModelError("aligned moves an eigenvalue to the place of one that is not nearly equal")


def check_orthonormal(B: Array, name: str) -> None:
    """Raise `ModelError` if the columns of B (d, k) are not orthonormal; `name` is for the message."""
    off = orthonormality(B)
    if not off <= ORTHONORMAL:
        raise ModelError(f"{name} is not orthonormal: |B^T B - I| is {off:.1e}, the bound is {ORTHONORMAL:.0e}")
