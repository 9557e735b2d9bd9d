"""Cells that are numbers but for thousands marks, a decimal comma, a currency or per-cent sign: what reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pcatool.readers.dialect import PADDING, Dialect

__all__ = ["dressing"]

# Signs that stand around a number without changing what it counts.
SYMBOLS = "$€£¥₹₽₩₺¢%‰"
# Decimal and thousands marks in use, the commoner first: where several read the cells, the first is named.
MARKS = ((".", ","), (",", None), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"), (",", "_"))
DRESSED = re.compile(rf"[-+0-9.,'_eE{SYMBOLS}{PADDING}\u2019]*[0-9][-+0-9.,'_eE{SYMBOLS}{PADDING}\u2019]*")
# Four groups of digits are more likely an address in a network.
ADDRESS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")


def dressing(cells: Sequence[str], dialect: Dialect) -> str | None:
    """The options that would read at least half of the cells, and the most of them; None when there are none."""
    likely = [c for c in cells if DRESSED.fullmatch(c.strip()) and not ADDRESS.fullmatch(c.strip())]
    if 2 * len(likely) < len(cells):
        return None
    signs = {c for cell in likely for c in cell if c in SYMBOLS}
    # No sign counts for less than any: it comes first, and the first of the best is taken.
    trials = list(_trials(dialect, "".join(sorted(signs | set(dialect.strip)))))
    counts = [sum(trial.number(cell) is not None for cell in likely) for trial in trials]
    best = max(counts, default=0)
    if best == 0 or 2 * best < len(cells):
        return None
    return _spelled(dialect, trials[counts.index(best)])


def _trials(dialect: Dialect, strip: str) -> Iterator[Dialect]:
    for decimal, thousands in ((dialect.decimal, dialect.thousands), *MARKS):
        # There is no option that takes back --thousands.
        if (thousands is not None or dialect.thousands is None) and not set(strip) & {decimal}:
            yield replace(dialect, decimal=decimal, thousands=thousands, strip=strip)


def _spelled(old: Dialect, new: Dialect) -> str:
    """The options that make the one dialect of the other."""
    flags = {
        "--strip": (old.strip, new.strip),
        "--decimal": (old.decimal, new.decimal),
        "--thousands": (old.thousands, new.thousands),
    }
    return " ".join(f"{flag} {_quoted(now)}" for flag, (before, now) in flags.items() if now and now != before)


def _quoted(value: str) -> str:
    return '"\'"' if value == "'" else f"'{value}'"
