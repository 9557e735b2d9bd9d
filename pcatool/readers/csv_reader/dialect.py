"""Dialect of a CSV table: separators, numbers and missing cells, as every parser of this package follows them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from pcatool.options import BLANKS, NULLS, TableOptions

__all__ = ["PADDING", "Dialect"]

# Spellings of NaN that C's printf writes; missing, in addition to the spellings that the help lists.
SIGNED_NAN = ("-nan", "+nan")
# Typographic variants accepted for a thousands mark: no-break and thin spaces, the curly apostrophe.
LOOKALIKES = {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}
# Blanks allowed around a number, and between a number and its currency or percent sign.
PADDING = " \t\u00a0\u2009\u202f"

WHOLE = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]*)(?:\.0*)?", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """Rules that separate the fields of a table and turn a cell into a number or a missing value."""

    delimiter: str = ","
    decimal: str = "."
    thousands: str | None = None
    strip: str = ""
    comment: str | None = None
    nulls: frozenset[str] = frozenset(n.lower() for n in (*NULLS, *SIGNED_NAN))
    single_column: bool = False  # the table has one column, so a blank line is a row with a missing cell

    @classmethod
    def of(cls, options: TableOptions, default_delimiter: str) -> Dialect:
        """Build the dialect from the options; `default_delimiter` applies where the user gave no -d."""
        return cls(
            delimiter=options.delimiter or default_delimiter,
            decimal=options.decimal,
            thousands=options.thousands,
            strip=options.strip,
            comment=options.comment,
            nulls=frozenset(n.strip().lower() for n in (*NULLS, *SIGNED_NAN, *options.null_value)),
        )

    @property
    def blanks(self) -> bool:
        """Whether runs of spaces and tabs separate the fields (-d blanks)."""
        return self.delimiter == BLANKS

    @property
    def separator(self) -> str:
        """The separator of normalized text, one character: a space where runs of blanks separate the fields."""
        return " " if self.blanks else self.delimiter

    @property
    def separators(self) -> bytes:
        """The bytes that may separate fields in the input file, before normalization."""
        return b" \t" if self.blanks else self.delimiter.encode()

    @property
    def needs_normalizing(self) -> bool:
        """Whether text may hold comments, runs of blanks as separators, or blank lines that are rows."""
        return self.single_column or self.comment is not None or self.blanks

    @property
    def comment_padding(self) -> bytes:
        """The bytes to remove before a comment: space and tab, but not the one that is the delimiter, if any."""
        return b" \t" if self.blanks else b" \t".replace(self.delimiter.encode(), b"")

    @property
    def has_marks(self) -> bool:
        """Whether numbers may have thousands marks or characters to strip (--thousands, --strip)."""
        return bool(self.thousands or self.strip)

    @cached_property
    def has_plain_numbers(self) -> bool:
        """Whether all numbers are in C syntax, such as -1.5e3, and no number means a missing cell."""
        return not self.has_marks and self.decimal == "." and not self.has_numeric_null

    @cached_property
    def has_numeric_null(self) -> bool:
        """Whether a number, such as -999, means a missing cell; cells are compared with this number as text."""
        return any(self.number(null) is not None for null in self.nulls)

    @cached_property
    def normalized(self) -> Dialect:
        """The dialect of normalized text: no comments, no blank lines, one separator character."""
        return replace(self, delimiter=self.separator, comment=None, single_column=False)

    def is_missing(self, cell: str) -> bool:
        """Return whether a cell is spelled as a missing value; letter case and blanks around it are ignored."""
        return cell.strip().lower() in self.nulls

    @cached_property
    def thousands_mark(self) -> str:
        """Regular expression for one thousands mark; empty where numbers have none."""
        return f"[{re.escape(LOOKALIKES.get(self.thousands, self.thousands))}]" if self.thousands else ""

    @cached_property
    def number_pattern(self) -> str:
        """Regular expression for a number: ASCII digits, no underscores; to be compiled with IGNORECASE."""
        point = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.thousands_mark:
            # Groups of three digits, or of two before the last group as in India. A grouped number never begins with 0.
            whole = f"(?:[1-9][0-9]{{0,2}}(?:{self.thousands_mark}[0-9]{{2,3}})*{self.thousands_mark}[0-9]{{3}}|[0-9]+)"
        digits = f"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)"
        return rf"[+-]?(?:{digits}(?:e[+-]?[0-9]+)?|inf(?:inity)?)"

    @cached_property
    def marks_after_sign(self) -> str:
        """Regular expression for a sign at the start of a cell and the characters to strip after it, as in -$5."""
        stripped = re.escape(self.strip)
        return rf"^([+-])[{PADDING}]*[{stripped}][{stripped}{PADDING}]*"

    @cached_property
    def _number(self) -> re.Pattern[str]:
        return re.compile(self.number_pattern, re.IGNORECASE | re.ASCII)

    def number(self, cell: str) -> float | None:
        """Return the cell as a correctly rounded float64, which may be infinite; None for text that is no number."""
        text = self._plain_number(cell)
        return None if text is None else float(text)

    def _plain_number(self, cell: str) -> str | None:
        """Return the cell's number as text in C syntax, without marks; None for text that is no number."""
        text = cell.strip()
        if self.strip:
            text = re.sub(self.marks_after_sign, r"\1", text.strip(self.strip + PADDING))
        if not self._number.fullmatch(text):
            return None
        if self.thousands_mark:
            text = re.sub(self.thousands_mark, "", text)
        return text.replace(self.decimal, ".")

    def whole_number(self, cell: str) -> int | None:
        """Return the cell as an exact int of any length, also for 5.0; None for fractions, exponents and text."""
        number = self._plain_number(cell)
        found = WHOLE.fullmatch(number) if number is not None else None
        return int(found["sign"] + (found["digits"] or "0")) if found else None
