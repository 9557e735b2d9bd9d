"""The table as PowerShell wants it."""

from __future__ import annotations

from pcatool.cli.completion.files import MODEL_ENDING, PACKED_ENDINGS, TABLE_ENDINGS
from pcatool.cli.completion.spelling import of_argument, of_option
from pcatool.cli.completion.table import Subcommand, Table
from pcatool.cli.completion.template import filled, quoted

__all__ = ["script"]


def script(table: Table) -> str:
    commands = (f"        {pair(entry.name, entry.about)}" for entry in table.subcommands)
    branches = (branch("", table.program), *(branch(entry.name, entry) for entry in table.subcommands))
    return filled(
        "walk.ps1",
        COMMANDS=",\n".join(commands),
        TABLE="\n".join(branches),
        MODEL=pattern(MODEL_ENDING),
        TABLES=pattern(*TABLE_ENDINGS),
        PACKED=pattern(*PACKED_ENDINGS),
    )


def branch(name: str, entry: Subcommand) -> str:
    options = ",\n".join(f"                {pair(of_option(option), option.about)}" for option in entry.options)
    places = ", ".join(word(of_argument(argument)) for argument in entry.arguments)
    return (
        f"        {word(name)} = @{{\n            Options = @(\n{options}\n            )\n"
        f"            Arguments = @({places})\n        }}"
    )


def pair(name: str, about: str) -> str:
    """No array of two: PowerShell takes an array apart where it stands alone in another."""
    return f"@{{ Word = {word(name)}; About = {word(about)} }}"


def word(text: str) -> str:
    return quoted(text, "''")


def pattern(*endings: str) -> str:
    return "|".join(endings).replace(".", r"\.")
