"""Remedies for cells and rows that cannot be read: thousands marks, decimal commas, other scripts, ragged rows.

A marked number is a cell with thousands marks, a decimal comma, or a currency or percent sign. The remedy names the
options that read such cells. Candidate dialects are tried on the other cells of the column and on the other columns,
because one option applies to the whole table: 1,234 is 1234 beside 2.5, and 1.234 beside 12,5. Where the table allows
two readings, the remedy names both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from pcatool.errors import DataError, exclusion, leave_out, null_option, show
from pcatool.readers.base import Feature, bad_cell_remedy
from pcatool.readers.csv_reader.dialect import PADDING, Dialect

__all__ = [
    "MOST_CELLS_EXAMINED",
    "PLAIN_NUMBERS_REMEDY",
    "READ_WITH",
    "OtherCells",
    "ReadAgain",
    "is_in_other_script",
    "ragged_row_error",
    "remedy_for_cell",
    "remedy_for_column",
]

READ_WITH = "read the table with "  # begins a remedy that names options
PLAIN_NUMBERS_REMEDY = "write numbers plainly, as in -1.5e3"

# Unicode hyphens and minus signs.
MINUS = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
# The Arabic decimal separator.
ARABIC_POINT = "\u066b"
# Quotation marks around a number, zero-width blanks and joiners, and the byte-order mark.
IGNORED_MARKS = "'\"`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u200b\u200c\u200d\u2060\ufeff"
TO_PLAIN = str.maketrans({**dict.fromkeys(MINUS, "-"), **dict.fromkeys(IGNORED_MARKS, ""), ARABIC_POINT: "."})


def is_in_other_script(cell: str, dialect: Dialect) -> bool:
    """Return whether the cell is a number once Unicode digits and signs, quotation and invisible marks are plain."""
    text = cell.translate(TO_PLAIN)
    text = "".join(str(unicodedata.decimal(c, c)) for c in text)
    return text != cell and dialect.number(unicodedata.normalize("NFKC", text)) is not None


# Currency, percent and per-mille signs that --strip may remove from a number.
SYMBOLS = "$€£¥₹₽₩₺¢%‰"
# Signs of currencies whose amounts have no decimals.
WITHOUT_DECIMALS = "¥₩"
# Decimal and thousands marks in use, the more common first: of several that read the cells alike, the first is named.
MARKS = ((".", ","), (",", None), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"), (",", "_"))
MARKED_NUMBER = re.compile(rf"[-+0-9.,'_eE{SYMBOLS}{PADDING}\u2019]*[0-9][-+0-9.,'_eE{SYMBOLS}{PADDING}\u2019]*")
# Four groups of digits are more likely an IP address than a number.
IP_ADDRESS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
# Most cells of all other columns together that are examined: an error message must not take seconds.
MOST_CELLS_EXAMINED = 20_000
# Most texts in a column of numbers that may all mean a missing cell.
MOST_SPELLINGS = 3
# Most columns that a remedy names to be left out; with more of them the remedy is likely wrong for the table.
MOST_NAMED = 10

# Name and number of a column.
Place: TypeAlias = tuple[str, int]
# Type of a function that returns the cells of the other columns; called only for an error.
OtherCells: TypeAlias = Callable[[], Mapping[Place, Sequence[str]]]


class Remedy(NamedTuple):
    """A cell that is a number only with other options, and the remedy that names these options."""

    example: str
    remedy: str


class Trial(NamedTuple):
    """A candidate dialect, and its reading of the cells."""

    dialect: Dialect
    numbers: tuple[float | None, ...]  # the cells as numbers; None for a cell that is not a number
    unread: dict[Place, str]  # for each other column that loses numbers: the first cell that is no number any more
    more: int  # cells of other columns that become numbers
    rank: tuple[int, ...]  # the larger, the better

    @property
    def numbers_read(self) -> int:
        """Number of cells that are numbers."""
        return sum(number is not None for number in self.numbers)


def remedy_for_column(cells: Sequence[str], dialect: Dialect, others: OtherCells = dict) -> Remedy | None:
    """Return the remedy that reads the most cells of a column; None where no dialect reads at least half of them."""
    likely = _marked_cells(cells)
    if 2 * len(likely) < len(cells):
        return None
    trials = _best_trials(likely, dialect, others)
    if not trials or 2 * trials[0].numbers_read < len(cells):
        return None
    return _remedy_of(likely, dialect, trials)


def remedy_for_marked_number(
    cell: str, cells: Sequence[str], feature: Feature, dialect: Dialect, others: OtherCells = dict
) -> str | None:
    """Return the remedy for one bad cell of a column of numbers; None where no marks make the cell a number."""
    if remedy_for_column([cell], dialect) is None:
        return None
    numbers = [c for c in dict.fromkeys(cells) if dialect.number(c) is not None]
    others_marked = [c for c in _marked_cells(dict.fromkeys(cells)) if c not in numbers and c != cell]
    trials = _best_trials([cell, *numbers, *others_marked], dialect, others, needed=1 + len(numbers))
    if trials:
        return _remedy_of([cell, *numbers, *others_marked], dialect, trials).remedy
    other = next((c for c in numbers if set(c) & set(".,")), numbers[0])
    out = leave_out(feature.name, feature.column)
    return f"{show(other)} in the same column has other marks: write all cells the same way, or {out}"


def _marked_cells(cells: Sequence[str] | Mapping[str, None]) -> list[str]:
    """Return the cells that have the characters of a marked number, IP addresses excluded."""
    return [c for c in cells if MARKED_NUMBER.fullmatch(c.strip()) and not IP_ADDRESS.fullmatch(c.strip())]


def _best_trials(cells: Sequence[str], dialect: Dialect, others: OtherCells, needed: int = 0) -> list[Trial]:
    """Return the best trials, one for each distinct reading of the cells; the first `needed` must be numbers."""
    signs = {c for cell in cells for c in cell if c in SYMBOLS}
    every = others()
    per_column = MOST_CELLS_EXAMINED // max(len(every), 1) + 1
    beside = {place: list(dict.fromkeys(column[:per_column])) for place, column in every.items()}
    # `_candidates` begins with the smallest change; `min` below takes the first of equals.
    trials = [
        _try(cells, dialect, trial, beside)
        for trial in _candidates(dialect, "".join(sorted(signs | set(dialect.strip))))
    ]
    trials = [trial for trial in trials if trial.numbers_read and None not in trial.numbers[:needed]]
    best = max((trial.rank for trial in trials), default=())
    found: dict[tuple[float | None, ...], list[Trial]] = {}
    for trial in trials:
        if trial.rank == best:
            found.setdefault(trial.numbers, []).append(trial)
    # Where the column allows two readings, the one that reads more cells of other columns wins.
    most = max((trial.more for alike in found.values() for trial in alike), default=0)
    likely = [alike for alike in found.values() if len(found) == 1 or max(trial.more for trial in alike) == most]
    return [min(alike, key=lambda trial: _changes(dialect, trial.dialect)) for alike in likely]


def _try(cells: Sequence[str], old: Dialect, new: Dialect, others: Mapping[Place, Sequence[str]]) -> Trial:
    """Read the cells, and those of the other columns, with dialect `new` instead of `old`."""
    numbers = tuple(_number(cell, new) for cell in cells)
    unread: dict[Place, str] = {}
    more = 0
    for place, column in others.items():
        for cell in column:
            now, then = old.number(cell), new.number(cell)
            if now is not None and then is None:
                unread.setdefault(place, cell)
            more += now is None and then is not None
    # Rank: the most cells of the column, then the fewest changes of options that the user gave, then the fewest other
    # columns that lose numbers.
    overridden = (old.decimal != "." and new.decimal != old.decimal) + (new.thousands != old.thousands is not None)
    read = sum(number is not None for number in numbers)
    return Trial(new, numbers, unread, more, (read, -overridden, -len(unread)))


def _number(cell: str, dialect: Dialect) -> float | None:
    """Return the cell as a number; None for text, and for a fraction of a currency without decimals."""
    number = dialect.number(cell)
    return None if number is not None and set(cell) & set(WITHOUT_DECIMALS) and not number.is_integer() else number


def _candidates(dialect: Dialect, strip: str) -> Iterator[Dialect]:
    """Yield the candidate dialects: the user's own marks first, then the usual ones."""
    taken = {*strip, *(dialect.comment or "")}
    for decimal, thousands in dict.fromkeys(((dialect.decimal, dialect.thousands), (".", None), *MARKS)):
        # A remedy adds options and cannot remove --thousands.
        if (thousands is not None or dialect.thousands is None) and decimal not in taken and thousands not in taken:
            yield replace(dialect, decimal=decimal, thousands=thousands, strip=strip)


