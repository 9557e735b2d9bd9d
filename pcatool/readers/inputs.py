"""Read one or many inputs as one table, in pieces; with `--skip-bad`, without the files that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.arrays import Runner
from pcatool.errors import FileError, PcatoolError, UsageError
from pcatool.options import TableOptions
from pcatool.progress import Reporter, doing
from pcatool.readers.base import Batch, Part, Rounded, Table
from pcatool.readers.input_files import InputFiles, OpenedAhead, ResolvedInputs, not_a_table
from pcatool.readers.opener import MODEL, OpenedInput
from pcatool.readers.row_counts import IncompleteCells
from pcatool.readers.schema import ColumnChoice, First, Schema, SchemaFacts
from pcatool.readers.select_columns import match_columns
from pcatool.readers.skip_bad import Skipping, is_bad_file

__all__ = ["Inputs", "Piece", "PieceRead", "whole_files"]


class Piece(NamedTuple):
    """A part of an input, its error, or its end; made by `Inputs.pieces`.

    Without a part and without an error, the piece marks the end of the input; such pieces occur only with --skip-bad.
    """

    at: int  # position of the input
    table: Table | None = None
    part: Part | None = None
    error: PcatoolError | None = None  # why the input is bad


class Inputs:
    """All inputs of a run, read as one table: paths, files already resolved (`ResolvedInputs`), or a table in memory.

    `by_file`: an input counts only if all of it can be read. `told`: the facts from the first input of the run, where
    a worker reads only some of its inputs.
    """

    def __init__(
        self,
        data: Any,
        options: TableOptions,
        notices: Reporter,
        *,
        by_file: bool = False,
        told: SchemaFacts | None = None,
    ) -> None:
        self._data = data
        self._told = told
        self._options = options
        self._notices = notices
        self._columns: Schema | None = None
        self._current: Table | None = None
        self._settled = False
        self._first_at = 0
        self._reading_bytes = 0
        self._later: Iterator[OpenedAhead] = iter(())
        self.told_rounding = ""
        self.by_file = by_file or options.skip_bad
        self.model: OpenedInput | None = None
        self._causes: dict[int, PcatoolError] = {}  # by position: errors that are no fault of the file
        found = _find(data, options)
        self.skipping = Skipping(found.inputs, allowed=options.skip_bad)
        self._files = InputFiles(found, options, notices)
        self._table = self._first_table() if found.inputs else _in_memory(data, options)

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
            first = First(self.first, self._files.others)
            self._columns = Schema(first, self.nulls, self._notices, several=self._files.waiting, told=self._told)
        return self._columns

    @property
    def nulls(self) -> tuple[str, ...]:
        """Further spellings of a missing cell (--null-value)."""
        return self._options.null_value

    @property
    def found(self) -> ResolvedInputs:
        """The files of the run; none for a table in memory."""
        return self._files.found

    @property
    def paths(self) -> list[str]:
        return [item.path for item in self._files.found.inputs]

    def flows(self, at: int) -> bool:
        """Whether the input at this position is a pipe or a device, which cannot be read again."""
        return self._files.found.inputs[at].flows

    def _first_table(self) -> Table | None:
        """Open the next input that can be opened; None if the only one is a model, kept in `self.model`."""
        while True:
            try:
                opened = self._files.open()
                if opened.format == MODEL and len(self._files) == 1:
                    self.model = opened
                    return None
                self._first_at = self._files.at
                return self._files.table(opened)
            except PcatoolError as error:
                self._go_on_without(error)

    def _go_on_without(self, error: PcatoolError) -> None:
        """Leave out the current input and move to the next; raises if it may not be skipped or none is left."""
        at = self._files.at
        error = self.cause_of(at, error)
        if not self.skipping.may_skip(at, error):
            raise self.skipping.named(at, error)
        self.skipping.leave_out(at, error)
        self.close()
        if not self._files.waiting:
            raise self.skipping.none_left()
        self._files.at += 1

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
        """Return the share of all inputs read so far, from 0 to 1; None if a size is unknown, as for a pipe."""
        table = self._current or self._table
        return None if table is None else self._files.share(table)

    def taken(self) -> int:
        """Return the bytes read from the current input so far."""
        return self._files.taken

    # --- rows ---

    def settle(self, trial: Callable[[Inputs], None]) -> None:
        """Leave out bad inputs before the first good one, if --skip-bad is set: the first input settles the schema.

        `trial` reads one input as the run will read all of them, and raises if that fails; then the next input becomes
        the first. A pipe is accepted without a trial.
        """
        if self.skipping.allowed and not self._settled:
            doing("looking at the first file")
        while self.skipping.allowed and not self._settled and not self.flows(self._files.at):
            try:
                trial(self.alone(self._files.at))
                self._settled = True
            except PcatoolError as error:
                self._go_on_without(error)
                self._table, self._columns = self._first_table(), None

    def alone(self, at: int) -> Inputs:
        """Return the input at this position by itself, to be read from its beginning, with no file skipped."""
        return Inputs(self._files.alone(at), replace(self._options, skip_bad=False), Reporter(), by_file=True)

    def again(self) -> Inputs:
        """Return the good inputs, to be read again from their beginning, without repeating notes and warnings."""
        return Inputs(self.good, replace(self._options, skip_bad=False), self._notices.silent(), by_file=self.by_file)

    @property
    def good(self) -> Any:
        """The data as given, without the inputs that were left out."""
        return self._left if self._files.found.inputs else self._data

    @property
    def _left(self) -> ResolvedInputs:
        found = self._files.found
        return found.some(item for at, item in enumerate(found.inputs) if at not in self.skipping.bad)

    def can_reread(self) -> bool:
        """Whether all inputs can be read again: true for regular files and tables in memory."""
        return all(item.size is not None for item in self._left.inputs)

    def expected_rows(self) -> int | None:
        """Estimate the number of rows of all inputs; None if no estimate is possible."""
        return self._files.expected_rows(self._first_at, self.first.expected_rows())

    def reading_bytes(self, parts: int) -> int:
        """Return the most memory, in bytes, that reading takes with this many parts at once.

        Valid after the first part was asked for. The result never decreases from one input to the next, so that memory
        is planned for the largest input so far.
        """
        table = self._current or self.first
        now = table.reading_bytes(parts) + self._files.ahead_bytes(parts, table)
        self._reading_bytes = max(self._reading_bytes, now)
        return self._reading_bytes

    def pieces(self, wanted: ColumnChoice, *, eager: bool, run: Runner) -> Iterator[Piece]:
        """Yield all rows in order, as pieces.

        With --skip-bad, the pieces of each input end with one that holds its error or marks its end.
        """
        self._later = self._files.later(run, self.first)
        self._notices.at_reading(self)
        try:
            while True:
                at = self._files.at
                try:
                    yield from self._pieces_of(at, wanted, eager, run)
                except PcatoolError as error:
                    cause = self.cause_of(at, error)
                    if not self.skipping.may_skip(at, cause):
                        raise self.skipping.named(at, cause) from None
                    yield Piece(at, error=cause)
                self.close()
                if not self._files.waiting:
                    return
                self._files.at += 1
        finally:
            self._later = iter(())
            self.close()

    def _pieces_of(self, at: int, wanted: ColumnChoice, eager: bool, run: Runner) -> Iterator[Piece]:
        """Yield the pieces of the current input, with its features and passthrough columns matched by name."""
        files = self._files
        table = self.first if self._current is None else files.turn_of(next(self._later))
        self._current = table
        features, kept = self.columns.match(table, wanted), match_columns(wanted.kept, table.columns, table.name)
        if table is not self.first or self._told is not None:
            self.columns.look_for_more(at, table, files.current)
        for part in table.parts(features, kept, eager=eager, run=run):
            yield Piece(at, table, part)
            if at in self.skipping.bad:
                break
        files.check_unchanged()
        if self.skipping.allowed:
            yield Piece(at)

    def cause_of(self, at: int, error: PcatoolError) -> PcatoolError:
        """Return the cause of an error of an input: if the file changed while it was read, the error that says so."""
        try:
            if is_bad_file(error) and at == self._files.at:
                self._files.check_unchanged()
        except FileError as another:
            error = another
        if not is_bad_file(error):
            self._causes[at] = error  # a thread may report an earlier row later, when the file is closed
        return self._causes.get(at, error)

    def ready(self) -> bool:
        """Whether more rows are available without waiting; opening a pipe may wait."""
        if self._current is None:
            return True
        if self._current.ended() and self._files.waiting:
            return not self.flows(self._files.at + 1)
        return self._current.ready()

    def at_rows(self, count: int) -> None:
        """Report that this many more rows were read."""
        self._notices.at_rows(count)

    def tell_rounding(self, text: str) -> None:
        """Show the note on a rounded whole number, once per run."""
        if not self.told_rounding:
            self.told_rounding = text
            self._notices.note(text)

    def finish(self) -> None:
        """Report what reading left to say: inputs left out, and columns that only later inputs have."""
        self.skipping.all_read(self._notices)
        self.columns.warn_of_more(self.skipping.bad)
        self.skipping.warn(self._notices)

    def close(self) -> None:
        """Close the current input."""
        self._files.close()


def _find(data: Any, options: TableOptions) -> ResolvedInputs:
    """Return the files that the paths name; no files for a table in memory."""
    if isinstance(data, ResolvedInputs):
        return data
    is_paths = isinstance(data, list) and all(isinstance(item, str) for item in data)
    return ResolvedInputs.of(data, options) if is_paths else ResolvedInputs((), None)


def _in_memory(data: Any, options: TableOptions) -> Table:
    """Return the table of a Python object; raises UsageError for options that need files."""
    from pcatool.readers.csv_reader.dialect import Dialect
    from pcatool.readers.memory_tables import in_memory

    if options.skip_bad:
        raise UsageError("--skip-bad is for files, this is a table in memory", "leave it out")
    if options.row_names:
        raise UsageError(
            "--row-names is for files of text, this is a table in memory", "give the columns without the one of names"
        )
    return in_memory(data, Dialect.of(options, ","))


# Most bytes of one file that are held until its end is read; a larger file is read twice.
MOST_HELD = 64 << 20


class PieceRead(NamedTuple):
    """A piece after parsing; `batch` is None at the end of an input and for a bad input."""

    at: int  # position of the input
    batch: Batch | None = None
    holes: IncompleteCells | None = None  # missing cells of the batch; None if there are none
    rounded: Rounded | None = None  # first whole number without an exact double
    error: PcatoolError | None = None  # why the input is bad

    @property
    def size(self) -> int:
        """Bytes of memory that the batch takes."""
        return 0 if self.batch is None else self.batch.X.nbytes + sum(column.nbytes for column in self.batch.kept)


def whole_files(read: Callable[[Inputs], Iterator[PieceRead]], inputs: Inputs) -> Iterator[PieceRead]:
    """Yield the rows of each file only after all of it was read without error; leave out the files that are bad.

    `read` reads inputs piece by piece. A file of more than MOST_HELD bytes is not held but read a second time. The rows
    of a pipe, which cannot be read again, are yielded at once.
    """
    held: list[PieceRead] = []
    size = 0
    for found in read(inputs):
        if found.at in inputs.skipping.bad:
            continue
        if found.error is not None:
            inputs.skipping.leave_out(found.at, found.error)
            held.clear()
            size = 0
        elif found.batch is None:
            yield from read(inputs.alone(found.at)) if size > MOST_HELD else held
            held.clear()
            size = 0
        elif inputs.flows(found.at):
            yield found
        else:
            size += found.size
            held.append(found)
            if size > MOST_HELD:
                held.clear()
