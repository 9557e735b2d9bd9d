"""Read triples, tables with one line per cell (user, item, value), into sparse rows of users by items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, block_rows, nothing_to_fit, run_serially
from pcatool.errors import DataError, UsageError
from pcatool.linalg.sparse import SparseRows, first_duplicate
from pcatool.model.model import Model
from pcatool.options import NULLS, ApplyOptions, FitOptions, SelectOptions
from pcatool.progress import Reporter
from pcatool.readers.arrow_columns import codes_and_texts
from pcatool.readers.base import Batch
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import IncompleteCells, RowCounts, TripleCounts
from pcatool.readers.rows import CheckedBatch, checked_batches
from pcatool.resources import release_free_memory
from pcatool.wording import grouped, listed, show

__all__ = ["Triples", "read_triples", "rows_of_triples", "table_to_fit"]

Codes = NDArray[np.int32]
NO_CODES: Codes = np.zeros(0, dtype=np.int32)


class Triples(NamedTuple):
    """The cells of a sparse table, with the names of its rows (users) and columns (items) in order of appearance."""

    users: list[str]
    items: list[str]
    user: Codes  # (cells,) index into `users`
    item: Codes  # (cells,) index into `items`
    values: Array  # (cells,)
    user_values: Any  # (users,) users as an Arrow array of the type in the input

    def sorted(self) -> tuple[SparseRows, tuple[str, ...]]:
        """Return the sparse rows and the names of their columns, with users and items sorted by name.

        The result therefore does not depend on the order of the lines.
        """
        users, items = _sort_by_name(self.users), _sort_by_name(self.items)
        rows = _places(users)[self.user]
        table = SparseRows.of(rows, _places(items)[self.item], self.values, len(users), len(items))
        return table, tuple(self.items[i] for i in items)

    def select_items(self, columns: Sequence[str]) -> tuple[SparseRows, list[str]]:
        """Return the sparse rows of all users, with these columns, and the names of the items that are no column.

        Users keep the order of `users`; a column that is no item is empty.
        """
        positions = {name: j for j, name in enumerate(columns)}
        column = np.array([positions.get(name, -1) for name in self.items], dtype=np.int32)[self.item]
        known = column >= 0
        table = SparseRows.of(self.user[known], column[known], self.values[known], len(self.users), len(columns))
        return table, [name for name in self.items if name not in positions]


def read_triples(
    inputs: Inputs, terms: str, counts: RowCounts, *, allow_missing: bool, run: Runner = run_serially
) -> Triples:
    """Read the triples of all inputs and return them; adds their lines to `counts`.

    `terms` names the columns of user, item and value. A line with a missing value is dropped if `allow_missing` is set.
    Raises DataError for other missing values, for a missing user or item, and for a cell that two lines give.
    """
    inputs.settle(lambda one: [read_triples(one, terms, RowCounts(), allow_missing=allow_missing, run=run)])
    chosen = inputs.columns.choose_triples(terms)
    (_, user_type), (_, item_type) = inputs.columns.passthrough_types(chosen.passthrough)
    user_column, item_column = map(show, chosen.passthrough)
    users = NameCodes(f"user (column {user_column})", inputs.nulls, user_type)
    items = NameCodes(f"item (column {item_column})", inputs.nulls, item_type)
    parts: list[tuple[Codes, Codes, Array]] = [(NO_CODES, NO_CODES, np.zeros(0))]
    for batch in checked_batches(inputs, chosen, counts, eager=False, report=True, run=run):
        if batch.incomplete is not None and not allow_missing:
            place = batch.place(int(batch.incomplete.argmax()))
            raise DataError(
                f"{place}: the value is missing (--absent zero sets only cells without a line to 0)",
                "give the value, or remove the line if the cell is to be 0",
            )
        parts.append((users.codes(batch, 0), items.codes(batch, 1), batch.X[:, 0]))
    user, item, values = (np.concatenate([part[i] for part in parts]) for i in range(3))
    double = first_duplicate(user, item)
    if double is not None:
        raise _duplicate_cell(users.names[user[double[0]]], items.names[item[double[0]]], double)
    there = ~np.isnan(values)
    if not there.all():
        user, item, values = user[there], item[there], values[there]
    return Triples(users.names, items.names, user, item, values, users.values)


def _duplicate_cell(user: str, item: str, rows: tuple[int, int]) -> DataError:
    """Return the error for a cell that two lines give; `rows` are the numbers of the lines, from 0, without headers."""
    return DataError(
        f"the cell of user {show(user)} and item {show(item)} is given twice, in rows {grouped(rows[0] + 1)} and "
        f"{grouped(rows[1] + 1)} of the input, not counting headers",
        "give each cell once, with the mean, the sum or the last of its values",
    )


class NameCodes:
    """Numbers the names of users or items 0, 1, ... in order of first appearance.

    `what`: "user" or "item" with its column, for messages. `nulls`: further spellings of a missing name. `kind`: Arrow
    type of the column.
    """

    def __init__(self, what: str, nulls: Sequence[str], kind: pa.DataType) -> None:
        self._what = what
        self._kind = kind
        self._values: list[pa.Array] = []
        also = ("nan",) if pa.types.is_floating(kind) else ()  # in a text column "nan" may be a name
        self._missing = {null.strip().lower() for null in ("", *also, *nulls)}
        self._codes: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        """The names, by number."""
        return list(self._codes)

    @property
    def values(self) -> pa.Array:
        """The names as an Arrow array of the type in the input, by number."""
        return pa.chunked_array(self._values, self._kind).unify_dictionaries().combine_chunks()

    def codes(self, batch: CheckedBatch, column: int) -> Codes:
        """Return the numbers of the names in a passthrough column (n,); raises DataError if a name is missing."""
        found, words = codes_and_texts(batch.passthrough[column])
        missing = np.array([word.strip().lower() in self._missing for word in words] + [True])  # last: null, -1
        if missing[found].any():
            place = batch.place(int(missing[found].argmax()))
            raise DataError(f"{place}: the {self._what} is missing", "correct or remove the line")
        known = len(self._codes)
        new: list[int] = []
        numbers = [self._codes.setdefault(word.strip(), len(self._codes)) for word in words]
        for i, number in enumerate(numbers):
            if number == known + len(new):  # of several spellings of a new name the first
                new.append(i)
        self._keep_values(new, found, batch.passthrough[column])
        return np.array(numbers, dtype=np.int32)[found]

    def _keep_values(self, words: list[int], found: NDArray[np.int64], column: pa.Array) -> None:
        """Append the values of new names to `_values`, in the type of the column.

        `words` are the indices of the new names among the distinct words of the column; `found` (n,) is the index of
        the word of each row.
        """
        if not words:
            return
        first = np.empty(found.max() + 1, dtype=np.int64)
        first[found[::-1]] = np.arange(len(found))[::-1]  # backwards, so that the first row of a word is written last
        places = pa.Array.from_buffers(pa.int64(), len(words), [None, pa.py_buffer(first[words])])
        self._values.append(column.take(places))


# Whole numbers of at most 18 digits, so that they fit in 64 bits.
WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
DIGITS = re.compile(r"([0-9]+)", re.ASCII)


def _sort_by_name(names: Sequence[str]) -> list[int]:
    """Return the indices that sort the names: as numbers if all are whole numbers, else as text, with a2 before a10."""
    if all(WHOLE.fullmatch(name) for name in names):
        return sorted(range(len(names)), key=lambda i: (int(names[i]), names[i]))
    return sorted(range(len(names)), key=lambda i: (_parts(names[i]), names[i]))


def _parts(name: str) -> list[str | int]:
    """Split a name into texts and numbers in turn, as a sort key; of each number only the first 18 digits count."""
    return [int(part[:18]) if i % 2 else part for i, part in enumerate(DIGITS.split(name))]


def _places(order: Sequence[int]) -> Codes:
    """Return the inverse of a permutation."""
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places


# --- rows for a fit or for a model ---


def table_to_fit(
    inputs: Inputs, options: FitOptions, select: SelectOptions, row_counts: RowCounts, reporter: Reporter, run: Runner
) -> tuple[SparseRows, tuple[str, ...]]:
    """Read the triples of a fit; return sparse rows of users by items, and the items, all sorted by name."""
    for flag, given in (("-c", select.columns), ("-x", select.exclude)):
        if given:
            raise UsageError(
                f"{flag} does not go with --triples", f"leave out {flag}, and remove the lines of unwanted items"
            )
    triples = read_triples(inputs, str(options.triples), row_counts, allow_missing=options.absent != "zero", run=run)
    if not triples.users:
        raise nothing_to_fit()
    _note_odd_names(triples, reporter)
    table, items = triples.sorted()
    del triples
    release_free_memory()
    row_counts.table = TripleCounts.of(table)
    return table, items


def _note_odd_names(triples: Triples, reporter: Reporter) -> None:
    """Show a note on names such as NA, which are read as names of users or items and not as missing."""
    for what, names in (("a user", triples.users), ("an item", triples.items)):
        odd = [name for name in names if name.lower() in {null.lower() for null in NULLS}]
        if odd:
            reporter.note(f"read {listed(odd)} as the name of {what}, not as a missing value")


def rows_of_triples(
    inputs: Inputs, options: ApplyOptions, model: Model, row_counts: RowCounts, reporter: Reporter, run: Runner
) -> Iterator[CheckedBatch]:
    """Yield a row for each user, in order of first appearance, under the columns of the model.

    Cells without a value are NaN, or 0 with --absent zero. Items that the model does not know are left out with a note;
    raises DataError if the model knows none of the items.
    """
    absent = options.absent or str(model.meta.get("absent", "missing"))
    triples = read_triples(inputs, str(options.triples), RowCounts(), allow_missing=absent != "zero", run=run)
    table, unknown = triples.select_items(model.columns)
    if unknown and len(unknown) == len(triples.items):
        raise DataError(
            f"the model has none of the items of the input, which are {listed(unknown)}",
            "check that --triples names the columns in the order user, item, value",
        )
    if unknown:
        reporter.note(f"left out items that the model does not have: {listed(unknown)}")
    height = block_rows(table.d)
    for first in range(0, table.n, height):
        last = min(first + height, table.n)
        X = table.dense(first, last, 0.0 if absent == "zero" else np.nan)
        users = triples.user_values.slice(first, last - first)
        batch = Batch(X, [users], partial(_place, triples.users[first:last]), False)
        holes = IncompleteCells.of(batch, report=False)
        row_counts.rows += len(X)
        row_counts.count(batch, holes, model.columns)
        yield CheckedBatch(X, batch.passthrough, batch.place, holes.rows if holes.rows.any() else None)


def _place(users: Sequence[str], row: int) -> str:
    """Return "user NAME" for messages; `row` is an index into `users`."""
    return f"user {show(users[row])}"
