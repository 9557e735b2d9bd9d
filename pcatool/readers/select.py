"""Which columns: terms to columns, columns to features, and a model's columns found in a new table."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Sequence

from pcatool.errors import DataError, MissingColumns, UsageError, listed, show
from pcatool.notices import Notices
from pcatool.options import SelectOptions
from pcatool.readers.base import Column, Feature

__all__ = ["choose_features", "find_columns", "match_features"]


def find_columns(terms: Sequence[str], columns: Sequence[Column], where: str) -> list[int]:
    """Columns that the terms name, in the order named: exact name, 1-based number, range, or glob."""
    found: dict[int, None] = {}
    for text in terms:
        names = [c.name for c in columns]
        for term in [text] if text in names else text.split(","):
            found |= dict.fromkeys(_find(term, names, where))
    return list(found)


def _find(term: str, names: list[str], where: str) -> list[int]:
    exact = [i for i, name in enumerate(names) if name == term]
    if exact:
        return exact
    if not term.strip():
        raise UsageError("a column term is empty", "name columns separated by single commas")
    if re.fullmatch(r"[0-9]+", term, re.ASCII):
        return [_number(term, names, where)]
    ends = _range(term, names, where)
    if ends is not None:
        first, last = ends
        if last < first:
            raise UsageError(f"column range {show(term)} runs backwards", f"write {names[last]}-{names[first]}")
        return list(range(first, last + 1))
    if re.search(r"[*?\[]", term):
        matched = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, term)]
        if matched:
            return matched
    raise MissingColumns([term], names, where)


def _number(term: str, names: list[str], where: str) -> int:
    number = int(term)
    if not 1 <= number <= len(names):
        raise DataError(f"{where}: no column number {number}, there are {len(names)}", "columns are counted from 1")
    return number - 1


def _range(term: str, names: list[str], where: str) -> tuple[int, int] | None:
    """First and last column of `a-c`, `2-5`, `3-` or `-4`; names may hold a dash themselves."""
    for cut in [i for i, c in enumerate(term) if c == "-"]:
        left, right = term[:cut], term[cut + 1 :]
        if not (left or right):
            continue
        first = _end(left, names, where, 0)
        last = _end(right, names, where, len(names) - 1)
        if first is not None and last is not None:
            return first, last
    return None


def _end(text: str, names: list[str], where: str, default: int) -> int | None:
    if not text:
        return default
    if text in names:
        return names.index(text)
    if re.fullmatch(r"[0-9]+", text, re.ASCII):
        return _number(text, names, where)
    return None


def choose_features(
    columns: Sequence[Column], options: SelectOptions, where: str, notices: Notices
) -> tuple[Feature, ...]:
    """The features of a fit: what `-c` names, or every column of numbers, without what `-x` names."""
    named = _by_elements(options.columns, columns, where)
    excluded = set(_by_elements(options.exclude, columns, where))
    wanted = named if options.columns else [(i, None) for i in range(len(columns))]
    features: list[Feature] = []
    for i, element in wanted:
        if (i, None) in excluded:
            continue
        features.extend(_features(i, element, columns[i], bool(options.columns), where, notices))
    features = [f for f in features if (f.column, f.element) not in excluded]
    _check_names([columns[i] for i in dict.fromkeys(i for i, _ in wanted) if (i, None) not in excluded], columns, where)
    if not features:
        raise DataError(f"{where}: no column holds numbers", f"there are: {listed(c.name for c in columns)}")
    doubled = [name for name, count in Counter(f.name for f in features).items() if count > 1]
    if doubled:
        raise DataError(f"{where}: two features are called {show(doubled[0])}", "leave one out with -x")
    return tuple(features)


def _by_elements(terms: Sequence[str], columns: Sequence[Column], where: str) -> list[tuple[int, int | None]]:
    """Terms as columns, or as single elements `name[3]` of a vector column."""
    found: dict[tuple[int, int | None], None] = {}
    vectors = {c.name: i for i, c in enumerate(columns) if c.kind == "vector"}
    names = {c.name for c in columns}
    for text in terms:
        for term in [text] if text in names else text.split(","):
            element = re.fullmatch(r"(.*)\[([0-9]+)\]", term, re.ASCII | re.DOTALL)
            if term not in names and element and element.group(1) in vectors:
                i = vectors[element.group(1)]
                if int(element.group(2)) >= columns[i].width:
                    raise DataError(f"{where}: {show(term)} is past the {columns[i].width} elements of the vector")
                found[i, int(element.group(2))] = None
            else:
                found |= dict.fromkeys((i, None) for i in find_columns([term], columns, where))
    return list(found)


def _features(
    i: int, element: int | None, column: Column, named: bool, where: str, notices: Notices
) -> list[Feature]:
    if column.kind == "vector":
        elements = range(column.width) if element is None else [element]
        return [Feature(f"{column.name}[{e}]", i, e) for e in elements]
    if column.kind == "dressed":
        raise DataError(
            f"{where}, column {show(column.name)}: {show(column.example)} is a number but for its marks",
            f"read it with {column.remedy}, or leave it out with -x",
        )
    if column.kind == "boolean" and named:
        return [Feature(column.name, i, boolean=True)]
    if column.kind in ("text", "boolean"):
        if named:
            raise DataError(
                f"{where}: column {show(column.name)} holds no numbers (first value {show(column.example)})",
                "name columns of numbers only",
            )
        reason = "; name it with -c to use it as 0 and 1" if column.kind == "boolean" else ""
        notices.note(f"left out {column.kind} column {show(column.name)} (first value {show(column.example)}{reason})")
        return []
    return [Feature(column.name, i)]


def _check_names(used: Sequence[Column], columns: Sequence[Column], where: str) -> None:
    """Names tell columns apart: no two may be the same, and a column of numbers must have one."""
    for column in used:
        same = [i + 1 for i, c in enumerate(columns) if c is not column and c.name == column.name]
        if column.name != "" and any(c is not column and c.name == column.name for c in used):
            numbers = [i + 1 for i, c in enumerate(columns) if c.name == column.name]
            raise DataError(
                f"{where}: columns {' and '.join(map(str, numbers[:2]))} are both called {show(column.name)}",
                f"rename one, or leave it out by number: -x {(same or numbers)[-1]}",
            )
        if not column.name.strip() and column.kind not in ("text", "boolean"):
            number = next(i + 1 for i, c in enumerate(columns) if c is column)
            raise DataError(
                f"{where}: column {number} holds numbers and has no name", f"name it, or leave it out with -x {number}"
            )


def match_features(
    names: Sequence[str], booleans: frozenset[str], columns: Sequence[Column], where: str, remedy: str = ""
) -> tuple[Feature, ...]:
    """The named features in a table, wherever they stand: as columns, or as elements of a vector column."""
    by_name: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        by_name.setdefault(column.name, []).append(i)
    vectors = {c.name: (i, c.width) for i, c in enumerate(columns) if c.kind == "vector"}
    found: list[Feature] = []
    missing: list[str] = []
    for name in names:
        element = re.fullmatch(r"(.*)\[([0-9]+)\]", name, re.ASCII | re.DOTALL)
        if name in by_name:
            found.append(_only(name, by_name[name], columns, booleans, where))
        elif element and element.group(1) in vectors and int(element.group(2)) < vectors[element.group(1)][1]:
            found.append(Feature(name, vectors[element.group(1)][0], int(element.group(2))))
        else:
            missing.append(name)
    if missing:
        raise MissingColumns(missing, [c.name for c in columns], where, remedy)
    return tuple(found)


def _only(name: str, at: list[int], columns: Sequence[Column], booleans: frozenset[str], where: str) -> Feature:
    if len(at) > 1:
        raise DataError(
            f"{where}: columns {at[0] + 1} and {at[1] + 1} are both called {show(name)}", "rename or drop one of them"
        )
    column = columns[at[0]]
    if column.kind in ("text", "vector") or (column.kind == "boolean" and name not in booleans):
        raise DataError(
            f"{where}: column {show(name)} holds {column.kind} values (first: {show(column.example)}), the model needs numbers"
        )
    return Feature(name, at[0], boolean=name in booleans and column.kind in ("", "boolean"))
