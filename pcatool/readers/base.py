"""What every reader gives: columns that are known before rows are read, then parts of rows in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pcatool.model import Array

__all__ = ["Batch", "Column", "Feature", "Part", "Table"]


@dataclass(frozen=True)
class Column:
    """One column of a table as it lies there."""

    name: str
    kind: str = "number"  # number, boolean, vector, text, dressed (a number but for marks); "" when not looked at
    example: str = ""  # the first cell that is not missing
    width: int = 0  # elements of a vector
    remedy: str = ""  # dressed: the option that reads it


@dataclass(frozen=True)
class Feature:
    """One column of X: which table column it comes from, and how."""

    name: str
    column: int
    element: int | None = None  # of a vector
    boolean: bool = False


@dataclass(frozen=True)
class Batch:
    """Some whole rows."""

    X: Array  # (n, d) NaN where a cell is missing
    kept: Sequence[Any]  # columns passed through, as the writers take them
    place: Callable[[int], str]  # row of this batch -> "file, line 7"


class Part(Protocol):
    """Some whole rows, not yet parsed, so that parsing can be done elsewhere."""

    def batch(self) -> Batch: ...


class Table(Protocol):
    """One input, opened."""

    name: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns by name; their kinds are only filled in by `profile`."""
        ...

    def profile(self) -> tuple[Column, ...]:
        """The columns with their kinds, judged by the first block of rows where the format does not tell."""
        ...

    def kept_type(self, column: int) -> Any:
        """The Arrow type in which a column is passed through."""
        ...

    def parts(self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool) -> Iterator[Part]:
        """All rows in order; `eager` hands out what has arrived instead of waiting for a full block."""
        ...
