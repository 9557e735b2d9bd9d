"""Split a stream of bytes at row ends, without parsing the rows; split single chunks into rows and cells.

A line end inside quotes does not end a row. A blank line is not a row, except in a table of one column.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import DataError
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.normalize import normalize
from pcatool.readers.streams import ByteStream

__all__ = ["MOST_BYTES", "Chunk", "Row", "RowCutter", "check_nul", "check_utf8", "count_lines", "rows_of"]

NEWLINE, RETURN, QUOTE = 10, 13, 34

# Bytes compared at a time: the text and its mask stay in the processor's cache.
SLAB = 1 << 17

Positions = NDArray[np.int64]
NO_POSITIONS: Positions = np.zeros(0, dtype=np.int64)


class OpenQuote(Exception):
    """Raised if the input ends inside quotes; `position` is the index of the opening quote in the buffer."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class RowEnds:
    """Search for row ends in a buffer that grows at its end and loses whole rows at its start; used by `RowCutter`.

    A quote opens a field only at the start of the field. While quotes occur only where CSV allows them, a line end is
    inside a field after an odd number of quotes. Otherwise, and for comments and runs of blanks, a regular expression
    matches row by row.
    """

    def __init__(self, dialect: Dialect, start: int = 0) -> None:
        self._dialect = dialect
        self._mark = dialect.comment.encode() if dialect.comment else None
        self._row = _row_pattern(dialect)
        self._padding = dialect.comment_padding
        self.start = start  # of the first line whose end was not found yet
        self._seen = start  # bytes searched so far
        self._in_quotes = False  # whether those bytes end inside quotes
        self.plain_from = start  # the bytes searched from here on have no quotes, and every line is a row

    def forget(self, count: int) -> None:
        """Subtract `count` from all stored positions, after the first `count` bytes were removed from the buffer."""
        self.start -= count
        self.plain_from -= count
        self._seen -= count

    def open_quote(self, data: bytes) -> int | None:
        """Return the position of the quote that is still open at the end of `data`; None if no quote is open."""
        row = self._row.match(data, self.start)
        return None if row is None or row["open"] is None else row.start("open")

    def find(self, data: bytes, last: bool) -> Positions:
        """Return the end positions in `data`, the whole buffer, of the rows completed since the last call.

        `last` says that the input ends with `data`. Raise `OpenQuote` if the input ends inside quotes.
        """
        # A final carriage return may be the first half of CR LF; the next byte decides.
        stop = len(data) if last or not data.endswith(b"\r") else len(data) - 1
        quick = not self._dialect.blanks and not (self._mark and data.find(self._mark, self._seen) >= 0)
        ends = self._count_quotes(data, stop) if quick else None
        if ends is None:
            return self._row_by_row(data, stop, last)
        if last and self._in_quotes:
            return self._row_by_row(data, stop, last)
        if last and self.start < len(data):
            return np.append(ends, len(data))
        return ends

    def _count_quotes(self, data: bytes, stop: int) -> Positions | None:
        """Return the new row ends before `stop`, found by counting quotes; None if an unquoted field has a quote."""
        text = np.frombuffer(data, dtype=np.uint8)
        breaks = _positions_of(text, NEWLINE, self._seen, stop)
        if data.find(b"\r", self._seen, stop) >= 0:
            breaks = _with_lone_returns(text, breaks, _positions_of(text, RETURN, self._seen, stop))
        inside = self._in_quotes
        if data.find(b'"', self._seen, stop) >= 0:
            quotes = _positions_of(text, QUOTE, self._seen, stop)
            self.plain_from = int(quotes[-1]) + 1
            if not self._at_field_starts(text, quotes[int(inside) :: 2]):
                return None
            breaks = breaks[(np.searchsorted(quotes, breaks) + inside) % 2 == 0]
            inside = (len(quotes) + inside) % 2 == 1
        elif inside:
            breaks = NO_POSITIONS
        blank = self._blank(text, breaks)
        self.start = int(breaks[-1]) + 1 if len(breaks) else self.start
        self._seen, self._in_quotes = stop, inside
        if not blank.any():
            return breaks + 1
        self.plain_from = max(self.plain_from, int(breaks[blank][-1]) + 1)
        return (breaks if self._dialect.single_column else breaks[~blank]) + 1

    def _at_field_starts(self, text: NDArray[np.uint8], opening: Positions) -> bool:
        """Return whether each position in `opening` is the start of a field, or directly after a closing quote."""
        before = text[np.maximum(opening - 1, 0)]
        good = (opening == 0) | (before == NEWLINE) | (before == RETURN) | (before == QUOTE)
        for separator in self._dialect.separators:
            good |= before == separator
        return bool(np.all(good))

    def _blank(self, text: NDArray[np.uint8], breaks: Positions) -> NDArray[np.bool_]:
        """Return the mask of the positions in `breaks`, all line ends, that end a blank line."""
        starts = np.concatenate([[self.start], breaks[:-1] + 1])[: len(breaks)]
        length = breaks - starts
        blank: NDArray[np.bool_] = (length == 0) | ((length == 1) & (text[starts] == RETURN))
        return blank

    def _row_by_row(self, data: bytes, stop: int, last: bool) -> Positions:
        """Return the new row ends, found by matching row by row; raise `OpenQuote` if the input ends inside quotes.

        `last` says that the input ends with `data`; otherwise a row without its line end waits for more bytes.
        """
        self.plain_from = len(data)
        ends: list[int] = []
        at = self.start
        self._in_quotes = False
        while at < len(data):
            found = self._row.match(data, at)
            assert found is not None  # the pattern matches any text
            end = found["end"]
            if not last and (not end or (end == b"\r" and found.end() == len(data))):
                self._in_quotes = found["open"] is not None
                break
            if found["open"] is not None:
                raise OpenQuote(found.start("open"))
            if self._holds_cells(found):
                ends.append(found.end())
            at = found.end()
        self.start = at
        self._seen = stop if self._in_quotes else at  # a row that is not complete is matched again, from its start
        return np.array(ends, dtype=np.int64)

    def _holds_cells(self, row: re.Match[bytes]) -> bool:
        """Return whether a matched line is a row of cells, and not a blank line or only a comment."""
        body = row["body"]
        if self._dialect.single_column and row["note"] is None:
            return True
        return bool(body.strip(self._padding) if self._dialect.blanks or row["note"] is not None else body)


