"""Help as a plain page of text, which reads the same on a terminal, in a pager and in a pipe."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Mapping

__all__ = ["WORDS", "Entry", "page", "with_headings"]

INDENT = 2
WORDS = 28  # where explanations begin
WIDEST = 100  # longer lines are hard to read

Entry = tuple[str, str]  # a word of the command line, and what it means


BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def with_headings(text: str) -> str:
    """The page for a terminal, its headings in bold."""
    return re.sub(r"^(Usage:|[A-Z][a-z]+:$)", rf"{BOLD}\1{PLAIN}", text, flags=re.MULTILINE)


def page(usage: str, text: str, named: Mapping[str, Iterable[Entry]], more: str = "") -> str:
    """The whole help as text; no line is wider than the terminal as long as words allow."""
    width = max(min(shutil.get_terminal_size().columns, WIDEST), 40)
    parts = [usage, *(paragraph(lines, width) for lines in text.strip().split("\n\n"))]
    for heading, entries in named.items():
        lines = [line for words, meaning in entries for line in entry(words, meaning, width)]
        if lines:
            parts.append("\n".join([f"{heading}:", *lines]))
    parts += [more] if more else []
    return "\n\n".join(parts) + "\n"


def paragraph(text: str, width: int) -> str:
    """Prose is filled anew; examples, which are indented, stay as they are."""
    return text if "\n  " in text else "\n".join(filled(text, width))


def filled(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def entry(words: str, meaning: str, width: int) -> list[str]:
    """The word, and beside it, or below when it is long, what it means."""
    beside = " " * INDENT + words.ljust(WORDS - INDENT)
    lines = filled(meaning, width - WORDS) or [""]
    below = [" " * WORDS + line for line in lines]
    if len(words) + 2 <= WORDS - INDENT:
        return [(beside + lines[0]).rstrip(), *below[1:]]
    return [beside.rstrip(), *below]
