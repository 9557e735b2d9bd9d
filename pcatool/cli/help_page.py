"""The help page of the program and of each command, as plain text; imported only when a page is shown.

Laid out by hand, because the pages of Typer are not as good, or take too long:

- Its plain formatter breaks names at hyphens and cuts words that are longer than a line (`laplacian-` / `eigenmap`, in
  five pages of 80 columns), and begins the explanations in another column for each group of options.
- Its pages by rich take 60 ms more to import (`typer.rich_utils` 110 ms, `typer` 50 ms; all of `--help` takes 90 ms).
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pcatool.registry import PLOTS
from pcatool.terminal import BOLD, styled

__all__ = ["PANELS", "USUAL", "WIDEST", "command_page", "explained", "page", "panel", "program_page", "with_headings"]

INDENT = 2  # columns before a word of the command line
WORDS = 28  # column where explanations begin
WIDEST = 100  # columns of the widest page: longer lines are hard to read

Entry = tuple[str, str]  # a word of the command line, and what it means

# Groups of options in the order of the page, which follows the way of the data.
PANELS = ("Input", "Model", "Kernel", "Supervised", "Output", "General")

# The usual options: `-h` shows only these, `--help` shows all.
USUAL = frozenset({
    "--columns", "--exclude", "--delimiter", "--header", "--from",
    "--components", "--standardize", "--ddof", "--missing",
    "--output", "--output-format", "--scores", "--keep", "--with-error", "--format", "--threshold", "--rules",
    "--values", "--first", "--image", "--axes", "--color",
    "--quiet", "--verbose", "--help",
})  # fmt: skip


def command_page(usage: str, command: Any, params: Iterable[Any], words: Sequence[str]) -> str:
    """Return the help page that the words of a call ask for.

    With `-h` it has the usual options and the number of the others. With a kind of plot it is about this kind.
    """
    brief = "-h" in words and "--help" not in words
    kind = next((word for word in words if not word.startswith("-")), "")
    text, unsuited = command.help, tuple[str, ...]()
    if "KIND" in usage and kind in PLOTS:
        usage, text, unsuited = usage.replace("KIND", kind), of_kind(text, kind), ("KIND", *PLOTS[kind].unsuited)
    arguments: list[Entry] = []
    options: dict[str, list[Entry]] = {name: [] for name in PANELS}
    left_out = 0
    for param in params:
        if not {param.metavar, panel(param).lower(), *param.opts}.isdisjoint(unsuited):
            continue
        if param.param_type_name == "argument":
            arguments.append((param.metavar or "", param.help or ""))
        elif brief and USUAL.isdisjoint(param.opts):
            left_out += 1
        else:
            options.setdefault(panel(param), []).append((spelled(param), explained(param)))
    if not brief:
        return page(usage, text, {"Arguments": arguments, **options})
    usual = {"Arguments": arguments, "Options": [entry for group in options.values() for entry in group]}
    name = f"{command.name} {kind}" if unsuited else command.name
    more = f"{left_out} more options: 'pcatool {name} --help'." if left_out else ""
    return page(usage, in_short(text), usual, more)


def of_kind(text: str, kind: str) -> str:
    """Return the help text of `plot` for one kind: what it draws, and the examples of this kind."""
    of_rows = "--from" not in PLOTS[kind].unsuited
    _, *others = (text if of_rows else in_short(text)).split("\n\n")
    calls = re.sub(rf"^  pcatool plot (?!{kind} ).*\n(   .*\n?)*", "", "\n\n".join([*others, ""]), flags=re.MULTILINE)
    return f"{kind.capitalize()}: {PLOTS[kind].summary}.\n\n{calls}"


def program_page(usage: str, program: Any, params: Iterable[Any]) -> str:
    """Return the help page of the program, which lists its commands."""
    named = {
        "Commands": [(name, command.help.partition("\n")[0]) for name, command in program.commands.items()],
        "Options": [(spelled(param), explained(param)) for param in params],
    }
    return page(usage, program.help, named)


def in_short(text: str) -> str:
    """Return the first paragraph of a help text, and its examples."""
    first, *others = text.split("\n\n")
    return "\n\n".join([first, *(part for part in others if part.lstrip().startswith("Examples:"))])


def panel(param: Any) -> str:
    """Return the group of options that a parameter belongs to."""
    return getattr(param, "rich_help_panel", None) or PANELS[-1]


def spelled(param: Any) -> str:
    """Return an option with its value, such as `-o, --output FILE`; without a short name it is indented."""
    names = ", ".join(sorted(param.opts, key=len))
    names = f"    {names}" if names.startswith("--") else names
    names += "".join(f" / {name}" for name in param.secondary_opts)
    return names if param.is_flag else f"{names} {param.metavar}"


def explained(param: Any) -> str:
    """Return the help of a parameter, with its default if that is shown."""
    default = getattr(param, "show_default", None)
    shown = default if isinstance(default, str) else param.default if default is True else None
    if param.is_flag and not isinstance(default, str):
        shown = param.opts[-1] if param.default and param.secondary_opts else None
    return f"{param.help or ''}{f' [default: {shown}]' if shown is not None else ''}"


def page(usage: str, text: str, named: Mapping[str, Iterable[Entry]], more: str = "") -> str:
    """Return the whole help page as text.

    `named` maps headings to entries. No line is wider than the terminal, unless it holds a single long word.
    """
    width = max(min(shutil.get_terminal_size().columns, WIDEST), 40)
    parts = [usage, *(paragraph(lines, width) for lines in text.strip().split("\n\n"))]
    for heading, entries in named.items():
        lines = [line for words, meaning in entries for line in entry(words, meaning, width)]
        if lines:
            parts.append("\n".join([f"{heading}:", *lines]))
    parts += [paragraph(more, width)] if more else []
    return "\n\n".join(parts)


def paragraph(text: str, width: int) -> str:
    """Fill prose to `width`; a paragraph with indented lines, such as examples, stays unchanged."""
    return text if "\n  " in text else "\n".join(filled(text, width))


def filled(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def entry(words: str, meaning: str, width: int) -> list[str]:
    """Return the lines of an entry: the explanation stands beside its words, or below them if they are long."""
    beside = " " * INDENT + words.ljust(WORDS - INDENT)
    lines = filled(meaning, width - WORDS) or [""]
    below = [" " * WORDS + line for line in lines]
    if len(words) + 2 <= WORDS - INDENT:
        return [(beside + lines[0]).rstrip(), *below[1:]]
    return [beside.rstrip(), *below]


def with_headings(text: str) -> str:
    """Return a help page with its headings in bold, for a terminal."""
    return re.sub(r"^(Usage:|[A-Z][a-z]+:$)", lambda found: styled(found[0], BOLD, True), text, flags=re.MULTILINE)
