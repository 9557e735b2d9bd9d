"""Options for reading: table formats, spellings of missing cells, columns, and tables with one line per cell."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any

from pcatool.errors import UsageError
from pcatool.options.fields import Setting, check_choices, choices_from, option, refuse_without, word_of
from pcatool.registry import READERS
from pcatool.wording import show

__all__ = ["ABSENT_VALUES", "BLANKS", "NULLS", "SelectOptions", "TableOptions", "TriplesOptions"]

# Spellings of a missing cell, in any letter case: the list of csvkit, which users of CSV pipelines know.
NULLS = ("", "NA", "N/A", "NaN", "null", "none", ".")

# Words for field separators.
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
# Characters of numbers, except the decimal and thousands marks.
NUMBER_CHARACTERS = "0123456789+-eE"
BLANKS = "blanks"  # value of --delimiter: fields are separated by runs of blanks, as in aligned tables


@dataclass(frozen=True)
class TableOptions:
    """Options of reading tables."""

    input_format: str | None = option(
        None,
        "--input-format",
        group="input",
        help="Format of the input. If not given, the format is recognised from the content and the name.",
        choices=choices_from(READERS),
    )
    delimiter: str | None = option(
        None,
        "-d",
        "--delimiter",
        group="input",
        metavar="CHAR",
        help="Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any "
        "number of spaces or tabs).",
        shown_default="tab for .tsv and .tab, else comma",
        completion=word_of(*(name for name in DELIMITERS if name.isalpha()), BLANKS),
    )
    header: bool | None = option(
        None,
        "--header/--no-header",
        group="input",
        help="--header: the first line contains the column names. --no-header: the first line contains data, and the "
        "columns are called c1, c2, ...",
        shown_default="--header; if the first line looks like data, the run ends with an error",
    )
    row_names: bool = option(
        False,
        "--row-names",
        group="input",
        help="The first field of each line is the name of the row, not a feature, as in tables of R and pandas. If the "
        "header does not name this column, it is called row_name; --keep row_name copies the column to the output.",
    )
    null_value: tuple[str, ...] = option(
        (),
        "--null-value",
        group="input",
        metavar="TEXT",
        help="Cells with this text count as missing, too; repeatable. An empty cell, NA, N/A, NaN, null, none and a "
        "lone dot always count as missing, in any letter case.",
    )
    encoding: str = option(
        "utf-8",
        "--encoding",
        group="input",
        metavar="NAME",
        help="Character encoding of text.",
        completion=word_of("utf-8", "latin-1", "cp1252", "utf-16"),
    )
    comment: str | None = option(
        None,
        "--comment",
        group="input",
        metavar="CHAR",
        help="Ignore this character and the rest of its line, except inside quotes.",
    )
    decimal: str = option(
        ".", "--decimal", group="input", metavar="CHAR", help="Decimal mark.", completion=word_of(".", ",")
    )
    thousands: str | None = option(
        None, "--thousands", group="input", metavar="CHAR", help="Thousands mark inside numbers."
    )
    strip: str = option(
        "",
        "--strip",
        group="input",
        metavar="CHARS",
        help="Remove these characters before and after numbers, such as '$' or '%'; the numbers are not rescaled.",
    )
    skip_lines: int = option(
        0, "--skip-lines", group="input", metavar="N", help="Skip the first N lines of each input."
    )
    skip_bad: bool = option(
        False,
        "--skip-bad",
        group="input",
        help="Skip each file that cannot be read, is damaged, lacks a column or has a bad cell. A warning "
        "lists the skipped files. Pipes are never skipped.",
    )

    def __post_init__(self) -> None:
        """Raise `UsageError` for wrong values, and convert a word for the delimiter, such as tab, to its character."""
        check_choices(self)
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", DELIMITERS.get(self.delimiter, self.delimiter))
            self._check_character("-d", self.delimiter, also=(BLANKS,))
        self._check_character("--comment", self.comment)
        self._check_character("--thousands", self.thousands)
        if self.decimal not in (".", ","):
            raise UsageError(f"--decimal {show(self.decimal)} is not a decimal mark", "give '.' or ','")
        if self.decimal == self.thousands:
            other = "," if self.decimal == "." else "."
            remedy = (
                f"give --decimal '{other}' if {show(self.thousands)} is the thousands mark; else leave out --thousands"
            )
            raise UsageError(f"--decimal and --thousands are both {show(self.decimal)}", remedy)
        for flag, mark in (("-d", self.delimiter), ("--comment", self.comment), ("--thousands", self.thousands)):
            if mark is not None and mark in NUMBER_CHARACTERS:
                remedy = "give a character other than a digit, +, -, e and E"
                raise UsageError(f"{flag} {show(mark)} also occurs in numbers", remedy)
        if set(self.strip) & set(NUMBER_CHARACTERS + self.decimal):
            raise UsageError(
                f"--strip {show(self.strip)} would change numbers", "leave out digits, signs and decimal marks"
            )
        if self.skip_lines < 0:
            raise UsageError(f"--skip-lines {self.skip_lines} is below 0", "give 0 or a larger whole number")
        self._check_comment()
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise UsageError(f"unknown encoding {show(self.encoding)}", "try latin-1, cp1252 or utf-16") from None

    def _check_comment(self) -> None:
        """Raise `UsageError` for a comment mark that is another mark, a blank or a letter: rows would be cut off."""
        marks = (("--delimiter", self.delimiter), ("--decimal", self.decimal), ("--thousands", self.thousands))
        for flag, mark in (*marks, *(("--strip", mark) for mark in self.strip)):
            if self.comment is not None and self.comment == mark:
                raise UsageError(f"--comment and {flag} are both {show(self.comment)}", "give two different marks")
        if self.comment is not None and self.comment.isspace():
            raise UsageError("--comment is a blank", "give the character that begins a comment, such as '#'")
        if self.comment is not None and self.comment.isalpha():
            raise UsageError(
                f"--comment {show(self.comment)} is a letter, and letters also occur in names and cells",
                "give a character that is not a letter, or remove the comment lines before the run",
            )

    def check_separator(self, separator: str) -> None:
        """Raise `UsageError` if the comment mark equals `separator`, the field separator that the table has."""
        if self.comment == separator:
            raise UsageError(
                f"--comment {show(self.comment)} is also the field separator",
                "give another comment character, such as '#', or another separator with -d",
            )

    @staticmethod
    def _check_character(flag: str, value: str | None, also: tuple[str, ...] = ()) -> None:
        """Raise `UsageError` unless `value` is None, one of `also`, or one ASCII character that can separate cells.

        A double quote and the ends of a line cannot. `flag` names the option in the error.
        """
        if value is None or value in also:
            return
        if len(value) != 1 or value in '"\r\n' or ord(value) > 127:
            words = ", or one of the words tab, comma, semicolon, pipe, space and blanks" if also else ""
            remedy = f"use one ASCII character other than a double quote{words}"
            raise UsageError(f"{flag} {show(value)} is not a usable character", remedy)


@dataclass(frozen=True)
class SelectOptions:
    """Options of selecting the feature columns."""

    columns: tuple[str, ...] = option(
        (),
        "-c",
        "--columns",
        group="input",
        metavar="COLS",
        help="Use only these columns. COLS lists names, numbers (1 is the first column), ranges (a-c, 3-) or globs, "
        "with commas between them; repeatable.",
        shown_default="all columns of numbers",
    )
    exclude: tuple[str, ...] = option(
        (),
        "-x",
        "--exclude",
        group="input",
        metavar="COLS",
        help="Leave out these columns, such as ids. COLS as in -c; repeatable.",
    )


# Values of --absent.
ABSENT_VALUES = ("missing", "zero")


@dataclass(frozen=True)
class TriplesOptions:
    """Options of input with one line per cell: row, column and value."""

    triples: str | None = option(
        None,
        "--triples",
        group="input",
        metavar="COLS",
        help="Read an input that has one line for each cell. COLS are the columns of the user, the item and the value, "
        "as in --triples user,item,rating. Each user is a row, and each item is a column.",
        takes="str | Sequence[str] | None",
    )
    absent: str | None = option(
        None,
        "--absent",
        group="input",
        help="With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as "
        "words of documents.",
        choices=lambda: ABSENT_VALUES,
        shown_default="missing",
        kept=Setting(methods=("pca",), decided=True),
    )

    def check_triples(self, others: dict[str, Any]) -> None:
        """Raise `UsageError` for --absent without --triples, and for --triples with one of the flags `others`.

        `others` maps each flag that does not go with --triples to whether it was given.
        """
        if not self.triples:
            refuse_without("--absent", self.absent, False, "--triples")
            return
        given = [flag for flag, used in others.items() if used]
        if given:
            raise UsageError(f"{given[0]} does not go with --triples", f"leave out {given[0]}")
