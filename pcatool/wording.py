"""Words of messages: quotation marks, counts, per cent, lists, nearest names, and remedies that leave out a column."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from shlex import quote

__all__ = [
    "MAX_PATH",
    "MOST_LISTED",
    "QUOTED",
    "counted",
    "edit_distance",
    "exclusion",
    "grouped",
    "leave_out",
    "leave_out_all",
    "link_target",
    "listed",
    "nearest",
    "nearest_file_hint",
    "null_option",
    "percent",
    "printable",
    "reword_for_model",
    "reword_for_only_feature",
    "show",
]

# Most characters of a value quoted in a message; a longer value would hide the message.
MAX_SHOWN = 60

# A typing error changes at most a third of a word, and at most this many letters; more edits make another word.
MOST_EDITS = 3

# Most characters of a path quoted in a message (PATH_MAX of Linux): a path is not cut, because its end says most.
MAX_PATH = 4096


def show(value: object, max_shown: int = MAX_SHOWN) -> str:
    """Return a value in quotes for a message, cut to `max_shown` characters, with control characters escaped."""
    text = str(value)
    if len(text) > max_shown:
        text = text[: max_shown - 3] + "..."
    return f"'{printable(text)}'"


def printable(text: str) -> str:
    """Return text from outside with control characters escaped, so that a name cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(count: int, noun: str, ending: str = "s") -> str:
    """Return the count with its noun: `1 row`, `2,000 rows`; `ending` makes the plural."""
    return f"{count} {noun}" if count == 1 else f"{grouped(count)} {noun}{ending}"


def grouped(count: int) -> str:
    """Return a count with a comma between groups of three digits: `12,345`."""
    return f"{count:,}"


def percent(share: float) -> str:
    """Return a share in per cent with two decimals: `55.69%`.

    `0.00%` and `100.00%` are exact; shares that would only round to them are `<0.01%` and `>99.99%`.
    """
    text = f"{share:.2%}"
    if share > 0 and text == "0.00%":
        return "<0.01%"
    return ">99.99%" if share < 1 and text == "100.00%" else text


MOST_LISTED = 5  # names that a message lists


