"""The first line of a text table: names, or a first row of data; and whether its fields are cut as they should be."""

from __future__ import annotations

import re
from dataclasses import replace

from pcatool.errors import DataError, show
from pcatool.options import BLANKS
from pcatool.progress import Notices
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.reference import rows_of
from pcatool.readers.cutter import Chunk

__all__ = [
    "LOOKED_AT",
    "by_blanks",
    "check_comment",
    "check_kind",
    "check_names",
    "check_separator",
    "check_text",
    "with_row_name",
]

# The name of the column of row names where the header has none for it.
ROW_NAME = "row_name"

SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
# What other texts begin with.
OTHERS = {
    re.compile(r"\s*(?:\{\s*(?:\"|$)|\[\s*(?:[\[{\"]|-?[0-9.]+$|$))"): ("JSON", "convert it to CSV or Parquet"),
    re.compile(r"\s*<(?:!doctype|!--|html|head|body|table)\b", re.IGNORECASE): ("HTML", "is it the page of an error?"),
    re.compile(r"\s*<(?:\?xml|svg|stata_dta)\b", re.IGNORECASE): ("XML", "convert it to CSV or Parquet"),
    re.compile(r"\{\\rtf"): ("a document (RTF)", "save it as plain text"),
    re.compile(r"version https://git-lfs"): ("the pointer to a file in git-lfs", "fetch the file with: git lfs pull"),
    re.compile(r"sep=", re.IGNORECASE): (
        "a line for spreadsheets",
        "pass over it with --skip-lines 1, and name the -d",
    ),
}
# So many rows tell how a table is separated.
LOOKED_AT = 100
WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)


def check_separator(cells: list[str], dialect: Dialect, place: str) -> None:
    """A line of one field that another separator would cut is refused."""
    if len(cells) != 1:
        return
    for separator, spelled in SEPARATORS.items():
        if separator != dialect.delimiter and separator in cells[0]:
            raise DataError(f"{place}: one field, {show(cells[0])}, with {spelled} in it", f"read it with -d {spelled}")


def check_comment(first: Chunk, dialect: Dialect, place: str) -> None:
    """A comment that leaves one field of a line that it would separate is refused: the other columns would be lost."""
    mark = dialect.comment
    if mark not in SEPARATORS:
        return
    *_, (_, cells) = rows_of(first, replace(dialect, comment=None), place)
    if mark in cells[0]:
        raise DataError(
            f"{place}: --comment {show(mark)} cuts off what follows {show(cells[0].partition(mark)[0])}",
            f"if it separates the fields, read it with -d {SEPARATORS[mark]} without --comment; or else say -d ','",
        )


def by_blanks(names: Chunk | None, rows: Chunk, dialect: Dialect) -> str:
    """How a table of one column is read that runs of blanks would cut into columns, one of them of numbers; or "".

    `names` is the line of names as it lies in the file, None where there is none. R's write.table separates by blanks,
    quotes texts, and writes a name before each row.
    """
    cut = replace(dialect, delimiter=BLANKS, lone=False)
    first = [cells for _, cells in rows_of(rows, cut, "")]
    width = len(first[0]) if first else 0
    header = width if names is None else len(next(iter(rows_of(names, cut, "")), (0, [""]))[1])
    if width < 2 or header not in (width, width - 1) or any(len(cells) != width for cells in first):
        return ""
    # A decimal comma is told of when the columns are there.
    numbers = [replace(cut, decimal=decimal) for decimal in ".,"]
    columns = list(zip(*first, strict=True))[width - header :]
    for column in columns:
        filled = [cell for cell in column if not cut.is_missing(cell)]
        if filled and any(all(each.number(cell) is not None for cell in filled) for each in numbers):
            return "read it with -d blanks" + (" --row-names" if header < width else "")
    return ""


def check_names(cells: list[str], dialect: Dialect, place: str, notices: Notices) -> None:
    """Names that are numbers may be a first row of data: whole numbers are taken with a note, others refused."""
    filled = [c for c in cells if c.strip()]
    numbers = [c for c in filled if dialect.number(c) is not None]
    fractions = [c for c in numbers if not WHOLE.fullmatch(c)]
    # Among as many texts, a number may well be a name.
    if fractions and 2 * len(numbers) >= len(filled):
        raise DataError(
            f"{place}: the first line looks like data ({show(fractions[0])}), not like names",
            "read it with --no-header, or with --header if these are names",
        )
    if numbers and len(numbers) == len(filled):
        notices.note(f"{place}: whole numbers are taken as names; --no-header reads them as data")


def check_text(cells: list[str], place: str) -> None:
    """NUL bytes stand in no text: this is another encoding, or no text."""
    text = "".join(cells)
    if "\0" in text:
        # UTF-16 without its mark reads as text with a NUL beside every letter.
        order = "be" if text.startswith("\0") else "le"
        sparse = 3 * text.count("\0") < len(text)
        remedy = "is this a text table?" if sparse else f"name the encoding, such as --encoding utf-16-{order}"
        raise DataError(f"{place}: NUL bytes", remedy)


def check_kind(cells: list[str], place: str) -> None:
    """Texts that are no tables, by how they begin."""
    for beginning, (what, remedy) in OTHERS.items():
        if beginning.match(cells[0]):
            raise DataError(f"{place}: this is {what}, not a table", remedy)


def with_row_name(names: list[str], first: list[str] | None) -> list[str]:
    """The names with one for the first field of each row, which names the row.

    R's write.table writes no name for it, write.csv and pandas an empty one. `first`: the first row, if there is one.
    """
    own = ROW_NAME
    while own in names:
        own += "_"
    named = bool(names) and (not names[0].strip() or (first is not None and len(first) == len(names)))
    if first is not None and len(first) not in (len(names), len(names) + 1):
        return names  # the row is told of when it is read
    if not named:
        return [own, *names]
    return [names[0] if names[0].strip() else own, *names[1:]]
