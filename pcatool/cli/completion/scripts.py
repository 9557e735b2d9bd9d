"""The table as `_arguments` of zsh wants it: zsh itself keeps track of what was given."""

from __future__ import annotations

from collections.abc import Iterator

from pcatool.cli.completion.files import MODEL_ENDING, PACKED_ENDINGS, TABLE_ENDINGS
from pcatool.cli.completion.table import Argument, Option, Subcommand, Table, Value
from pcatool.cli.completion.template import filled, quoted

__all__ = ["script"]

ACTIONS = {
    (): " ",  # shows what is wanted, and offers nothing
    ("any",): "_files",
    ("data",): "_pcatool_data",
    ("model",): "_pcatool_model",
    ("model", "data"): "_pcatool_model_or_data",
}


def script(table: Table) -> str:
    commands = (f"{entry.name}:{escaped(entry.about, ':')}" for entry in table.subcommands)
    return filled(
        "walk.zsh",
        COMMANDS=lines(commands, "    ", ""),
        PROGRAM=lines(specs(table.program), "    ", " \\"),
        TABLE="\n".join(map(branch, table.subcommands)),
        MODEL=f"*{MODEL_ENDING}",
        DATA=f"(#i)*({'|'.join(TABLE_ENDINGS)})(|{'|'.join(PACKED_ENDINGS)})",
    )


def branch(entry: Subcommand) -> str:
    body = lines(specs(entry), "        ", " \\")
    return f"    {entry.name})\n      _arguments -s -S : \\\n{body}\n        && ret=0\n      ;;"


def lines(items: Iterator[str], indent: str, end: str) -> str:
    return "\n".join(f"{indent}{quoted(item)}{end}" for item in items)


def specs(entry: Subcommand) -> Iterator[str]:
    for option in entry.options:
        yield from (option_spec(option, name) for name in option.names)
    for number, argument in enumerate(entry.arguments, start=1):
        yield f"{'*' if argument.repeatable else number}:{wanted(argument)}"


def option_spec(option: Option, name: str) -> str:
    """One spelling; of those that say the same or the contrary one is enough."""
    others = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    before = "*" if option.repeatable else others
    about = f"[{escaped(option.about, '[]')}]"
    if option.metavar is None:
        return f"{before}{name}{about}"
    return f"{before}{name}{'=' if name.startswith('--') else '+'}{about}:{wanted(option)}"


def wanted(one: Option | Argument) -> str:
    return f"{escaped(one.metavar or '', ':')}:{action(one.value)}"


def action(value: Value) -> str:
    words = " ".join(value.words)
    if value.listed:
        return f" _values -s , word {words}"
    return f"({words})" if words else ACTIONS[value.files]


def escaped(text: str, marks: str) -> str:
    return "".join(f"\\{letter}" if letter in marks + "\\" else letter for letter in text)
