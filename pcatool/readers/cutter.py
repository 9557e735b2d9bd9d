"""A stream of bytes cut into whole rows, without parsing them."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from pcatool.errors import DataError
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.split import NONE, OpenQuote, RowEnds, count_lines
from pcatool.readers.streams import ByteStream

__all__ = ["MOST_BYTES", "Chunk", "Cutter"]

READ = 1 << 18
# Rows are handed out in fewer at a time when they are longer than that together: long texts must not fill the memory.
MOST_BYTES = 1 << 26
# Six million numbers; what is longer is a quote that never closes, or no text.
LONGEST_ROW = 1 << 27

LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")


class Chunk(NamedTuple):
    """Some whole rows, as a piece of the bytes they lie in, and the line of the input on which they begin."""

    within: bytes
    rows: int
    first_line: int
    plain: bool = False  # known to have no quote in it, and no line that is not a row
    start: int = 0
    stop: int | None = None

    @property
    def data(self) -> bytes:
        return self.within[self.start : self.stop]

    @property
    def view(self) -> memoryview:
        """The same without copying it."""
        return memoryview(self.within)[self.start : self.stop]


class Cutter:
    """Hands out whole rows of a stream, as many as are asked for."""

    def __init__(self, stream: ByteStream, dialect: Dialect, name: str, skip_lines: int = 0) -> None:
        self.name = name
        self._stream = stream
        self._row_ends = RowEnds(dialect)
        self._buffer = b""
        self._at = 0  # where in the buffer the first row begins that was not handed out
        self._ends = NONE  # of the rows from there on
        self._line = 1  # of the input, there
        self._done = False
        self.bytes_a_row = 0.0  # of those handed out last
        self._skip(skip_lines)

    @property
    def line(self) -> int:
        """The line of the input on which the next row begins, or what stands before it."""
        return self._line

    def read_as(self, dialect: Dialect) -> None:
        """What was not handed out yet is cut as this dialect says."""
        self._row_ends, self._ends = RowEnds(dialect, self._at), NONE
        self._look(self._done)

    def _skip(self, lines: int) -> None:
        """Pass over lines, whatever is in them."""
        for _ in range(lines):
            while (end := LINE_END.search(self._buffer)) is None and (data := self._stream.read(READ)):
                self._buffer += data
            self._buffer = self._buffer[end.end() :] if end else b""
            self._line += 1
        if self._buffer:
            self._look(last=False)

    def ready(self) -> bool:
        """Is there a whole row, or the end? Takes what has arrived, and does not wait for more."""
        while not len(self._ends) and not self._done:
            if not self._stream.ready():
                return False
            self._fill(1, eager=True)
        return True

    def ended(self) -> bool:
        """Was the last row handed out, and is that known?"""
        return self._done and not len(self._ends)

    def peek(self, most: int, *, eager: bool = False) -> Chunk | None:
        """Up to `most` rows, None at the end. Fewer when the input ends, or when `eager` and no more has arrived."""
        while len(self._ends) < most and not self._done and not self._enough_bytes():
            if eager and len(self._ends) and not self._stream.ready():
                break
            self._fill(most, eager)
        count = min(most, len(self._ends))
        if count == 0:
            return None
        within = int(np.searchsorted(self._ends[:count], self._at + MOST_BYTES, side="right"))
        count = max(within, 1)
        plain = self._row_ends.odd <= self._at
        return Chunk(self._buffer, count, self._line, plain, self._at, int(self._ends[count - 1]))

    def rows(self, most: int, *, eager: bool = False) -> Chunk | None:
        """The same rows, handed out."""
        chunk = self.peek(most, eager=eager)
        if chunk is not None:
            self._ends = self._ends[chunk.rows :]
            self._line += chunk.rows if chunk.plain else count_lines(chunk.data)
            size = len(chunk.view)
            self._at += size
            self.bytes_a_row = size / chunk.rows
        return chunk

    def _enough_bytes(self) -> bool:
        return len(self._ends) > 0 and int(self._ends[-1]) - self._at >= MOST_BYTES

    def _fill(self, most: int, eager: bool) -> None:
        """Read about what the missing rows need, in one piece."""
        there = len(self._buffer) - self._at
        missing = int((most - len(self._ends)) * self.bytes_a_row * 1.02)
        # A quarter more of what is there: a long row may have to be looked at again from its start.
        wanted = max(READ, min(missing, MOST_BYTES), there >> 2)
        pieces = [self._buffer[self._at :]]
        self._row_ends.forget(self._at)
        self._ends = self._ends - self._at
        self._at = 0
        enough = there + wanted
        while piece := self._stream.read(enough - there):
            pieces.append(piece)
            there += len(piece)
            # Text of another encoding is longer in UTF-8 than what was asked for.
            if there >= enough or (eager and not self._stream.ready()):
                break
        self._buffer = b"".join(pieces)
        self._look(last=not piece)

    def _look(self, last: bool) -> None:
        """Find the rows that are whole in what was read."""
        try:
            self._ends = np.concatenate([self._ends, self._row_ends.find(self._buffer, last)])
        except OpenQuote as error:
            raise self._never_closed(error.position) from None
        self._done = last
        if len(self._buffer) - self._row_ends.start > LONGEST_ROW:
            quote = self._row_ends.open_quote(self._buffer)
            if quote is not None:
                raise self._never_closed(quote)
            place = f"{self.name}, line {self._line_at(self._row_ends.start)}"
            raise DataError(f"{place}: a row longer than {LONGEST_ROW >> 20} MB", "is this a text table?")

    def _never_closed(self, position: int) -> DataError:
        return DataError(
            f"{self.name}, line {self._line_at(position)}: a quote opened there is never closed", "mend that line"
        )

    def _line_at(self, position: int) -> int:
        return self._line + count_lines(self._buffer[self._at : position])
