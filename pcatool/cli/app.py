"""The command tree, and the one call that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from pcatool import __version__
from pcatool.cli import explain_variance, fit, reconstruct, scree, transform
from pcatool.cli.outcome import guarded, say
from pcatool.cli.records import command

__all__ = ["app", "run"]

app = typer.Typer(
    name="pcatool",
    help="Principal component analysis of tables: fit a model, apply it to new rows, see what it keeps.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 2 wrong usage, 3 bad data, 4 not a usable model, 5 cannot read or write, 6 refused.",
)

for module in (fit, transform, reconstruct, explain_variance, scree):
    command(app, module.run, module.NAME)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pcatool {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """The exit code of one run."""
    return guarded(lambda: _run(arguments), debug="--debug" in arguments)


def _run(arguments: Sequence[str]) -> int:
    try:
        code = get_command(app).main(list(arguments), prog_name="pcatool", standalone_mode=False)
    except TyperException as error:
        return _usage(error)
    except Abort:
        return 130
    return int(code or 0)


def _usage(error: TyperException) -> int:
    """Wrong usage in one line, with where to look."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        say(error.format_message())
        return 2
    path = context.command_path if context is not None else "pcatool"
    message = error.format_message().strip().rstrip(".")
    say(f"{path}: error: {message[:1].lower() + message[1:]}; see '{path} --help'")
    return 2
