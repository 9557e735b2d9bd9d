"""Text as roff wants it: what is shown is what is written, and what can be copied is what can be typed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

__all__ = ["bold", "entry", "escaped", "example", "heading", "italic", "prose"]

WIDTH = 80  # of the lines of a page as it is stored; a reader fills them anew

# By themselves most of these become the typographer's: a hyphen that is no option, quotes that quote nothing.
MARKS = {
    "\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq",
}  # fmt: skip


def escaped(text: str) -> str:
    """A line of text, or a word: no command of roff begins with it, whatever its first letter."""
    line = "".join(MARKS.get(letter, letter if letter.isascii() else f"\\[u{ord(letter):04X}]") for letter in text)
    return rf"\&{line}" if line.startswith(".") else line


def bold(text: str) -> str:
    return rf"\fB{escaped(text)}\fR"


def italic(text: str) -> str:
    return rf"\fI{escaped(text)}\fR"


def prose(text: str) -> list[str]:
    marked = " ".join(map(escaped, text.split()))  # by words: any of them may come to begin a line
    return textwrap.wrap(marked, WIDTH, break_long_words=False, break_on_hyphens=False)


def heading(name: str, level: str = "SH") -> str:
    return f'.{level} "{escaped(name)}"' if re.search(r"\s", name) else f".{level} {escaped(name)}"


def entry(words: str, meaning: str) -> list[str]:
    """A term, roff already, and below it what it means."""
    return [".TP", words, *prose(meaning)]


def example(lines: Iterable[str]) -> list[str]:
    """Lines that stay as they are."""
    return [".RS 4", ".EX", *map(escaped, lines), ".EE", ".RE"]
