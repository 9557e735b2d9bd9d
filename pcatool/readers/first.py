"""The first input, which names the columns: what kinds they are, and in which types they are passed through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pcatool.readers.base import Column, Table

__all__ = ["First", "own"]

# The Arrow type of a column of which nothing is known.
NOTHING = "null"


class First:
    """What the first input leaves open, as a part without rows does, is told by the next that has some.

    `others` opens the inputs after it, one after the other, to be looked at.
    """

    def __init__(self, table: Table, others: Callable[[], Iterator[Table]]) -> None:
        self.table = table
        self._others = others
        self._profile: tuple[Column, ...] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """With their kinds, if these were looked at."""
        return self._profile or self.table.columns

    def profile(self) -> tuple[Column, ...]:
        """The columns with their kinds."""
        if self._profile is None:
            self._profile = self.table.profile()
            is_open = _is_open if self.table.ended() else _is_empty_vector
            if any(map(is_open, self._profile)):
                self._profile = self._told_by_others(self._profile, is_open)
        return self._profile

    def _told_by_others(self, columns: tuple[Column, ...], is_open: Callable[[Column], bool]) -> tuple[Column, ...]:
        """By the first that has rows; how long vectors are, by the first that has one."""
        for other in self._others():
            there = {column.name: column for column in other.profile()}
            if not other.ended():
                columns = tuple(there.get(c.name, c) if is_open(c) else c for c in columns)
                is_open = _is_empty_vector
                if not any(map(is_open, columns)):
                    break
        return columns

    def kept_type(self, name: str) -> Any:
        """The type of a column passed through; of one in which nothing is, that of the next input."""
        kind = _kept_type(self.table, name)
        if str(kind) != NOTHING:
            return kind
        others = (_kept_type(other, name) for other in self._others())
        return next((other for other in others if other is not None and str(other) != NOTHING), kind)


def own(table: Table) -> tuple[Column, ...]:
    """Columns that stand in an input itself, not in its path, and name no rows."""
    return tuple(column for column in table.columns if not (column.partition or column.row_name))


def _kept_type(table: Table, name: str) -> Any:
    return next((table.kept_type(i) for i, column in enumerate(table.columns) if column.name == name), None)


def _is_open(column: Column) -> bool:
    """Do only rows tell what it holds?"""
    return column.kind == "empty" or _is_empty_vector(column)


def _is_empty_vector(column: Column) -> bool:
    """A column of vectors without one in the whole input, whose length another may tell."""
    return column.kind == "vector" and column.width == 0