def _remedy_of(cells: Sequence[str], old: Dialect, trials: Sequence[Trial]) -> Remedy:
    """Return an example and the remedy; of several trials the first two are named with the values they read."""
    if len(trials) == 1:
        trial = trials[0]
        read = zip(cells, trial.numbers, strict=True)
        example = next(cell for cell, number in read if number is not None and old.number(cell) is None)
        return Remedy(example, f"{READ_WITH}{_options_of(old, trial)}{_other_columns_note(trial)}")
    first, second = trials[0], trials[1]
    at = next(i for i, (a, b) in enumerate(zip(first.numbers, second.numbers, strict=True)) if a != b)
    one, other = (
        f"{_options_of(old, trial)} if {show(cells[at])} means {_plain(trial.numbers[at])}{_other_columns_note(trial)}"
        for trial in (first, second)
    )
    return Remedy(cells[at], f"{READ_WITH}{one}, or with {other}")


def _plain(number: float | None) -> str:
    return repr(number).removesuffix(".0")


def _other_columns_note(trial: Trial) -> str:
    if not trial.unread:
        return ""
    (name, _), cell = next(iter(trial.unread.items()))
    return f" (column {show(name)} has other marks: {show(cell)})"


def _changes(old: Dialect, new: Dialect) -> int:
    return (new.decimal != old.decimal) + (new.thousands != old.thousands)


