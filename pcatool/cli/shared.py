"""Parameters and checks that several subcommands share."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pcatool.cli.outcome import say

if TYPE_CHECKING:
    from pcatool.model import Model

__all__ = ["Inputs", "ModelPath", "Subject", "lacks_input", "variance_report"]

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[INPUT]...",
        help="CSV or Parquet: files, folders, globs; - or nothing is standard input.",
        show_default=False,
    ),
]
ModelPath = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model made by pcatool fit; - is standard input.", show_default=False)
]
Subject = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL|DATA]...", help="A model, or data to fit first; - or nothing is standard input.", show_default=False
    ),
]


def lacks_input(inputs: list[str] | None, command: str, usage: str) -> bool:
    """A person at a terminal who gave nothing to read gets help instead of a program that waits."""
    if inputs or sys.stdin is None or not sys.stdin.isatty():
        return False
    say(f"usage: pcatool {command} {usage}\nNothing to read: name a file, or pipe one in. See 'pcatool {command} --help'.")
    return True


def variance_report(model: Model, form: str) -> str:
    """The variances of a model in one of the forms of a table, as wide as the terminal where one is written to."""
    from pcatool.render.summary import how_fitted
    from pcatool.render.tables import render_table

    width = shutil.get_terminal_size((100, 24)).columns if form == "table" else None
    caption = f"{how_fitted(model)}; k = {model.k} kept"
    return render_table(model.variance.columns(), form, caption=caption, width=width)
