"""Partition columns named by folders, as in `year=2024/region=eu/part.parquet`: one value for all rows of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pcatool.arrays import Runner, empty_block, run_serially
from pcatool.readers.arrow_columns import NULL, text_array
from pcatool.readers.base import Batch, Column, Feature, Part, RoundedCell, Table
from pcatool.readers.csv_reader.chunk_parser import TEXT
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.stores.uri import plain_name

__all__ = ["MISSING", "Partitions", "partitions_of"]

# The value in a folder name that stands for a missing value (written by Hive and Spark).
MISSING = "__HIVE_DEFAULT_PARTITION__"
# Whole numbers of at most 18 digits, which fit in int64, without padding zeros, which int64 would lose.
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}", re.ASCII)


def partitions_of(path: str) -> dict[str, str | None]:
    """Return the partition values in the folder names of a path, by column name; None for a missing value.

    If two folders name the same column, the inner folder counts.
    """
    return _named_in(plain_name(path)) if "=" in path else {}


def _named_in(path: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for part in path.split("/")[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            found[_decoded(name)] = None if value == MISSING else _decoded(value)
    return found


def _decoded(text: str) -> str:
    """Return the text with its percent escapes decoded, or unchanged if they are not valid UTF-8."""
    if "%" not in text:
        return text
    from urllib.parse import unquote

    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:  # replacing bad bytes could make two different names equal
        return text


class PartitionColumn(NamedTuple):
    """A partition column of all inputs: its kind and type, judged by its values in all inputs."""

    column: Column
    type: pa.DataType  # as a passthrough column: int64 or text


class Partitions:
    """The partition columns of all inputs of a run; adds them to the table of each input."""

    def __init__(self, paths: Iterable[str], dialect: Dialect) -> None:
        self._dialect = dialect
        values: dict[str, dict[str | None, None]] = {}
        for folder in dict.fromkeys(plain_name(path).rpartition("/")[0] for path in paths):
            for name, value in _named_in(f"{folder}/").items():
                values.setdefault(name, {})[value] = None
        self._kinds = {name: self._kind(name, [v for v in found if v is not None]) for name, found in values.items()}

    def _kind(self, name: str, values: Sequence[str]) -> PartitionColumn:
        filled = [value for value in values if not self._dialect.is_missing(value)]
        numbers = all(self._dialect.number(value) is not None for value in filled)
        kind = "empty" if not filled else "number" if numbers else "text"
        whole = bool(values) and all(WHOLE.fullmatch(value) for value in values)
        column = Column(name, kind, filled[0] if filled else "", null_word=MISSING, partition=True)
        return PartitionColumn(column, pa.int64() if whole else TEXT)

    def of(self, table: Table, path: str) -> Table:
        """Return the table with the partition columns of `path`, its file, added; the table itself if there are none.

        A column of the file hides a partition column of the same name.
        """
        own = {column.name for column in table.columns}
        values = {name: value for name, value in partitions_of(path).items() if name not in own}
        if not values:
            return table
        partition_values = [
            PartitionValue(self._kinds[name], value, self._number(value)) for name, value in values.items()
        ]
        return PartitionedTable(table, partition_values)

    def _number(self, value: str | None) -> float:
        """Return the value as a feature; `NULL` if it is missing or not a number."""
        number = None if value is None or self._dialect.is_missing(value) else self._dialect.number(value)
        return float(NULL) if number is None else number


class PartitionValue(NamedTuple):
    """A partition column of one file: one value for all rows."""

    kind: PartitionColumn
    value: str | None  # None where missing
    number: float  # the value as a feature; `NULL` if it is missing or not a number

    def array(self, rows: int) -> pa.Array:
        """Return the value as a passthrough column of this many rows."""
        if self.value is None:
            return pa.nulls(rows, self.kind.type)
        one = text_array([self.value]).cast(self.kind.type)
        return one.take(pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(np.zeros(rows, np.int64))]))


class PartitionedTable:
    """A table with the partition columns of its path after its own columns."""

    def __init__(self, table: Table, partition_values: Sequence[PartitionValue]) -> None:
        self.name = table.name
        self.nameless = table.nameless
        self.text = table.text
        self._table = table
        self._file_column_count = len(table.columns)
        self._partition_values = partition_values

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self._table.columns, *(partition.kind.column for partition in self._partition_values))

    def profile(self) -> tuple[Column, ...]:
        return (*self._table.profile(), *(partition.kind.column for partition in self._partition_values))

    def expected_rows(self) -> int | None:
        return self._table.expected_rows()

    def passthrough_type(self, column: int) -> Any:
        return (
            self._table.passthrough_type(column)
            if column < self._file_column_count
            else self._partition_values[column - self._file_column_count].kind.type
        )

    def ready(self) -> bool:
        return self._table.ready()

    def ended(self) -> bool:
        return self._table.ended()

    def share(self) -> float | None:
        return self._table.share()

    @property
    def contents_bytes(self) -> int:
        return self._table.contents_bytes

    def reading_bytes(self, parts: int) -> int:
        return self._table.reading_bytes(parts)

    def parts(
        self,
        features: Sequence[Feature],
        passthrough: Sequence[int],
        *,
        eager: bool = False,
        run: Runner = run_serially,
    ) -> Iterator[Part]:
        own = [feature for feature in features if feature.column < self._file_column_count]
        inner = [column for column in passthrough if column < self._file_column_count]
        if len(own) == len(features) and len(inner) == len(passthrough):
            yield from self._table.parts(features, passthrough, eager=eager, run=run)
            return
        # If no column of the file itself is wanted, one is read all the same, to learn the number of rows.
        taken = inner if own or inner or not self._file_column_count else [0]
        added = PartitionRequest(tuple(features), tuple(passthrough), self._file_column_count, self._partition_values)
        for part in self._table.parts(own, taken, eager=eager, run=run):
            yield PartitionedPart(part, added)


class PartitionRequest(NamedTuple):
    """The features and passthrough columns asked of a `PartitionedTable`, and the partition values of its file."""

    features: tuple[Feature, ...]
    passthrough: tuple[int, ...]
    file_column_count: int  # number of columns of the file itself; higher column numbers are partition columns
    partition_values: Sequence[PartitionValue]  # in the order of the partition columns

    def of(self, column: int) -> PartitionValue:
        """Return the partition value of the column with this number, which must be a partition column."""
        return self.partition_values[column - self.file_column_count]

    @property
    def places(self) -> list[int]:
        """Positions in `features` of the features that come from columns of the file itself."""
        return [j for j, feature in enumerate(self.features) if feature.column < self.file_column_count]


class PartitionedPart(NamedTuple):
    """A part of a file; its batch has the partition columns as well."""

    part: Part
    request: PartitionRequest

    def batch(self) -> Batch:
        added, inner = self.request, self.part.batch()
        rows, finite, spelled = len(inner.X), inner.finite, dict[str, int]()
        X = empty_block(rows, len(added.features))
        X[:, added.places] = inner.X
        for j, feature in enumerate(added.features):
            if feature.column >= added.file_column_count:
                partition = added.of(feature.column)
                X[:, j] = partition.number
                if not np.isfinite(partition.number):
                    finite = False
                    name = MISSING if partition.value is None else partition.value
                    spelled[name] = spelled.get(name, 0) + rows
        own = iter(inner.passthrough)
        passthrough = [
            next(own) if column < added.file_column_count else added.of(column).array(rows)
            for column in added.passthrough
        ]
        rounded = partial(_rounded_of, inner, added.places)
        return Batch(X, passthrough, inner.place, finite, partial(_with_partition_spellings, inner, spelled), rounded)


def _rounded_of(inner: Batch, places: Sequence[int]) -> RoundedCell | None:
    """Return the first rounded cell of the features that come from columns of the file itself; None if there is none.

    `inner` is the batch of these features, and `places` are their columns in the X of all features, which the returned
    cell refers to.
    """
    found = inner.rounded()
    return None if found is None else found._replace(feature=places[found.feature])


def _with_partition_spellings(inner: Batch, more: Mapping[str, int]) -> dict[str, int]:
    """Return the number of missing cells per spelling: those in `inner` plus `more`, those of the partition columns."""
    spelled = dict(inner.spellings())
    for text, count in more.items():
        spelled[text] = spelled.get(text, 0) + count
    return spelled
