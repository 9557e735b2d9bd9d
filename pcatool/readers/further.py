"""Columns that later inputs have and the first does not: they are left out, which must not go unsaid."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Sequence
from copy import copy

from pcatool.errors import listed
from pcatool.readers.base import Column, Table
from pcatool.readers.paths import Input

__all__ = ["Further"]


class Further:
    """What the inputs after the first have more of: numbers, or with `kept` all that is not passed through."""

    def __init__(self, first: Table, excluded: Sequence[str] = (), *, kept: bool = False) -> None:
        self._kept = kept
        self._first = first.name
        self._known = {column.name for column in first.columns}
        self._excluded = {term.strip() for text in excluded for term in (text, *text.split(","))}
        kinds = () if kept else first.profile()
        self._no_numbers = {c.name for c in kinds if c.kind == "text" or (c.kind == "boolean" and not c.typed)}
        self._looked = False
        self._all_known: tuple[Column, ...] | None = None  # the columns of an input, which may be those of others, too
        self._found: dict[int, tuple[str, list[str]]] = {}  # by the number of the input

    def __bool__(self) -> bool:
        """Was anything found?"""
        return bool(self._found)

    def of(self, at: int) -> Further:
        """The same with nothing found yet, for the input of this number."""
        other = copy(self)
        other._found, other._looked = {}, at > 1
        return other

    def add(self, at: int, other: Further) -> None:
        """What was found in an input elsewhere, as the only one there."""
        for found in other._found.values():
            self._found[at] = found

    def look(self, at: int, table: Table, item: Input) -> None:
        if table.columns is self._all_known:
            return
        if self._kept:
            self._look_at_names(at, table)
            return
        names = [
            c.name for c in table.columns if not (c.partition or c.row_name) and c.name.strip() and self._is_new(c.name)
        ]
        if not self._looked:  # what is no number in the first should be none in the second: all would cost time
            names += [c.name for c in table.columns if c.name in self._no_numbers]
        self._looked = True
        if not names:
            self._all_known = table.columns
        # The first rows of a pipe may be a long time in coming.
        if names and not item.flows and (numbers := _numbers(table, names)):
            self._found[at] = (table.name, numbers)

    def _look_at_names(self, at: int, table: Table) -> None:
        names = [column.name for column in table.columns if self._is_new(column.name)]
        if names:
            self._found[at] = (table.name, names)
        else:
            self._all_known = table.columns

    def _is_new(self, name: str) -> bool:
        return name not in self._known and not any(fnmatch.fnmatchcase(name, term) for term in self._excluded)

    def warning(self, without: Collection[int]) -> str | None:
        """What to say when all was read, of the inputs that were not left out."""
        found = [more for at, more in sorted(self._found.items()) if at not in without]
        if not found:
            return None
        name, columns = found[0]
        noun = "a column" if len(columns) == 1 else "columns"
        others = f", and so have {len(found) - 1} more files" if len(found) > 2 else ""
        others = ", and so has one more file" if len(found) == 2 else others
        if self._kept:
            return (
                f"{name} has {noun} that {self._first} does not have, which --keep-all passes over: "
                f"{listed(columns)}{others}; give all files the same columns, or name those to keep with --keep"
            )
        return (
            f"{name} has {noun} of numbers that {self._first} does not have, or not as numbers, left out: "
            f"{listed(columns)}{others}; "
            "name the columns with -c, or give that file first"
        )


def _numbers(table: Table, names: Sequence[str]) -> list[str]:
    kinds = {column.name: column.kind for column in table.profile()}
    return [name for name in names if kinds[name] in ("number", "vector", "dressed")]
