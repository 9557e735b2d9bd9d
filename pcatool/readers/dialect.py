"""What a text table's cells mean: separators, numbers, missing cells. The one definition that every parser here follows."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cached_property

from pcatool.options import BLANKS, NULLS, TableOptions

__all__ = ["Dialect"]

# Signs that stand around a number without changing what it counts.
SYMBOLS = "$€£¥₹₽₩₺%‰"


@dataclass(frozen=True)
class Dialect:
    """How fields are separated and how a cell reads as a number."""

    delimiter: str
    decimal: str = "."
    thousands: str | None = None
    strip: str = ""
    comment: str | None = None
    nulls: frozenset[str] = frozenset(n.lower() for n in NULLS)

    @classmethod
    def of(cls, options: TableOptions, default_delimiter: str) -> Dialect:
        return cls(
            delimiter=options.delimiter or default_delimiter,
            decimal=options.decimal,
            thousands=options.thousands,
            strip=options.strip,
            comment=options.comment,
            nulls=frozenset(n.strip().lower() for n in (*NULLS, *options.null_value)),
        )

    @property
    def blanks(self) -> bool:
        return self.delimiter == BLANKS

    @property
    def plain(self) -> bool:
        """Does Arrow's parser speak it?"""
        return not (self.blanks or self.thousands or self.strip or self.comment)

    def fields(self, row: str) -> list[str]:
        """The cells of one row of text."""
        if self.blanks:
            found = re.findall(r'"((?:[^"]|"")*)"|([^ \t\r\n]+)', row)
            return [quoted.replace('""', '"') or bare for quoted, bare in found]
        return next(csv.reader([row], delimiter=self.delimiter), [])

    def is_missing(self, cell: str) -> bool:
        return cell.strip().lower() in self.nulls

    @cached_property
    def number_pattern(self) -> str:
        """A number as text: ASCII digits, no underscores; letter case does not count."""
        point = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.thousands is not None:
            mark = re.escape(self.thousands)
            whole = f"(?:[0-9]{{1,3}}(?:{mark}[0-9]{{2,3}})+|[0-9]+)"
        digits = f"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)"
        return rf"[+-]?(?:{digits}(?:e[+-]?[0-9]+)?|inf(?:inity)?)"

    @cached_property
    def _number(self) -> re.Pattern[str]:
        return re.compile(self.number_pattern, re.IGNORECASE | re.ASCII)

    def number(self, cell: str) -> float | None:
        """The cell as a number, correctly rounded; None when it is none. Infinity reads as such: refusing it is not ours."""
        text = cell.strip()
        if self.strip:
            text = text.strip(self.strip + " \t")
            text = re.sub(rf"^([+-])[{re.escape(self.strip)} ]+", r"\1", text)  # -$5
        if not self._number.fullmatch(text):
            return None
        if self.thousands is not None:
            text = text.replace(self.thousands, "")
        return float(text.replace(self.decimal, "."))

    def dressing(self, cell: str) -> str | None:
        """The options that would read a cell which is a number but for marks or signs; None when it is not one."""
        text = cell.strip()
        signs = "".join(sorted({c for c in text if c in SYMBOLS} - set(self.strip)))
        bare = text.strip(SYMBOLS + " \t")
        bare = re.sub(rf"^([+-])[{re.escape(SYMBOLS)} ]+", r"\1", bare)
        wanted = [f"--strip '{signs}'"] if signs else []
        marks = self._marks(bare)
        if marks is None or not (wanted or marks):
            return None
        return " ".join(wanted + marks)

    def _marks(self, text: str) -> list[str] | None:
        if self.number(text) is not None:
            return []
        if re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?", text):
            return ["--thousands ','"]
        if re.fullmatch(r"[+-]?[0-9]{1,3}(\.[0-9]{3})*,[0-9]+", text):
            return ["--decimal ,"] + (["--thousands ."] if "." in text else [])
        if re.fullmatch(r"[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?", text):
            return ["--decimal ,"]
        spaced = re.fullmatch(r"[+-]?[0-9]{1,3}(?:([ '_\u00a0\u202f\u2019])[0-9]{3})(?:\1[0-9]{3})*([.,][0-9]+)?", text)
        if spaced:
            decimal = ["--decimal ,"] if spaced.group(2) and spaced.group(2)[0] == "," else []
            return [f'--thousands "{spaced.group(1)}"', *decimal]
        return None
