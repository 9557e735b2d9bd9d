"""Read the rows of all inputs as one stream of pieces, file after file; tell how far reading has come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pcatool.arrays import Runner
from pcatool.errors import PcatoolError
from pcatool.progress import Reporter
from pcatool.readers.base import Part, Table
from pcatool.readers.input_files import InputFiles, OpenedAhead
from pcatool.readers.schema import ColumnChoice, Schema
from pcatool.readers.select_columns import match_columns
from pcatool.readers.skip_bad import BadFiles

__all__ = ["Piece", "RowStream"]


class Piece(NamedTuple):
    """A part of an input, its error, or its end; made by `RowStream.pieces`.

    Without a part and without an error, the piece marks the end of the input; such pieces occur only with --skip-bad.
    """

    position: int  # of the input
    table: Table | None = None
    part: Part | None = None
    error: PcatoolError | None = None  # why the input is bad


class RowStream:
    """All rows of the inputs, in order; a `Gauge` that tells how far reading has come.

    It begins with the first table, which is open already and has settled the schema. The other files are opened in
    their turn, and their columns are matched by the schema.
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
        """Yield the pieces of the current input; `later` gives the inputs after the first."""
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
        """Whether more rows are available without waiting; opening a pipe may wait."""
        if self._current is None:
            return True
        if self._current.ended() and self._files.has_next:
            return not self._files.is_stream(self._files.position + 1)
        return self._current.ready()

    def reading_bytes(self, parts: int) -> int:
        """Return the most memory, in bytes, that reading takes with this many parts at once.

        Valid after the first part was asked for. The larger of the first and the current input counts.
        """
        tables = (self._first, self._current or self._first)
        return max(table.reading_bytes(parts) + self._files.ahead_bytes(parts, table) for table in tables)

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
        return self._files.share(self._current or self._first)

    def bytes_read(self) -> int:
        """Return the bytes read from the current input so far."""
        return self._files.bytes_read
