"""Find the columns of a table that a term names: by name, number, range or pattern; near names for errors."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence

from pcatool.errors import DataError, MissingColumns, UsageError, counted, near_columns, show
from pcatool.readers.base import Column

__all__ = ["ColumnNames", "find_columns", "find_elements", "places_of", "vector_element"]


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
