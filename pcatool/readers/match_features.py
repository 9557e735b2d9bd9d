"""Match the columns of a model with the columns of another table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pcatool.errors import DataError, MissingColumns, near_columns
from pcatool.readers.base import Column, Feature
from pcatool.readers.select_columns import only_place, places_of, vector_element
from pcatool.wording import grouped, leave_out_all, listed, show

__all__ = ["check_vectors", "match_features"]


def match_features(
    names: Sequence[str], booleans: frozenset[str], columns: Sequence[Column], where: str, remedy: str = ""
) -> tuple[Feature, ...]:
    """Return the named features of a table, in this order: columns, or elements of a vector column.

    `booleans` are the names that are read as booleans. Raises MissingColumns for names not found, with `remedy` if
    there is one, and DataError for columns without numbers.
    """
    places = places_of(columns)
    found: list[Feature] = []
    missing: list[str] = []
    for name in names:
        element = vector_element(name)
        if name in places:
            found.append(_feature(name, only_place(name, places, where), columns, booleans, where))
        elif element is not None and element[0] in places and _has_element(columns[places[element[0]][0]], element[1]):
            found.append(Feature(name, only_place(element[0], places, where), element[1]))
        else:
            missing.append(name)
    if missing:
        if not remedy:
            near = near_columns(missing, [c.name for c in columns], set(names))
            rename = f"rename {listed(near)}" if near else ""
            added = f"column {show(missing[0])}" if len(missing) == 1 else "the columns"
            add = f"add {added}, or {leave_out_all(missing)}"
            # With most columns missing it is another table, save where its columns are only named otherwise.
            another = rename or "give a table with these columns, or rename the columns of this table"
            few = 2 * len(missing) <= len(names)
            remedy = ", ".join(part for part in (rename, add) if part) if few else another
        raise MissingColumns(missing, [c.name for c in columns], where, remedy, used=set(names))
    return tuple(found)


def check_vectors(
    where: str, columns: Sequence[Column], names: Sequence[str], widths: Mapping[str, int], name: str
) -> None:
    """Raise DataError unless the vector columns of `name`, the first input or the model, are as long in this table.

    `widths` are the lengths in `name`, by column name; `where` is the table of `columns`. Only vectors with an element
    in `names` are checked; elements that are columns by themselves are not. A length of 0 is unknown, and not checked.
    Without this check, a longer vector would be cut off silently.
    """
    there = {column.name: column for column in columns}
    elements = {each: element for each in names if (element := vector_element(each)) and element[0] in widths}
    single = {elements[each][0] for each in elements if each in there}
    for vector in dict.fromkeys(of for each, (of, _) in elements.items() if each not in there):
        column, known = there.get(vector), widths[vector]
        if column is None:
            if vector not in single:
                raise _missing_vector(vector, known, columns, widths, where)
        elif column.kind != "vector":
            if vector not in single:
                held = f"has the type {column.arrow_type}, not" if column.arrow_type else "does not hold"
                raise DataError(
                    f"{where}: column {show(vector)} {held} vectors of numbers, as in {name}",
                    "store a list of numbers in each cell of the column",
                )
        elif column.width and known and column.width != known:
            raise DataError(
                f"{where}, column {show(vector)}: the vectors have length {grouped(column.width)}, "
                f"but the vectors in {name} have length {grouped(known)}",
                f"give vectors of length {grouped(known)}",
            )


def _missing_vector(
    name: str, width: int, columns: Sequence[Column], widths: Collection[str], where: str
) -> MissingColumns:
    """Return the error for a missing vector column; the remedy names the only vector column that may be meant."""
    free = [c.name for c in columns if c.kind == "vector" and c.name not in widths and c.width in (0, width)]
    rename = f"rename {show(free[0])} to {show(name)}" if len(free) == 1 else "add the column, or rename a column"
    remedy = f"the column needs vectors{f' of length {grouped(width)}' if width else ''}: {rename}"
    return MissingColumns([name], [c.name for c in columns], where, remedy, used=set(widths))


def _has_element(column: Column, element: int) -> bool:
    """Whether the column is a vector column with this element; any element if the length of its vectors is unknown."""
    return column.kind == "vector" and (element < column.width or column.width == 0)


def _feature(name: str, i: int, columns: Sequence[Column], booleans: frozenset[str], where: str) -> Feature:
    """Return column i as the feature `name` of a model; `where` is the table, for messages.

    A column of the texts true and false is accepted only if `name` is in `booleans`, a column of boolean type always.
    Raises DataError for vectors, for text that is not all numbers, and for row names (--row-names).
    """
    kind, example = columns[i].kind, columns[i].example
    if columns[i].row_name:
        raise DataError(
            f"{where}: column {show(name)} holds the names of the rows (--row-names), but the model needs the "
            "numbers of the column",
            "leave out --row-names",
        )
    if (
        (kind == "text" and columns[i].numbers_in_text != "all")
        or kind == "vector"
        or (kind == "boolean" and not (name in booleans or columns[i].boolean_type))
    ):
        first = f" (first value {show(example)})" if example else ""
        stored = f" of type {columns[i].arrow_type}" if columns[i].arrow_type else ""
        held = "text and numbers" if columns[i].numbers_in_text == "some" else f"{columns[i].contents}values"
        raise DataError(
            f"{where}: column {show(name)} holds {held}{first}{stored}, but the model needs numbers",
            "store one number in each cell of the column" if kind == "vector" else "store the values as numbers",
        )
    return Feature(name, i, boolean=name in booleans and kind in ("", "boolean"))
