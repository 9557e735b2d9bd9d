"""The columns of a model, or of the first input, found by name in another table."""

from __future__ import annotations

from collections.abc import Sequence

from pcatool.errors import DataError, MissingColumns, show
from pcatool.readers.base import Column, Feature
from pcatool.readers.terms import element_of, places_of

__all__ = ["match_columns", "match_features"]


def match_features(
    names: Sequence[str], booleans: frozenset[str], columns: Sequence[Column], where: str, remedy: str = ""
) -> tuple[Feature, ...]:
    """The named features, wherever they stand: as columns, or as elements of a vector column."""
    places = places_of(columns)
    found: list[Feature] = []
    missing: list[str] = []
    for name in names:
        element = element_of(name)
        if name in places:
            found.append(_feature(name, _only(name, places, where), columns, booleans, where))
        elif element is not None and element[0] in places and _holds(columns[places[element[0]][0]], element[1]):
            found.append(Feature(name, _only(element[0], places, where), element[1]))
        else:
            missing.append(name)
    if missing:
        raise MissingColumns(missing, [c.name for c in columns], where, remedy)
    return tuple(found)


def match_columns(names: Sequence[str], columns: Sequence[Column], where: str) -> list[int]:
    """The numbers of the named columns, whatever they hold."""
    if not names:
        return []
    places = places_of(columns)
    missing = [name for name in names if name not in places]
    if missing:
        raise MissingColumns(missing, [c.name for c in columns], where)
    return [_only(name, places, where) for name in names]


def _only(name: str, places: dict[str, list[int]], where: str) -> int:
    at = places[name]
    if len(at) > 1:
        raise DataError(
            f"{where}: columns {at[0] + 1} and {at[1] + 1} are both called {show(name)}", "rename or drop one of them"
        )
    return at[0]


def _holds(column: Column, element: int) -> bool:
    """Is there such an element? Without any vector, as in a part of a table that is empty, there may be."""
    return column.kind == "vector" and (element < column.width or column.width == 0)


def _feature(name: str, i: int, columns: Sequence[Column], booleans: frozenset[str], where: str) -> Feature:
    kind, example = columns[i].kind, columns[i].example
    if columns[i].row_name:
        raise DataError(
            f"{where}: column {show(name)} holds the names of the rows (--row-names), the model needs its numbers",
            "leave out --row-names",
        )
    if (
        (kind == "text" and columns[i].written != "all")
        or kind == "vector"
        or (kind == "boolean" and not (name in booleans or columns[i].typed))
    ):
        first = f"first: {show(example)}" if example else "none that says more"
        stored = f" of type {columns[i].stored}" if columns[i].stored else ""
        mixed = " and numbers" if columns[i].written == "some" else ""
        raise DataError(
            f"{where}: column {show(name)} holds {kind}{mixed or ' values'} ({first}){stored}, the model needs numbers",
            "store them as numbers" if kind == "text" else "",
        )
    return Feature(name, i, boolean=name in booleans and kind in ("", "boolean"))
