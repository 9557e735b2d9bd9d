"""The command tree, and the one call that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.exceptions import Exit, TyperException
from typer.main import get_command

from pcatool import __version__
from pcatool.cli.commands import (
    completion,
    components,
    diff,
    explain_variance,
    fit,
    inspect_model,
    merge,
    plot,
    reconstruct,
    refit,
    report,
    scree,
    subtract,
    transform,
    update,
)
from pcatool.cli.records import command
from pcatool.cli.reporter import print_result, say, tell
from pcatool.cli.subcommand import Group
from pcatool.cli.usage import sentence

__all__ = ["program", "run"]

HELP = """Principal component analysis of tables: fit a model, save it, apply it to new rows.

    Examples:
      pcatool fit sample_data/houses.csv -o houses.npz
      pcatool transform houses.npz sample_data/houses.csv > scores.csv
      pcatool reconstruct houses.npz scores.csv > approx.csv
      pcatool explain-variance houses.npz
      pcatool scree sample_data/digits.csv -x digit
      pcatool components sample_data/digits.csv -x digit --image 8x8 -o eigen.png
      pcatool report houses.npz sample_data/houses.csv -o houses.html

    Tables come from files or a pipe, results go to standard output, all else to standard error. Exit codes: 0 done,
    2 wrong usage, 3 bad data, 4 not a usable model, 5 cannot read or write, 6 refused. The same rows give the same
    bytes on one machine; with OPENBLAS_CORETYPE=Haswell in the environment, on all x86-64 processors that have AVX2.
    'pcatool COMMAND -h' shows the usual options of a
    command, 'pcatool COMMAND --help' all."""

COMMANDS = (
    fit,
    transform,
    reconstruct,
    explain_variance,
    scree,
    components,
    plot,
    report,
    inspect_model,
    diff,
    update,
    merge,
    subtract,
    refit,
    completion,
)


def _version(wanted: bool) -> None:
    if wanted:
        print_result(f"pcatool {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def program(commands: Sequence[ModuleType] = COMMANDS) -> Any:
    """The command tree, or a part of it."""
    app = typer.Typer(
        name="pcatool",
        cls=Group,
        help=HELP,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for module in commands:
        command(app, module.run, module.NAME, module.USAGE)
    return get_command(app)


def run(arguments: Sequence[str]) -> int:
    """The exit code of one run; what went wrong is raised, save a wrong call."""
    words = list(arguments)
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    named = [module for module in COMMANDS if words[:1] == [module.NAME]]
    needed = program(named or COMMANDS)  # a branch takes half the time of the whole tree
    try:
        # Not by its `main`, which would turn a closed pipe into exit code 1 before anyone sees it.
        with needed.make_context("pcatool", words) as context:
            return int(needed.invoke(context) or 0)
    except Exit as done:
        return done.exit_code
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            say(error.format_message())
        else:
            tell(f"error: {sentence(error, program() if named else needed, words)}")
        return 2
