"""Parameters and checks that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcatool.cli.reporter import say
from pcatool.errors import FileError, ModelError, UsageError
from pcatool.options import DATA, MODEL, MODEL_OR_DATA
from pcatool.stores.uri import is_remote
from pcatool.terminal import Screen

if TYPE_CHECKING:
    from pcatool.model.model import Model
    from pcatool.pipeline.fit import Fitted

__all__ = [
    "Inputs",
    "ModelPath",
    "NoClobber",
    "Subject",
    "model_of",
    "refuse_binary",
    "shows_usage_instead",
    "variance_report",
]

STDIN = "-"

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INPUT...",
        help="CSV or Parquet: files, folders, globs; - or nothing is standard input.",
        show_default=False,
    ),
    DATA,
]
ModelPath = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A file made by pcatool fit; - is standard input.", show_default=False),
    MODEL,
]
Subject = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL|DATA...",
        help="A model, or data to fit first; - or nothing is standard input.",
        show_default=False,
    ),
    MODEL_OR_DATA,
]
NoClobber = Annotated[
    bool, typer.Option("--no-clobber", help="Refuse to replace a file that exists.", rich_help_panel="Output")
]


def shows_usage_instead(inputs: list[str] | None, command: str, usage: str) -> bool:
    """Whether there is nothing to read: no input was named, and standard input is a terminal.

    In this case a short usage text is printed, instead of waiting for input. Raises `FileError` if standard input is
    needed and closed.
    """
    if inputs and STDIN not in inputs:
        return False
    if sys.stdin is None:
        raise FileError("standard input is closed", "give a file, or a pipe")
    if inputs or not sys.stdin.isatty():
        return False
    say(
        f"usage: pcatool {command} {usage}\n"
        f"Nothing to read: name a file, or pipe one in, as in: cat data.csv | pcatool {command} ...\n"
        f"See 'pcatool {command} --help'."
    )
    return True


def refuse_binary(output: str | None, what: str) -> None:
    """Refuse to write binary data to a terminal; `what` names the data in the message."""
    if output in (None, "-") and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError(f"{what} is binary, and standard output is a terminal", "name a file with -o, or redirect it")


def model_of(path: str, inputs: Sequence[str] | None) -> Model:
    """Read the model to apply to the inputs.

    Raises `UsageError` if an input is the model instead, or if standard input is both model and data.
    """
    from pcatool.model.npz import load_model

    if path == STDIN and (not inputs or STDIN in inputs):
        raise UsageError("standard input cannot be both the model and the data", "name a file for one of them")
    try:
        return load_model(path)
    except ModelError as error:
        if any(is_zip(name) for name in inputs or ()):
            raise UsageError(error.message, "the model comes first, then the data") from None
        raise


def is_zip(path: str) -> bool:
    """Whether a file begins like a zip archive, as models do; False for a pipe or an unreadable file."""
    with suppress(FileError, OSError, ValueError):
        if is_remote(path) or Path(path).is_file():  # a pipe must not be read, nor waited for
            from pcatool.readers.opener import ZIP, read_beginning
            from pcatool.readers.paths import Input

            return read_beginning(Input(path), len(ZIP)) == ZIP
    return False


def variance_report(fitted: Fitted, form: str) -> str:
    """Return the variance table of a model as text in the given form, as wide as the terminal."""
    from pcatool.model.description import how_fitted
    from pcatool.render.text import render_table

    screen, model = Screen.now(), fitted.model
    caption = f"{how_fitted(model)}; k = {model.k} {'kept' if fitted.first is None else 'shown'}"
    columns = fitted.variance.columns()
    return render_table(columns, form, caption=caption, width=screen.width, color=screen.color, unicode=screen.unicode)
