"""Write roff: escaped text, sections, lists, examples; and Markdown, as far as the help topics use it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

__all__ = ["bold", "entry", "escaped", "example", "heading", "italic", "markdown_to_roff", "prose"]

WIDTH = 80  # columns of a stored page; `man` fills the lines anew

# roff turns most of these characters into typographic hyphens and quotes, with which an option cannot be typed.
MARKS = {
    "\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq",
}  # fmt: skip


def escaped(text: str) -> str:
    """Escape a line of text, or a word, for roff; a leading dot does not become a command."""
    line = "".join(MARKS.get(letter, letter if letter.isascii() else f"\\[u{ord(letter):04X}]") for letter in text)
    return rf"\&{line}" if line.startswith(".") else line


def bold(text: str) -> str:
    return rf"\fB{escaped(text)}\fR"


def italic(text: str) -> str:
    return rf"\fI{escaped(text)}\fR"


def filled(marked: str) -> list[str]:
    """Return roff as lines of at most WIDTH columns."""
    return textwrap.wrap(marked, WIDTH, break_long_words=False, break_on_hyphens=False)


def prose(text: str) -> list[str]:
    """Return plain text, escaped, as lines of roff of at most WIDTH columns."""
    return filled(" ".join(map(escaped, text.split())))  # word by word: any word may begin a line


def heading(name: str, level: str = "SH") -> str:
    """Return a heading of a section (SH) or subsection (SS)."""
    return f'.{level} "{escaped(name)}"' if re.search(r"\s", name) else f".{level} {escaped(name)}"


def entry(words: str, meaning: str) -> list[str]:
    """Return the lines of a term, given in roff, and of its meaning below."""
    return [".TP", words, *prose(meaning)]


def example(lines: Iterable[str]) -> list[str]:
    """Return lines that `man` does not fill."""
    return [".RS 4", ".EX", *map(escaped, lines), ".EE", ".RE"]


# --- Markdown ---

# Code, bold, a link to another topic, another link, and a mark of Markdown that is none of these.
INLINE = re.compile(
    r"`([^`]+)`|\*\*(.+?)\*\*|\[[^\]]*\]\(([a-z-]+)\.md\)|\[([^\]]*)\]\(([^)]*)\)|([`\[]|\*(?=\S)|<!--)"
)

# First characters of a block that is not rendered: deeper headings, quotations, numbered lists, rules, HTML, images.
UNKNOWN = re.compile(r"####|>|[0-9]+\. |[*+] |---|<|!|\s")


def markdown_to_roff(text: str) -> Iterator[str]:
    """Yield the lines of roff for headings, paragraphs, flat lists, fenced code and tables in Markdown.

    Raises `ValueError` at anything else, so that nothing is lost.
    """
    after_heading = True  # of the section that the caller begins
    for block in _blocks(text):
        first = block[0]
        if not after_heading and not first.startswith(("#", "- ")):
            yield ".PP"
        if first.startswith("```"):
            yield from map(_unbroken, example(block[1:-1]))
        elif first.startswith("|"):
            yield from _table(block)
        elif first.startswith(("## ", "### ")):
            marks, _, name = " ".join(block).partition(" ")
            yield heading(re.sub("`", "", name), "SH" if marks == "##" else "SS")
        elif first.startswith("- "):
            yield from _list(block)
        elif UNKNOWN.match(first):
            raise ValueError(f"no roff for this Markdown: {first}")
        else:
            yield from filled(_inline(" ".join(block)))
        after_heading = first.startswith("#")


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of each block; a fenced block may hold empty lines, a heading ends with its line."""
    block: list[str] = []
    for line in text.split("\n"):
        fenced = bool(block) and block[0].startswith("```")
        if not fenced and (not line.strip() or line.startswith("#")):
            if block:
                yield block
            block = []
        if fenced or line.strip():
            block.append(line)
        if (line.startswith("#") and not fenced) or (fenced and line == "```"):
            yield block
            block = []
    if block:
        yield block


def _inline(text: str) -> str:
    """Return a line of Markdown as roff: code, bold text and the names of pages are bold."""
    parts, end = [], 0
    for found in INLINE.finditer(text):
        code, strong, topic, words, address, unknown = found.groups()
        if unknown:
            raise ValueError(f"no roff for this Markdown: {text[found.start() :]}")
        parts.append(_plain(text[end : found.start()]))
        if code:
            parts.append(bold(code))
        elif strong:
            parts.append(_inline(strong) if "`" in strong else bold(strong))
        elif topic:
            parts.append(rf"{bold(f'pcatool-{topic}')}(7)")
        else:
            parts.append(f"{_plain(words)} ({escaped(address)})")
        end = found.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    """Return unmarked text as roff, with its spaces."""
    return "".join(map(escaped, re.split(r"(\s+)", text)))  # word by word: any word may begin a line


def _list(block: list[str]) -> Iterator[str]:
    """Yield the items of a flat list."""
    for item in re.split(r"\n(?=\S)", "\n".join(block)):
        if not item.startswith("- ") or re.search(r"^ +[-*] ", item, re.MULTILINE):
            raise ValueError(f"no roff for this Markdown: {item}")
        yield from [r".IP \(bu 2", *filled(_inline(" ".join(item[2:].split())))]


def _table(block: list[str]) -> Iterator[str]:
    """Yield a table for the preprocessor tbl; cells are filled, and the last column takes what is left of the line."""
    # "\|" is a bar inside a cell
    head, _, *rows = [
        [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block
    ]
    if any(len(row) != len(head) for row in rows):
        raise ValueError(f"rows of unequal length: {block[0]}")
    columns = list(zip(*rows, strict=True))
    most = [max(60 // len(head), *(len(word) for cell in column for word in cell.split())) for column in columns]
    wide = [max(map(len, column)) > limit for column, limit in zip(columns, most, strict=True)]
    kinds = [f"lw({limit})" if long else "l" for long, limit in zip(wide, most, strict=True)]
    yield from [".TS", " ".join("l" * len(head)), f"{' '.join([*kinds[:-1], 'lx'])}."]
    yield "\t".join(bold(cell.replace("`", "")) if cell else "" for cell in head)
    yield "_"
    for row in rows:
        yield "\t".join(map(_cell, row, [*wide[:-1], True]))
    yield ".TE"


def _cell(text: str, long: bool) -> str:
    """Return a cell; in a column of long ones it is a block of text, which tbl fills."""
    marked = _inline(text)
    return "\n".join(["T{", *filled(marked), "T}"]) if text and long else marked


def _unbroken(line: str) -> str:
    """Return a line of roff that is stored as several, because linters refuse long ones."""
    return (
        "\\\n".join(
            textwrap.wrap(
                line,
                WIDTH - 1,
                break_long_words=False,
                break_on_hyphens=False,
                drop_whitespace=False,
                expand_tabs=False,
            )
        )
        or line
    )
