"""The help page of the program and of each command, as plain text; imported only when a page is shown.

This module lays the page out itself, because the pages of Typer read worse or take too long:

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
from pcatool.wording import counted

__all__ = [
    "GROUPS",
    "MAX_WIDTH",
    "USUAL_OPTIONS",
    "command_page",
    "group_of",
    "help_with_default",
    "layout",
    "program_page",
    "with_headings",
]

INDENT = 2  # columns before an option or argument
EXPLANATION_COLUMN = 28  # column where explanations begin
MAX_WIDTH = 100  # columns of the widest page: longer lines are hard to read

HelpEntry = tuple[str, str]  # an option or argument as it is typed, and its explanation

# Groups of options in the order of the page: from input to output.
GROUPS = ("Input", "Model", "Kernel", "Supervised", "Output", "General")

# The usual options: `-h` shows only these, `--help` shows all.
USUAL_OPTIONS = frozenset({
    "--columns", "--exclude", "--delimiter", "--header", "--from",
    "--components", "--standardize", "--ddof", "--missing",
    "--output", "--output-format", "--scores", "--keep", "--with-error", "--format", "--threshold", "--rules",
    "--values", "--first", "--image", "--axes", "--color",
    "--quiet", "--verbose", "--help",
})  # fmt: skip


def command_page(usage: str, command: Any, params: Iterable[Any], words: Sequence[str]) -> str:
    """Return the help page of a command; `words` are the words of the call that asks for help.

    With `-h`, and not `--help`, the page lists the usual options and counts the others. If the first argument of `plot`
    is a kind of plot, the page describes this kind only.
    """
    brief = "-h" in words and "--help" not in words
    kind = next((word for word in words if not word.startswith("-")), "")
    text, unsuited = command.help, tuple[str, ...]()
    if "KIND" in usage and kind in PLOTS:
        usage, text, unsuited = usage.replace("KIND", kind), help_of_kind(text, kind), ("KIND", *PLOTS[kind].unsuited)
    arguments: list[HelpEntry] = []
    options: dict[str, list[HelpEntry]] = {name: [] for name in GROUPS}
    left_out = 0
    for param in params:
        if not {param.metavar, group_of(param).lower(), *param.opts}.isdisjoint(unsuited):
            continue
        if param.param_type_name == "argument":
            arguments.append((param.metavar or "", param.help or ""))
        elif brief and USUAL_OPTIONS.isdisjoint(param.opts):
            left_out += 1
        else:
            options.setdefault(group_of(param), []).append((option_and_value(param), help_with_default(param)))
    if not brief:
        return layout(usage, text, {"Arguments": arguments, **options})
    usual = {"Arguments": arguments, "Options": [entry for group in options.values() for entry in group]}
    name = f"{command.name} {kind}" if unsuited else command.name
    more = f"'pcatool {name} --help' shows {counted(left_out, 'more option')}." if left_out else ""
    return layout(usage, summary_and_examples(text), usual, more)


def help_of_kind(text: str, kind: str) -> str:
    """Return the help text of `plot`, `text`, cut down to one kind of plot: its summary and its examples.

    For a kind that draws rows, the other paragraphs are kept too.
    """
    of_rows = "--from" not in PLOTS[kind].unsuited
    _, *others = (text if of_rows else summary_and_examples(text)).split("\n\n")
    calls = re.sub(rf"^  pcatool plot (?!{kind} ).*\n(   .*\n?)*", "", "\n\n".join([*others, ""]), flags=re.MULTILINE)
    return f"{kind.capitalize()}: {PLOTS[kind].summary}.\n\n{calls}"


def program_page(usage: str, program: Any, params: Iterable[Any]) -> str:
    """Return the help page of the program, which lists its commands and its own options, given as `params`."""
    sections = {
        "Commands": [(name, command.help.partition("\n")[0]) for name, command in program.commands.items()],
        "Options": [(option_and_value(param), help_with_default(param)) for param in params],
    }
    return layout(usage, program.help, sections)


def summary_and_examples(text: str) -> str:
    """Return two paragraphs of a help text: its first paragraph, and the paragraph of examples if there is one."""
    first, *others = text.split("\n\n")
    return "\n\n".join([first, *(part for part in others if part.lstrip().startswith("Examples:"))])


def group_of(param: Any) -> str:
    """Return the heading under which the help page lists a parameter, such as Output; General if none is set."""
    return getattr(param, "rich_help_panel", None) or GROUPS[-1]


def option_and_value(param: Any) -> str:
    """Return the names and the metavar of an option, such as `-o, --output FILE`; indented if it has no short name."""
    names = ", ".join(sorted(param.opts, key=len))
    names = f"    {names}" if names.startswith("--") else names
    names += "".join(f" / {name}" for name in param.secondary_opts)
    return names if param.is_flag else f"{names} {param.metavar}"


def help_with_default(param: Any) -> str:
    """Return the help of a parameter; `[default: ...]` follows if Typer is to show the default."""
    default = getattr(param, "show_default", None)
    shown = default if isinstance(default, str) else param.default if default is True else None
    if param.is_flag and not isinstance(default, str):
        shown = param.opts[-1] if param.default and param.secondary_opts else None
    return f"{param.help or ''}{f' [default: {shown}]' if shown is not None else ''}"


def layout(usage: str, text: str, sections: Mapping[str, Iterable[HelpEntry]], more: str = "") -> str:
    """Return the whole help page as text.

    `sections` maps headings to entries; a heading without entries is left out. `more` is the last paragraph. Lines are
    at most as wide as the terminal, and at most MAX_WIDTH; only a line of one long word may be wider.
    """
    width = max(min(shutil.get_terminal_size().columns, MAX_WIDTH), 40)
    parts = [usage, *(paragraph(lines, width) for lines in text.strip().split("\n\n"))]
    for heading, entries in sections.items():
        lines = [line for words, meaning in entries for line in entry(words, meaning, width)]
        if lines:
            parts.append("\n".join([f"{heading}:", *lines]))
    parts += [paragraph(more, width)] if more else []
    return "\n\n".join(parts)


def paragraph(text: str, width: int) -> str:
    """Return a paragraph with lines of at most `width`; unchanged if it has indented lines, such as examples."""
    return text if "\n  " in text else "\n".join(filled(text, width))


def filled(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def entry(words: str, meaning: str, width: int) -> list[str]:
    """Return the lines of an entry: the explanation `meaning` beside `words`, or below `words` if they are long."""
    beside = " " * INDENT + words.ljust(EXPLANATION_COLUMN - INDENT)
    lines = filled(meaning, width - EXPLANATION_COLUMN) or [""]
    below = [" " * EXPLANATION_COLUMN + line for line in lines]
    if len(words) + 2 <= EXPLANATION_COLUMN - INDENT:
        return [(beside + lines[0]).rstrip(), *below[1:]]
    return [beside.rstrip(), *below]


def with_headings(text: str) -> str:
    """Return a help page with ANSI codes that make its headings bold."""
    return re.sub(r"^(Usage:|[A-Z][a-z]+:$)", lambda found: styled(found[0], BOLD, True), text, flags=re.MULTILINE)
