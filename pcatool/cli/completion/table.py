"""The command tree as a table of plain records, from which completion scripts and manual pages are made.

Options and arguments as short texts, for the shells whose script reads a table of such.
`-o|--output=@any` has two names and takes a file; `*-c|--columns=` can be given again, and nothing is known of its
value; `--whiten=none pca zca` takes one of these words, `--values=+loadings cos2` some of these.
"""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pcatool.cli.app import program
from pcatool.cli.subcommand import explained, panel
from pcatool.options import NOTHING, ValueKind
from pcatool.readers.paths import COMPRESSED, MODEL_SUFFIX
from pcatool.registry import READERS

__all__ = [
    "MODEL_ENDING",
    "PACKED_ENDINGS",
    "TABLE_ENDINGS",
    "Argument",
    "CommandTable",
    "Option",
    "Subcommand",
    "Value",
    "filled",
    "of_argument",
    "of_option",
    "quoted",
    "spelled_in_any_case",
    "table",
]

MODEL_ENDING = MODEL_SUFFIX

# In small letters or in capitals, and behind it that of a compression.
TABLE_ENDINGS = tuple(ending for entry in READERS.entries.values() for ending in entry.suffixes)
PACKED_ENDINGS = COMPRESSED


def spelled_in_any_case(ending: str) -> str:
    """A pattern of a shell: `.[cC][sS][vV]`."""
    return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in ending)


def filled(name: str, **parts: str) -> str:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for key, part in parts.items():
        text = text.replace(f"@{key}@", part)
    return text


def quoted(text: str, inner: str = r"'\''") -> str:
    """In single quotes, as a shell's word; `inner` is how the shell writes one of these within."""
    return "'" + text.replace("'", inner) + "'"


class Value(NamedTuple):
    """What can stand for a value: words, files of some kinds, or nothing that could be told."""

    words: tuple[str, ...]
    files: tuple[str, ...]
    listed: bool  # several words, with commas between


class Option(NamedTuple):
    """One option under all its names; those that say the contrary of each other are one."""

    names: tuple[str, ...]
    about: str
    metavar: str | None  # None: it takes no value
    value: Value
    repeatable: bool
    group: str
    meaning: str  # the whole of what help says, its default, too


class Argument(NamedTuple):
    """What is given by its place."""

    metavar: str
    value: Value
    repeatable: bool
    meaning: str


class Subcommand(NamedTuple):
    """One subcommand; the program itself is told by the same."""

    name: str
    about: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    usage: str
    text: str  # of its help, line by line


class CommandTable(NamedTuple):
    """The program, whose options stand before any subcommand, and its subcommands."""

    program: Subcommand
    subcommands: tuple[Subcommand, ...]


def table() -> CommandTable:
    tree = program()
    context = tree.context_class(tree, info_name="pcatool", **tree.context_settings)
    below = (
        _subcommand(command, tree.context_class(command, parent=context, info_name=name))
        for name, command in tree.commands.items()
    )
    return CommandTable(_subcommand(tree, context), tuple(below))


def _subcommand(command: Any, context: Any) -> Subcommand:
    params = command.get_params(context)
    wanted = {param.name: _wanted(command, param.name) for param in params}
    options = (_option(param, wanted[param.name]) for param in params if param.param_type_name == "option")
    arguments = (_argument(param, wanted[param.name]) for param in params if param.param_type_name == "argument")
    about = first_sentence(command.help.partition("\n")[0])
    usage = command.get_usage(context).removeprefix("Usage: ")
    return Subcommand(command.name, about, tuple(options), tuple(arguments), usage, command.help)


def _wanted(command: Any, name: str) -> Value:
    """As the annotation of the parameter says; the last word on it counts."""
    parameter = signature(command.callback).parameters.get(name)
    said = [NOTHING, *(note for note in get_args(parameter and parameter.annotation) if isinstance(note, ValueKind))]
    return Value(said[-1].words(), said[-1].files, said[-1].listed)


def _option(param: Any, value: Value) -> Option:
    names = (*sorted(param.opts, key=len), *param.secondary_opts)
    metavar = None if param.is_flag else param.metavar
    about = first_sentence(param.help)
    return Option(names, about, metavar, value, param.multiple, panel(param), explained(param))


def _argument(param: Any, value: Value) -> Argument:
    return Argument(param.metavar.removesuffix("..."), value, param.nargs == -1, param.help or "")


def first_sentence(text: str) -> str:
    """Without its full stop; the dot of an abbreviation or of a file's ending is followed by no capital."""
    return re.split(r"(?<!\.)\.(?:\s+(?=[A-Z-])|\s*$)", " ".join(text.split()), maxsplit=1)[0]


def of_option(option: Option) -> str:
    names = starred("|".join(option.names), option.repeatable)
    return names if option.metavar is None else f"{names}={of_value(option.value)}"


def of_argument(argument: Argument) -> str:
    return starred(of_value(argument.value), argument.repeatable)


def of_value(value: Value) -> str:
    files = "".join(f"@{kind}" for kind in value.files)
    return files or f"{'+' if value.listed else ''}{' '.join(value.words)}"


def starred(text: str, repeatable: bool) -> str:
    return f"*{text}" if repeatable else text
