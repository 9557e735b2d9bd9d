"""Text tables as nobody should write them, against Python's `csv` and `float`: the same values, or the right place."""

from __future__ import annotations

import csv
import gzip
import io
import math
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from pcatool.arrays import block_rows
from pcatool.errors import DataError
from pcatool.wording import show
from readers.by_letter import Joined, Rows, states
from readers.reading import MISSING, number, read, same_bits

__all__ = ["check"]

NAMES = ["a", "b", "ü", '"c"', '"d,;\t| #"', '"e\n"', "f g"]
GOOD = ["0", "1", "-2", "+3", "4.5", "-.5", "6.", "7e3", "8E-05", "0009", "1e-400", "5e-324", "1.7976931348623157e308"]
HOLES = ["", "", "NA", "nan", "-NaN", " ", "null", "N/A", "None", ".", '""', '" "', '"\n"']
PADDED = [" 1", "2 ", "\t3", "\u00a04", "5\u2009", "\u30006", "\v7", '"8"', '" 9 "', '"10" ', '"11\r\n"', "\x1c12"]
LONG = ["9007199254740993", "-12345678901234567891", "0.1" + "0" * 40 + "1", "1" * 309, "1" * 310, "0" * 5000 + "1"]
NONE = [
    "x", "inf", "-Infinity", "1e400", "0x1A", "1_0", "1d5", "1,5", "$5", "5%", "1e", "e5", "--1", "1.2.3", "true", "?",
    "\u22125", "\uff11", "\u0661", "\u200b5", "\ufeff5", "5\0", "\0", "#", "5#6", "nan(1)", "1 2", "-", "é",
    '"2"3', '2"3', '""5', '"x""y"', '"1,5"', ' "5"', '"', '""""', "'1'", '"a\r"', '"\u2028"', "\u20285", "\x85", "-999",
]  # fmt: skip
ENDS = ["\n", "\n", "\r\n", "\r"]
BLANK = ["", "", "", "", " ", "\t", "# x", "  # x", '""']
SEPARATORS = {",": None, ";": ";", "\t": "tab", "|": "|", " ": "space"}


@dataclass
class Table:
    """A table as it is written, and how it is to be read."""

    text: str
    separator: str
    width: int
    names: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    judged_by: int = 0  # rows, the first ones


def check(rng: random.Random, count: int) -> None:
    with TemporaryDirectory() as folder:
        for _ in range(count):
            one(rng, Path(folder) / "t.csv")


def one(rng: random.Random, path: Path) -> None:
    table = some_table(rng)
    path.write_bytes(packed(rng, table.text.encode(some_encoding(rng, table))))
    rows = rows_of(table)
    with small_pieces(rng):
        table.judged_by = block_rows(table.width)
        judged = rng.random() < 0.5
        wanted = {} if judged else {"names": table.names}
        try:
            found = read(
                path, keep=[str(i + 1) for i in range(table.width)], eager=rng.random() < 0.3, **wanted, **table.options
            )
        except DataError as error:
            assert refused(str(error), table, rows, judged), (table, error, first_wrong(table, rows))
            return
    assert not isinstance(rows, int), (table, "a quote is never closed", rows)
    columns = [table.names.index(name) for name in found.names]
    assert judged or columns == list(range(table.width))
    assert all(is_text(table, rows, i) for i in set(range(table.width)) - set(columns)), (table, found.names)
    wrong = first_wrong(table, rows, columns)
    assert wrong is None, (table, wrong)
    cells = [cells for _, cells in rows]
    X = np.array([[value(table, row[i]) for i in columns] for row in cells], dtype=np.float64)
    assert same_bits(found.X, X.reshape(len(cells), len(columns))), (table, found.X, X)
    assert found.kept == [[row[i] for row in cells] for i in range(table.width)], (table, found.kept)
    told = any("2^53" in note for note in found.notes)
    assert told == any(is_rounded(table, row[i]) for row in cells for i in columns), (table, found.notes)


# --- making tables ---


def some_table(rng: random.Random) -> Table:
    separator = rng.choice([",", ",", ",", ";", "\t", "|", " "])
    width = rng.choice([1, 1, 2, 2, 3, 5])
    table = Table("", separator, width, [])
    if separator != "," or width == 1:
        table.options["delimiter"] = SEPARATORS[separator] or ","
    if separator == ";" and rng.random() < 0.5:
        table.options["decimal"] = ","
    if rng.random() < 0.2:
        table.options["comment"] = "#"
    if rng.random() < 0.2:
        table.options["null_value"] = ["-999", "?"]
    table.options["header"] = rng.random() < 0.9
    raw = rng.sample([name for name in NAMES if separator not in name or name.startswith('"')], width)
    lines = []
    if table.options["header"]:
        lines.append(separator.join(raw))
        table.names = next(csv.reader(io.StringIO(lines[0], newline=""), delimiter=separator))
    else:
        lines.append(separator.join("1" * width))  # tells how many columns there are
        table.names = [f"c{i + 1}" for i in range(width)]
    odd = rng.choice([0, 0, 0, 0.02, 0.2])
    pools = [GOOD, *rng.sample([HOLES, PADDED, LONG], rng.randint(0, 3))]
    ragged = rng.choice([0, 0, 0, 0.02])
    lines += [
        separator.join(
            rng.choice(NONE if rng.random() < odd else rng.choice(pools))
            for _ in range(width + (rng.choice([-1, 1]) if rng.random() < ragged else 0))
        )
        for _ in range(rng.choice([0, 1, 2, 5, 20, 60]))
    ]
    table.text = laid_out(rng, lines)
    return table