def listed(names: Iterable[str], max_shown: int = MOST_LISTED) -> str:
    """Return quoted names joined by commas; after the first `max_shown` names only `and 7 more`."""
    names = list(names)
    text = ", ".join(show(name) for name in names[:max_shown])
    return text if len(names) <= max_shown else f"{text} and {grouped(len(names) - max_shown)} more"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` most probably means; None if none is near.

    Tried in this order: the only known name that begins with `name`; the name with the fewest edits, if so few may be a
    typing error; the only known name that is at the beginning or end of `name`, as whole words. Letter case and the
    marks between words are ignored.
    """
    stems = {one: _stem(one) for one in known}
    stem = _stem(name)
    if len(stem) > 2:
        begun = [one for one, its in stems.items() if its.startswith(stem)]
        if len(begun) == 1:
            return begun[0]
    edits = {one: edit_distance(stem, its) for one, its in stems.items()}
    near = [one for one, its in stems.items() if edits[one] <= _most_edits(stem, its)]
    if near:
        return min(near, key=lambda one: (edits[one], stems[one][:1] != stem[:1]))
    within = [one for one, its in stems.items() if _has_words(stem, its)]
    return within[0] if len(within) == 1 else None


def _stem(name: str) -> str:
    """Return a name in the form in which names are compared: lower case, words joined by hyphens."""
    return re.sub(r"[-_. ]+", "-", name.lower()).strip("-")


def _most_edits(a: str, b: str) -> int:
    """Return how many edits between two words may be a typing error.

    A third of the letters of the longer word, at most MOST_EDITS. For words of one or two letters 1 if they begin with
    the same letter, else 0.
    """
    return min(MOST_EDITS, max(len(a), len(b)) // 3 or int(a[:1] == b[:1]))


def _has_words(text: str, part: str) -> bool:
    """Whether a text begins or ends with the words of `part`; a part of one or two letters never counts."""
    return len(part) > 2 and (text.startswith(f"{part}-") or text.endswith(f"-{part}"))


def edit_distance(a: str, b: str) -> int:
    """Return the smallest number of insertions, deletions, changes and swaps of adjacent letters from `a` to `b`."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


# Longest argument that a remedy spells out.
MOST_TYPED = 60


def leave_out(name: str, column: int | None = None) -> str:
    """Return the advice `leave the column out with -x NAME`; for `column` see `exclusion`."""
    return f"leave the column out with {exclusion(name, column)}"


def leave_out_all(names: Sequence[str]) -> str:
    """Return the advice to leave several columns out with -x; without names if these are long or cannot be typed."""
    if len(names) == 1:
        return leave_out(names[0])
    typed = ",".join(names)
    plain = len(typed) <= MOST_TYPED and typed.isprintable() and typed.count(",") == len(names) - 1
    return f"leave the columns out with -x{f' {quote(typed)}' if plain and not typed.startswith('-') else ''}"


def exclusion(name: str, column: int | None = None) -> str:
    """Return the option that leaves a column out: `-x NAME`, or `-x NUMBER` if the name cannot be typed.

    `column` is the index of the column, from 0 (NUMBER counts from 1). If None, `-x` alone replaces `-x NUMBER`.
    """
    if name.strip() and name.isprintable() and not name.startswith("-"):
        return f"-x {quote(name)}"
    return "-x" if column is None else f"-x {column + 1}"


def null_option(value: str) -> str:
    """Return the option that makes readers take a value as missing, `--null-value VALUE`; "" if it cannot be typed."""
    value = value.strip()
    if not value or not value.isprintable() or len(value) > MOST_TYPED:
        return ""
    return f"--null-value{'=' if value.startswith('-') else ' '}{quote(value)}"


# Advice to leave columns out of a fit, with the argument of -x as a shell reads it; -x among other options.
QUOTED = r"(?:'[^']*'|\"'\"|[^\s;,()'\"]|,(?=\S))+"

LEAVE_OUT = re.compile(rf"(leave (?:it|them|the columns?)) out with -x(?: ({QUOTED}))?")

OR_LEAVE_OUT = re.compile(rf", or {LEAVE_OUT.pattern}")

EXCLUDING = re.compile(rf"(?: -x {QUOTED})+(?= \(numbers in column )")


def reword_for_model(text: str, without: Callable[[str], str]) -> str:
    """Return a message of a reader, reworded for a command that applies a model and has no -x to leave columns out.

    `leave the column out with -x NAME` becomes `leave the column out of the model with CALL`. `without` returns CALL, a
    call that makes a model without the column, for the argument of -x; "" if -x has no argument in the message.
    """
    text = EXCLUDING.sub("", text)
    return LEAVE_OUT.sub(lambda found: f"{found[1]} out of the model with {without(found[2] or '')}", text)


def reword_for_only_feature(text: str) -> str:
    """Return a message of a reader without the advice to leave a column out, for a table with a single feature."""
    left = OR_LEAVE_OUT.sub("", text)
    return text if left == text else left.replace(", give ", ", or give ")


def nearest_file_hint(path: str) -> str:
    """Return `did you mean 'FILE'?` for a missing `path`; "" if no name in its folder is near.

    FILE has the same suffix and a near stem, or the same stem and a near suffix.
    """
    folder, name = os.path.split(path)
    with suppress(OSError, ValueError):
        stem, ending = os.path.splitext(name)  # noqa: PTH122
        parts = {one: os.path.splitext(one) for one in sorted(os.listdir(folder or "."))}  # noqa: PTH122, PTH208
        there = {
            own: one for one, (own, its) in parts.items() if its == ending or (own == stem and nearest(ending, [its]))
        }
        near = nearest(stem, there)
        return f"did you mean {show(os.path.join(folder, there[near]), MAX_PATH)}?" if near else ""  # noqa: PTH118
    return ""


def link_target(path: str) -> str:
    """Return the target of a symbolic link; "" if `path` is no link or cannot be read."""
    with suppress(OSError, ValueError):
        return os.readlink(path)  # noqa: PTH115
    return ""
