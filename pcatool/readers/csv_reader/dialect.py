"""Dialect of a CSV table: the one definition of numbers and missing cells that every parser follows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from pcatool.options import BLANKS, NULLS, TableOptions

__all__ = ["PADDING", "Dialect"]

# What C prints for a number that is none, beside the spellings that the help names.
SIGNED_NAN = ("-nan", "+nan")
# Marks that printed tables use for the one that a keyboard has.
ALIKE = {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}
# Blanks around a number, and between it and its sign of currency or per cent.
PADDING = " \t\u00a0\u2009\u202f"

WHOLE = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]*)(?:\.0*)?", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """How fields are separated and how a cell reads as a number."""

    delimiter: str = ","
    decimal: str = "."
    thousands: str | None = None
    strip: str = ""
    comment: str | None = None
    nulls: frozenset[str] = frozenset(n.lower() for n in (*NULLS, *SIGNED_NAN))
    lone: bool = False  # there is one column, and what is missing in it leaves a blank line

    @classmethod
    def of(cls, options: TableOptions, default_delimiter: str) -> Dialect:
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
        """Do runs of blanks separate the fields?"""
        return self.delimiter == BLANKS

    @property
    def separator(self) -> str:
        """What separates the fields of plain text."""
        return " " if self.blanks else self.delimiter

    @property
    def separators(self) -> bytes:
        """What may stand before a field as it lies in the file."""
        return b" \t" if self.blanks else self.delimiter.encode()

    @property
    def dressed(self) -> bool:
        """May a number have more to it than sign, digits, decimal mark and exponent?"""
        return bool(self.thousands or self.strip)

    @cached_property
    def as_in_c(self) -> bool:
        """Are numbers, and only they, what a program reads as such?"""
        return not self.dressed and self.decimal == "." and not self.numeric_null

    @cached_property
    def numeric_null(self) -> bool:
        """Does a number, such as -999, mean a missing cell? Then it is the spelling that counts, not the value."""
        return any(self.number(null) is not None for null in self.nulls)

    @cached_property
    def settled(self) -> Dialect:
        """What plain text is read with: comments, blank lines and runs of blanks are settled."""
        return replace(self, delimiter=self.separator, comment=None, lone=False)

    def is_missing(self, cell: str) -> bool:
        return cell.strip().lower() in self.nulls

    @cached_property
    def marks(self) -> str:
        """The thousands marks as a regular expression."""
        return f"[{re.escape(ALIKE.get(self.thousands, self.thousands))}]" if self.thousands else ""

    @cached_property
    def number_pattern(self) -> str:
        """A number as text: ASCII digits, no underscores; letter case does not count."""
        point = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.marks:
            # Groups of three, or of two before the last as in India; what begins with 0 is no thousand.
            whole = f"(?:[1-9][0-9]{{0,2}}(?:{self.marks}[0-9]{{2,3}})*{self.marks}[0-9]{{3}}|[0-9]+)"
        digits = f"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)"
        return rf"[+-]?(?:{digits}(?:e[+-]?[0-9]+)?|inf(?:inity)?)"

    @cached_property
    def after_sign(self) -> str:
        """What is taken off between a sign and its number, as in -$5."""
        stripped = re.escape(self.strip)
        return rf"^([+-])[{PADDING}]*[{stripped}][{stripped}{PADDING}]*"

    @cached_property
    def _number(self) -> re.Pattern[str]:
        return re.compile(self.number_pattern, re.IGNORECASE | re.ASCII)

    def number(self, cell: str) -> float | None:
        """The cell as a number, correctly rounded, infinity included; None when it is none."""
        text = self._in_c(cell)
        return None if text is None else float(text)

    def _in_c(self, cell: str) -> str | None:
        """The number as it is written in C."""
        text = cell.strip()
        if self.strip:
            text = re.sub(self.after_sign, r"\1", text.strip(self.strip + PADDING))
        if not self._number.fullmatch(text):
            return None
        if self.marks:
            text = re.sub(self.marks, "", text)
        return text.replace(self.decimal, ".")

    def whole(self, cell: str) -> int | None:
        """The whole number that a cell says, however long, if it is written as one."""
        found = WHOLE.fullmatch(self._in_c(cell) or "")
        return int(found["sign"] + (found["digits"] or "0")) if found else None
