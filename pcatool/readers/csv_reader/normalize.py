"""Normalize text for Arrow's parser: comments, runs of blanks, and fields with text after their closing quote.

`normalize` removes comments and joins runs of blanks without moving a row to another line, so that the result is
ordinary CSV. In a table of one column a blank line is a row with a missing cell; `normalize` writes a quoted empty cell
there.

A field such as "a"b, with text after the closing quote, is one cell for Arrow and for Python: ab.
`has_text_after_quote` finds such fields, and `requoted` quotes them again so that their quotes stay visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np

from pcatool.readers.csv_reader.dialect import Dialect

__all__ = ["has_text_after_quote", "normalize", "requoted"]

# The empty place before the line end of a blank line. A line end is CR, LF or both.
BLANK_LINE = rb"(?:\A|(?<=\n)|(?<=\r)(?!\n))(?=[\r\n])"
EDGE = rb"(?P<edge>(?:\A|(?<=[\r\n]))[ \t]+|[ \t]+(?=[\r\n]|\Z))"


def normalize(data: bytes, dialect: Dialect) -> bytes:
    """Return the rows as ordinary CSV with `dialect.separator`: no comments, no runs of blanks, same line numbers."""
    if dialect.single_column:
        data = _blank_lines_filled(data, dialect)
    if dialect.comment is not None and (mark := dialect.comment.encode()) in data:
        data = _without_comments(data, mark, dialect)
    return _join_blanks(data, dialect) if dialect.blanks else data


def _blank_lines_filled(data: bytes, dialect: Dialect) -> bytes:
    """Return the data with a quoted empty cell on every blank line outside quotes."""
    if b'"' in data:
        return _quoted_or(dialect, BLANK_LINE).sub(lambda found: found[0] or b'""', data)
    # Without quotes `replace` does it, forty times as fast as the pattern. The second pass finds the pairs of newlines
    # that share a newline with a pair of the first pass.
    data = b"\n" + data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.replace(b"\n\n", b'\n""\n').replace(b"\n\n", b'\n""\n')[1:]


def _without_comments(data: bytes, mark: bytes, dialect: Dialect) -> bytes:
    """Return the data without comments (from the mark to the end of the line) and the blanks before them."""
    pieces, at, padding = [], 0, dialect.comment_padding
    for found in _quoted_or(dialect, re.escape(mark) + rb"[^\r\n]*").finditer(data):
        if found[0].startswith(mark):
            before = data[at : found.start()].rstrip(padding)
            pieces += [before, _replacement(data, at + len(before), found.end())]
            at = found.end()
    return b"".join([*pieces, data[at:]])


def _join_blanks(data: bytes, dialect: Dialect) -> bytes:
    """Return the data with one space for each run of blanks, and without blanks at both ends of lines."""
    if b'"' in data:
        return _quoted_or(dialect, EDGE + b"|[ \t]+").sub(_join_run, data)
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _join_run(found: re.Match[bytes]) -> bytes:
    if found[0].startswith(b'"'):
        return found[0]
    return b" " if found["edge"] is None else _replacement(found.string, found.start(), found.end())


def _replacement(data: bytes, start: int, end: int) -> bytes:
    """Return the bytes that stay if data[start:end] is removed: none, except a newline between CR and LF.

    Without this newline, CR and LF would join to one line end.
    """
    return b"\n" if data[start - 1 : start] == b"\r" and data[end : end + 1] == b"\n" else b""


@cache
def _quoted_or(dialect: Dialect, pattern: bytes) -> re.Pattern[bytes]:
    """Compile a regular expression that matches a whole quoted field, or else `pattern` outside quotes.

    Each branch begins with its own fixed characters, which keeps the search fast.
    """
    not_at_start = b"[^" + re.escape(dialect.separators) + rb"\r\n]"
    return re.compile(b'"(?<!' + not_at_start + b'")(?:[^"]|"")*"|' + pattern)


NEWLINE, RETURN, QUOTE = 10, 13, 34


def has_text_after_quote(data: bytes, dialect: Dialect) -> bool:
    """Return whether a quoted field has text after its closing quote; `data` is normalized and begins with a row."""
    if b'"' not in data:
        return False
    text = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(text == QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    ends = np.array([NEWLINE, RETURN, QUOTE, ord(dialect.separator)], dtype=np.uint8)
    starts_well = (opening == 0) | np.isin(text[opening - 1], ends)
    ends_well = (closing == len(text) - 1) | np.isin(text[np.minimum(closing + 1, len(text) - 1)], ends)
    # A quote inside an unquoted field fails this check too; then the pattern decides.
    return not (starts_well.all() and ends_well.all()) and any(True for _ in _fields(data, dialect))


def requoted(data: bytes, dialect: Dialect) -> bytes:
    """Return the data with fields such as "1"2 quoted as a whole, so that their quotes become part of the cell."""
    pieces, at = [], 0
    for field in _fields(data, dialect):
        pieces += [data[at : field.start()], b'"', field["quoted"], b'""', field["rest"].replace(b'"', b'""'), b'"']
        at = field.end()
    return b"".join([*pieces, data[at:]])


def _fields(data: bytes, dialect: Dialect) -> Iterator[re.Match[bytes]]:
    """Yield a match of `_pattern` for each quoted field with text, not only blanks, after its closing quote."""
    return (field for field in _pattern(dialect.separator).finditer(data) if field["rest"].strip(b" \t"))


@cache
def _pattern(separator: str) -> re.Pattern[bytes]:
    """Compile a regular expression for a quoted field: the group `rest` is the text after its closing quote."""
    ends = re.escape(separator.encode()) + rb"\r\n"
    return re.compile(b'"(?<![^' + ends + b']")(?P<quoted>[^"]*(?:""[^"]*)*)"(?P<rest>[^' + ends + b"]*)")
