"""A stream of bytes cut at row ends, without parsing: a newline inside quotes ends no row."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import DataError
from pcatool.readers.dialect import Dialect
from pcatool.readers.source import ByteStream

__all__ = ["Chunk", "Cutter"]

READ = 1 << 18
# A row longer than this is a quote that never closes.
LONGEST_ROW = 1 << 28

NEWLINE, RETURN, QUOTE = 10, 13, 34

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Chunk:
    """Some whole rows as bytes, and where in the input they stand."""

    data: bytes
    rows: int
    first_line: int


class Cutter:
    """Hands out whole rows of a stream, as many as are asked for."""

    def __init__(self, stream: ByteStream, dialect: Dialect, name: str) -> None:
        self.name = name
        self._stream = stream
        self._dialect = dialect
        self._separators = b" \t" if dialect.blanks else dialect.delimiter.encode()
        self._slow_row = _row_pattern(self._separators, dialect.comment)
        self._buffer = b""
        self._ends: Positions = np.zeros(0, dtype=np.int64)  # of the rows not handed out yet
        self._at = 0  # where in the buffer the first of them begins
        self._line = 1
        self._done = False
        self._bytes_a_row = 0.0

    def skip_lines(self, count: int) -> None:
        """Pass over physical lines, whatever is in them."""
        for _ in range(count):
            while (end := self._line_end()) is None and not self._done:
                self._append(self._stream.read(READ))
            self._at = len(self._buffer) if end is None else end
            self._line += 1
        self._buffer, self._at = self._buffer[self._at :], 0
        self._ends = self._scan(self._buffer)

    def _line_end(self) -> int | None:
        found = re.compile(rb"\r\n|\n|\r(?!\Z)").search(self._buffer, self._at)
        return found.end() if found else None

    def peek(self, most: int, *, eager: bool = False) -> Chunk | None:
        """Up to `most` rows: all of them, unless the input ends, or `eager` and no more has arrived. None at the end."""
        while len(self._ends) < most and not self._done:
            if eager and len(self._ends) and not self._stream.ready():
                break
            self._fill(most, eager)
        count = min(most, len(self._ends))
        return Chunk(self._buffer[self._at : int(self._ends[count - 1])], count, self._line) if count else None

    def rows(self, most: int, *, eager: bool = False) -> Chunk | None:
        """The same rows, handed out."""
        chunk = self.peek(most, eager=eager)
        if chunk is not None:
            self._ends = self._ends[chunk.rows :]
            self._at += len(chunk.data)
            self._line += _count_lines(chunk.data)
            self._bytes_a_row = len(chunk.data) / chunk.rows
        return chunk

    def _fill(self, most: int, eager: bool) -> None:
        """Read about what the missing rows need, in one piece."""
        wanted = max(READ, int((most - len(self._ends)) * self._bytes_a_row * 1.02), (len(self._buffer) - self._at) >> 2)
        pieces, size = [], 0
        while size < wanted:
            piece = self._stream.read(wanted - size)
            pieces.append(piece)
            size += len(piece)
            if not piece or (eager and not self._stream.ready()):
                break
        self._append(b"".join(pieces), final=not pieces[-1])

    def _append(self, data: bytes, final: bool | None = None) -> None:
        """Add bytes; a row still open is scanned again from its start, so the state of quotes is known there."""
        kept = self._buffer[self._at :]
        self._ends = self._ends - self._at
        self._at = 0
        self._buffer = kept + data
        self._done = not data if final is None else final
        start = int(self._ends[-1]) if len(self._ends) else 0
        fresh = self._scan(self._buffer[start:]) + start
        self._ends = np.concatenate([self._ends, fresh])
        open_bytes = len(self._buffer) - (int(self._ends[-1]) if len(self._ends) else 0)
        if open_bytes > LONGEST_ROW:
            raise DataError(
                f"{self.name}, line {self._line + _count_lines(self._buffer[: len(self._buffer) - open_bytes])}: "
                f"a row longer than {LONGEST_ROW >> 20} MB",
                "is a quote left open there?",
            )

    def _scan(self, data: bytes) -> Positions:
        """Ends of the rows that are complete in `data`, which begins at a row's start."""
        if not data:
            return np.zeros(0, dtype=np.int64)
        if self._dialect.comment is not None:
            return self._scan_slowly(data)
        bytes_ = np.frombuffer(data, dtype=np.uint8)
        breaks = np.flatnonzero(bytes_ == NEWLINE)
        if b"\r" in data:
            breaks = self._with_lone_returns(bytes_, breaks)
        if b'"' in data:
            quotes = np.flatnonzero(bytes_ == QUOTE)
            if not self._well_placed(bytes_, quotes):
                return self._scan_slowly(data)
            breaks = breaks[np.searchsorted(quotes, breaks) % 2 == 0]
            closed = len(quotes) % 2 == 0
        else:
            closed = True
        ends = breaks[~_blank(bytes_, breaks)] + 1
        if self._done:
            last = int(breaks[-1]) + 1 if len(breaks) else 0
            if last < len(data) and (not closed or data[last:].strip(b"\r\n")):
                ends = np.append(ends, len(data))
        return ends

    def _with_lone_returns(self, data: NDArray[np.uint8], breaks: Positions) -> Positions:
        """Old files end a row with a carriage return alone; the last byte is undecided until the next one is there."""
        returns = np.flatnonzero(data == RETURN)
        inner = returns[returns < len(data) - 1]
        lone = inner[data[inner + 1] != NEWLINE]
        if self._done and len(returns) and returns[-1] == len(data) - 1:
            lone = np.append(lone, returns[-1])
        return np.sort(np.concatenate([breaks, lone])) if len(lone) else breaks

    def _well_placed(self, data: NDArray[np.uint8], quotes: Positions) -> bool:
        """Does every quote that should open a field stand at a field's start? Then counting quotes tells inside from out."""
        opening = quotes[0::2]
        before = data[np.maximum(opening - 1, 0)]
        starts = (opening == 0) | (before == NEWLINE) | (before == RETURN)
        for separator in self._separators:
            starts |= before == separator
        closing = quotes[1::2]
        doubled = np.zeros(len(opening), dtype=bool)
        doubled[1:] = opening[1:] == closing[: len(opening) - 1] + 1  # a doubled quote inside a field
        return bool(np.all(starts | doubled))

    def _scan_slowly(self, data: bytes) -> Positions:
        """Row by row with a pattern, for quotes in odd places and for comments."""
        ends: list[int] = []
        at = 0
        while at < len(data):
            found = self._slow_row.match(data, at)
            if found is None:
                break
            at = found.end()
            complete = found.group("end") and not (at == len(data) and found.group("end") == b"\r" and not self._done)
            if not complete and not self._done:
                break
            body = data[found.start() : found.start("end")]
            if body and found.group("note") is None:
                ends.append(at)
        return np.array(ends, dtype=np.int64)


