"""Terms of `-c`, `-x` and `--keep` to columns: exact name, 1-based number, range, glob, or an element of a vector."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence

from pcatool.errors import DataError, MissingColumns, UsageError, show
from pcatool.readers.base import Column

__all__ = ["Names", "element_of", "find_columns", "find_elements", "places_of"]


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
