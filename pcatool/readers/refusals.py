"""Rows and cells of a text table that cannot be read: what they seem to be, and what to do about them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from pcatool.errors import DataError, show
from pcatool.readers.base import MEND, Feature
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.hints import reading_of
from pcatool.readers.foreign import PLAINLY, is_foreign

__all__ = ["Rereads", "ragged", "remedy_for"]

# The rows of a chunk, read once more: only an error needs them.
Rereads: TypeAlias = Callable[[], Sequence[Sequence[str]]]


def remedy_for(cell: str, feature: Feature, features: Sequence[Feature], dialect: Dialect, rows: Rereads) -> str:
    """The remedy for a cell that is no number, by the other cells of its column and of the other features."""

    def cells(column: int) -> list[str]:
        return [row[column] for row in rows() if column < len(row)]

    def others() -> Mapping[int, Sequence[str]]:
        return {f.column: cells(f.column) for f in features if f.column != feature.column}

    column = cells(feature.column)
    dressed = reading_of(cell, column, dialect, others)
    if dressed is not None:
        return dressed
    if is_foreign(cell, dialect):
        return PLAINLY
    if cell.strip("\ufeff").strip() == feature.name.strip():
        return "is the line of names repeated there? give files one by one, not joined"
    return _of_a_mixture(cell, feature, column, dialect) or MEND


def _of_a_mixture(cell: str, feature: Feature, column: Sequence[str], dialect: Dialect) -> str | None:
    """The remedy for a column of text and numbers; a text alone among numbers is a cell to be mended."""
    filled = [c for c in column if not dialect.is_missing(c)]
    numbers = [c for c in filled if dialect.number(c) is not None]
    texts = len(filled) - len(numbers)
    if not numbers or (texts == 1 and filled[0] != cell):
        return None
    return (
        f"the column mixes text and numbers, such as {show(numbers[0])}: fit without it (-x {_term(feature)}), mend "
        f"the cells, or name with --null-value what means missing"
    )


def _term(feature: Feature) -> str:
    """A column as a word of a command."""
    plain = feature.name.isprintable() and not feature.name.startswith("-") and "'" not in feature.name
    return shlex.quote(feature.name) if plain else str(feature.column + 1)


def ragged(
    place: str, cells: Sequence[str], width: int, rows: Rereads, dialect: Dialect, begins: bool | None
) -> DataError:
    """The error of a row with more or fewer fields than there are columns.

    `begins`: do the rows begin below the header? None where there is no header.
    """
    there = f"{len(cells)} field" + ("s" if len(cells) != 1 else "")
    expected = f"the {'first row' if begins is None else 'header'} has {width}"
    error = DataError(f"{place}: {there}, {expected}")
    if any("\n" in cell or "\r" in cell for cell in cells):
        error.add_remedy("is a quote left open there?")
    elif cells[0].lstrip().startswith("#"):
        error.add_remedy("if it is a comment, read it with --comment '#'")
    elif begins and len(cells) == width + 1 and (remedy := _of_longer_rows(rows(), width, dialect)):
        error.add_remedy(remedy)
    elif width == 1 and begins is not None:
        error.add_remedy("is the header a title or a comment? pass over it with --skip-lines or --comment")
    else:
        error.add_remedy("mend the row, or name another separator with -d")
    return error


def _of_longer_rows(rows: Sequence[Sequence[str]], width: int, dialect: Dialect) -> str | None:
    """The remedy where every row has one field more than the header; None where only some have."""
    if any(len(row) != width + 1 for row in rows):
        return None
    if not any(row[-1].strip() for row in rows):
        return "every row ends with a separator, which the header does not: take it off, or put one after the header"
    if width == 1 and dialect.number(rows[0][-1]) is None and not dialect.is_missing(rows[0][-1]):
        return None  # a title above the names
    return (
        "every row has one field more than the header: if the first field is the row's name, as R's write.table "
        "writes it, read it with --row-names; or else name the column in the header"
    )
