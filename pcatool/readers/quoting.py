"""Quoted fields that go on after their closing quote: CSV readers join the two, but `"2"3` is not the number 23."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np

from pcatool.readers.csv_reader.dialect import Dialect

__all__ = ["runs_on", "with_quotes"]

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
