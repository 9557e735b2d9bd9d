"""Which columns of a table are the features of a fit, and which are left out, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from pcatool.errors import DataError, UsageError, listed, show
from pcatool.options import SelectOptions
from pcatool.progress import Notices
from pcatool.readers.base import Column, Feature
from pcatool.readers.terms import find_columns, find_elements

__all__ = ["LabelColumns", "choose_features", "find_labels", "find_triples", "find_weights"]


def choose_features(
    columns: Sequence[Column], options: SelectOptions, where: str, notices: Notices, without: Collection[int] = ()
) -> tuple[Feature, ...]:
    """What `-c` names, or every column of numbers, without what `-x` names, and without columns of other use."""
    named = bool(options.columns)
    chosen = find_elements(options.columns, columns, where) if named else [(i, None) for i in range(len(columns))]
    excluded = set(find_elements(options.exclude, columns, where))
    chosen = [(i, element) for i, element in chosen if (i, None) not in excluded and i not in without]
    chosen = _without_partitions(chosen, columns, options.columns, notices)
    chosen = _without_row_names(chosen, columns, options.columns, where)
    _check_doubles(dict.fromkeys(i for i, _ in chosen), columns, where)
    features = {
        (f.column, f.element): f
        for i, element in chosen
        for f in _features(i, element, columns, named, where, notices)
        if (f.column, f.element) not in excluded
    }
    _tell_truth(features.values(), columns, named=named, notices=notices)
    if not features:
        numbers = any(column.kind == "number" for column in columns)
        what = "no column is left" if named or numbers else "no column holds numbers"
        there = f"there are: {listed(c.name for c in columns)}" if columns else "it has no columns at all"
        raise DataError(f"{where}: {what}", _of_digits(columns) or there)
    doubled = [name for name, count in Counter(f.name for f in features.values()).items() if count > 1]
    if doubled:
        raise DataError(f"{where}: two features are called {show(doubled[0])}", "leave one out with -x")
    return tuple(features.values())


def _of_digits(columns: Sequence[Column]) -> str:
    """How numbers that are stored as text are read."""
    written = [i for i, column in enumerate(columns) if column.written == "all"]
    if not written:
        return ""
    named = [columns[i].name for i in written]
    plain = all(re.fullmatch(r"[\w.]+", name) for name in named)
    terms = ",".join(named if plain else [str(i + 1) for i in written])
    return f"numbers are stored as text ({columns[written[0]].stored}) in {listed(named)}: read them with -c {terms}"


def _tell_truth(features: Collection[Feature], columns: Sequence[Column], *, named: bool, notices: Notices) -> None:
    """Columns that are booleans by their type are numbers, unless they were named on purpose with a word about it."""
    used = [] if named else [f.name for f in features if f.boolean and columns[f.column].typed]
    if used:
        noun, them = ("column", "it") if len(used) == 1 else ("columns", "them")
        notices.note(f"used boolean {noun} {listed(used)} as 0 and 1; -x leaves {them} out")


def _without_partitions(
    chosen: Sequence[tuple[int, int | None]], columns: Sequence[Column], terms: Sequence[str], notices: Notices
) -> list[tuple[int, int | None]]:
    """What folders tell is a feature only by its full name, so that moving a file into one changes no model."""
    named = {term.strip() for text in terms for term in (text, *text.split(","))}
    for i, _ in chosen:
        column = columns[i]
        if column.partition and not terms:
            first = f"first value {show(column.example)}" if column.example else "no value in it"
            hint = "; name it with -c to use it" if column.kind == "number" else ""
            notices.note(f"left out partition column {show(column.name)} ({first}{hint})")
    return [(i, element) for i, element in chosen if not columns[i].partition or columns[i].name in named]


def _without_row_names(
    chosen: Sequence[tuple[int, int | None]], columns: Sequence[Column], terms: Sequence[str], where: str
) -> list[tuple[int, int | None]]:
    """The columns without the one that names the rows, which a range or a glob may take in."""
    named = {term.strip() for text in terms for term in (text, *text.split(","))}
    for i, _ in chosen:
        if columns[i].row_name and columns[i].name in named:
            raise DataError(
                f"{where}: column {show(columns[i].name)} holds the names of the rows (--row-names), no feature",
                "leave out --row-names to use its numbers, or do not name it with -c",
            )
    return [(i, element) for i, element in chosen if not columns[i].row_name]


def _features(
    i: int, element: int | None, columns: Sequence[Column], named: bool, where: str, notices: Notices
) -> list[Feature]:
    """The features that a column gives; none when it is left out."""
    column = columns[i]
    if column.kind == "dressed":
        raise DataError(
            f"{where}, column {show(column.name)}: {show(column.example)} is a number but for its marks",
            f"{column.remedy}{_or_without(i, columns)}",
        )
    without_values = column.kind == "vector" and column.width == 0
    text = column.kind == "text" and not (named and column.written == "all")
    if text or without_values or (column.kind == "boolean" and not (named or column.typed)):
        first = f"first value {show(column.example)}" if column.example else "no value in it"
        if named:
            stored = f", its type is {column.stored}" if column.stored else ""
            what = f"column {show(column.name)} holds no numbers ({first}){stored}"
            there, remedy = "names of folders" if column.partition else where, "name columns of numbers only"
            if column.written == "some":
                what = f"column {show(column.name)} mixes text and numbers ({first}){stored}"
                remedy += _or_without(i, columns)
            raise DataError(f"{there}: {what}", remedy)
        hint = "; name it with -c to use it as 0 and 1" if column.kind == "boolean" else ""
        if column.written == "all":
            hint = f"; it is of type {column.stored}: name it with -c to read its numbers"
        elif column.written == "some":
            hint = "; it mixes text and numbers"
        notices.note(f"left out {column.kind} column {show(column.name)} ({first}{hint})")
        return []
    if "\0" in column.name:
        raise DataError(f"{where}: a name with a NUL byte, {show(column.name)}", f"name it{_or_without(i, columns)}")
    if not column.name.strip():
        if column.kind == "empty" and not named:
            notices.note(f"left out column {i + 1}, which has neither a name nor a value")
            return []
        what = f"column {i + 1} holds numbers and has no name"
        names = ", or read it with --row-names if it names the rows" if i == 0 and len(columns) > 1 else ""
        raise DataError(f"{where}: {what}", f"name it{_or_without(i, columns)}{names}")
    if column.kind == "vector":
        elements = range(column.width) if element is None else [element]
        return [Feature(f"{column.name}[{e}]", i, e) for e in elements]
    return [Feature(column.name, i, boolean=column.kind == "boolean")]


def _or_without(i: int, columns: Sequence[Column], by: str = "with") -> str:
    """The way out that leaves a column out by its number; there is none where that is a column's name."""
    number = str(i + 1)
    return "" if any(c.name == number for c in columns) else f", or leave it out {by} -x {number}"


