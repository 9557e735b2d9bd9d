"""Choose the features, labels and weights of a fit; match the columns of a model in another table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from shlex import quote

from pcatool.errors import (
    DataError,
    MissingColumns,
    UsageError,
    counted,
    exclusion,
    grouped,
    leave_out_all,
    listed,
    near_columns,
    show,
)
from pcatool.options import SelectOptions
from pcatool.progress import Reporter
from pcatool.readers.base import SEPARATORS, Column, Feature
from pcatool.readers.column_names import find_columns, find_elements, places_of, vector_element

__all__ = [
    "check_duplicates",
    "check_vectors",
    "choose_features",
    "find_triples",
    "find_weights",
    "marked_number_error",
    "match_columns",
    "match_features",
]

# A number with a unit of letters that --strip can remove: E is a letter of numbers.
NUMBER_WITH_UNIT = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)*(\s?[^\W\deE_]{1,4})")
CHECK_CUTTING = "check -d and --skip-lines, if the names do not look right"
WITH_OTHERS = "give -c with this column and the other features"


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
            found.append(_feature(name, _only_place(name, places, where), columns, booleans, where))
        elif element is not None and element[0] in places and _has_element(columns[places[element[0]][0]], element[1]):
            found.append(Feature(name, _only_place(element[0], places, where), element[1]))
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
    in `names` are checked. An element may also be a column by itself. A longer vector would otherwise be cut off
    silently.
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


def match_columns(names: Sequence[str], columns: Sequence[Column], where: str) -> list[int]:
    """Return the numbers of the named columns, of any kind; raises MissingColumns."""
    if not names:
        return []
    places = places_of(columns)
    missing = [name for name in names if name not in places]
    if missing:
        raise MissingColumns(missing, [c.name for c in columns], where, "add the column, or rename a column")
    return [_only_place(name, places, where) for name in names]


def _only_place(name: str, places: dict[str, list[int]], where: str) -> int:
    """Return the number of the only column of this name; raises DataError if several columns have the name."""
    at = places[name]
    if len(at) > 1:
        raise DataError(
            f"{where}: columns {at[0] + 1} and {at[1] + 1} are both called {show(name)}",
            "rename or drop one of the columns",
        )
    return at[0]


def _has_element(column: Column, element: int) -> bool:
    """Whether the column is a vector column with this element; any element if the length of its vectors is unknown."""
    return column.kind == "vector" and (element < column.width or column.width == 0)


def _feature(name: str, i: int, columns: Sequence[Column], booleans: frozenset[str], where: str) -> Feature:
    """Return column i as the feature `name` of a model; raises DataError if the column holds no numbers."""
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


def choose_features(
    columns: Sequence[Column], options: SelectOptions, where: str, reporter: Reporter, without: Collection[int] = ()
) -> tuple[Feature, ...]:
    """Choose the features of a fit: the columns of -c, or all columns of numbers, without those of -x.

    `without` are columns of another use, such as labels and weights. Notes name the columns left out. Raises DataError
    if a named column holds no numbers, or if no feature is left.
    """
    named = bool(options.columns)
    chosen = find_elements(options.columns, columns, where) if named else [(i, None) for i in range(len(columns))]
    excluded = set(find_elements(options.exclude, columns, where))
    chosen = [(i, element) for i, element in chosen if (i, None) not in excluded and i not in without]
    chosen = _without_partitions(chosen, columns, options.columns, reporter)
    chosen = _without_row_names(chosen, columns, options.columns, where)
    check_duplicates(dict.fromkeys(i for i, _ in chosen), columns, where)
    features = {
        (f.column, f.element): f
        for i, element in chosen
        for f in _features(i, element, columns, named, where, reporter)
        if (f.column, f.element) not in excluded
    }
    _note_booleans(features.values(), columns, named=named, reporter=reporter)
    if not features:
        numbers = any(column.kind == "number" for column in columns)
        what = "no column is left as a feature" if named or numbers else "no column holds numbers"
        there = f"the columns are: {listed(c.name for c in columns)}" if columns else "the table has no columns"
        remedy = _numbers_as_text_remedy(columns) or f"{there}; {_no_feature_remedy(columns, options, numbers=numbers)}"
        raise DataError(f"{where}: {what}", remedy)
    repeated = [name for name, count in Counter(f.name for f in features.values()).items() if count > 1]
    if repeated:
        raise DataError(
            f"{where}: two features are called {show(repeated[0])}", "leave one of the features out with -x"
        )
    return tuple(features.values())


def _numbers_as_text_remedy(columns: Sequence[Column]) -> str:
    """Return the remedy for columns that store only numbers as text: to name these with -c; "" without such columns."""
    written = [i for i, column in enumerate(columns) if column.numbers_in_text == "all"]
    if not written:
        return ""
    named = [columns[i].name for i in written]
    plain = all(re.fullmatch(r"[\w.]+", name) for name in named)
    terms = ",".join(named if plain else [str(i + 1) for i in written])
    return (
        f"give -c '{terms}' to read the numbers that are stored as text ({columns[written[0]].arrow_type}) in "
        f"{listed(named)}"
    )


def _no_feature_remedy(columns: Sequence[Column], options: SelectOptions, *, numbers: bool) -> str:
    """Return the remedy for a table without features; `numbers`: a column holds numbers."""
    if options.columns and options.exclude:
        return "-x leaves out all columns of -c: remove -c or -x"
    if numbers:
        return "name fewer columns with -x" if options.exclude else "name other columns with -c"
    if any(column.arrow_type for column in columns):
        return "store the values as numbers"
    found = [mark for mark in SEPARATORS if len(columns) == 1 and mark in columns[0].name]
    return f"the only column name contains {show(found[0])}: give -d {SEPARATORS[found[0]]}" if found else CHECK_CUTTING


def _note_booleans(
    features: Collection[Feature], columns: Sequence[Column], *, named: bool, reporter: Reporter
) -> None:
    """Note which columns of boolean type are used as 0 and 1, unless the user named the columns."""
    used = [] if named else [f.name for f in features if f.boolean and columns[f.column].boolean_type]
    if used:
        noun, not_wanted = ("column", "it is not a feature") if len(used) == 1 else ("columns", "they are not features")
        reporter.note(f"used boolean {noun} {listed(used)} as 0 and 1; {leave_out_all(used)} if {not_wanted}")


def _without_partitions(
    chosen: Sequence[tuple[int, int | None]], columns: Sequence[Column], terms: Sequence[str], reporter: Reporter
) -> list[tuple[int, int | None]]:
    """Return `chosen` without the partition columns that no term names in full; if there are no terms, note each one.

    Otherwise moving a file into a partition folder would change the model.
    """
    named = {term.strip() for text in terms for term in (text, *text.split(","))}
    for i, _ in chosen:
        column = columns[i]
        if column.partition and not terms:
            first = f"first value {show(column.example)}" if column.example else "no values"
            hint = f"; to use this column, {WITH_OTHERS}" if column.kind == "number" else ""
            reporter.note(f"left out partition column {show(column.name)} ({first}{hint})")
    return [(i, element) for i, element in chosen if not columns[i].partition or columns[i].name in named]


def _without_row_names(
    chosen: Sequence[tuple[int, int | None]], columns: Sequence[Column], terms: Sequence[str], where: str
) -> list[tuple[int, int | None]]:
    """Return the chosen columns without the column of row names; raises DataError if a term is its full name."""
    named = {term.strip() for text in terms for term in (text, *text.split(","))}
    for i, _ in chosen:
        if columns[i].row_name and columns[i].name in named:
            raise DataError(
                f"{where}: column {show(columns[i].name)} holds the names of the rows (--row-names) and cannot be a "
                "feature",
                f"leave out --row-names to use the numbers of the column, or leave {show(columns[i].name)} out of -c",
            )
    return [(i, element) for i, element in chosen if not columns[i].row_name]


def _features(
    i: int, element: int | None, columns: Sequence[Column], named: bool, where: str, reporter: Reporter
) -> list[Feature]:
    """Return the features of column i: one per element of a vector, [] if the column is left out, with a note.

    `element` is the element of a vector that the user named, None for all. `named`: the user named the column, so that
    a column without numbers raises DataError.
    """
    column = columns[i]
    if column.kind == "marked number":
        raise marked_number_error(column, where, f"{column.remedy}{_or_leave_out(i, columns)}")
    without_values = column.kind == "vector" and column.width == 0
    text = column.kind == "text" and not (named and column.numbers_in_text == "all")
    if text or without_values or (column.kind == "boolean" and not (named or column.boolean_type)):
        first = f"first value {show(column.example)}" if column.example else "no values"
        if named:
            stored = f" and has type {column.arrow_type}" if column.arrow_type else ""
            kind = "partition column" if column.partition else "column"
            what, remedy = (
                f"{kind} {show(column.name)} holds no numbers ({first}){stored}",
                "name only columns of numbers",
            )
            if column.numbers_in_text == "some":
                what = f"column {show(column.name)} mixes text and numbers ({first}){stored}"
                remedy += _or_leave_out(i, columns)
            elif not column.arrow_type and (unit := NUMBER_WITH_UNIT.fullmatch(column.example)):
                remedy += f", or give --strip {quote(unit[1])} to remove the unit"
            raise DataError(f"{where}: {what}", remedy)
        hint = f"; to use this column as 0 and 1, {WITH_OTHERS}" if column.kind == "boolean" else ""
        if column.numbers_in_text == "all":
            hint = f", type {column.arrow_type}; to read its numbers, {WITH_OTHERS}"
        elif column.numbers_in_text == "some":
            hint = "; the column mixes text and numbers"
        reporter.note(f"left out {column.contents}column {show(column.name)} ({first}{hint})")
        return []
    if "\0" in column.name:
        raise DataError(
            f"{where}: a column name has a NUL byte: {show(column.name)}",
            f"rename the column{_or_leave_out(i, columns)}",
        )
    if not column.name.strip():
        if column.kind == "empty" and not named:
            reporter.note(f"left out column {i + 1}, which has neither a name nor a value")
            return []
        what = f"column {i + 1} has no name"
        first_of_several = i == 0 and len(columns) > 1
        names = ", or give --row-names if the column of a text file holds row names" if first_of_several else ""
        raise DataError(f"{where}: {what}", f"give the column a name{_or_leave_out(i, columns)}{names}")
    if column.kind == "vector":
        elements = range(column.width) if element is None else [element]
        return [Feature(f"{column.name}[{e}]", i, e) for e in elements]
    return [Feature(column.name, i, boolean=column.kind == "boolean")]


def marked_number_error(column: Column, where: str, remedy: str) -> DataError:
    """Return the error for a column of numbers that have marks, such as 1,000 or $5."""
    return DataError(f"{column.place(where)}: {show(column.example)} is not a plain number", remedy)


def _or_leave_out(i: int, columns: Sequence[Column]) -> str:
    """Return the end of a remedy, which leaves out column i by its name or its number; "" if -x can use neither."""
    names = [c.name for c in columns]
    if names.count(names[i]) == 1 and (by_name := exclusion(names[i])) != "-x":
        return f", or leave the column out with {by_name}"
    number = str(i + 1)
    return "" if number in names else f", or leave column {number} out with -x {number}"


def check_duplicates(used: Iterable[int], columns: Sequence[Column], where: str) -> None:
    """Raise DataError if two of the used columns have the same name."""
    first: dict[str, int] = {}
    for i in used:
        name = columns[i].name
        if name.strip() and name in first:
            raise DataError(
                f"{where}: columns {first[name] + 1} and {i + 1} are both called {show(name)}",
                f"rename one of the columns{_or_leave_out(i, columns)}",
            )
        first[name] = i


def find_weights(term: str, columns: Sequence[Column], where: str) -> int:
    """Return the number of the weight column; raises DataError unless the term names one column of numbers."""
    found = find_columns([term], columns, where)
    if len(found) != 1:
        raise DataError(f"{where}: --weights {show(term)} names {len(found)} columns", "name one column")
    column = columns[found[0]]
    if column.kind == "marked number":
        raise marked_number_error(column, where, column.remedy)
    if column.kind not in ("number", "empty"):
        raise DataError(f"{where}: --weights {show(column.name)} is a {column.kind} column", "name a column of numbers")
    return found[0]


def find_triples(terms: str, columns: Sequence[Column], where: str) -> tuple[int, int, int]:
    """Return the numbers of the columns of users, items and values; raises UsageError or DataError."""
    found = find_columns([terms], columns, where)
    if len(found) != 3:
        named = f"--triples {show(terms)} names {counted(len(found), 'different column')}"
        raise UsageError(named, "name three columns, as in --triples 'user,item,value'")
    user, item, value = found
    for i, what in ((user, "users"), (item, "items")):
        if columns[i].kind == "vector":
            raise DataError(f"{where}: {show(columns[i].name)} is a vector column", f"name a column of {what}")
    column = columns[value]
    if column.kind == "marked number":
        raise marked_number_error(column, where, column.remedy)
    if column.kind not in ("number", "empty", "boolean"):
        raise DataError(
            f"{where}: column {show(column.name)} holds no numbers (first value {show(column.example)})",
            "name the columns of --triples in the order user, item, value, with numbers in the third",
        )
    return user, item, value
