"""Protocol of a reader: the columns are known before rows are read; then the rows come in parts, in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, block_rows, run_serially
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.wording import exclusion, leave_out, null_option, show

__all__ = [
    "CSV_OPTIONS",
    "SEPARATORS",
    "Batch",
    "Column",
    "Feature",
    "Part",
    "RoundedCell",
    "Table",
    "above_2_53",
    "all_finite",
    "bad_cell_remedy",
    "first_rounded",
    "has_above_2_53",
    "note_without_effect",
    "reword_null_value",
    "rows_at_once",
]

# Every whole number up to 2^53 in absolute value has an exact double.
TWO_TO_53 = 2.0**53
# Large cells per column and batch that are checked for rounding: where this many large whole numbers are exact doubles,
# the rest are likely to be exact too.
MOST_LARGE_CHECKED = 100


class RoundedCell(NamedTuple):
    """A cell with a whole number that float64 cannot hold exactly; X holds the rounded number."""

    row: int  # row in the batch, from 0
    feature: int  # column of X
    written: int  # the number as the input has it

    def note(self, place: str, column: str) -> str:
        """Return the note for the user that this cell was rounded; `place` is its file and row, `column` its column."""
        return (
            f"{place}, column {show(column)}: {self.written} is read as {int(float(self.written))}, because whole "
            "numbers beyond 2^53 are rounded; if the numbers are ids, fit the model without the column, "
            f"with {exclusion(column)}"
        )


def has_above_2_53(X: Array) -> bool:
    """Whether X holds a number, finite or infinite, of at least 2^53 in absolute value."""
    # The sum of squares rules this out for most blocks, in one pass.
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        if flat @ flat < TWO_TO_53**2:
            return False
    return bool((X >= TWO_TO_53).any() or (X <= -TWO_TO_53).any())


def above_2_53(X: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the columns and the rows, each (m,), of the finite numbers of at least 2^53 in absolute value in X (n, d).

    The numbers are ordered by column, then by row; of each column only the first MOST_LARGE_CHECKED are returned.
    """
    beyond = (np.abs(X) >= TWO_TO_53) & np.isfinite(X)
    features, rows = np.nonzero((beyond & (beyond.cumsum(axis=0) <= MOST_LARGE_CHECKED)).T)
    return features, rows


def first_rounded(
    X: Array,
    features: NDArray[np.intp],
    rows: NDArray[np.intp],
    cells: Iterable[str],
    read_whole_number: Callable[[str], int | None],
) -> RoundedCell | None:
    """Return the first cell with a whole number that X (n, d) holds rounded; None if all of them are exact in X.

    Only the cells at row rows[i] and column features[i] of X are checked, in this order; cells[i] is the text of the
    cell in the input. `read_whole_number` returns the whole number that a text holds, None for other texts.
    """
    for feature, row, cell in zip(features.tolist(), rows.tolist(), cells, strict=True):
        written = read_whole_number(cell)
        if written is not None and abs(written) != int(abs(X[row, feature])):
            return RoundedCell(row, feature, written)
    return None


def bad_cell_remedy(value: str, name: str, column: int | None = None) -> str:
    """Return the remedy for a cell whose text `value` cannot be read as a number.

    `name` is the name of the column of the cell, `column` the number of this column from 0; None if unknown.
    """
    missing = f"{null_option(value) or 'the value with --null-value'} if the value stands for a missing cell"
    return f"correct the cell, give {missing}, or {leave_out(name, column)}"


# Fields of `TableOptions` that describe lines with separated fields and their numbers.
CSV_OPTIONS = ("delimiter", "header", "row_names", "comment", "decimal", "thousands", "strip", "skip_lines")


def note_without_effect(options: TableOptions, names: Collection[str], what: str, reporter: Reporter) -> None:
    """Note which of the options `names` (fields) were given, though they have no effect on the input `what`."""
    given = [f for f in fields(options) if f.name in names and getattr(options, f.name) != f.default]
    flags = ["--no-header" if f.name == "header" else f.metadata["flag"].names[-1] for f in given]
    if flags:
        reporter.note(f"{', '.join(flags)} {'has' if len(flags) == 1 else 'have'} no effect on {what}")


def reword_null_value(text: str, option: str) -> str:
    """Return a remedy for bad cells whose advice to give --null-value also gives `option`, such as `--missing drop`.

    Without the option, the cells would be refused again, as missing.
    """
    return re.sub(r" (if the (?:value|texts?) stands? for .*? cells?\b)", rf" and {option} \1", text)


# Usual separators of text tables, and the value of -d for each.
SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}


