"""Where rows end in a stream of bytes, without parsing: a line end inside quotes ends no row, a blank line is none.

Where there is only one column, a blank line is a row, too.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.normalize import note_padding

__all__ = ["NONE", "OpenQuote", "Positions", "RowEnds", "count_lines"]

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
