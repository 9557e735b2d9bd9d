"""What is missing in a table, and what lines of one cell each make up: facts for machines, and the same in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcatool.errors import listed, show
from pcatool.readers.row_counts import Tally
from pcatool.render.words import counted

__all__ = ["missing_facts", "missing_lines", "triples_text"]

# Columns, spellings and patterns of missing cells that are named; the others are counted.
SHOWN = 5


def triples_text(table: Mapping[str, Any]) -> str:
    share = table["cells"] / (table["users"] * table["items"])
    users, items = counted(table["users"], "user"), counted(table["items"], "item")
    spread = "; ".join(
        f"a{'n' if what == 'item' else ''} {what} has {least} to {most}, median {median:g}"
        for what in ("user", "item")
        for least, median, most in [table[f"cells_per_{what}"]]
    )
    return f"{counted(table['cells'], 'cell')} of {users} and {items}, {share:.2%} of all ({spread})"


def missing_facts(tally: Tally) -> dict[str, Any]:
    """What is missing: cells by column and by spelling, and which are missing together."""
    return {
        "cells": tally.missing,
        "share": tally.missing / (tally.rows * tally.features),
        "rows": tally.incomplete,
        "columns": {name: {"cells": n, "share": n / tally.rows} for name, n in tally.cells.most_common()},
        "spellings": dict(tally.spellings.most_common()),
        "patterns": len(tally.patterns),
        "more_patterns": tally.more_patterns,
        "commonest_patterns": [{"columns": names, "rows": rows} for names, rows in tally.commonest(SHOWN)],
    }


def missing_lines(facts: Mapping[str, Any] | None) -> list[str]:
    """The same in words."""
    if facts is None:
        return []
    spelled = ", ".join(f"{n} {show(text) if text else 'empty'}" for text, n in facts["spellings"].items())
    by_column = facts["columns"].items()
    columns = ", ".join(f"{show(name)} {n['share']:.1%}" for name, n in list(by_column)[:SHOWN])
    more = f", and {len(by_column) - SHOWN} more columns" if len(by_column) > SHOWN else ""
    few = facts["patterns"] <= SHOWN
    some, at_least = ("more than ", "at least ") if facts["more_patterns"] else ("", "")
    shared = [p for p in facts["commonest_patterns"] if few or p["rows"] > 1]
    patterns = "; ".join(f"{listed(p['columns'], SHOWN)} in {at_least}{counted(p['rows'], 'row')}" for p in shared)
    patterns = patterns or ("none in many rows" if at_least else "each in one row")
    cells, rows = counted(facts["cells"], "cell"), counted(facts["rows"], "row")
    return [
        f"{cells} missing ({facts['share']:.2%}) in {rows}: {spelled}",
        f"missing by column: {columns}{more}",
        f"{some}{counted(facts['patterns'], 'pattern')} of missing cells: {patterns}",
    ]
