"""The command tree as plain records, from which completion scripts and manual pages are made.

Scripts of bash, fish and PowerShell hold options and arguments as short texts. `-o|--output=@any` has two names and
takes a file. `*-c|--columns=` is repeatable, and its value is not completed. `--whiten=none pca zca` takes one of
these words, `--values=+loadings cos2` several of them.
"""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pcatool.cli.app import program
from pcatool.cli.help_page import group_of, help_with_default
from pcatool.options import NO_COMPLETION, Completion
from pcatool.readers.paths import MODEL_SUFFIX
from pcatool.registry import READERS

__all__ = [
    "MODEL_ENDING",
    "TABLE_ENDINGS",
    "Argument",
    "CommandTable",
    "Option",
    "Subcommand",
    "Value",
    "argument_text",
    "fill_template",
    "option_text",
    "quoted",
    "spelled_in_any_case",
    "table",
]

MODEL_ENDING = MODEL_SUFFIX

# Suffixes of tables, in lower or upper case; a suffix of COMPRESSED may follow.
TABLE_ENDINGS = tuple(ending for entry in READERS.entries.values() for ending in entry.suffixes)


def spelled_in_any_case(ending: str) -> str:
    """Return a shell pattern that matches a suffix in any letter case: `.[cC][sS][vV]`."""
    return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in ending)


def fill_template(name: str, **parts: str) -> str:
    """Return the text of the template `name`, a file beside this module, with each `@KEY@` replaced by `parts[KEY]`."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for key, part in parts.items():
        text = text.replace(f"@{key}@", part)
    return text


def quoted(text: str, inner: str = r"'\''") -> str:
    """Return a text in single quotes, as a word of a shell; `inner` is how the shell writes a quote inside."""
    return "'" + text.replace("'", inner) + "'"


class Value(NamedTuple):
    """Values that complete an option or argument: words, files of some kinds, or none."""

    words: tuple[str, ...]
    files: tuple[str, ...]  # kinds of files: model, data, any
    listed: bool  # a value may be several of the words, separated by commas


class Option(NamedTuple):
    """One option with all its names, including those that negate it."""

    names: tuple[str, ...]
    about: str  # first sentence of the help
    metavar: str | None  # None: the option takes no value
    value: Value
    repeatable: bool
    group: str  # heading in the help page, such as Output
    meaning: str  # the whole help, with the default


class Argument(NamedTuple):
    """One positional argument."""

    metavar: str  # without the dots of a repeatable argument
    value: Value
    repeatable: bool
    meaning: str  # the whole help


class Subcommand(NamedTuple):
    """One subcommand, or the program itself."""

    name: str
    about: str  # first sentence of the help
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    usage: str  # usage line, without "Usage: "
    text: str  # the whole help, line by line


class CommandTable(NamedTuple):
    """The program and its subcommands."""

    program: Subcommand  # with the options that are typed before a subcommand, such as --version
    subcommands: tuple[Subcommand, ...]


def table() -> CommandTable:
    """Return the command tree of the program as records."""
    tree = program()
    context = tree.context_class(tree, info_name="pcatool", **tree.context_settings)
    below = (
        _subcommand(command, tree.context_class(command, parent=context, info_name=name))
        for name, command in tree.commands.items()
    )
    return CommandTable(_subcommand(tree, context), tuple(below))


def _subcommand(command: Any, context: Any) -> Subcommand:
    """Return the record of a Typer command in its Typer context."""
    params = command.get_params(context)
    values = {param.name: _value_of(command, param.name) for param in params}
    options = (_option(param, values[param.name]) for param in params if param.param_type_name == "option")
    arguments = (_argument(param, values[param.name]) for param in params if param.param_type_name == "argument")
    about = first_sentence(command.help.partition("\n")[0])
    usage = command.get_usage(context).removeprefix("Usage: ")
    return Subcommand(command.name, about, tuple(options), tuple(arguments), usage, command.help)


def _value_of(command: Any, name: str) -> Value:
    """Return the values that complete parameter `name` of a command, from the last `Completion` in its annotation."""
    parameter = signature(command.callback).parameters.get(name)
    notes = get_args(parameter and parameter.annotation)
    found = next((note for note in reversed(notes) if isinstance(note, Completion)), NO_COMPLETION)
    return Value(found.words(), found.files, found.listed)


def _option(param: Any, value: Value) -> Option:
    names = (*sorted(param.opts, key=len), *param.secondary_opts)
    metavar = None if param.is_flag else param.metavar
    about = first_sentence(param.help)
    return Option(names, about, metavar, value, param.multiple, group_of(param), help_with_default(param))


def _argument(param: Any, value: Value) -> Argument:
    return Argument(param.metavar.removesuffix("..."), value, param.nargs == -1, param.help or "")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, without its full stop and with single blanks between words.

    A dot ends the sentence before blanks and a capital or a hyphen, or at the end of the text.
    """
    return re.split(r"(?<!\.)\.(?:\s+(?=[A-Z-])|\s*$)", " ".join(text.split()), maxsplit=1)[0]


def option_text(option: Option) -> str:
    """Return an option as short text, such as `-o|--output=@any`; the docstring of this module describes the form."""
    names = starred("|".join(option.names), option.repeatable)
    return names if option.metavar is None else f"{names}={value_text(option.value)}"


def argument_text(argument: Argument) -> str:
    """Return an argument as short text, such as `*@data`; the docstring of this module describes the form."""
    return starred(value_text(argument.value), argument.repeatable)


def value_text(value: Value) -> str:
    """Return values as short text, such as `@model@data`, `none pca zca` or `+loadings cos2`; "" if there are none."""
    files = "".join(f"@{kind}" for kind in value.files)
    return files or f"{'+' if value.listed else ''}{' '.join(value.words)}"


def starred(text: str, repeatable: bool) -> str:
    """Return the short text of an option or argument, with a star before it if `repeatable`."""
    return f"*{text}" if repeatable else text
