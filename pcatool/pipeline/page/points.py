"""What a page shows of rows: their scores, what is known of each, and what colours them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import isfinite
from typing import Any

import numpy as np

from pcatool.model.model import Model
from pcatool.pipeline.loadings import refuse_past
from pcatool.pipeline.report_page import rounded, text
from pcatool.pipeline.sample import Counted, Sample
from pcatool.render.plots.marks import ENDS
from pcatool.render.plots.points import CLASSES, classes_with_colors

__all__ = ["POINTS", "check_axes", "columns_shown", "points"]

# Rows in a page, scores in it beside those that were asked for, and the most components to choose axes from.
POINTS = 5_000
SCORES, COMPONENTS = 60_000, 50


def check_axes(axes: tuple[int, int] | None, count: int) -> None:
    """Refuse components that are not there."""
    if axes is not None:
        refuse_past(f"--axes {axes[0]},{axes[1]}", max(axes), count)


def columns_shown(count: int, most: int | None, axes: tuple[int, int] | None) -> list[int]:
    """Places of the scores that may be shown: the first ones, and those of the axes."""
    first = range(min(count, COMPONENTS if most is None else most))
    return sorted({*first, *(axis - 1 for axis in axes or ())})


def points(
    model: Model,
    sample: Sample,
    places: Sequence[int],
    asked: tuple[int, int] | None,
    counted: Counted | None,
    nulls: Collection[str],
) -> dict[str, Any]:
    """The rows of a sample as columns; fewer components where there are many rows."""
    rows = len(sample.numbers)
    most = max(SCORES // max(rows, 1), 10)
    axes = [axis - 1 for axis in asked or (1, 2)]
    chosen = [at for at, place in enumerate(places) if at < most or place in axes]
    own = len(places)
    shares = [] if model.whitening == "zca" else rounded(model.variance.share[[places[at] for at in chosen]], 4)
    return {
        "rows": sample.numbers.tolist(),
        "arrows": _arrows(model, [places[at] for at in chosen]),
        "of": sample.seen,
        "names": [text(sample.names[at]) for at in chosen],
        "shares": shares,
        "scores": [rounded(sample.values[:, at], 6) for at in chosen],
        "more": {sample.names[at]: rounded(sample.values[:, at], 6) for at in range(own, len(sample.names))},
        "kept": [(text(name), [_text(cell) for cell in cells]) for name, cells in sample.kept.items()],
        "axes": [([places[at] for at in chosen].index(axis) if axis in places else -1) for axis in axes],
        "color": None if counted is None else _colored(counted, sample, {null.lower() for null in nulls}),
    }


def _arrows(model: Model, places: Sequence[int]) -> dict[str, Any] | None:
    """What a biplot of these components takes beside loadings: by what each is multiplied where scores are whitened."""
    if model.whitening == "zca" or not model.basis.shape[1]:
        return None
    white = model.whitening != "none"
    spreads = np.sqrt(model.eigenvalues[list(places)] + model.epsilon) if white else np.ones(len(places))
    return {
        "components": [place + 1 for place in places],
        "spreads": rounded(spreads, 6),
        "said": "loadings times the standard deviation" if white else "loadings",
    }


def _colored(counted: Counted, sample: Sample, nulls: Collection[str]) -> dict[str, Any]:
    """Classes as `pcatool plot` colours them, by all rows: words and few whole numbers; else shades for numbers."""
    cells = [None if cell is None or cell.strip().lower() in nulls else cell for cell in sample.kept[counted.name]]
    counts = Counter(cell for cell in cells if cell is not None) if counted.texts is None else counted.texts
    name, numbers = text(counted.name), [_number(cell) for cell in counts]
    numeric = bool(counts) and None not in numbers
    if numeric and (len(set(numbers)) > CLASSES or any(number % 1 for number in numbers if number is not None)):
        values = [_number(cell) for cell in cells]
        there = np.array([value for value in values if value is not None])
        ends = np.percentile(there, [ENDS, 100 - ENDS]) if len(there) else np.zeros(2)
        return {"name": name, "numbers": values, "ends": rounded(ends, 6)}
    keys = {cell: _name_of(cell) if numeric else cell for cell in {*counts, *cells} if cell is not None}
    rows: Counter[str] = Counter()
    for cell, count in counts.items():
        rows[keys[cell]] += count
    labels = classes_with_colors({key: (key, count) for key, count in rows.items()}, len(rows))
    place = {label: i for i, label in enumerate(labels)}
    return {
        "name": name,
        "labels": [text(label) for label in labels],
        "codes": [-1 if cell is None else place.get(keys[cell], -1) for cell in cells],
        "others": len(rows) - len(labels),
    }


def _name_of(cell: str) -> str:
    """A number as pictures call it: 1 and 1.0 are one class."""
    return repr(float(cell) + 0.0).removesuffix(".0")


def _text(cell: str | None) -> str | None:
    return None if cell is None else text(cell)


def _number(cell: str | None) -> float | None:
    try:
        number = float(cell or "")
    except ValueError:
        return None
    return number if isfinite(number) else None
