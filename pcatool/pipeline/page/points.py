"""What a page shows of rows: their scores, what is known of each, and what colours them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import isfinite
from typing import Any

from pcatool.model import Model
from pcatool.pipeline.loadings import refuse_past
from pcatool.pipeline.page.parts import rounded, text
from pcatool.pipeline.sample import Sample

__all__ = ["POINTS", "check_axes", "columns_shown", "points"]

# Rows in a page, scores in it beside those that were asked for, and the most components to choose axes from.
POINTS = 5_000
SCORES, COMPONENTS = 60_000, 50

# Categories that colours and shapes can tell apart; the rest are one more. So few numbers are categories, too.
CATEGORIES = 12


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
    color: str | None,
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
        "of": sample.seen,
        "names": [text(sample.names[at]) for at in chosen],
        "shares": shares,
        "scores": [rounded(sample.values[:, at], 6) for at in chosen],
        "more": {sample.names[at]: rounded(sample.values[:, at], 6) for at in range(own, len(sample.names))},
        "kept": [(text(name), [_text(cell) for cell in cells]) for name, cells in sample.kept.items()],
        "axes": [([places[at] for at in chosen].index(axis) if axis in places else -1) for axis in axes],
        "color": None if color is None else _colored(text(color), sample.kept[color], {null.lower() for null in nulls}),
    }


def _colored(name: str, found: list[str | None], nulls: Collection[str]) -> dict[str, Any]:
    """Shades for numbers, if there are many of them; else categories, the most frequent ones by themselves."""
    cells = [None if cell is None or cell.strip().lower() in nulls else text(cell) for cell in found]
    there = [cell for cell in cells if cell is not None]
    numbers = [_number(cell) for cell in cells]
    numeric = bool(there) and sum(number is not None for number in numbers) == len(there)
    if numeric and len(set(there)) > CATEGORIES:
        return {"name": name, "numbers": numbers}
    counts = Counter(there)
    most = sorted(counts, key=lambda cell: (-counts[cell], str(cell)))[:CATEGORIES]
    labels = sorted(most, key=lambda cell: (_number(cell) or 0.0, cell) if numeric else (0.0, str(cell)))
    place = {label: i for i, label in enumerate(labels)}
    return {
        "name": name,
        "labels": labels,
        "codes": [-1 if cell is None else place.get(cell, -1) for cell in cells],
        "others": len(counts) - len(labels),
    }


def _text(cell: str | None) -> str | None:
    return None if cell is None else text(cell)


def _number(cell: str | None) -> float | None:
    try:
        number = float(cell or "")
    except ValueError:
        return None
    return number if isfinite(number) else None