def _positions_of(text: NDArray[np.uint8], byte: int, start: int, stop: int) -> Positions:
    """Return the positions of a byte in text[start:stop], searched slab by slab."""
    slabs = range(start, stop, SLAB)
    found = [np.flatnonzero(text[at : min(at + SLAB, stop)] == byte) + at for at in slabs]
    return np.concatenate(found) if found else NO_POSITIONS


def _with_lone_returns(text: NDArray[np.uint8], newlines: Positions, returns: Positions) -> Positions:
    """Return the newlines together with the carriage returns that no newline follows, the row ends of old files."""
    following = text[np.minimum(returns + 1, len(text) - 1)]
    lone = returns[(following != NEWLINE) | (returns == len(text) - 1)]
    return np.sort(np.concatenate([newlines, lone])) if len(lone) else newlines


def _row_pattern(dialect: Dialect) -> re.Pattern[bytes]:
    """Compile the regular expression of a row, with groups `body`, `note` (a comment) and `end` (the line end).

    Group `open` is a quote that is never closed, and all text after it. No capturing group is inside a possessive
    repeat, because some releases of Python 3.11 handle that wrongly.
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
    """Return the number of line ends; CR, LF and CR LF count as one each."""
    lines = data.count(b"\n")
    if b"\r" in data:
        lines += data.count(b"\r") - data.count(b"\r\n")
    return lines


# Bytes read from the stream at a time, at least.
READ_BYTES = 1 << 18
# Most bytes of a chunk: of long rows a chunk holds fewer, so that long texts do not fill the memory.
MOST_BYTES = 1 << 26
# Bytes of a row: six million numbers. A longer row means a quote that is never closed, or a file that is not text.
LONGEST_ROW = 1 << 27

LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")


class Chunk(NamedTuple):
    """Whole rows of a text table, not yet parsed: the bytes buffer[start:stop]."""

    buffer: bytes  # the buffer that contains the rows
    rows: int  # number of rows
    first_line: int  # line number of the first row in the input, from 1
    plain: bool = False  # whether the bytes are known to hold no quotes, and no line that is not a row
    start: int = 0
    stop: int | None = None

    @property
    def data(self) -> bytes:
        return self.buffer[self.start : self.stop]

    @property
    def view(self) -> memoryview:
        """The bytes of the rows, without a copy."""
        return memoryview(self.buffer)[self.start : self.stop]

    def has(self, mark: bytes) -> bool:
        """Whether the bytes `mark` occur in the rows."""
        return self.buffer.find(mark, self.start, self.stop) >= 0

    def normalized(self, dialect: Dialect) -> bytes:
        """Return the rows as ordinary CSV, as `normalize` does; unchanged if the dialect is ordinary already."""
        return normalize(self.data, dialect) if dialect.needs_normalizing else self.data


# Characters of a field: more than any row may have. The cutter bounds rows, and Python's default of 131,072 is lower.
csv.field_size_limit(1 << 30)

Row: TypeAlias = tuple[int, list[str]]  # line number, cells


def check_utf8(chunk: Chunk, name: str) -> None:
    """Raise `DataError`, with the line, for bytes that are not UTF-8, even in columns that are not used."""
    if chunk.data.isascii():
        return
    try:
        chunk.data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"{name}, line {chunk.first_line + count_lines(chunk.data[: error.start])}"
        raise DataError(
            f"{place}: the text is not valid UTF-8", "name the encoding, such as --encoding latin-1"
        ) from None


def check_nul(chunk: Chunk, name: str) -> None:
    """Raise `DataError`, with the line, for a NUL byte, even in columns that are not used."""
    if chunk.has(b"\0"):
        place = f"{name}, line {chunk.first_line + count_lines(chunk.data[: chunk.data.find(0)])}"
        raise DataError(f"{place}: the line has a NUL byte", "check whether the file is damaged or incomplete")


def rows_of(chunk: Chunk, dialect: Dialect, name: str) -> Iterator[Row]:
    """Yield the line number and the cells of every row; raise `DataError` for text that is not UTF-8."""
    check_utf8(chunk, name)
    text = io.StringIO(chunk.normalized(dialect).decode("utf-8"), newline="")
    reader = csv.reader(text, delimiter=dialect.separator)
    before = 0
    for cells in reader:
        if cells:
            yield chunk.first_line + before, cells
        before = reader.line_num


class RowCutter:
    """Cutter of a stream of text into chunks of whole rows; `rows` returns the next chunk."""

    def __init__(self, stream: ByteStream, dialect: Dialect, name: str, skip_lines: int = 0) -> None:
        self.name = name
        self._stream = stream
        self._row_ends = RowEnds(dialect)
        self._buffer = b""
        self._at = 0  # start of the next row in the buffer
        self._ends = NO_POSITIONS  # ends of the rows found from there on
        self._line = 1  # line number of the input at `_at`
        self._done = False  # whether the stream was read to its end
        self.bytes_a_row = 0.0  # mean of the last chunk returned by `rows`
        self._skip(skip_lines)

    @property
    def line(self) -> int:
        """Line number in the input of the first line that `rows` has not passed: a row, blank line or comment."""
        return self._line

    def use_dialect(self, dialect: Dialect) -> None:
        """Follow another dialect from the next row on: search the buffer for row ends again."""
        self._row_ends, self._ends = RowEnds(dialect, self._at), NO_POSITIONS
        self._find_ends(self._done)

    def _skip(self, lines: int) -> None:
        """Skip lines at the start of the input without looking at their contents."""
        for _ in range(lines):
            while (end := LINE_END.search(self._buffer)) is None and (data := self._stream.read(READ_BYTES)):
                self._buffer += data
            self._buffer = self._buffer[end.end() :] if end else b""
            self._line += 1
        if self._buffer:
            self._find_ends(last=False)

    def ready(self) -> bool:
        """Return whether `rows` can return at once: a whole row has arrived, or the end of the input.

        Read the bytes that have arrived, without waiting for more.
        """
        while not len(self._ends) and not self._done:
            if not self._stream.ready():
                return False
            self._fill(1, eager=True)
        return True

    def ended(self) -> bool:
        """Return whether the last row was returned by `rows` and the end of the input is known."""
        return self._done and not len(self._ends)

    def peek(self, most: int, *, eager: bool = False) -> Chunk | None:
        """Return a chunk of the next rows, up to `most`, without moving past them; None at the end of the input.

        The chunk has fewer rows at the end of the input, if `most` rows have more than MOST_BYTES, or, with `eager`, if
        waiting for more rows would block.
        """
        while len(self._ends) < most and not self._done and not self._enough_bytes():
            if eager and len(self._ends) and not self._stream.ready():
                break
            self._fill(most, eager)
        count = min(most, len(self._ends))
        if count == 0:
            return None
        within = int(np.searchsorted(self._ends[:count], self._at + MOST_BYTES, side="right"))
        count = max(within, 1)
        plain = self._row_ends.plain_from <= self._at
        return Chunk(self._buffer, count, self._line, plain, self._at, int(self._ends[count - 1]))

    def rows(self, most: int, *, eager: bool = False) -> Chunk | None:
        """Return the chunk that `peek` returns, and move past its rows."""
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
        """Read until the buffer has about the bytes of `most` rows, at least READ_BYTES more, and find the row ends.

        With `eager`, stop reading where more bytes would have to be waited for.
        """
        there = len(self._buffer) - self._at
        missing = int((most - len(self._ends)) * self.bytes_a_row * 1.02)
        # At least a quarter of the buffer: a long row may be matched again from its start after each read.
        more = max(READ_BYTES, min(missing, MOST_BYTES), there >> 2)
        pieces = [self._buffer[self._at :]]
        self._row_ends.forget(self._at)
        self._ends = self._ends - self._at
        self._at = 0
        enough = there + more
        while piece := self._stream.read(enough - there):
            pieces.append(piece)
            there += len(piece)
            # Text converted to UTF-8 may be longer than the size asked for.
            if there >= enough or (eager and not self._stream.ready()):
                break
        self._buffer = b"".join(pieces)
        self._find_ends(last=not piece)

    def _find_ends(self, last: bool) -> None:
        """Append the ends of the rows that are now complete to `_ends`; `last` says that the stream is at its end.

        Raise `DataError` for a quote that is never closed, and for a row longer than LONGEST_ROW.
        """
        try:
            self._ends = np.concatenate([self._ends, self._row_ends.find(self._buffer, last)])
        except OpenQuote as error:
            raise self._open_quote_error(error.position) from None
        self._done = last
        if len(self._buffer) - self._row_ends.start > LONGEST_ROW:
            quote = self._row_ends.open_quote(self._buffer)
            if quote is not None:
                raise self._open_quote_error(quote)
            place = f"{self.name}, line {self._line_at(self._row_ends.start)}"
            raise DataError(
                f"{place}: the row is longer than {LONGEST_ROW >> 20} MB", "check that the file is a text table"
            )

    def _open_quote_error(self, position: int) -> DataError:
        return DataError(
            f"{self.name}, line {self._line_at(position)}: a quote in this line is never closed",
            "close or remove the quote",
        )

    def _line_at(self, position: int) -> int:
        return self._line + count_lines(self._buffer[self._at : position])
