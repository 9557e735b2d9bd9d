"""What the columns of an input say that it holds, rows or scores, and which of them are read."""

from __future__ import annotations

import re

from pcatool.errors import DataError, UsageError, show
from pcatool.model.model import Model
from pcatool.readers.inputs import Inputs
from pcatool.readers.schema import Wanted

__all__ = ["model_columns", "score_columns", "sees"]


def model_columns(model: Model, inputs: Inputs) -> Wanted:
    """The model's columns by name; without a header, by position when the names are not the made-up ones."""
    present = {c.name for c in inputs.columns.own}
    by_position = inputs.columns.nameless and not present.issuperset(model.columns)
    booleans = frozenset(model.meta.get("booleans", ()))
    return Wanted(model.columns, booleans, by_position, widths=model.meta.get("vectors"))


def sees(model: Model, inputs: Inputs) -> str:
    """What the input holds, by its columns; the scores of ZCA are called like the rows."""
    if model.whitening == "zca":
        return "scores"
    names = [c.name for c in inputs.columns.own]
    has_scores = "PC1" in names
    if has_scores and "PC1" in model.columns:
        raise UsageError(
            f"{inputs.first.name}: columns PC1, ... may be scores or the model's own columns",
            "say which with --from scores or --from rows",
        )
    if inputs.columns.nameless and len(names) == model.d == model.k:
        raise UsageError(
            f"{inputs.first.name}: {model.d} columns without names may be scores or rows",
            "say which with --from scores or --from rows",
        )
    if has_scores or (inputs.columns.nameless and len(names) <= model.k and len(names) < model.d):
        return "scores"
    return "rows"


def score_columns(model: Model, inputs: Inputs, most: int | None) -> list[str]:
    """PC1, PC2, ... as far as they go; a gap, or more than the model has, is an error."""
    names = [c.name for c in inputs.columns.own]
    where = inputs.first.name
    if inputs.columns.nameless:
        if len(names) > model.k:
            raise DataError(f"{where}: {len(names)} columns of scores, the model has {model.k} components")
        return names
    numbers = sorted({int(name[2:]) for name in names if re.fullmatch(r"PC[1-9][0-9]*", name, re.ASCII)})
    if most is not None:
        numbers = [number for number in numbers if number <= most]
    if not numbers:
        raise DataError(f"{where}: no columns of scores (PC1, ...)", "give what transform writes, or --from rows")
    for expected, number in enumerate(numbers, 1):
        if number != expected:
            raise DataError(
                f"{where}: no column {show(f'PC{expected}')}, but {show(f'PC{number}')}: a gap in the scores"
            )
    if numbers[-1] > model.k:
        raise DataError(f"{where}: column {show(f'PC{numbers[-1]}')}, but the model has {model.k} components")
    return [f"PC{number}" for number in numbers]
