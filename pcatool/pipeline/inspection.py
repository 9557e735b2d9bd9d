"""What a model file holds, as facts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from pcatool.model.model import Model
from pcatool.model.npz import contents, dumps, read_model
from pcatool.pipeline.abilities import abilities
from pcatool.pipeline.incomplete import policy_for_rows
from pcatool.registry import KERNELS, METHODS
from pcatool.render.facts import how_fitted, model_facts
from pcatool.stores.uri import shown

__all__ = ["fitted_with", "inspect"]

# What a double can hold of a number.
MOST_DIGITS = 15

# Told elsewhere, under names of their own.
NO_SETTINGS = ("format_version", "method", "choice", "solver", "reason", "rank", "certificate", "em", "hsic", "aligned")


def inspect(model: Model | str | Path) -> dict[str, Any]:
    """Everything that is in a model, or in the file that this is the path of."""
    if isinstance(model, Model):
        path, data = None, dumps(model)
    else:
        model, data = read_model(path := str(model))
        path = shown(path)
    meta = model.meta
    can, cannot = abilities(model)
    return {
        "model": path,
        **model_facts(model),
        "meaning": _meaning(model),
        "settings": how_fitted(model),
        "fitted_with": fitted_with(model),
        "missing": {
            "fit": meta.get("missing", "error"),
            "transform": policy_for_rows(model, None, fill=False, back=False),
        },
        "column_statistics": _columns(model),
        "variance": _variance(model),
        "can": can,
        "cannot": cannot,
        "format_version": meta.get("format_version"),
        "bytes": len(data),
        "arrays": [array._asdict() | {"shape": list(array.shape)} for array in contents(data)],
    }


def fitted_with(model: Model) -> dict[str, Any]:
    """Every setting that shaped the fit."""
    return {name: value for name, value in model.meta.items() if name not in NO_SETTINGS}


def _meaning(model: Model) -> str:
    """The method, and the kernel, in a few words."""
    said = METHODS[str(model.meta.get("method", "pca"))].summary
    kernel = model.meta.get("kernel")
    return said if kernel is None else f"{said}; kernel {kernel['name']}: {KERNELS[kernel['name']].summary}"


def _columns(model: Model) -> list[dict[str, Any]]:
    """What is subtracted from each column and what it is divided by; and its variance, where that is known."""
    known = {"mean": model.mean, "std": model.std}
    if model.variances is not None:
        known["variance"] = model.variances
    numbers = zip(*(values.tolist() for values in known.values()), strict=True)
    return [
        {"column": column, **dict(zip(known, row, strict=True))}
        for column, row in zip(model.columns, numbers, strict=True)
    ]


def _variance(model: Model) -> list[dict[str, Any]]:
    """A row for each eigenvalue known, as in explain-variance, and what those kept are good for."""
    table = model.variance.columns()
    rows = [dict(zip(table, row, strict=True)) for row in zip(*(c.tolist() for c in table.values()), strict=True)]
    certificate = model.meta.get("certificate", {})
    errors, sure = certificate.get("relative_error", []), certificate.get("vouched", [])
    # What earlier versions wrote of EM is how far its last steps went, which bounds nothing.
    bounded = "em" not in model.meta or bool(model.meta["em"].get("proved"))
    for j, row in enumerate(rows):
        row["kept"] = j < model.k
        if bounded and j < min(model.k, len(errors), len(sure)):
            row |= {"relative_error": errors[j], "vouched": sure[j], "digits": _digits(errors[j])}
    return rows


def _digits(error: float | None) -> int:
    """How many digits of an eigenvalue a bound on its relative error leaves."""
    if error is None or not error < 1:
        return 0
    return MOST_DIGITS if error == 0 else min(math.floor(-math.log10(error)), MOST_DIGITS)
