"""Numbers in other letters: digits of other scripts, another minus, invisible characters, quotation marks."""

from __future__ import annotations

import unicodedata

from pcatool.readers.csv_reader.dialect import Dialect

__all__ = ["PLAINLY", "is_foreign"]

PLAINLY = "write numbers plainly, as in -1.5e3"

MINUS = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
POINT = "\u066b"
# Marks around a number, zero-width blanks and joiners, and the byte-order mark.
NOTHING = "'\"`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u200b\u200c\u200d\u2060\ufeff"
PLAIN = str.maketrans({**dict.fromkeys(MINUS, "-"), **dict.fromkeys(NOTHING, ""), POINT: "."})


def is_foreign(cell: str, dialect: Dialect) -> bool:
    """Would the cell be a number in plain letters?"""
    text = cell.translate(PLAIN)
    text = "".join(str(unicodedata.decimal(c, c)) for c in text)
    return text != cell and dialect.number(unicodedata.normalize("NFKC", text)) is not None