def laid_out(rng: random.Random, lines: list[str]) -> str:
    """The lines with line ends of one kind or many, blank lines between them, and perhaps none at the end."""
    ends = [rng.choice(ENDS)] if rng.random() < 0.7 else ENDS
    blank = rng.choice([0, 0, 0.1])
    pieces = []
    for line in lines:
        if rng.random() < blank:
            pieces += [rng.choice(BLANK) if pieces else "", rng.choice(ends)]  # the first that is not tells the names
        pieces += [line, rng.choice(ends)]
    if pieces and rng.random() < 0.3:
        pieces.pop()
    return "".join(pieces)


def some_encoding(rng: random.Random, table: Table) -> str:
    """A mark is enough; without one the encoding is named."""
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
    if encoding == "utf-16-le":
        table.options["encoding"] = encoding
    return encoding


def packed(rng: random.Random, data: bytes) -> bytes:
    """As it is, or in one or two members of gzip, cut anywhere."""
    if rng.random() < 0.8:
        return data
    at = rng.randint(0, len(data))
    return gzip.compress(data[:at], 1) + gzip.compress(data[at:], 1) + b"\0" * rng.choice([0, 0, 300])


@contextmanager
def small_pieces(rng: random.Random) -> Iterator[None]:
    """Read in pieces of a few bytes, cut into chunks of a few rows; or as always."""
    if rng.random() < 0.3:
        yield
        return
    height = rng.choice([1, 2, 7])
    with (
        patch("pcatool.readers.csv_reader.split.READ_BYTES", rng.choice([1, 3, 50, 1000])),
        patch("pcatool.readers.csv_reader.chunk_parser.rows_at_once", lambda d: height),
        patch("pcatool.arrays.MOST_ROWS", rng.choice([1, 8])),
    ):
        yield


# --- what they say ---


def rows_of(table: Table) -> Rows | int:
    """Rows of data, letter by letter; Python's csv module, where it can tell, says the same."""
    lone = table.width == 1
    comment = table.options.get("comment", "")
    text = table.text
    rows = states("c1\n" + text if lone and not table.options["header"] else text, table.separator, comment, lone)
    if isinstance(rows, int):
        return rows - (lone and not table.options["header"])
    if lone and not table.options["header"]:
        rows = [(line - 1, cells) for line, cells in rows]
    if not comment and not lone:
        by_module = csv.reader(io.StringIO(text, newline=""), delimiter=table.separator)
        assert [cells for cells in by_module if cells] == [cells for _, cells in rows], table
    return rows[1:] if table.options["header"] or lone else rows


def value(table: Table, cell: str) -> float | None:
    """NaN when it is missing, None when it is no finite number."""
    if isinstance(cell, Joined):
        return None
    if cell.strip().lower() in MISSING | set(table.options.get("null_value", ())):
        return math.nan
    if table.options.get("decimal") == ",":
        cell = cell.replace(".", "x").replace(",", ".")
    return number(cell)


def is_rounded(table: Table, cell: str) -> bool:
    whole = cell.strip().removesuffix(".")
    if not whole.lstrip("+-").isdigit() or not whole.isascii() or value(table, cell) != value(table, cell):
        return False
    exact = int(whole.lstrip("+-").lstrip("0") or "0")
    return exact != int(float(exact))


def first_wrong(table: Table, rows: Rows | int, columns: list[int] | None = None) -> str | None:
    """How the error of the first row that cannot be read begins."""
    if isinstance(rows, int):
        return f"line {rows}: a quote in this line is never closed"
    for line, cells in rows:
        if len(cells) != table.width:
            return f"line {line}: the row has {len(cells)} field"
        for i in range(table.width) if columns is None else columns:
            if value(table, cells[i]) is None:
                return f"line {line}, column {show(table.names[i])}"
    return None


def is_text(table: Table, rows: Rows, i: int) -> bool:
    """May this column be left out: does its first block hold no number, but something?"""
    first = [cells[i] for _, cells in rows[: table.judged_by] if i < len(cells)]
    values = [value(table, str(cell)) for cell in first]  # of a joined cell, as CSV readers have it
    return None in values and not any(is_infinite(cell) for cell in first) and all(v is None or v != v for v in values)


def is_infinite(cell: str) -> bool:
    try:
        return cell.isascii() and "_" not in cell and math.isinf(float(cell))
    except ValueError:
        return False


def refused(error: str, table: Table, rows: Rows | int, judged: bool) -> bool:
    """Is there something wrong where the error says?"""
    if isinstance(rows, int):
        # It may be met before an earlier row is looked into, or after.
        return "never closed" not in error or first_wrong(table, rows) in error
    if "is empty" in error:
        return not rows and not table.options["header"]
    if "NUL bytes" in error:
        return not table.options["header"] and "\0" in "".join(rows[0][1])
    if "a NUL byte" in error:
        lines = (len(re.findall("\r\n|\r|\n", table.text[: nul.start()])) + 1 for nul in re.finditer("\0", table.text))
        return any(f", line {line}:" in error for line in lines)
    texts = [i for i in range(table.width) if judged and is_text(table, rows, i)]
    if "no column" in error or "is not a plain number" in error:
        return bool(texts)
    places = [first_wrong(table, rows, [i for i in range(table.width) if i not in texts])]
    if judged:
        places.append(first_wrong(table, rows, []))  # the number of fields is looked at first
    return any(place is not None and place in error for place in places)
