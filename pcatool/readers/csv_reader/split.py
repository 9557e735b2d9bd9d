"""Split a stream of bytes at row ends, without parsing the rows.

Where rows end in a stream of bytes, without parsing: a line end inside quotes ends no row, a blank line is none.
Where there is only one column, a blank line is a row, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import DataError
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.normalize import note_padding
from pcatool.readers.streams import ByteStream

__all__ = ["MOST_BYTES", "Chunk", "Cutter", "count_lines"]

NEWLINE, RETURN, QUOTE = 10, 13, 34

SLAB = 1 << 17

Positions = NDArray[np.int64]
NONE: Positions = np.zeros(0, dtype=np.int64)


class OpenQuote(Exception):
    """The input ends inside quotes; where they were opened."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class RowEnds:
    """Finds the ends of rows in a buffer that grows at its end and is cut at row starts.

    A quote opens a field only at its start. While every quote stands where CSV wants it, counting them tells inside
    from outside; where one does not, and for comments and runs of blanks, a pattern goes row by row.
    """

    def __init__(self, dialect: Dialect, start: int = 0) -> None:
        self._dialect = dialect
        self._mark = dialect.comment.encode() if dialect.comment else None
        self._row = _row_pattern(dialect)
        self._padding = note_padding(dialect)
        self.start = start  # of the first line that has not ended
        self._seen = start  # bytes looked at
        self._inside = False  # quotes, after them
        self.odd = start  # from there on every line is a row

    def forget(self, count: int) -> None:
        """The buffer lost its first bytes."""
        self.start -= count
        self.odd -= count
        self._seen -= count

    def open_quote(self, data: bytes) -> int | None:
        """Where the quotes were opened that are open at the end."""
        row = self._row.match(data, self.start)
        return None if row is None or row["open"] is None else row.start("open")

    def find(self, data: bytes, last: bool) -> Positions:
        """Ends of the rows that were completed since; `last`: nothing follows `data`."""
        # A carriage return may be half of a line end: the next byte tells.
        stop = len(data) if last or not data.endswith(b"\r") else len(data) - 1
        quick = not self._dialect.blanks and not (self._mark and data.find(self._mark, self._seen) >= 0)
        ends = self._count_quotes(data, stop) if quick else None
        if ends is None:
            return self._row_by_row(data, stop, last)
        if last and self._inside:
            return self._row_by_row(data, stop, last)
        if last and self.start < len(data):
            return np.append(ends, len(data))
        return ends

    def _count_quotes(self, data: bytes, stop: int) -> Positions | None:
        """None when a quote stands in an odd place."""
        text = np.frombuffer(data, dtype=np.uint8)
        breaks = _places(text, NEWLINE, self._seen, stop)
        if data.find(b"\r", self._seen, stop) >= 0:
            breaks = _with_lone_returns(text, breaks, _places(text, RETURN, self._seen, stop))
        inside = self._inside
        if data.find(b'"', self._seen, stop) >= 0:
            quotes = _places(text, QUOTE, self._seen, stop)
            self.odd = int(quotes[-1]) + 1
            if not self._at_field_starts(text, quotes[int(inside) :: 2]):
                return None
            breaks = breaks[(np.searchsorted(quotes, breaks) + inside) % 2 == 0]
            inside = (len(quotes) + inside) % 2 == 1
        elif inside:
            breaks = NONE
        blank = self._blank(text, breaks)
        self.start = int(breaks[-1]) + 1 if len(breaks) else self.start
        self._seen, self._inside = stop, inside
        if not blank.any():
            return breaks + 1
        self.odd = max(self.odd, int(breaks[blank][-1]) + 1)
        return (breaks if self._dialect.lone else breaks[~blank]) + 1

    def _at_field_starts(self, text: NDArray[np.uint8], opening: Positions) -> bool:
        """Does each quote that should open a field stand at a field's start, or double the one that closed it?"""
        before = text[np.maximum(opening - 1, 0)]
        good = (opening == 0) | (before == NEWLINE) | (before == RETURN) | (before == QUOTE)
        for separator in self._dialect.separators:
            good |= before == separator
        return bool(np.all(good))

    def _blank(self, text: NDArray[np.uint8], breaks: Positions) -> NDArray[np.bool_]:
        """Which breaks end a line with nothing on it."""
        starts = np.concatenate([[self.start], breaks[:-1] + 1])[: len(breaks)]
        length = breaks - starts
        blank: NDArray[np.bool_] = (length == 0) | ((length == 1) & (text[starts] == RETURN))
        return blank

    def _row_by_row(self, data: bytes, stop: int, last: bool) -> Positions:
        self.odd = len(data)
        ends: list[int] = []
        at = self.start
        self._inside = False
        while at < len(data):
            found = self._row.match(data, at)
            assert found is not None  # it takes anything
            end = found["end"]
            if not last and (not end or (end == b"\r" and found.end() == len(data))):
                self._inside = found["open"] is not None
                break
            if found["open"] is not None:
                raise OpenQuote(found.start("open"))
            if self._holds_cells(found):
                ends.append(found.end())
            at = found.end()
        self.start = at
        self._seen = stop if self._inside else at  # else the row is looked at again, from its start
        return np.array(ends, dtype=np.int64)

    def _holds_cells(self, row: re.Match[bytes]) -> bool:
        body = row["body"]
        if self._dialect.lone and row["note"] is None:
            return True
        return bool(body.strip(self._padding) if self._dialect.blanks or row["note"] is not None else body)


def _places(text: NDArray[np.uint8], byte: int, start: int, stop: int) -> Positions:
    """Where a byte stands; looked for in slabs that stay in the processor's cache."""
    slabs = range(start, stop, SLAB)
    found = [np.flatnonzero(text[at : min(at + SLAB, stop)] == byte) + at for at in slabs]
    return np.concatenate(found) if found else NONE


def _with_lone_returns(text: NDArray[np.uint8], newlines: Positions, returns: Positions) -> Positions:
    """Old files end a row with a carriage return alone."""
    following = text[np.minimum(returns + 1, len(text) - 1)]
    lone = returns[(following != NEWLINE) | (returns == len(text) - 1)]
    return np.sort(np.concatenate([newlines, lone])) if len(lone) else newlines


def _row_pattern(dialect: Dialect) -> re.Pattern[bytes]:
    """A row: body, comment (note), line end; `open` is a quote that no other closes, and all that follows.

    No group stands inside a possessive repeat: some releases of Python 3.11 stumble over that.
    """
    apart = re.escape(dialect.separators)
    mark = re.escape(dialect.comment.encode()) if dialect.comment else b""
    bare = b"[^" + apart + mark + rb"\r\n]*+"
    field = rb'(?:"(?:[^"]++|"")*+"|(?!"))' + bare
    after_field = b"(?:[" + apart + b"]|(?=[" + mark + rb"\r\n]|\Z))"
    never_closed = rb'(?P<open>"[\s\S]*+)?'
    note = b"(?P<note>" + mark + rb"[^\r\n]*+)?" if mark else b"(?P<note>(?!))?"
    row = b"(?P<body>(?:" + field + after_field + b")*+)" + never_closed + note
    return re.compile(row + rb"(?P<end>\r\n|\n|\r|\Z)")


def count_lines(data: bytes) -> int:
    """Line ends as an editor counts them."""
    lines = data.count(b"\n")
    if b"\r" in data:
        lines += data.count(b"\r") - data.count(b"\r\n")
    return lines


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