class Column(NamedTuple):
    """Description of a column of an input; made by readers, used to choose columns by name and kind."""

    name: str
    # number, empty (only missing cells), boolean, vector, text, or marked number (numbers with marks such as $ or %);
    # "" before the reader has looked at the cells
    kind: str = "number"
    example: str = ""  # a cell that is not missing, mostly the first; "" for most columns of numbers
    width: int = 0  # length of the vectors; 0 for other columns, or if no vector was seen
    remedy: str = ""  # for columns of marked numbers: options that read the cells as numbers
    line: int = 0  # for columns of marked numbers: line of the example; 0 if unknown
    null_word: str = "null"  # the word for a null of Arrow in messages and reports
    # The type is boolean; without -c such columns are features, columns of the texts true and false are not.
    boolean_type: bool = False
    partition: bool = False  # value comes from the folder names of the file, one for all its rows
    # For text columns of typed formats: "all", "some" or "none" of the first cells are numbers.
    numbers_in_text: str = ""
    arrow_type: str = ""  # for text columns of typed formats: the name of the Arrow type
    row_name: bool = False  # holds the names of the rows (--row-names); never a feature

    def place(self, where: str) -> str:
        """Return input, line (if known) and column of the example, for messages; `where` is the name of the input."""
        return f"{where}{f', line {self.line}' if self.line else ''}, column {show(self.name)}"

    @property
    def contents(self) -> str:
        """The kind and a blank after it, such as "text ", for messages.

        "" for dates, structs and other types, whose columns have the kind text but hold no text.
        """
        return f"{self.kind} " if not self.arrow_type or self.arrow_type.endswith(("string", "string_view")) else ""


class Feature(NamedTuple):
    """A column of X: its name, the table column it comes from, and how that column is read."""

    name: str
    column: int  # number of the table column, from 0
    element: int | None = None  # position in a vector column; None for other columns
    boolean: bool = False  # true and false are read as 1 and 0


class Batch(NamedTuple):
    """Rows as float64 features, with their passthrough columns; made by a `Part`."""

    X: Array  # (n, d); NaN where a cell is missing
    passthrough: Sequence[Any]  # passthrough columns, as Arrow arrays for the writers
    place: Callable[[int], str]  # row of this batch -> "file, line 7"
    finite: bool  # no cell is missing or infinite
    # Number of missing cells per spelling, for the X that was read; {} where no cell is missing. Counted on each call,
    # in the calling thread.
    spellings: Callable[[], Mapping[str, int]] = dict
    # The first cell whose whole number has no exact double, or None; found on each call.
    rounded: Callable[[], RoundedCell | None] = lambda: None


def rows_at_once(d: int) -> int:
    """Return the number of rows of d columns to read at a time, a multiple of the block height.

    Each column costs Arrow about as much as some hundred cells do, so wide tables are read up to 256 rows at a time, as
    long as the numbers take no more than 32 MB.
    """
    height = block_rows(d)
    return height * max(1, min((1 << 8) // height, (1 << 22) // (height * max(d, 1))))


def all_finite(X: Array) -> bool:
    """Whether no cell of X is NaN or infinite."""
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        # A NaN or an infinity makes the sum of squares NaN or infinite. Large numbers may do so too: then each cell is
        # checked.
        return bool(np.isfinite(flat @ flat) or np.isfinite(X).all())


class Part(Protocol):
    """Rows as read, not yet parsed, so that another thread can parse them."""

    def batch(self) -> Batch:
        """Return the rows as float64; raises DataError for a cell that cannot be read."""
        ...


class Table(Protocol):
    """One opened source: its columns, then its rows in parts. Each input format implements this protocol."""

    name: str  # for messages
    nameless: bool  # the columns have no names of their own and are called c1, c2, ...
    text: bool  # the cells are text, so the reader itself recognises the spellings of missing cells

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in the order of the table; a kind may be "" (unknown), which `profile` determines."""
        ...

    def profile(self) -> tuple[Column, ...]:
        """Return the columns with their kinds, judged by the first rows where the format has no types."""
        ...

    def expected_rows(self) -> int | None:
        """Return the estimated number of rows; None if no estimate is possible before reading."""
        ...

    def passthrough_type(self, column: int) -> Any:
        """Return the Arrow type that the column with this number, from 0, has as a passthrough column."""
        ...

    def ready(self) -> bool:
        """Whether the next rows, or the end of the table, are available without waiting."""
        ...

    def ended(self) -> bool:
        """Whether all rows are known to have been handed out."""
        ...

    def share(self) -> float | None:
        """Return the share of the table handed out so far, from 0 to 1; None if the size is unknown.

        Safe to call from any thread.
        """
        ...

    @property
    def contents_bytes(self) -> int:
        """Bytes of memory that the open table takes before any row is read, such as a Parquet footer."""
        ...

    def reading_bytes(self, parts: int) -> int:
        """Return the most memory, in bytes, that reading takes while this many parts are in memory.

        The float64 numbers of the parts are included. Valid after the method `parts` has yielded its first part, since
        the memory depends on the columns that are read.
        """
        ...

    def parts(
        self,
        features: Sequence[Feature],
        passthrough: Sequence[int],
        *,
        eager: bool = False,
        run: Runner = run_serially,
    ) -> Iterator[Part]:
        """Yield all rows in order, with these features and passthrough columns (by number).

        With `eager`, rows that have arrived are handed out without waiting for a full block. `run` runs work that must
        be done before parts exist, such as transposing a row group.
        """
        ...
