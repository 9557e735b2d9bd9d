"""The table as fish wants it."""

from __future__ import annotations

from pcatool.cli.completion.files import MODEL_ENDING, PACKED_ENDINGS, TABLE_ENDINGS
from pcatool.cli.completion.spelling import of_argument, of_option
from pcatool.cli.completion.table import Subcommand, Table
from pcatool.cli.completion.template import filled, quoted

__all__ = ["script"]


def script(table: Table) -> str:
    commands = (f"            {pair(entry.name, entry.about)}" for entry in table.subcommands)
    return filled(
        "walk.fish",
        COMMANDS=" \\\n".join(commands),
        TABLE="\n".join([branch("'' help", table.program), *(branch(one.name, one) for one in table.subcommands)]),
        MODEL=pattern(MODEL_ENDING),
        TABLES=pattern(*TABLE_ENDINGS),
        PACKED=pattern(*PACKED_ENDINGS),
    )


def branch(names: str, entry: Subcommand) -> str:
    options = [pair(of_option(option), option.about) for option in entry.options]
    places = "".join(f" {word(of_argument(argument))}" for argument in entry.arguments)
    listed = " \\\n                ".join(["set options", *options])
    return f"        case {names}\n            {listed}\n            set arguments{places}"


def pair(name: str, about: str) -> str:
    return f"{word(name)}\\t{word(about)}"


def pattern(*endings: str) -> str:
    return "|".join(endings).replace(".", r"\.")


def word(text: str) -> str:
    return quoted(text.replace("\\", r"\\"), r"\'")
