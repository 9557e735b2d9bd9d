"""Read one or many inputs as one table, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.arrays import Runner
from pcatool.errors import FileError, PcatoolError, UsageError
from pcatool.options import TableOptions
from pcatool.progress import Notices, doing
from pcatool.readers.base import Batch, Part, Rounded, Table
from pcatool.readers.input_files import Files, Found, Later, not_a_table
from pcatool.readers.opener import MODEL, Opened
from pcatool.readers.row_counts import Holes
from pcatool.readers.schema import First, Schema, SchemaFacts, Wanted
from pcatool.readers.select_columns import match_columns
from pcatool.readers.skip_bad import Skipping, is_bad_file

__all__ = ["Inputs", "Piece", "PieceRead", "whole_files"]


class Piece(NamedTuple):
    """Some rows of an input; with neither rows nor an error its end, which is told where it matters."""

    at: int  # the number of the input
    table: Table | None = None
    part: Part | None = None
    error: PcatoolError | None = None


class Inputs:
    """All inputs of a run.

    `by_file`: an input counts only when the whole of it is good. `told`: these are some of the inputs of a run, and
    another is the first.
    """

    def __init__(
        self,
        data: Any,
        options: TableOptions,
        notices: Notices,
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
        self._later: Iterator[Later] = iter(())
        self.told_rounding = ""
        self.by_file = by_file or options.skip_bad
        self.model: Opened | None = None
        self._causes: dict[int, PcatoolError] = {}  # of inputs that are no good, through no fault of theirs
        found = _find(data, options)
        self.skipping = Skipping(found.inputs, allowed=options.skip_bad)
        self._files = Files(found, options, notices)
        self._table = self._first_table() if found.inputs else _in_memory(data, options)

    @property
    def first(self) -> Table:
        """The first input; a model is none."""
        if self._table is None:
            raise not_a_table(self._files.current.name)
        return self._table

    @property
    def columns(self) -> Schema:
        """What is taken from the inputs, by the first."""
        if self._columns is None:
            first = First(self.first, self._files.others)
            self._columns = Schema(first, self.nulls, self._notices, several=self._files.waiting, told=self._told)
        return self._columns

    @property
    def nulls(self) -> tuple[str, ...]:
        """Further spellings of a missing cell."""
        return self._options.null_value

    @property
    def found(self) -> Found:
        """The files; none of a table in memory."""
        return self._files.found

    @property
    def paths(self) -> list[str]:
        return [item.path for item in self._files.found.inputs]

    def flows(self, at: int) -> bool:
        """Is it a pipe, or a device, which cannot be read again?"""
        return self._files.found.inputs[at].flows

    def _first_table(self) -> Table | None:
        """The next input that can be opened; none when the only one is a model."""
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
        """Go on with the next input, if that is allowed."""
        at = self._files.at
        error = self.cause_of(at, error)
        if not self.skipping.may_skip(at, error):
            raise self.skipping.named(at, error)
        self.skipping.leave_out(at, error)
        self.close()
        if not self._files.waiting:
            raise self.skipping.none_left()
        self._files.at += 1

    # --- how far it is, as any thread may ask ---

    @property
    def several(self) -> bool:
        return len(self._files) > 1

    @property
    def current(self) -> str:
        return self._files.current.name

    def share(self) -> float | None:
        """How much of all inputs was read, from 0 to 1; None where one of them is a pipe."""
        table = self._current or self._table
        return None if table is None else self._files.share(table)

    def taken(self) -> int:
        """Bytes of the current input that were read."""
        return self._files.taken

    # --- rows ---

    def settle(self, trial: Callable[[Inputs], None]) -> None:
        """Where bad files are left out, see that the first is none before it names the columns for all others.

        The trial does with it alone what will be done with all.
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
        """One of the inputs, to be read from its beginning; all that is wrong with it is an error."""
        return Inputs(self._files.alone(at), replace(self._options, skip_bad=False), Notices(), by_file=True)

    def again(self) -> Inputs:
        """The same inputs, to be read from their beginning; what there is to say of them was said the first time."""
        return Inputs(self.good, replace(self._options, skip_bad=False), self._notices.silent(), by_file=self.by_file)

    @property
    def good(self) -> Any:
        """The data without the inputs that were left out."""
        return self._left if self._files.found.inputs else self._data

    @property
    def _left(self) -> Found:
        found = self._files.found
        return found.some(item for at, item in enumerate(found.inputs) if at not in self.skipping.bad)

    def can_reread(self) -> bool:
        """Can everything be read once more: files, and what is in memory?"""
        return all(item.size is not None for item in self._left.inputs)

    def expected_rows(self) -> int | None:
        """About how many rows all inputs have."""
        return self._files.expected_rows(self._first_at, self.first.expected_rows())

    def reading_bytes(self, parts: int) -> int:
        """Bytes that reading takes at the most, with so many parts at once; known once the first part was asked for.

        Never less than was told before: a plan is not refused by what came first.
        """
        table = self._current or self.first
        now = table.reading_bytes(parts) + self._files.ahead_bytes(parts, table)
        self._reading_bytes = max(self._reading_bytes, now)
        return self._reading_bytes

    def pieces(self, wanted: Wanted, *, eager: bool, run: Runner) -> Iterator[Piece]:
        """All rows in order. Where bad files are left out, an input ends with its error, or with its end."""
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

    def _pieces_of(self, at: int, wanted: Wanted, eager: bool, run: Runner) -> Iterator[Piece]:
        """One input, with the features and kept columns found in it."""
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
        """Why an input is bad: what was read of two states of an object is no fault of either."""
        try:
            if is_bad_file(error) and at == self._files.at:
                self._files.check_unchanged()
        except FileError as another:
            error = another
        if not is_bad_file(error):
            self._causes[at] = error  # a thread may come with an earlier row of it when it is closed
        return self._causes.get(at, error)

    def ready(self) -> bool:
        """Can more rows be handed out at once? An input that is no file may keep us waiting when it is opened."""
        if self._current is None:
            return True
        if self._current.ended() and self._files.waiting:
            return not self.flows(self._files.at + 1)
        return self._current.ready()

    def at_rows(self, count: int) -> None:
        """So many more were read."""
        self._notices.at_rows(count)

    def tell_rounding(self, text: str) -> None:
        """Of the first whole number that no double holds."""
        if not self.told_rounding:
            self.told_rounding = text
            self._notices.note(text)

    def finish(self) -> None:
        """Say what is to be said when all was read."""
        self.skipping.all_read(self._notices)
        self.columns.warn_of_more(self.skipping.bad)
        self.skipping.warn(self._notices)

    def close(self) -> None:
        self._files.close()


