"""Open the files and pipes of a run one after the other, with a few opened ahead of their turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from pcatool.arrays import Runner
from pcatool.errors import DataError, PcatoolError
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Table
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.opener import MODEL, OpenedInput
from pcatool.readers.paths import MODEL_SUFFIX, Input, resolve
from pcatool.registry import READERS

__all__ = ["InputFiles", "OpenedAhead", "ResolvedInputs", "not_a_table"]

if TYPE_CHECKING:
    from pcatool.readers.hive_partitions import Partitions


class ResolvedInputs(NamedTuple):
    """The inputs of a run after paths, globs and folders were resolved, with their partition columns."""

    inputs: tuple[Input, ...]  # empty for a table in memory
    partitions: Partitions | None  # None if no folder name holds a value

    @classmethod
    def of(cls, paths: Sequence[str], options: TableOptions) -> ResolvedInputs:
        """Return the inputs that the paths name; raises FileError or UsageError for a path that names no input."""
        inputs = tuple(resolve(paths))
        if not any("=" in item.path for item in inputs):
            return cls(inputs, None)
        from pcatool.readers.hive_partitions import Partitions

        return cls(inputs, Partitions([item.path for item in inputs], Dialect.of(options, ",")))

    def with_inputs(self, inputs: Iterable[Input]) -> ResolvedInputs:
        """Return a copy with only these inputs; partition columns keep the kind judged over all inputs."""
        return self._replace(inputs=tuple(inputs))


# Most memory, in bytes, that the files opened before their turn take together.
AHEAD_BYTES = 32 << 20

# Most later inputs that are looked at for columns whose kind or type the first input leaves open.
LOOK_AHEAD = 100


class OpenedAhead(NamedTuple):
    """Result of opening a later input before its turn: a table or an error; neither if it was not opened."""

    opened: OpenedInput | None = None
    table: Table | None = None
    notes: tuple[str, ...] = ()  # notes of the opening, shown when its turn comes
    error: PcatoolError | None = None  # raised when its turn comes


class InputFiles:
    """The files of a run in their order; `position` (from 0) is that of the current file."""

    def __init__(self, resolved: ResolvedInputs, options: TableOptions, reporter: Reporter) -> None:
        self.resolved = resolved
        self.position = 0
        self._options = options
        self._reporter = reporter
        self._opened: OpenedInput | None = None

    def __len__(self) -> int:
        return len(self.resolved.inputs)

    @property
    def has_next(self) -> bool:
        """Whether more files follow the current one."""
        return self.position + 1 < len(self)

    @property
    def current(self) -> Input:
        return self.resolved.inputs[self.position]

    def is_stream(self, position: int) -> bool:
        """Whether the input at this position is a pipe or a device, which cannot be read again."""
        return self.resolved.inputs[position].is_stream

    def open(self) -> OpenedInput:
        """Open the current file and return it; report its number to the reporter. Raises FileError or DataError."""
        self._reporter.at_file(self.position + 1, len(self))
        self._opened = self._open(self.current, self._reporter)
        return self._opened

    def _open(self, item: Input, reporter: Reporter) -> OpenedInput:
        opened = OpenedInput(item, self._options.input_format, self._options.encoding, reporter)
        opened.one_of_many = len(self) > 1
        return opened

    def table(self, opened: OpenedInput) -> Table:
        """Return the opened file as a table of its format, with its partition columns; raises DataError for a model."""
        return self._table(opened, self._reporter)

    def _table(self, opened: OpenedInput, reporter: Reporter) -> Table:
        if opened.format == MODEL:
            raise not_a_table(opened.name)
        table: Table = READERS.load(opened.format)(opened, self._options, reporter)
        partitions = self.resolved.partitions
        return table if partitions is None else partitions.of(table, opened.input.path)

    def open_later(self, run: Runner, table: Table) -> Iterator[OpenedAhead]:
        """Yield an `OpenedAhead` for each file after the current one, in order.

        `run` opens local Parquet files ahead, because opening small wide files takes as long as reading them. For
        other files, or when the first `table` is large, the `OpenedAhead` is empty and `table_of_next` opens the file.
        """
        following, most = range(self.position + 1, len(self)), _most_ahead(table)
        return run(self._open_ahead, following, most=most) if most else (OpenedAhead() for _ in following)

    def ahead_bytes(self, count: int, table: Table) -> int:
        """Return the bytes of memory of files opened ahead by `count` threads, if all files are like `table`."""
        return min(count, _most_ahead(table), len(self) - 1) * table.contents_bytes

    def _open_ahead(self, position: int) -> OpenedAhead:
        """Open the file at this position if it is local with a Parquet suffix; for other files the result is empty."""
        item, reporter = self.resolved.inputs[position], Reporter()
        if item.format != "parquet" or item.remote or item.is_stream:
            return OpenedAhead()
        opened: OpenedInput | None = None
        try:
            opened = self._open(item, reporter)
            return OpenedAhead(opened, self._table(opened, reporter), tuple(reporter.notes))
        except PcatoolError as error:
            if opened is not None:
                opened.close()
            return OpenedAhead(notes=tuple(reporter.notes), error=error)

    def table_of_next(self, later: OpenedAhead) -> Table:
        """Return the table of the current file: that of `later` if the file was opened ahead, else opened now.

        Raises the error of opening, also if the file was opened ahead.
        """
        if later.table is None and later.error is None:
            return self.table(self.open())
        self._reporter.at_file(self.position + 1, len(self))
        for text in later.notes:
            self._reporter.note(text)
        if later.table is None:
            assert later.error is not None
            raise later.error
        self._opened = later.opened
        return later.table

    def single_input(self, position: int) -> ResolvedInputs:
        """Return resolved inputs with only the input at this position."""
        return self.resolved.with_inputs([self.resolved.inputs[position]])

    def open_others(self) -> Iterator[Table]:
        """Yield the table of each later file, to look at its columns, and close it afterwards.

        Stops at the first pipe, and after LOOK_AHEAD files. Files that cannot be opened are skipped; their errors are
        raised in their turn.
        """
        for position in range(self.position + 1, min(self.position + 1 + LOOK_AHEAD, len(self))):
            if self.is_stream(position):
                return
            with (
                suppress(PcatoolError),
                closing(InputFiles(self.single_input(position), self._options, Reporter())) as other,
            ):
                yield other.table(other.open())

    def expected_rows(self, position: int, rows: int | None) -> int | None:
        """Return an estimate of the rows of all files, from the `rows` of the file at this position.

        The files count by their sizes in bytes. With one file or None as `rows`, the result is `rows`. Returns None if
        a size is unknown or the files have different formats.
        """
        if len(self) < 2 or rows is None:
            return rows
        inputs = self.resolved.inputs
        own, known = inputs[position].size, [item.size for item in inputs if item.size is not None]
        if not own or len(known) < len(inputs) or len({item.format for item in inputs}) > 1:
            return None
        return int(rows * (sum(known) / own))

    @property
    def bytes_read(self) -> int:
        """Bytes read from the current file so far; 0 while no file is open."""
        opened = self._opened
        return 0 if opened is None else opened.bytes_read

    def share(self, table: Table) -> float | None:
        """Return the share of all files read so far, from 0 to 1; None if the share of the current file is unknown.

        `table` is the table of the current file. Files count by their sizes, or equally if a size is unknown.
        """
        position, own = self.position, table.share()
        if own is None or len(self) == 1:
            return own
        before = self._bytes_before
        if before is None:
            return (position + own) / len(self)
        return (before[position] + own * (before[position + 1] - before[position])) / max(before[-1], 1)

    @cached_property
    def _bytes_before(self) -> list[int] | None:
        """Total bytes of the files before each file, and last of all files; None if a size is unknown or in a store.

        A store is not asked for sizes only to show progress.
        """
        if any(item.remote for item in self.resolved.inputs):
            return None
        sizes = [item.size for item in self.resolved.inputs]
        return None if None in sizes else [0, *accumulate(size or 0 for size in sizes)]

    def check_unchanged(self) -> None:
        """Raise FileError if the current file changed while it was read to its end.

        A file that was handed over to a thread is not checked.
        """
        opened = self._opened  # a local name, since another thread may set it to None
        if opened is not None and not opened.handed_over:
            opened.check_unchanged()

    def close(self) -> None:
        """Close the current file, unless it was handed over to a thread, which closes it after reading."""
        if self._opened is not None:
            if not self._opened.handed_over:
                self._opened.close()
            self._opened = None


def _most_ahead(table: Table) -> int:
    """Return how many files may be open before their turn, if each takes as much memory as this table."""
    return AHEAD_BYTES // max(table.contents_bytes, 1)


def not_a_table(name: str) -> DataError:
    """Return the error for the input `name`, a model or another zip archive, given as a table."""
    if name.endswith(MODEL_SUFFIX):
        return DataError(f"{name} is a model, not a table", "give a CSV or Parquet file")
    return DataError(
        f"{name} is a zip archive, such as a model or a spreadsheet, not a table", "give a CSV or Parquet file"
    )
