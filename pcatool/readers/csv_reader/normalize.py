"""Normalize text for Arrow's parser: comments, runs of blanks, quoted fields that go on after their quote.

Comments and runs of blanks taken out of a text, line for line, so that what is left is CSV as everybody knows it.
Where there is only one column, a blank line is a row whose cell is missing, and is marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np

from pcatool.readers.csv_reader.dialect import Dialect

__all__ = ["note_padding", "plain", "runs_on", "with_quotes"]

# Before what ends it: a line end is CR, LF or both.
BLANK_LINE = rb"(?:\A|(?<=\n)|(?<=\r)(?!\n))(?=[\r\n])"
EDGE = rb"(?P<edge>(?:\A|(?<=[\r\n]))[ \t]+|[ \t]+(?=[\r\n]|\Z))"


def plain(data: bytes, dialect: Dialect) -> bytes:
    """The same rows on the same lines, fields separated by `dialect.separator`."""
    if dialect.lone:
        data = _blank_lines_filled(data, dialect)
    if dialect.comment is not None and (mark := dialect.comment.encode()) in data:
        data = _without_notes(data, mark, dialect)
    return _one_blank(data, dialect) if dialect.blanks else data


def note_padding(dialect: Dialect) -> bytes:
    """Blanks before a comment belong to it, unless they separate fields."""
    return b" \t" if dialect.blanks else b" \t".replace(dialect.delimiter.encode(), b"")


def _blank_lines_filled(data: bytes, dialect: Dialect) -> bytes:
    """A quoted empty cell on every line that has nothing."""
    if b'"' in data:
        return _quoted_or(dialect, BLANK_LINE).sub(lambda found: found[0] or b'""', data)
    # The same, forty times as fast. Each newline is seen with the one before it, or in the second round.
    data = b"\n" + data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.replace(b"\n\n", b'\n""\n').replace(b"\n\n", b'\n""\n')[1:]


def _without_notes(data: bytes, mark: bytes, dialect: Dialect) -> bytes:
    pieces, at, padding = [], 0, note_padding(dialect)
    for found in _quoted_or(dialect, re.escape(mark) + rb"[^\r\n]*").finditer(data):
        if found[0].startswith(mark):
            before = data[at : found.start()].rstrip(padding)
            pieces += [before, _line_left(data, at + len(before), found.end())]
            at = found.end()
    return b"".join([*pieces, data[at:]])


def _one_blank(data: bytes, dialect: Dialect) -> bytes:
    """One blank for each run of them, and none at the ends of lines."""
    if b'"' in data:
        return _quoted_or(dialect, EDGE + b"|[ \t]+").sub(_one_run, data)
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _one_run(found: re.Match[bytes]) -> bytes:
    if found[0].startswith(b'"'):
        return found[0]
    return b" " if found["edge"] is None else _line_left(found.string, found.start(), found.end())


def _line_left(data: bytes, start: int, end: int) -> bytes:
    """What stays of data[start:end]: a line end, if that was all between CR and LF, or the two would become one."""
    return b"\n" if data[start - 1 : start] == b"\r" and data[end : end + 1] == b"\n" else b""


@cache
def _quoted_or(dialect: Dialect, pattern: bytes) -> re.Pattern[bytes]:
    """A quoted field, or the pattern. Either begins with a letter of its own, which makes the search fast."""
    not_at_start = b"[^" + re.escape(dialect.separators) + rb"\r\n]"
    return re.compile(b'"(?<!' + not_at_start + b'")(?:[^"]|"")*"|' + pattern)


NEWLINE, RETURN, QUOTE = 10, 13, 34


def runs_on(data: bytes, dialect: Dialect) -> bool:
    """Is there such a field in this plain CSV, which begins with a row?"""
    if b'"' not in data:
        return False
    text = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(text == QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    ends = np.array([NEWLINE, RETURN, QUOTE, ord(dialect.separator)], dtype=np.uint8)
    starts_well = (opening == 0) | np.isin(text[opening - 1], ends)
    ends_well = (closing == len(text) - 1) | np.isin(text[np.minimum(closing + 1, len(text) - 1)], ends)
    # A quote in an unquoted field looks as bad: then a pattern tells.
    return not (starts_well.all() and ends_well.all()) and any(True for _ in _fields(data, dialect))


def with_quotes(data: bytes, dialect: Dialect) -> bytes:
    """The same rows, such fields quoted anew as a whole, so that what closed them is seen in the cell."""
    pieces, at = [], 0
    for field in _fields(data, dialect):
        pieces += [data[at : field.start()], b'"', field["quoted"], b'""', field["rest"].replace(b'"', b'""'), b'"']
        at = field.end()
    return b"".join([*pieces, data[at:]])


def _fields(data: bytes, dialect: Dialect) -> Iterator[re.Match[bytes]]:
    """Blanks may follow a quote."""
    return (field for field in _pattern(dialect.separator).finditer(data) if field["rest"].strip(b" \t"))


@cache
def _pattern(separator: str) -> re.Pattern[bytes]:
    ends = re.escape(separator.encode()) + rb"\r\n"
    return re.compile(b'"(?<![^' + ends + b']")(?P<quoted>[^"]*(?:""[^"]*)*)"(?P<rest>[^' + ends + b"]*)")
