"""Typer's command classes as pcatool uses them: help as a plain page, values as plain text, checks of wrong calls."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

from pcatool.cli.reporter import print_result
from pcatool.cli.usage_errors import check_words, no_command, refuse_option_as_value
from pcatool.terminal import BOLD, PLAIN, Screen

__all__ = ["PANELS", "WORDS", "Command", "CommandGroup", "explained", "panel"]

INDENT = 2  # columns before a word of the command line
WORDS = 28  # column where explanations begin
WIDEST = 100  # columns of the widest page: longer lines are hard to read

Entry = tuple[str, str]  # a word of the command line, and what it means


def with_headings(text: str) -> str:
    """Return a help page with its headings in bold, for a terminal."""
    return re.sub(r"^(Usage:|[A-Z][a-z]+:$)", rf"{BOLD}\1{PLAIN}", text, flags=re.MULTILINE)


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
    parts += [more] if more else []
    return "\n\n".join(parts) + "\n"


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


# Groups of options in the order of the page, which follows the way of the data.
PANELS = ("Input", "Model", "Kernel", "Supervised", "Output", "General")

# The usual options: `-h` shows only these, `--help` shows all.
USUAL = frozenset({
    "--columns", "--exclude", "--delimiter", "--from",
    "--components", "--standardize", "--missing", "--method", "--label",
    "--output", "--scores", "--keep", "--with-error", "--format", "--threshold", "--rules", "--values",
    "--image", "--color",
    "--verbose", "--help",
})  # fmt: skip
HELP = "Show the usual options (-h), or all of them (--help)."


class TextParameter:
    """Replacement for Typer's conversion of values, which leaves text unchanged.

    Typer converts with pydantic, whose import takes a fifth of a small run; all our values are text.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value unchanged; a repeatable parameter that was not given is an empty tuple."""
        return () if value is None and (param.multiple or param.nargs == -1) else value


def as_given(params: list[Any]) -> list[Any]:
    """Make Typer parameters pass text on unchanged, and make `--help` print our page."""
    for param in params:
        vars(param)["get_runtime_param"] = TextParameter
        if "--help" in param.opts:
            param.callback, param.help = show_help, HELP
    return params


def show_help(ctx: Any, param: Any, wanted: bool) -> None:
    """Print the help page and exit, if it is wanted."""
    if wanted:
        text = ctx.get_help()
        print_result(with_headings(text) if Screen.now().color else text)
        ctx.exit()


class Command(TyperCommand):
    """One subcommand. Its help text is the docstring of its function, line by line."""

    brief = False  # whether the short page was asked for

    def get_params(self, ctx: Any) -> list[Any]:
        return as_given(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a call; refuse words that the parser would misread."""
        self.brief = "-h" in args and "--help" not in args
        check_words(self, args)
        rest = super().parse_args(ctx, args)
        refuse_option_as_value(self, ctx.params)
        return rest

    def get_usage(self, ctx: Any) -> str:
        return f"Usage: pcatool {self.name} {self.options_metavar}"

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page; the short page has the usual options and the number of the others."""
        arguments: list[Entry] = []
        options: dict[str, list[Entry]] = {name: [] for name in PANELS}
        left_out = 0
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                arguments.append((param.metavar or "", getattr(param, "help", "") or ""))
            elif self.brief and USUAL.isdisjoint(param.opts):
                left_out += 1
            else:
                options.setdefault(panel(param), []).append((spelled(param), explained(param)))
        text, usage = self.help or "", self.get_usage(ctx)
        if not self.brief:
            formatter.write(page(usage, text, {"Arguments": arguments, **options}))
            return
        usual = {"Arguments": arguments, "Options": [entry for group in options.values() for entry in group]}
        more = f"{left_out} more options: 'pcatool {self.name} --help'." if left_out else ""
        formatter.write(page(usage, in_short(text), usual, more))


class CommandGroup(TyperGroup):
    """The program itself, whose subcommands are `Command`s."""

    def get_params(self, ctx: Any) -> list[Any]:
        return as_given(super().get_params(ctx))

    def get_usage(self, ctx: Any) -> str:
        return "Usage: pcatool COMMAND [ARGUMENTS] [OPTIONS]"

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise no_command(args[0], self.commands)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        named = {
            "Commands": [(name, first_line(command)) for name, command in self.commands.items()],
            "Options": [(spelled(param), explained(param)) for param in self.get_params(ctx)],
        }
        formatter.write(page(self.get_usage(ctx), self.help or "", named))


def in_short(text: str) -> str:
    """Return the first paragraph of a help text, and its examples."""
    first, *others = text.split("\n\n")
    return "\n\n".join([first, *(part for part in others if part.lstrip().startswith("Examples:"))])


def first_line(command: Any) -> str:
    return (command.help or "").partition("\n")[0]


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
