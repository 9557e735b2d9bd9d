"""Protocol of a reader: columns known before rows are read, then parts of rows in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, block_rows, in_turn
from pcatool.errors import show

__all__ = [
    "MEND",
    "Batch",
    "Column",
    "Feature",
    "Part",
    "Rounded",
    "Table",
    "all_finite",
    "first_rounded",
    "has_large",
    "large",
    "rows_at_once",
]

# Up to here every whole number is a double.
EXACT = 2.0**53
# Cells of a column looked at in each batch: where so many large whole numbers are doubles, all are likely to be.
LOOKED_AT = 100


class Rounded(NamedTuple):
    """A cell, and the whole number that it says."""

    row: int
    feature: int
    written: int

    def note(self, place: str, column: str) -> str:
        return (
            f"{place}, column {show(column)}: {self.written} is taken as {int(float(self.written))}: whole numbers "
            "beyond 2^53 are rounded; if they are ids, leave the column out with -x"
        )


def has_large(X: Array) -> bool:
    """Is any number beyond the whole numbers that are all exact? The sum of squares tells of most blocks."""
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        if flat @ flat < EXACT**2:
            return False
    return bool((X >= EXACT).any() or (X <= -EXACT).any())


def large(X: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Features and rows of the first such numbers of each column of X (n, d), a column after the other."""
    beyond = (np.abs(X) >= EXACT) & np.isfinite(X)
    features, rows = np.nonzero((beyond & (beyond.cumsum(axis=0) <= LOOKED_AT)).T)
    return features, rows


def first_rounded(
    X: Array,
    features: NDArray[np.intp],
    rows: NDArray[np.intp],
    cells: Iterable[str],
    whole: Callable[[str], int | None],
) -> Rounded | None:
    """The first of these cells that X holds as another whole number."""
    for feature, row, cell in zip(features.tolist(), rows.tolist(), cells, strict=True):
        written = whole(cell)
        if written is not None and abs(written) != int(abs(X[row, feature])):
            return Rounded(row, feature, written)
    return None


MEND = "mend the cell, fit without the column (-x), or name the value with --null-value if it means missing"


class Column(NamedTuple):
    """One column of a table as it lies there."""

    name: str
    # number, empty (nothing but holes), boolean, vector, text, dressed (a number but for marks); "" when not looked at
    kind: str = "number"
    example: str = ""  # the first cell that is not missing
    width: int = 0  # elements of a vector
    remedy: str = ""  # dressed: what reads it
    null: str = "null"  # how a cell that Arrow has as null is known to the user
    typed: bool = False  # boolean by its type, not by what its text says: used as 0 and 1 unasked
    partition: bool = False  # told by the folders of the file, one value for all its rows
    written: str = ""  # text of a table that is none: all, some or none of its first cells are numbers in digits
    stored: str = ""  # text of a table that is none: its type there
    row_name: bool = False  # tells rows apart (--row-names), and is never a feature


class Feature(NamedTuple):
    """One column of X: which table column it comes from, and how."""

    name: str
    column: int
    element: int | None = None  # of a vector
    boolean: bool = False


class Batch(NamedTuple):
    """Some whole rows."""

    X: Array  # (n, d) NaN where a cell is missing
    kept: Sequence[Any]  # columns passed through, as the writers take them
    place: Callable[[int], str]  # row of this batch -> "file, line 7"
    finite: bool  # nothing is missing, nothing infinite
    # How often each spelling of a missing cell stood where X had a hole when it was read; {} suits where nothing is
    # missing. Counted when asked, in the thread that asks.
    spellings: Callable[[], Mapping[str, int]] = dict
    # The first cell that says a whole number which no double holds; looked for when asked, too.
    rounded: Callable[[], Rounded | None] = lambda: None


def rows_at_once(d: int) -> int:
    """Rows to read at a time: whole blocks.

    For a column Arrow does as much as for some hundred cells, so wide tables take more rows, up to 32 MB of numbers.
    """
    height = block_rows(d)
    return height * max(1, min((1 << 8) // height, (1 << 22) // (height * max(d, 1))))


def all_finite(X: Array) -> bool:
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        # One NaN or infinity anywhere shows in the sum of squares, and so may large numbers.
        return bool(np.isfinite(flat @ flat) or np.isfinite(X).all())


class Part(Protocol):
    """Some whole rows, not yet parsed, so that parsing can be done elsewhere."""

    def batch(self) -> Batch: ...


class Table(Protocol):
    """One input, opened."""

    name: str
    nameless: bool  # its columns are only counted: c1, c2, ...
    text: bool  # its cells are read from text, which spells what is missing

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns by name; their kinds are only filled in by `profile`."""
        ...

    def profile(self) -> tuple[Column, ...]:
        """The columns with their kinds, judged by the first block of rows where the format does not tell."""
        ...

    def expected_rows(self) -> int | None:
        """About how many rows there are; None when nothing tells before they are read."""
        ...

    def kept_type(self, column: int) -> Any:
        """The Arrow type in which a column is passed through."""
        ...

    def ready(self) -> bool:
        """Can more rows, or their end, be handed out without waiting for them to arrive?"""
        ...

    def ended(self) -> bool:
        """Were all rows handed out, as far as that is known already?"""
        ...

    def share(self) -> float | None:
        """How much of it was handed out, from 0 to 1, as any thread may ask; None where its size is not known."""
        ...

    @property
    def contents_bytes(self) -> int:
        """Memory that the table takes while it is open and nothing is read of it: its table of contents."""
        ...

    def reading_bytes(self, parts: int) -> int:
        """Memory that reading takes at the most with so many parts at once, their numbers included; once `parts` was
        asked for, since it depends on the columns."""
        ...

    def parts(
        self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool = False, run: Runner = in_turn
    ) -> Iterator[Part]:
        """All rows in order; `eager` hands out what has arrived instead of waiting for a full block.

        `run` does what must be done before there are parts.
        """
        ...