def _check_doubles(used: Iterable[int], columns: Sequence[Column], where: str) -> None:
    """Names tell columns apart: no two of those used may be the same."""
    first: dict[str, int] = {}
    for i in used:
        name = columns[i].name
        if name.strip() and name in first:
            raise DataError(
                f"{where}: columns {first[name] + 1} and {i + 1} are both called {show(name)}",
                f"rename one{_or_without(i, columns, 'by number:')}",
            )
        first[name] = i


def find_weights(term: str, columns: Sequence[Column], where: str) -> int:
    """The one column of numbers that a term names."""
    found = find_columns([term], columns, where)
    if len(found) != 1:
        raise DataError(f"{where}: --weights {show(term)} names {len(found)} columns", "name one")
    column = columns[found[0]]
    if column.kind not in ("number", "empty"):
        raise DataError(f"{where}: --weights {show(column.name)} is a {column.kind} column", "name a column of numbers")
    return found[0]


def find_triples(terms: str, columns: Sequence[Column], where: str) -> tuple[int, int, int]:
    """The columns of users, items and values."""
    found = find_columns([terms], columns, where)
    if len(found) != 3:
        different = f"{len(found)} column{'s' * (len(found) != 1)}"
        raise UsageError(f"--triples {show(terms)} names {different}", "name three: user, item, value")
    user, item, value = found
    for i, what in ((user, "users"), (item, "items")):
        if columns[i].kind == "vector":
            raise DataError(f"{where}: {show(columns[i].name)} is a vector column", f"name a column of {what}")
    column = columns[value]
    if column.kind == "dressed":
        raise DataError(
            f"{where}, column {show(column.name)}: {show(column.example)} is a number but for its marks",
            column.remedy,
        )
    if column.kind not in ("number", "empty", "boolean"):
        raise DataError(
            f"{where}: column {show(column.name)} holds no numbers (first value {show(column.example)})",
            "name the columns as user, item, value",
        )
    return user, item, value


class LabelColumns(NamedTuple):
    """Columns that supervise, and whether equal or not is all that counts."""

    order: list[int]  # all of them, as they were given
    numbers: list[int]
    texts: list[int]
    classes: bool


def find_labels(
    terms: Sequence[str],
    kernel: str | None,
    columns: Sequence[Column],
    where: str,
    known: Collection[str] | None = None,
) -> LabelColumns:
    """The columns of labels: classes where one of them is no number, or where that was asked for.

    Which of them are numbers is `known` where there is a model of such labels: 07 and 7 are one class or two.
    """
    found = list(dict.fromkeys(find_columns(terms, columns, where))) if terms else []
    for i in found:
        if columns[i].kind == "vector":
            raise DataError(f"{where}: --label {show(columns[i].name)} is a vector column", "name columns of one value")
        if columns[i].kind == "dressed" and kernel != "delta":
            raise DataError(
                f"{where}, column {show(columns[i].name)}: {show(columns[i].example)} is a number but for its marks",
                f"{columns[i].remedy}, or take it as it is with --label-kernel delta",
            )
    words = [columns[i] for i in found if columns[i].kind not in ("number", "empty")]
    if words and kernel in ("linear", "rbf"):
        raise DataError(
            f"{where}: --label {show(words[0].name)} holds no numbers (first value {show(words[0].example)})",
            f"--label-kernel {kernel} needs numbers; delta takes classes",
        )
    if known is None:
        known = [columns[i].name for i in found if columns[i].kind in ("number", "empty", "boolean")]
    for column in (columns[i] for i in found):
        if column.name in known and column.kind == "text":
            raise DataError(
                f"{where}: label {show(column.name)} holds text (first value {show(column.example)}), and numbers in "
                "the model",
                "fit all rows together",
            )
    numbers, texts = ([i for i in found if (columns[i].name in known) == number] for number in (True, False))
    return LabelColumns(found, numbers, texts, bool(found) and (bool(words) or kernel == "delta"))
