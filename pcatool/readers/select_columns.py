"""Choose columns by name, number, range or pattern; find those of a model in another table."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from pcatool.errors import DataError, MissingColumns, UsageError, listed, show
from pcatool.options import SelectOptions
from pcatool.progress import Notices
from pcatool.readers.base import Column, Feature

__all__ = [
    "LabelColumns",
    "Names",
    "choose_features",
    "element_of",
    "find_columns",
    "find_labels",
    "find_triples",
    "find_weights",
    "match_columns",
    "match_features",
]


def find_columns(terms: Sequence[str], columns: Sequence[Column], where: str) -> list[int]:
    """Columns that the terms name, in the order named."""
    names = Names(columns, where)
    return list(dict.fromkeys(i for term in names.split(terms) for i in names.find(term)))


def find_elements(terms: Sequence[str], columns: Sequence[Column], where: str) -> list[tuple[int, int | None]]:
    """The same where a term may also be an element `name[3]` of a vector column: (column, element or None)."""
    names = Names(columns, where)
    vectors = {c.name: i for i, c in enumerate(columns) if c.kind == "vector"}
    found: dict[tuple[int, int | None], None] = {}
    for term in names.split(terms):
        element = element_of(term.strip())
        if term in names.places or element is None or element[0] not in vectors:
            found |= dict.fromkeys((i, None) for i in names.find(term))
            continue
        i = vectors[element[0]]
        if element[1] >= columns[i].width:
            raise DataError(f"{where}: {show(term)} is past the {columns[i].width} elements of the vector")
        found[i, element[1]] = None
    return list(found)


def element_of(text: str) -> tuple[str, int] | None:
    """`emb[3]` as vector column and element."""
    found = re.fullmatch(r"(.*)\[([0-9]+)\]", text, re.ASCII | re.DOTALL)
    return (found[1], int(found[2])) if found else None


def places_of(columns: Sequence[Column]) -> dict[str, list[int]]:
    """Where each name stands; more than once, perhaps."""
    places: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        places.setdefault(column.name, []).append(i)
    return places


class Names:
    """The names of a table's columns, to be found by terms."""

    def __init__(self, columns: Sequence[Column], where: str) -> None:
        self.names = [c.name for c in columns]
        self.places = places_of(columns)
        self.where = where

    def split(self, terms: Sequence[str]) -> Iterator[str]:
        """Single terms; a text that is a column's name is one, commas and blanks included."""
        for text in terms:
            yield from [text] if text in self.places else text.split(",")

    def find(self, term: str) -> list[int]:
        """The columns of one term as it stands, or without the blanks around it."""
        if not term.strip():
            raise UsageError("a column term is empty", "name columns separated by single commas")
        found = self._exactly(term) or self._exactly(term.strip())
        if not found:
            raise MissingColumns([term], self.names, self.where)
        return found

    def _exactly(self, term: str) -> list[int]:
        if term in self.places:
            return self.places[term]
        if is_number(term):
            return [self._number(term)]
        ends = self._range(term)
        if ends is not None:
            first, last = ends
            if last < first:
                written = f"{self.names[last]}-{self.names[first]}"
                raise UsageError(f"column range {show(term)} runs backwards", f"write {written}")
            return list(range(first, last + 1))
        if re.search(r"[*?\[]", term):
            return [i for i, name in enumerate(self.names) if fnmatch.fnmatchcase(name, term)]
        return []

    def _number(self, term: str) -> int:
        number, count = int(term), len(self.names)
        if not 1 <= number <= count:
            raise DataError(f"{self.where}: no column number {number}, there are {count}", "columns are counted from 1")
        return number - 1

    def _range(self, term: str) -> tuple[int, int] | None:
        """First and last column of `a-c`, `2-5`, `3-` or `-4`; names may hold a dash themselves."""
        for cut in [i for i, c in enumerate(term) if c == "-"]:
            left, right = term[:cut], term[cut + 1 :]
            if (left or right) and all(not end or end in self.places or is_number(end) for end in (left, right)):
                return self._end(left, 0), self._end(right, len(self.names) - 1)
        return None

    def _end(self, text: str, default: int) -> int:
        if not text:
            return default
        return self.places[text][0] if text in self.places else self._number(text)


def is_number(term: str) -> bool:
    return re.fullmatch(r"[0-9]+", term, re.ASCII) is not None


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
