"""Choose the features and weights of a fit, from terms that name columns: by name, number, range or pattern."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from shlex import quote

from pcatool.errors import DataError, MissingColumns, UsageError, near_columns
from pcatool.options import SelectOptions
from pcatool.progress import Reporter
from pcatool.readers.base import SEPARATORS, Column, Feature
from pcatool.wording import counted, exclusion, leave_out_all, listed, show

__all__ = [
    "ColumnNames",
    "check_duplicates",
    "choose_features",
    "find_columns",
    "find_elements",
    "find_triples",
    "find_weights",
    "marked_number_error",
    "match_columns",
    "only_place",
    "places_of",
    "vector_element",
]

# A number with a unit of letters that --strip can remove: E is a letter of numbers.
NUMBER_WITH_UNIT = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]+)*(\s?[^\W\deE_]{1,4})")
CHECK_CUTTING = "check -d and --skip-lines, if the names do not look right"
WITH_OTHERS = "give -c with this column and the other features"


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


def match_columns(names: Sequence[str], columns: Sequence[Column], where: str) -> list[int]:
    """Return the numbers of the named columns, of any kind; raises MissingColumns."""
    if not names:
        return []
    places = places_of(columns)
    missing = [name for name in names if name not in places]
    if missing:
        raise MissingColumns(missing, [c.name for c in columns], where, "add the column, or rename a column")
    return [only_place(name, places, where) for name in names]


def only_place(name: str, places: dict[str, list[int]], where: str) -> int:
    """Return the number of the only column of this name; raises DataError if several columns have the name."""
    at = places[name]
    if len(at) > 1:
        raise DataError(
            f"{where}: columns {at[0] + 1} and {at[1] + 1} are both called {show(name)}",
            "rename or drop one of the columns",
        )
    return at[0]


# --- columns that terms name ---


def find_columns(terms: Sequence[str], columns: Sequence[Column], where: str) -> list[int]:
    """Return the numbers (from 0) of the columns that the terms name, each once, in the order named.

    `where` is the name of the table for messages. Raises MissingColumns, UsageError or DataError for a term that names
    no column.
    """
    names = ColumnNames(columns, where)
    return list(dict.fromkeys(i for term in names.split(terms) for i in names.find(term)))


def find_elements(terms: Sequence[str], columns: Sequence[Column], where: str) -> list[tuple[int, int | None]]:
    """Like `find_columns`, for terms that may also name an element of a vector column, as in `emb[3]`.

    Returns pairs (column, element), with None for the element where the term names the whole column.
    """
    names = ColumnNames(columns, where)
    vectors = {c.name: i for i, c in enumerate(columns) if c.kind == "vector"}
    found: dict[tuple[int, int | None], None] = {}
    for term in names.split(terms):
        element = vector_element(term.strip())
        if term in names.places or element is None or element[0] not in vectors:
            found |= dict.fromkeys((i, None) for i in names.find(term))
            continue
        i = vectors[element[0]]
        name, width = columns[i].name, columns[i].width
        if width == 0:
            raise DataError(
                f"{where}: column {show(name)} holds no vector: all its cells are missing", f"leave out {show(term)}"
            )
        if element[1] >= width:
            raise DataError(
                f"{where}: there is no element {show(term)}, because the vectors have {counted(width, 'element')}",
                f"count elements from 0: the last element is {show(f'{name}[{width - 1}]')}",
            )
        found[i, element[1]] = None
    return list(found)


def vector_element(text: str) -> tuple[str, int] | None:
    """Return name and element of a term such as `emb[3]`, or None for other terms."""
    found = re.fullmatch(r"(.*)\[([0-9]+)\]", text, re.ASCII | re.DOTALL)
    return (found[1], int(found[2])) if found else None


def places_of(columns: Sequence[Column]) -> dict[str, list[int]]:
    """Return the numbers (from 0) of the columns of each name."""
    places: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        places.setdefault(column.name, []).append(i)
    return places


class ColumnNames:
    """The column names of a table; finds the columns that a term names."""

    def __init__(self, columns: Sequence[Column], where: str) -> None:
        self.names = [c.name for c in columns]
        self.places = places_of(columns)
        self.where = where

    def split(self, terms: Sequence[str]) -> Iterator[str]:
        """Yield single terms, split at commas; a text that is a column name is one term, commas and blanks included."""
        for text in terms:
            yield from [text] if text in self.places else text.split(",")

    def find(self, term: str) -> list[int]:
        """Return the columns (from 0) of one term, as written or else without outer blanks; raises MissingColumns."""
        if not term.strip():
            raise UsageError("a column name is empty", "separate column names by single commas")
        found = self._exactly(term) or self._exactly(term.strip())
        if not found:
            raise self._not_found(term)
        return found

    def _not_found(self, term: str) -> MissingColumns:
        """Return the error for a term that names no column; the error names a near range, or else near names."""
        alike = _folded(term) in map(_folded, self.names)
        near = None if alike else self._near_range(term)
        shown = self.names if near is None else [f"{near[0]}-{near[1]}"]
        remedy = "correct the name, or name another column"
        for name in near or near_columns([term], self.names):
            if name != name.strip():
                where = "begins" if name[:1].isspace() else "ends"
                remedy = f"the name {show(name)} {where} with a space: {remedy}"
                break
        return MissingColumns([term], shown, self.where, remedy)

    def _near_range(self, term: str) -> tuple[str, str] | None:
        """Return the ends of the range that a term means if letter case and outer blanks are ignored; None for none."""
        known = {_folded(name): name for name in reversed(self.names)}
        for cut in [i for i, c in enumerate(term) if c == "-"]:
            ends = [_folded(end) for end in (term[:cut], term[cut + 1 :])]
            if any(ends) and all(not end or end in known or is_number(end) for end in ends):
                first, last = (known.get(end, end) if end else "" for end in ends)
                return first, last
        return None

    def _exactly(self, term: str) -> list[int]:
        """Return the columns of a term: as a name, a number, a range or a pattern, tried in this order; [] for none."""
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
        """Return the column, from 0, of a number that counts from 1; raises DataError for a number out of range."""
        number, count = int(term), len(self.names)
        if not 1 <= number <= count:
            raise DataError(
                f"{self.where}: there is no column {number}, because the table has {counted(count, 'column')}",
                "count columns from 1",
            )
        return number - 1

    def _range(self, term: str) -> tuple[int, int] | None:
        """Return the first and last column of `a-c`, `2-5`, `3-` or `-4`; None if the term is not a range.

        Each dash is tried as the separator, since names may contain dashes.
        """
        for cut in [i for i, c in enumerate(term) if c == "-"]:
            left, right = term[:cut], term[cut + 1 :]
            if (left or right) and all(not end or end in self.places or is_number(end) for end in (left, right)):
                return self._end(left, 0), self._end(right, len(self.names) - 1)
        return None

    def _end(self, text: str, default: int) -> int:
        """Return the column of one end of a range; `default` for an empty text."""
        if not text:
            return default
        return self.places[text][0] if text in self.places else self._number(text)


def _folded(name: str) -> str:
    """Return a name without outer blanks and in lower case."""
    return name.strip().casefold()


def is_number(term: str) -> bool:
    """Whether the term consists of ASCII digits only."""
    return re.fullmatch(r"[0-9]+", term, re.ASCII) is not None