def _row_pattern(separators: bytes, comment: str | None) -> re.Pattern[bytes]:
    apart = b"[" + re.escape(separators) + b"]"
    bare = b"[^" + re.escape(separators) + rb"\r\n]*+"
    field = rb'(?:"(?:[^"]++|"")*+(?:"|\Z)' + bare + b"|" + bare + b")"
    row = field + b"(?:" + apart + field + b")*+"
    note = rb"(?P<note>(?!))"
    if comment is not None:
        mark = re.escape(comment.encode())
        note = b"(?P<note>[ \t]*" + mark + rb"[^\r\n]*+)"
    return re.compile(b"(?:" + note + b"|" + row + rb")(?P<end>\r\n|\n|\r|\Z)")


def _blank(data: NDArray[np.uint8], breaks: Positions) -> NDArray[np.bool_]:
    """Which breaks end a line with nothing on it; such lines are no rows."""
    starts = np.concatenate([[0], breaks[:-1] + 1])
    length = breaks - starts
    blank: NDArray[np.bool_] = length == 0
    if len(breaks):
        blank |= (length == 1) & (data[starts] == RETURN)
    return blank


def _count_lines(data: bytes) -> int:
    """Lines as an editor counts them."""
    lines = data.count(b"\n")
    if b"\r" in data:
        lines += data.count(b"\r") - data.count(b"\r\n")
    return lines
