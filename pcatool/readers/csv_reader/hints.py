"""Remedies for what cannot be read: thousands marks, decimal commas, other scripts, ragged rows, text without a table.

A marked number is a cell with thousands marks, a decimal comma, or a currency or percent sign. The remedy names the
options that read such cells. Candidate dialects are tried on the other cells of the column and on the other columns,
because one option applies to the whole table: 1,234 is 1234 beside 2.5, and 1.234 beside 12,5. Where the table allows
two readings, the remedy names both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from pcatool.errors import DataError
from pcatool.options import TableOptions
from pcatool.readers.base import SEPARATORS, Column, Feature, bad_cell_remedy
from pcatool.readers.csv_reader.dialect import PADDING, Dialect
from pcatool.registry import READERS
from pcatool.wording import exclusion, leave_out, null_option, show

__all__ = [
    "MOST_CELLS_EXAMINED",
    "NOT_A_TABLE",
    "PLAIN_NUMBERS_REMEDY",
    "READ_WITH",
    "OtherCells",
    "ReadAgain",
    "empty_table_error",
    "is_in_other_script",
    "not_a_table_error",
    "nul_bytes_error",
    "other_text_formats",
    "ragged_row_error",
    "remedy_for_cell",
    "remedy_for_column",
    "with_lines",
]

READ_WITH = "read the table with "  # begins a remedy that names options
PLAIN_NUMBERS_REMEDY = "write numbers with ASCII digits and signs only, as in -1.5e3"

# Unicode hyphens and minus signs.
MINUS = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
# The Arabic decimal separator.
ARABIC_POINT = "\u066b"
# Quotation marks around a number, zero-width blanks and joiners, and the byte-order mark.
IGNORED_MARKS = "'\"`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u200b\u200c\u200d\u2060\ufeff"
TO_PLAIN = str.maketrans({**dict.fromkeys(MINUS, "-"), **dict.fromkeys(IGNORED_MARKS, ""), ARABIC_POINT: "."})


def is_in_other_script(cell: str, dialect: Dialect) -> bool:
    """Return whether the cell is a number only after its Unicode digits, signs and quotation marks are replaced.

    Digits and signs become ASCII; quotation marks and invisible characters are removed.
    """
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
# Texts that begin a line of totals below a table.
TOTALS = ("total", "totals", "grand total", "sum")
# Most texts in a column of numbers that may all mean a missing cell.
MOST_SPELLINGS = 3
# Most columns that a remedy names to be left out; with more of them the remedy is likely wrong for the table.
MOST_NAMED = 10

# Name and number of a column.
Place: TypeAlias = tuple[str, int]
# Type of a function that returns the cells of the other columns; called only for an error.
OtherCells: TypeAlias = Callable[[], Mapping[Place, Sequence[str]]]


class Remedy(NamedTuple):
    """Remedy that names the options with which cells are read as numbers, and one of these cells as an example."""

    example: str
    remedy: str


class Trial(NamedTuple):
    """A candidate dialect and its effect: which cells of a column and of the other columns it reads as numbers."""

    dialect: Dialect
    numbers: tuple[float | None, ...]  # the cells of the column as numbers; None for a cell that is not a number
    lost: dict[Place, str]  # for each other column that loses numbers: the first cell that is no number any more
    gained: int  # cells of other columns that become numbers
    rank: tuple[int, ...]  # the larger, the better

    @property
    def numbers_read(self) -> int:
        """Number of cells of the column that the dialect reads as numbers."""
        return sum(number is not None for number in self.numbers)


def remedy_for_column(cells: Sequence[str], dialect: Dialect, others: OtherCells = dict) -> Remedy | None:
    """Return the remedy that reads the most cells of a column as numbers; None if no dialect reads half of the cells.

    `others` returns the cells of the other columns, since options apply to them too.
    """
    likely = _marked_cells(cells)
    if 2 * len(likely) < len(cells):
        return None
    trials = _best_trials(likely, dialect, others)
    if not trials or 2 * trials[0].numbers_read < len(cells):
        return None
    return _remedy_of(likely, dialect, trials)


def with_lines(columns: tuple[Column, ...], rows: Iterable[tuple[int, Sequence[str]]]) -> tuple[Column, ...]:
    """Return all columns; those of marked numbers get the line number of their example, if `rows` has the example.

    `rows` are pairs of a line number and the cells of the row.
    """
    marked = {i for i, column in enumerate(columns) if column.kind == "marked number"}
    lines: dict[int, int] = {}
    for line, cells in rows if marked else ():
        lines |= {i: line for i in marked if i < len(cells) and cells[i] == columns[i].example}
        marked -= lines.keys()
        if not marked:
            break
    return tuple(column._replace(line=lines.get(i, 0)) for i, column in enumerate(columns)) if lines else columns


def remedy_for_marked_number(
    cell: str, cells: Sequence[str], feature: Feature, dialect: Dialect, others: OtherCells = dict
) -> str | None:
    """Return the remedy for one bad cell of a column of numbers; None if no dialect reads the cell as a number.

    `cells` are all cells of the column; `others` returns the cells of the other columns.
    """
    if remedy_for_column([cell], dialect) is None:
        return None
    numbers = [c for c in dict.fromkeys(cells) if dialect.number(c) is not None]
    others_marked = [c for c in _marked_cells(dict.fromkeys(cells)) if c not in numbers and c != cell]
    trials = _best_trials([cell, *numbers, *others_marked], dialect, others, needed=1 + len(numbers))
    if trials:
        return _remedy_of([cell, *numbers, *others_marked], dialect, trials).remedy
    other = next((c for c in numbers if set(c) & set(".,")), numbers[0])
    out = leave_out(feature.name, feature.column)
    return f"{show(other)} in the same column is written differently: write all cells in the same way, or {out}"


def _marked_cells(cells: Sequence[str] | Mapping[str, None]) -> list[str]:
    """Return the cells that look like a number with marks or symbols, such as "$1,000", "5 %" or "1e5".

    IP addresses are left out.
    """
    return [c for c in cells if MARKED_NUMBER.fullmatch(c.strip()) and not IP_ADDRESS.fullmatch(c.strip())]


def _best_trials(cells: Sequence[str], dialect: Dialect, others: OtherCells, needed: int = 0) -> list[Trial]:
    """Return the trial of the candidate dialect that reads the cells best; [] if no dialect reads a number.

    Several trials are returned if they are equally good but read different numbers. Dialects that do not read each of
    the first `needed` cells as a number are ruled out. `others` returns the cells of the other columns.
    """
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
    for trial in sorted(trials, key=lambda trial: trial.rank, reverse=True):
        # A --decimal that the user gave may be the mistake: 31.037 with --decimal , is 31037 or, without it, 31.037.
        if trial.rank == best or (trial.rank[0], trial.rank[2]) == (best[0], best[2]):
            found.setdefault(trial.numbers, []).append(trial)
    # Where the column allows two readings, the one that reads more cells of other columns wins.
    most = max((trial.gained for alike in found.values() for trial in alike), default=0)
    likely = [alike for alike in found.values() if len(found) == 1 or max(trial.gained for trial in alike) == most]
    return [min(alike, key=lambda trial: _changes(dialect, trial.dialect)) for alike in likely]


def _try(cells: Sequence[str], old: Dialect, new: Dialect, others: Mapping[Place, Sequence[str]]) -> Trial:
    """Return the trial of dialect `new` in place of `old`, on the `cells` of a column and those of other columns."""
    numbers = tuple(_number(cell, new) for cell in cells)
    lost: dict[Place, str] = {}
    gained = 0
    for place, column in others.items():
        for cell in column:
            now, then = old.number(cell), new.number(cell)
            if now is not None and then is None:
                lost.setdefault(place, cell)
            gained += now is None and then is not None
    # Rank: the most cells of the column, then the fewest changes of options that the user gave, then the fewest other
    # columns that lose numbers.
    overridden = (old.decimal != "." and new.decimal != old.decimal) + (new.thousands != old.thousands is not None)
    read = sum(number is not None for number in numbers)
    return Trial(new, numbers, lost, gained, (read, -overridden, -len(lost)))


def _number(cell: str, dialect: Dialect) -> float | None:
    """Return the cell as a number; None for text, and for a fraction of a currency without decimals, such as ¥1.5."""
    number = dialect.number(cell)
    return None if number is not None and set(cell) & set(WITHOUT_DECIMALS) and not number.is_integer() else number


def _candidates(dialect: Dialect, strip: str) -> Iterator[Dialect]:
    """Yield variants of `dialect` that strip the characters `strip`, one for each usual pair of number marks.

    A pair is a decimal and a thousands mark. The user's own pair comes first.
    """
    taken = {*strip, *(dialect.comment or "")}
    for decimal, thousands in dict.fromkeys(((dialect.decimal, dialect.thousands), (".", None), *MARKS)):
        # A remedy adds options and cannot remove --thousands.
        if (thousands is not None or dialect.thousands is None) and decimal not in taken and thousands not in taken:
            yield replace(dialect, decimal=decimal, thousands=thousands, strip=strip)


def _remedy_of(cells: Sequence[str], old: Dialect, trials: Sequence[Trial]) -> Remedy:
    """Return the remedy that names the options of the trial, with a cell that these options make a number.

    If there are several trials, the remedy names the options of the first two, each with its value of a cell on which
    the two disagree.
    """
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
    if not trial.lost:
        return ""
    (name, _), cell = next(iter(trial.lost.items()))
    return f" (numbers in column {show(name)} are written differently, such as {show(cell)})"


def _changes(old: Dialect, new: Dialect) -> int:
    return (new.decimal != old.decimal) + (new.thousands != old.thousands)


def _options_of(old: Dialect, trial: Trial) -> str:
    """Return the options, as typed, that turn `old` into the trial's dialect, and -x for columns that lose numbers.

    More than MOST_NAMED columns get no -x.
    """
    new = trial.dialect
    flags = {
        "--strip": (old.strip, new.strip),
        "--decimal": (old.decimal, new.decimal),
        "--thousands": (old.thousands, new.thousands),
    }
    words = [f"{flag} {_quoted(now)}" for flag, (before, now) in flags.items() if now and now != before]
    if len(trial.lost) <= MOST_NAMED:
        words += [exclusion(*place) for place in trial.lost]
    return " ".join(words)


def _quoted(value: str) -> str:
    return '"\'"' if value == "'" else f"'{value}'"


# Type of a function that reads the rows of a chunk again; called only for an error.
ReadAgain: TypeAlias = Callable[[], Sequence[Sequence[str]]]


def remedy_for_cell(cell: str, feature: Feature, features: Sequence[Feature], dialect: Dialect, rows: ReadAgain) -> str:
    """Return the remedy for a cell of a number column that is not a number.

    `rows` reads the rows of the chunk again: the other cells of the column and of `features` decide the remedy.
    """

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
        return "this line seems to repeat the header, as in joined files: delete the line, or give each file by itself"
    if cell.strip().rstrip(":").lower() in TOTALS:
        return f"if the line holds totals, delete the line; else {bad_cell_remedy(cell, feature.name, feature.column)}"
    mixture = _remedy_for_mixture(cell, feature, column, dialect)
    return mixture or bad_cell_remedy(cell, feature.name, feature.column)


def _remedy_for_mixture(cell: str, feature: Feature, column: Sequence[str], dialect: Dialect) -> str | None:
    """Return the remedy for a column that mixes text and numbers, such as `cell`.

    Return None if no cell is a number, or if `cell` is the only text and not the first cell: then the cell is wrong,
    not the column.
    """
    filled = [c for c in column if not dialect.is_missing(c)]
    numbers = [c for c in filled if dialect.number(c) is not None]
    texts = [c for c in filled if dialect.number(c) is None]
    if not numbers or (len(texts) == 1 and filled[0] != cell):
        return None
    spellings = list(dict.fromkeys(text.strip() for text in texts))
    options = list(map(null_option, spellings))
    if len(options) <= MOST_SPELLINGS and all(options):
        several = "the texts stand for missing cells"
        missing = f"{' '.join(options)} if {several if len(spellings) > 1 else 'the text stands for a missing cell'}"
    else:
        missing = "--null-value with each text if the texts stand for missing cells"
    return (
        f"the column mixes text and numbers, such as {show(numbers[0])}: correct the cells, give {missing}, or "
        f"{leave_out(feature.name, feature.column)}"
    )


# Suffixes of formats that the text of a file without a suffix, or of a pipe, may have.
SUFFIXES = {"JSON": (".json", ".jsonl", ".ndjson"), "HTML": (".html", ".htm"), "XML": (".xml",)}
# Beginnings of text files that are not tables: pattern -> (what the file is, remedy).
NOT_TABLES = {
    re.compile(r"\s*(?:\{\s*(?:\"|$)|\[\s*(?:[\[{\"]|-?[0-9.]+$|$))", re.IGNORECASE): (
        "JSON",
        "convert the file to CSV or Parquet",
    ),
    re.compile(r"\s*<(?:!doctype|!--|html|head|body|table)\b", re.IGNORECASE): (
        "HTML",
        "check whether the file is the error page of a server",
    ),
    re.compile(r"\s*<(?:\?xml|svg|stata_dta)\b", re.IGNORECASE): ("XML", "convert the file to CSV or Parquet"),
    re.compile(r"\{\\rtf", re.IGNORECASE): ("a document (RTF)", "save the table as CSV"),
    re.compile(r"version https://git-lfs", re.IGNORECASE): ("a Git LFS pointer", "fetch the file with: git lfs pull"),
    re.compile(r"sep=", re.IGNORECASE): (
        "a sep= line for spreadsheets",
        "skip the line with --skip-lines 1, and give the separator with -d",
    ),
}


NOT_A_TABLE = re.compile("|".join(f"(?:{beginning.pattern})" for beginning in NOT_TABLES), re.IGNORECASE)


def nul_bytes_error(cells: list[str], place: str) -> DataError:
    """Return the error for a header with NUL bytes: the file has another encoding, or is not text."""
    text = "".join(cells)
    # UTF-16 without a byte-order mark looks like text with a NUL byte beside every letter.
    order = "be" if text.startswith("\0") else "le"
    sparse = 3 * text.count("\0") < len(text)
    remedy = (
        "check that the file is a text table" if sparse else f"name the encoding, such as --encoding utf-16-{order}"
    )
    return DataError(f"{place}: the line has NUL bytes", remedy)


def not_a_table_error(cell: str, place: str) -> DataError:
    """Return the error for a first cell that `NOT_A_TABLE` matches: JSON, HTML or other text that is not a table."""
    what, remedy = next(found for beginning, found in NOT_TABLES.items() if beginning.match(cell))
    formats = [name for name in READERS if set(READERS[name].suffixes) & set(SUFFIXES.get(what, ()))]
    if formats:
        return DataError(f"{place}: the text is {what}, but is read as CSV", f"{_naming_format(formats)}, or {remedy}")
    return DataError(f"{place}: the text is {what}, not a table", remedy)


def other_text_formats() -> str:
    """Return the end of a remedy that names the formats of text other than CSV and TSV; "" if no reader has one."""
    formats = [name for name in READERS if name not in ("csv", "tsv") and not READERS[name].magic]
    return f", or, if the text has another format, {_naming_format(formats)}" if formats else ""


def _naming_format(formats: Sequence[str]) -> str:
    return f"name the format with --input-format {' or '.join(formats)}"


def empty_table_error(name: str, options: TableOptions) -> DataError:
    """Return the error for a table without lines, or whose lines are all left out by options."""
    remedy = f"give a table that {'has rows' if options.header is False else 'begins with a line of column names'}"
    flags = [f"--skip-lines {options.skip_lines}"] if options.skip_lines else []
    flags += [f"--comment {show(options.comment)}"] if options.comment else []
    if not flags:
        return DataError(f"{name} is empty", remedy)
    given = " and ".join(flags)
    return DataError(f"{name} is empty, except for lines left out by {given}", f"correct {given}, or {remedy}")


def ragged_row_error(
    place: str,
    cells: Sequence[str],
    width: int,
    rows: ReadAgain,
    dialect: Dialect,
    first_below_header: bool | None,
    *,
    without_end: bool,
) -> DataError:
    """Return the error, with a remedy, for a row `cells` whose number of fields is not `width`.

    `place` names the file and the line. `width` is that of the header, or of the first row if there is no header.
    `rows` reads all rows of the chunk again. `first_below_header`: whether the chunk begins directly below the header;
    None if there is no header. `without_end`: the row is the last of the input, and has no line end.
    """
    there = f"{len(cells)} field" + ("s" if len(cells) != 1 else "")
    expected = f"but the {'first row' if first_below_header is None else 'header'} has {width}"
    error = DataError(f"{place}: the row has {there}, {expected}")
    if any("\n" in cell or "\r" in cell for cell in cells):
        error.add_remedy("check whether a quote in this row is closed too late")
    elif cells[0].lstrip().startswith("#"):
        error.add_remedy("if the line is a comment, add --comment '#'")
    elif first_below_header and len(cells) == width + 1 and (remedy := _remedy_for_longer_rows(rows(), width, dialect)):
        error.add_remedy(remedy)
    elif without_end and len(cells) < width:
        error.add_remedy("this is the last line, and it has no line end: the file may be cut off")
    elif width == 1 and first_below_header is not None:
        error.add_remedy(
            "if the first line is a title, add --skip-lines 1; if the first line begins with '#', add --comment '#'"
        )
    else:
        every = rows()
        first_fits = not first_below_header or len(every[0]) == width
        if not first_fits and _has_decimal_commas(every[0], width, dialect):
            error.add_remedy(
                "if the numbers have decimal commas, write the table with another separator, such as ';', and give "
                "-d ';' --decimal ','"
            )
        else:
            other = _other_separator(every, dialect, sure=first_fits and width > 1)
            error.add_remedy(f"correct the row{other and f', or {other}'}")
    return error


def _has_decimal_commas(cells: Sequence[str], width: int, dialect: Dialect) -> bool:
    """Whether a row of about twice `width` fields may hold numbers that their decimal commas cut in two."""
    digits = sum(re.fullmatch(r"\s*[+-]?[0-9]+\s*", cell, re.ASCII) is not None for cell in cells)
    return dialect.delimiter == "," and 3 * width <= 2 * len(cells) <= 4 * width and 2 * digits > len(cells)


def _other_separator(rows: Sequence[Sequence[str]], dialect: Dialect, *, sure: bool) -> str:
    """Return the advice to read the table with another separator; with `sure`, "" unless the separator is known.

    The advice names a usual separator that every row has equally often, if there is one.
    """
    for separator, spelled in SEPARATORS.items():
        if separator not in (dialect.delimiter, dialect.decimal):
            counts = {sum(cell.count(separator) for cell in row) for row in rows}
            if len(counts) == 1 and counts != {0}:
                return f"{READ_WITH}-d {spelled}"
    return "" if sure else "give another separator with -d"


def _remedy_for_longer_rows(rows: Sequence[Sequence[str]], width: int, dialect: Dialect) -> str | None:
    """Return the remedy if every row has one field more than the header; else None.

    Return None also for a header of one field that may be a title above the names.
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
        "every row has one field more than the header: if the first field is the name of the row, as in files of R's "
        "write.table, add --row-names; else add the missing name to the header"
    )
