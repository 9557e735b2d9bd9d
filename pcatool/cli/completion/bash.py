"""The table as bash wants it."""

from __future__ import annotations

from pcatool.cli.completion.files import PACKED_ENDINGS, TABLE_ENDINGS, spelled_in_any_case
from pcatool.cli.completion.spelling import of_argument, of_option
from pcatool.cli.completion.table import Subcommand, Table
from pcatool.cli.completion.template import filled, quoted

__all__ = ["script"]


def script(table: Table) -> str:
    names = " ".join(subcommand.name for subcommand in table.subcommands)
    branches = [
        branch("'' | help", table.program, [names]),
        *(branch(entry.name, entry, list(map(of_argument, entry.arguments))) for entry in table.subcommands),
    ]
    return filled("walk.bash", TABLE="\n".join(branches), TABLES=pattern(TABLE_ENDINGS), PACKED=pattern(PACKED_ENDINGS))


def pattern(endings: tuple[str, ...]) -> str:
    return " | ".join(f"*{spelled_in_any_case(ending)}" for ending in endings)


def branch(names: str, entry: Subcommand, places: list[str]) -> str:
    lines = [f"        {names})", "            options=("]
    lines += [f"                {quoted(of_option(option))}" for option in entry.options]
    lines += ["            )", f"            arguments=({' '.join(map(quoted, places))})", "            ;;"]
    return "\n".join(lines)
