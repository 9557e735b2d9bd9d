"""The inputs of a run: find the first good file, which settles the schema, and read the rows of all as one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.arrays import Runner
from pcatool.errors import PcatoolError, UsageError
from pcatool.options import TableOptions
from pcatool.progress import Reporter, doing
from pcatool.readers.bad_files import BadFiles
from pcatool.readers.base import Part, Table, rows_at_once
from pcatool.readers.input_files import InputFiles, OpenedAhead, ResolvedInputs, not_a_table
from pcatool.readers.opener import MODEL, OpenedInput
from pcatool.readers.paths import are_paths
from pcatool.readers.schema import ColumnChoice, FirstInput, Schema, SchemaFacts
from pcatool.readers.select_columns import match_columns

__all__ = ["Inputs", "Piece"]


class Inputs:
    """All inputs of a run, read as one table: paths, files already resolved (`ResolvedInputs`), or a table in memory.

    `by_file`: the rows of an input count only if all of the input can be read. `facts`: the facts from the first input
    of the run, where a worker reads only some of the inputs.
    """

    def __init__(
        self,
        data: Any,
        options: TableOptions,
        reporter: Reporter,
        *,
        by_file: bool = False,
        facts: SchemaFacts | None = None,
    ) -> None:
        self._data = data
        self._facts = facts
        self._options = options
        self._reporter = reporter
        self._columns: Schema | None = None
        self._stream: RowStream | None = None
        self._settled = False
        self._first_position = 0
        self.rounding_note = ""
        self._most_rows = 0  # most rows of a part so far
        self.by_file = by_file or options.skip_bad
        self.model: OpenedInput | None = None
        found = _resolve(data, options)
        self._files = InputFiles(found, options, reporter)
        self.bad_files = BadFiles(self._files, allowed=options.skip_bad)
        self._table: Table | None = None
        if found.inputs:
            self._open_first()
        else:
            self._table = _in_memory(data, options)

    @property
    def first(self) -> Table:
        """The table of the first readable input; raises DataError if the only input is a model."""
        if self._table is None:
            raise not_a_table(self._files.current.name)
        return self._table

    @property
    def columns(self) -> Schema:
        """The schema of all inputs, settled by the first."""
        if self._columns is None:
            first = FirstInput(self.first, self._files.open_others)
            self._columns = Schema(first, self.nulls, self._reporter, several=self._files.has_next, facts=self._facts)
        return self._columns

    @property
    def stream(self) -> RowStream:
        """The rows of all inputs, which can be read once."""
        if self._stream is None:
            self._stream = RowStream(self._files, self.first, self.columns, self.bad_files, self._reporter)
        return self._stream

    @property
    def nulls(self) -> tuple[str, ...]:
        """Further spellings of a missing cell (--null-value)."""
        return self._options.null_value

    @property
    def resolved(self) -> ResolvedInputs:
        """The files of the run; none for a table in memory."""
        return self._files.resolved

    @property
    def paths(self) -> list[str]:
        return [item.path for item in self._files.resolved.inputs]

    def _open_first(self) -> None:
        """Open inputs, from the current one on, until one can be read; its table is then the first table.

        If the only input is a model, it is kept as `model`. Raises the error of an input that may not be left out, and
        DataError if no input is left.
        """
        self._table = self._columns = self._stream = None
        while self._table is None and self.model is None:
            try:
                opened = self._files.open()
                if opened.format == MODEL and len(self._files) == 1:
                    self.model = opened
                else:
                    self._table = self._files.table(opened)
                    self._first_position = self._files.position
            except PcatoolError as error:
                self._skip_current(error)

    def _skip_current(self, error: PcatoolError) -> None:
        """Leave out the current input because of this error, and move to the next.

        Raises the error if the input may not be left out, and DataError if there is no next input.
        """
        position = self._files.position
        self.bad_files.leave_out(position, self.bad_files.skippable_error(position, error))
        self.close()
        if not self._files.has_next:
            raise self.bad_files.none_left()
        self._files.position += 1

    def settle(self, trial: Callable[[Inputs], Iterable[object]]) -> None:
        """With --skip-bad, leave out the files before the first good file, which then settles the schema.

        A file is good if all rows that `trial` yields for it, as the run will read them, come without an error; the
        rows are dropped. A pipe counts as good without a trial, since it cannot be read again.
        """
        if not self.bad_files.allowed or self._settled:
            return
        doing("looking at the first file")
        while not self._settled and not self._files.is_stream(self._first_position):
            try:
                for _ in trial(self.single_input(self._first_position)):
                    pass
                self._settled = True
            except PcatoolError as error:
                self._skip_current(error)
                self._open_first()

    def single_input(self, position: int) -> Inputs:
        """Return the input at this position by itself, to be read from its beginning; its errors are always raised."""
        return Inputs(
            self._files.single_input(position), replace(self._options, skip_bad=False), Reporter(), by_file=True
        )

    def reopened(self) -> Inputs:
        """Return the table in memory, to be read again from its beginning, without repeating notes and warnings."""
        return Inputs(self._data, self._options, self._reporter.silent())

    @property
    def remaining_data(self) -> Any:
        """The files that were not left out (`ResolvedInputs`), or the table in memory as given."""
        return self._remaining_files if self._files.resolved.inputs else self._data

    @property
    def _remaining_files(self) -> ResolvedInputs:
        found = self._files.resolved
        return found.with_inputs(
            item for position, item in enumerate(found.inputs) if position not in self.bad_files.left_out
        )

    @property
    def in_memory(self) -> bool:
        """Whether the data are a table in memory, which costs little to read again, and not files."""
        return not self._files.resolved.inputs

    def expected_rows(self) -> int | None:
        """Return an estimate of the number of rows of all inputs; None if no estimate is possible."""
        return self._files.expected_rows(self._first_position, self.first.expected_rows())

    def certain_rows(self) -> int:
        """Return how many rows all inputs have at least: those of the first, or 0 if their number is an estimate."""
        return 0 if self.first.text or self.bad_files.allowed else self.first.expected_rows() or 0

    def reading_bytes(self, parts: int) -> int:
        """Return the most memory, in bytes, that reading takes with this many parts at once.

        See `RowStream.reading_bytes`.
        """
        return self.stream.reading_bytes(parts)

    def rows_at_once(self, d: int) -> int:
        """Return the most rows of d features in a part; valid after the first part was read."""
        return max(self._most_rows, rows_at_once(d)) if len(self._files) > 1 else self._most_rows

    def ready(self) -> bool:
        """Whether the next rows, or their end, come without waiting; False if the next input is an unopened pipe."""
        return self.stream.ready()

    def at_rows(self, count: int) -> None:
        """Tell the reporter that a part of `count` rows was read."""
        self._most_rows = max(self._most_rows, count)
        self._reporter.at_rows(count)

    def note_rounding(self, text: str) -> None:
        """Show the note on a rounded whole number, once per run."""
        if not self.rounding_note:
            self.rounding_note = text
            self._reporter.note(text)

    def finish(self) -> None:
        """Report the inputs that were left out, and the columns that only later inputs have; called after the last row.

        Raises DataError if all inputs were left out.
        """
        count, left_out = len(self._files), self.bad_files.left_out
        self._reporter.all_read(count - len(left_out), list(left_out.values()))
        if count and len(left_out) == count:
            raise self.bad_files.none_left()
        self.columns.warn_of_new_columns(left_out)
        if left_out:
            self.bad_files.warn(self._reporter)

    def close(self) -> None:
        """Close the current input."""
        self._files.close()


def _resolve(data: Any, options: TableOptions) -> ResolvedInputs:
    """Return the files that the paths name; no files for a table in memory."""
    if isinstance(data, ResolvedInputs):
        return data
    return ResolvedInputs.of(data, options) if are_paths(data) else ResolvedInputs((), None)


def _in_memory(data: Any, options: TableOptions) -> Table:
    """Return the table of a Python object; raises UsageError for options that need files."""
    from pcatool.readers.csv_reader.dialect import Dialect
    from pcatool.readers.memory_tables import in_memory

    if options.skip_bad:
        raise UsageError("skip_bad=True applies to files, not to a table in memory", "leave out skip_bad")
    if options.row_names:
        raise UsageError(
            "row_names=True applies to text files, not to a table in memory",
            "leave out row_names, and remove the column of row names from the table",
        )
    return in_memory(data, Dialect.of(options, ","))


# --- the stream of rows ---


class Piece(NamedTuple):
    """A part of an input, its error, or its end; made by `RowStream.pieces`.

    Without a part and without an error, the piece marks the end of the input; such pieces occur only with --skip-bad.
    """

    position: int  # of the input
    table: Table | None = None
    part: Part | None = None
    error: PcatoolError | None = None  # why the input is bad


class RowStream:
    """The rows of all inputs, in order; also the `Gauge` that tells how far reading has come.

    The first table is open already and has settled the schema. The other files are opened in their turn, and the schema
    matches their columns.
    """

    def __init__(
        self, files: InputFiles, first: Table, schema: Schema, bad_files: BadFiles, reporter: Reporter
    ) -> None:
        self._files = files
        self._first = first
        self._schema = schema
        self._bad_files = bad_files
        self._reporter = reporter
        self._current: Table | None = None  # None before the first piece was asked for
        self._most_reading: dict[int, int] = {}  # parts at once -> bytes that `reading_bytes` returned

    def pieces(self, choice: ColumnChoice, *, eager: bool, run: Runner) -> Iterator[Piece]:
        """Yield all rows in order, as pieces, with the chosen columns; can be called once.

        With --skip-bad, the pieces of each input end with one that holds its error or marks its end.
        """
        files = self._files
        later = files.open_later(run, self._first)
        self._reporter.at_reading(self)
        try:
            while True:
                position = files.position
                try:
                    yield from self._pieces_of(position, later, choice, eager, run)
                except PcatoolError as error:
                    yield Piece(position, error=self._bad_files.skippable_error(position, error))
                files.close()
                if not files.has_next:
                    return
                files.position += 1
        finally:
            files.close()

    def _pieces_of(
        self, position: int, later: Iterator[OpenedAhead], choice: ColumnChoice, eager: bool, run: Runner
    ) -> Iterator[Piece]:
        """Yield the pieces of the current input, which is at `position`; `later` yields the inputs after the first."""
        files = self._files
        table = self._first if self._current is None else files.table_of_next(next(later))
        self._current = table
        features, passthrough = (
            self._schema.match(table, choice),
            match_columns(choice.passthrough, table.columns, table.name),
        )
        self._schema.look_for_new_columns(position, table, files.is_stream)
        for part in table.parts(features, passthrough, eager=eager, run=run):
            yield Piece(position, table, part)
            if position in self._bad_files.left_out:
                break
        files.check_unchanged()
        if self._bad_files.allowed:
            yield Piece(position)

    def ready(self) -> bool:
        """Whether the next rows, or their end, come without waiting; False if the next input is an unopened pipe."""
        if self._current is None:
            return True
        if self._current.ended() and self._files.has_next:
            return not self._files.is_stream(self._files.position + 1)
        return self._current.ready()

    def reading_bytes(self, parts: int) -> int:
        """Return the most memory, in bytes, that reading takes with this many parts at once.

        Valid after the first part was asked for. Includes files that are opened ahead. The result never falls from call
        to call, so that a plan is not below an earlier check, although the footers of similar files differ a little.
        """
        for table in (self._first, self._current or self._first):
            need = table.reading_bytes(parts) + self._files.ahead_bytes(parts, table)
            self._most_reading[parts] = max(self._most_reading.get(parts, 0), need)
        return self._most_reading[parts]

    # --- progress; safe to call from any thread ---

    @property
    def several(self) -> bool:
        """Whether there is more than one file."""
        return len(self._files) > 1

    @property
    def current(self) -> str:
        """Name of the file that is being read."""
        return self._files.current.name

    def share(self) -> float | None:
        """Return the share of all inputs read so far, from 0 to 1; None if that of the current input is unknown."""
        return self._files.share(self._current or self._first)

    def bytes_read(self) -> int:
        """Return the bytes read from the current input so far."""
        return self._files.bytes_read
