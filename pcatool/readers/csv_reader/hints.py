"""Hints for cells and rows that cannot be read: thousands marks, decimal commas, other scripts, ragged rows.

Cells that are numbers but for thousands marks, a decimal comma, a currency or per-cent sign: what reads them.
Marks are judged with the other cells of the column, and with those of the other columns, since one option is for the
whole table: 1,234 is 1234 beside 2.5, and 1.234 beside 12,5. Where the table leaves two numbers open, both are named.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from pcatool.errors import DataError, show
from pcatool.readers.base import MEND, Feature
from pcatool.readers.csv_reader.dialect import PADDING, Dialect

__all__ = ["LOOKED_AT", "PLAINLY", "Others", "Rereads", "dressing", "is_foreign", "ragged", "remedy_for"]

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


# Signs that stand around a number without changing what it counts.
SYMBOLS = "$€£¥₹₽₩₺¢%‰"
# Currencies whose amounts have no decimals.
WHOLE = "¥₩"
# Decimal and thousands marks in use, the commoner first: where several read the cells alike, the first is named.
MARKS = ((".", ","), (",", None), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"), (",", "_"))
DRESSED = re.compile(rf"[-+0-9.,'_eE{SYMBOLS}{PADDING}\u2019]*[0-9][-+0-9.,'_eE{SYMBOLS}{PADDING}\u2019]*")
# Four groups of digits are more likely an address in a network.
ADDRESS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
# Cells of all other columns together that are looked at: an error must not take seconds.
LOOKED_AT = 20_000
# Columns to leave out that a remedy names; more than these are a table of another kind.
NAMED = 10

# Gives the cells of other columns, by their place in the table: only an error needs them.
Others: TypeAlias = Callable[[], Mapping[int, Sequence[str]]]


class Dressing(NamedTuple):
    """A cell that no number is read from, and what to do about it."""

    example: str
    remedy: str


class Trial(NamedTuple):
    """What a dialect makes of the cells."""

    dialect: Dialect
    numbers: tuple[float | None, ...]
    unread: dict[int, str]  # a cell of each other column that is a number now, and would be none
    more: int  # cells of other columns that would become numbers
    rank: tuple[int, ...]

    @property
    def read(self) -> int:
        return sum(number is not None for number in self.numbers)


def dressing(cells: Sequence[str], dialect: Dialect, others: Others = dict) -> Dressing | None:
    """What reads at least half of the cells of a column, and the most of them; None when nothing does."""
    likely = _likely(cells)
    if 2 * len(likely) < len(cells):
        return None
    trials = _best(likely, dialect, others)
    if not trials or 2 * trials[0].read < len(cells):
        return None
    return _told(likely, dialect, trials)


def reading_of(cell: str, cells: Sequence[str], dialect: Dialect, others: Others = dict) -> str | None:
    """The remedy for one cell among those of its column that are numbers; None when no mark makes it a number."""
    if dressing([cell], dialect) is None:
        return None
    numbers = [c for c in dict.fromkeys(cells) if dialect.number(c) is not None]
    along = [c for c in _likely(dict.fromkeys(cells)) if c not in numbers and c != cell]
    trials = _best([cell, *numbers, *along], dialect, others, needed=1 + len(numbers))
    if trials:
        return _told([cell, *numbers, *along], dialect, trials).remedy
    other = next((c for c in numbers if set(c) & set(".,")), numbers[0])
    return f"{show(other)} in the same column has other marks: write all cells alike, or fit without the column (-x)"


def _likely(cells: Sequence[str] | Mapping[str, None]) -> list[str]:
    return [c for c in cells if DRESSED.fullmatch(c.strip()) and not ADDRESS.fullmatch(c.strip())]


def _best(cells: Sequence[str], dialect: Dialect, others: Others, needed: int = 0) -> list[Trial]:
    """The trials that are as good as any, one for each way to read the cells; the first `needed` must be numbers."""
    signs = {c for cell in cells for c in cell if c in SYMBOLS}
    every = others()
    room = LOOKED_AT // max(len(every), 1) + 1
    beside = {place: list(dict.fromkeys(column[:room])) for place, column in every.items()}
    # No sign counts for less than any: it comes first, and the first of the best is taken.
    trials = [
        _tried(cells, dialect, trial, beside) for trial in _trials(dialect, "".join(sorted(signs | set(dialect.strip))))
    ]
    trials = [trial for trial in trials if trial.read and None not in trial.numbers[:needed]]
    best = max((trial.rank for trial in trials), default=())
    found: dict[tuple[float | None, ...], list[Trial]] = {}
    for trial in trials:
        if trial.rank == best:
            found.setdefault(trial.numbers, []).append(trial)
    # Where the column leaves two numbers open, the others tell.
    most = max((trial.more for alike in found.values() for trial in alike), default=0)
    likely = [alike for alike in found.values() if len(found) == 1 or max(trial.more for trial in alike) == most]
    return [min(alike, key=lambda trial: _changes(dialect, trial.dialect)) for alike in likely]


def _tried(cells: Sequence[str], old: Dialect, new: Dialect, others: Mapping[int, Sequence[str]]) -> Trial:
    numbers = tuple(_number(cell, new) for cell in cells)
    unread: dict[int, str] = {}
    more = 0
    for place, column in others.items():
        for cell in column:
            now, then = old.number(cell), new.number(cell)
            if now is not None and then is None:
                unread.setdefault(place, cell)
            more += now is None and then is not None
    # What was asked for stays as long as it reads the column as well; then it is for the other columns to tell.
    against = (old.decimal != "." and new.decimal != old.decimal) + (new.thousands != old.thousands is not None)
    read = sum(number is not None for number in numbers)
    return Trial(new, numbers, unread, more, (read, -against, -len(unread)))


def _number(cell: str, dialect: Dialect) -> float | None:
    number = dialect.number(cell)
    return None if number is not None and set(cell) & set(WHOLE) and not number.is_integer() else number


def _trials(dialect: Dialect, strip: str) -> Iterator[Dialect]:
    taken = {*strip, *(dialect.comment or "")}
    for decimal, thousands in dict.fromkeys(((dialect.decimal, dialect.thousands), (".", None), *MARKS)):
        # There is no option that takes back --thousands.
        if (thousands is not None or dialect.thousands is None) and decimal not in taken and thousands not in taken:
            yield replace(dialect, decimal=decimal, thousands=thousands, strip=strip)


def _told(cells: Sequence[str], old: Dialect, trials: Sequence[Trial]) -> Dressing:
    if len(trials) == 1:
        trial = trials[0]
        read = zip(cells, trial.numbers, strict=True)
        example = next(cell for cell, number in read if number is not None and old.number(cell) is None)
        return Dressing(example, f"read it with {_spelled(old, trial)}{_others_told(trial)}")
    first, second = trials[0], trials[1]
    at = next(i for i, (a, b) in enumerate(zip(first.numbers, second.numbers, strict=True)) if a != b)
    one, other = (
        f"{_spelled(old, trial)} if {show(cells[at])} means {_shown(trial.numbers[at])}{_others_told(trial)}"
        for trial in (first, second)
    )
    return Dressing(cells[at], f"read it with {one}, or with {other}")


def _shown(number: float | None) -> str:
    return repr(number).removesuffix(".0")


def _others_told(trial: Trial) -> str:
    if not trial.unread:
        return ""
    place, cell = next(iter(trial.unread.items()))
    return f" (column {place + 1} has other marks: {show(cell)})"


def _changes(old: Dialect, new: Dialect) -> int:
    return (new.decimal != old.decimal) + (new.thousands != old.thousands)


def _spelled(old: Dialect, trial: Trial) -> str:
    """The options that make the one dialect of the other, and leave out the columns that it does not read."""
    new = trial.dialect
    flags = {
        "--strip": (old.strip, new.strip),
        "--decimal": (old.decimal, new.decimal),
        "--thousands": (old.thousands, new.thousands),
    }
    words = [f"{flag} {_quoted(now)}" for flag, (before, now) in flags.items() if now and now != before]
    if trial.unread and len(trial.unread) <= NAMED:
        words.append(f"-x {','.join(str(place + 1) for place in trial.unread)}")
    return " ".join(words)


def _quoted(value: str) -> str:
    return '"\'"' if value == "'" else f"'{value}'"


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