def _find(data: Any, options: TableOptions) -> Found:
    """The files, if these are paths; of a table in memory there are none."""
    if isinstance(data, Found):
        return data
    is_paths = isinstance(data, list) and all(isinstance(item, str) for item in data)
    return Found.of(data, options) if is_paths else Found((), None)


def _in_memory(data: Any, options: TableOptions) -> Table:
    from pcatool.readers.csv_reader.dialect import Dialect
    from pcatool.readers.memory_tables import in_memory

    if options.skip_bad:
        raise UsageError("--skip-bad is for files, this is a table in memory", "leave it out")
    if options.row_names:
        raise UsageError(
            "--row-names is for files of text, this is a table in memory", "give the columns without the one of names"
        )
    return in_memory(data, Dialect.of(options, ","))


# Bytes of one file that are held until its end; a larger one is read twice.
MOST_HELD = 64 << 20


class PieceRead(NamedTuple):
    """What was read of a piece; of the end of an input, or of one that is bad, there are no rows."""

    at: int
    batch: Batch | None = None
    holes: Holes | None = None
    rounded: Rounded | None = None
    error: PcatoolError | None = None

    @property
    def size(self) -> int:
        return 0 if self.batch is None else self.batch.X.nbytes + sum(column.nbytes for column in self.batch.kept)


def whole_files(read: Callable[[Inputs], Iterator[PieceRead]], inputs: Inputs) -> Iterator[PieceRead]:
    """The rows of the files that are good; a pipe cannot be read again, so that its rows are handed on at once."""
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
