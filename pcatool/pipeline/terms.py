"""Columns as terms of `-c`: the other way round than they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

__all__ = ["column_words"]

# Letters that names of columns may take in a command; with more it could not be read, nor given to every system.
MOST_LETTERS = 4000

# So many names in a row, as p0, p1, p2, are written as a range.
RUN = 4


def column_words(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """-c and the columns by name, as words of a command, and what to know of it."""
    terms = list(_terms(names))
    together = [",".join(run) for _, run in groupby(terms, key=_alone)]
    apart = [f" {term}" if term.startswith("-") else term for term in together]  # or it would be an option
    found = [word for term in apart for word in ("-c", term)]
    if sum(map(len, found)) > MOST_LETTERS or "" in names:
        said = (
            f"the {len(names)} columns are not named in it: it takes all that hold numbers, and -c chooses among them"
        )
        return [], [said]
    known = set(names)
    spans = [term for term in terms if term not in known and "-" in term]
    remarks = [
        f"the range {term} takes all columns from the one to the other, as they stand in the table"
        for term in spans[:1]
    ]
    if not all(name.isprintable() for name in names):
        remarks.append("in it ? stands for a character of a name that cannot be shown")
    return found, remarks


def _shown(name: str) -> str:
    """A name, or a glob for one with a line break or the like, which no page shows so that it could be copied."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() and c not in "*?[]," else "?" for c in name)


def _alone(term: str) -> str:
    """What a term shares a -c with: one with a comma in it shares its own with nothing."""
    return term if "," in term else ""


def _terms(names: Sequence[str]) -> Iterator[str]:
    """Names, or ranges of them where they are numbered one after the other."""
    known, start = set(names), 0
    while start < len(names):
        end = start + 1
        while end < len(names) and names[end] == _next(names[end - 1]):
            end += 1
        term = f"{names[start]}-{names[end - 1]}"
        first, last = (re.fullmatch(r"(.*)\[(\d+)\]", name, re.ASCII) for name in (names[start], names[end - 1]))
        if first and last and end - start > 1 and first[2] == "0" and first[1] not in known:
            yield first[1]  # a vector, whole
        elif end - start >= RUN and term not in known and "," not in term and term.isprintable() and not first:
            yield term
        else:
            yield from map(_shown, names[start:end])
        start = end


def _next(name: str) -> str | None:
    """p7 -> p8, p09 -> p10, v[3] -> v[4]."""
    found = re.fullmatch(r"(.*?)(\d{1,15})(\]?)", name, re.ASCII | re.DOTALL)
    return f"{found[1]}{int(found[2]) + 1:0{len(found[2])}d}{found[3]}" if found else None