def _options_of(old: Dialect, trial: Trial) -> str:
    """Return the options that turn `old` into the dialect of the trial, and -x for columns that lose numbers."""
    new = trial.dialect
    flags = {
        "--strip": (old.strip, new.strip),
        "--decimal": (old.decimal, new.decimal),
        "--thousands": (old.thousands, new.thousands),
    }
    words = [f"{flag} {_quoted(now)}" for flag, (before, now) in flags.items() if now and now != before]
    if trial.unread and len(trial.unread) <= MOST_NAMED:
        words += [exclusion(*place) for place in trial.unread]
    return " ".join(words)


def _quoted(value: str) -> str:
    return '"\'"' if value == "'" else f"'{value}'"


# Type of a function that reads the rows of a chunk again; called only for an error.
ReadAgain: TypeAlias = Callable[[], Sequence[Sequence[str]]]


def remedy_for_cell(cell: str, feature: Feature, features: Sequence[Feature], dialect: Dialect, rows: ReadAgain) -> str:
    """Return the remedy for a cell that is no number, from the other cells of its column and the other features."""

    def cells(column: int) -> list[str]:
        return [row[column] for row in rows() if column < len(row)]

    def others() -> Mapping[Place, Sequence[str]]:
        return {(f.name, f.column): cells(f.column) for f in features if f.column != feature.column}

    column = cells(feature.column)
    marked = remedy_for_marked_number(cell, column, feature, dialect, others)
    if marked is not None:
        return marked
    if is_in_other_script(cell, dialect):
        return PLAIN_NUMBERS_REMEDY
    if cell.strip("\ufeff").strip() == feature.name.strip():
        return "this line seems to repeat the header: give the files one by one, not joined"
    mixture = _remedy_for_mixture(cell, feature, column, dialect)
    return mixture or bad_cell_remedy(cell, feature.name, feature.column)


def _remedy_for_mixture(cell: str, feature: Feature, column: Sequence[str], dialect: Dialect) -> str | None:
    """Return the remedy for a column of text and numbers; None for a single text among numbers, which is a bad cell."""
    filled = [c for c in column if not dialect.is_missing(c)]
    numbers = [c for c in filled if dialect.number(c) is not None]
    texts = [c for c in filled if dialect.number(c) is None]
    if not numbers or (len(texts) == 1 and filled[0] != cell):
        return None
    spellings = list(dict.fromkeys(text.strip() for text in texts))
    options = list(map(null_option, spellings))
    if len(options) <= MOST_SPELLINGS and all(options):
        missing = f"{' '.join(options)} if {'the text means' if len(spellings) == 1 else 'the texts mean'}"
    else:
        missing = "--null-value with each text that means"
    return (
        f"the column mixes text and numbers, such as {show(numbers[0])}: correct the cells, give {missing} missing, or "
        f"{leave_out(feature.name, feature.column)}"
    )


def ragged_row_error(
    place: str, cells: Sequence[str], width: int, rows: ReadAgain, dialect: Dialect, first_below_header: bool | None
) -> DataError:
    """Return the error for a row whose number of fields is not `width`.

    `first_below_header` says whether `rows` start directly below the header; None where there is no header.
    """
    there = f"{len(cells)} field" + ("s" if len(cells) != 1 else "")
    expected = f"but the {'first row' if first_below_header is None else 'header'} has {width}"
    error = DataError(f"{place}: the row has {there}, {expected}")
    if any("\n" in cell or "\r" in cell for cell in cells):
        error.add_remedy("check whether a quote is left open in this row")
    elif cells[0].lstrip().startswith("#"):
        error.add_remedy("if the line is a comment, add --comment '#'")
    elif first_below_header and len(cells) == width + 1 and (remedy := _remedy_for_longer_rows(rows(), width, dialect)):
        error.add_remedy(remedy)
    elif width == 1 and first_below_header is not None:
        error.add_remedy("if the header is a title or a comment, add --skip-lines 1 or --comment '#'")
    else:
        error.add_remedy("correct the row, or give another separator with -d")
    return error


def _remedy_for_longer_rows(rows: Sequence[Sequence[str]], width: int, dialect: Dialect) -> str | None:
    """Return the remedy where every row has one field more than the header; else None.

    A header of one field may also be a title above the names; that case is None too.
    """
    if any(len(row) != width + 1 for row in rows):
        return None
    if not any(row[-1].strip() for row in rows):
        return (
            "every row ends with a separator, but the header does not: remove the last separator of each row, or end "
            "the header with a separator"
        )
    if width == 1 and dialect.number(rows[0][-1]) is None and not dialect.is_missing(rows[0][-1]):
        return None  # the header is a title above the names
    return (
        "every row has one field more than the header: add --row-names if the first field is the name of the row, "
        "as R's write.table writes it; else add the missing name to the header"
    )
