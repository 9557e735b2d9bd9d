"""The command tree, with parameters made from option records, and the function that runs a command.

Typer parses. Added to it here: checks of wrong calls, help as a plain page, values that stay text.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import Field, fields, is_dataclass
from types import ModuleType
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import Exit, TyperException
from typer.main import get_command

from pcatool import __version__
from pcatool.cli.commands import (
    completion,
    components,
    diff,
    explain_variance,
    fit,
    help,
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
from pcatool.cli.reporter import print_result, say, tell
from pcatool.cli.usage_errors import check_words, no_command, refuse_option_as_value, sentence
from pcatool.errors import EXIT_CODES, UsageError, show
from pcatool.options import Flag, ValueKind
from pcatool.terminal import Screen

__all__ = ["command", "program", "run"]

# Columns that an option may take with its choices as the metavar; with more of them the help lists the choices.
MOST_CHOICES = 23

HELP_OF_HELP = "Show the usual options (-h), or all of them (--help)."


class TextParameter:
    """Replacement for Typer's conversion of values, which leaves text unchanged.

    Typer converts with pydantic, whose import takes a fifth of a small run; all our values are text. Typer has no
    public way around it, so pyproject.toml allows only the lines of Typer that this was tested with.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value unchanged; a repeatable parameter that was not given is an empty tuple."""
        return () if value is None and (param.multiple or param.nargs == -1) else value


def as_given(params: list[Any]) -> list[Any]:
    """Make Typer parameters pass text on unchanged, and make `--help` print our page."""
    for param in params:
        vars(param)["get_runtime_param"] = TextParameter
        if "--help" in param.opts:
            param.callback, param.help = show_help, HELP_OF_HELP
    return params


def show_help(ctx: Any, param: Any, wanted: bool) -> None:
    """Print the help page and exit, if it is wanted."""
    if wanted:
        from pcatool.cli.help_page import with_headings

        text = ctx.get_help()
        print_result(with_headings(text) if Screen.now().color else text)
        ctx.exit()


class Command(TyperCommand):
    """One subcommand. Its help text is the docstring of its function, line by line."""

    words: Sequence[str] = ()  # of the call

    def get_params(self, ctx: Any) -> list[Any]:
        return as_given(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a call; refuse words that the parser would misread."""
        self.words = tuple(args)
        check_words(self, args)
        rest = super().parse_args(ctx, args)
        refuse_option_as_value(self, ctx.params)
        return rest

    def get_usage(self, ctx: Any) -> str:
        return f"Usage: pcatool {self.name} {self.options_metavar}"

    def get_help(self, ctx: Any) -> str:
        from pcatool.cli.help_page import command_page

        return command_page(self.get_usage(ctx), self, self.get_params(ctx), self.words)


class CommandGroup(TyperGroup):
    """The program itself, whose subcommands are `Command`s."""

    def get_params(self, ctx: Any) -> list[Any]:
        return as_given(super().get_params(ctx))

    def get_usage(self, ctx: Any) -> str:
        return "Usage: pcatool COMMAND [ARGUMENTS] [OPTIONS]"

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise no_command(args[0], self.commands)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: Any) -> str:
        from pcatool.cli.help_page import program_page

        return program_page(self.get_usage(ctx), self, self.get_params(ctx))


def command(app: typer.Typer, function: Callable[..., int], name: str, usage: str) -> None:
    """Register `function` as the subcommand `name`.

    A parameter annotated with an option record becomes one flag for each field of the record; a call builds the records
    from the flags.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    records: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            records[parameter.name] = kind
            parameters.extend(_parameter(parameter.name, f) for f in fields(kind))
        else:
            parameters.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

    def call(**given: Any) -> int:
        plain = {key: value for key, value in given.items() if "__" not in key}
        built = {
            key: record(**{f.name: _value(f, given[f"{key}__{f.name}"]) for f in fields(record)})
            for key, record in records.items()
        }
        return function(**plain, **built)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__doc__ = function.__doc__
    app.command(name, cls=Command, options_metavar=usage)(call)


def _parameter(owner: str, field: Field[Any]) -> inspect.Parameter:
    """Return the Typer parameter for one field of the option record that parameter `owner` takes."""
    flag: Flag = field.metadata["flag"]
    kind, default = _type_of(field)
    shown = flag.shown_default or (kind is str and field.default not in (None, ""))
    metavar, help = _choices(flag)
    option = typer.Option(
        *flag.names, help=help, metavar=metavar, rich_help_panel=flag.group.capitalize(), show_default=shown
    )
    wanted = flag.wanted if flag.choices is None else ValueKind(words=flag.choices)
    return inspect.Parameter(
        f"{owner}__{field.name}",
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option, wanted],  # Typer ignores the ValueKind, completion reads it
    )


def _choices(flag: Flag) -> tuple[str | None, str]:
    """Return metavar and help of a flag: a few choices become the metavar, many are added to the help."""
    if flag.choices is None:
        return flag.metavar, flag.help
    listed = "|".join(flag.choices())
    if flag.metavar is None and len(f"{flag.names[-1]} {listed}") <= MOST_CHOICES:
        return listed, flag.help
    return flag.metavar or "NAME", f"{flag.help} One of: {', '.join(flag.choices())}."


def _type_of(field: Field[Any]) -> tuple[Any, Any]:
    """Return the type and default that the parser uses for a field.

    Flags without a value are bools, everything else is text; the option record checks and converts further.
    """
    if isinstance(field.default, bool):
        return bool, field.default
    if isinstance(field.default, tuple):
        return list[str], []
    if field.type == "bool | None":
        return bool | None, None
    if field.default is None:
        return str | None, None
    return str, str(field.default)


def _value(field: Field[Any], given: Any) -> Any:
    """Convert a parsed value for its field: a list to a tuple, text of an int field to int."""
    if isinstance(given, (list, tuple)):
        return tuple(given)
    if isinstance(field.default, int) and isinstance(given, str):
        return _whole(given, field.metadata["flag"].names[-1])
    return given


def _whole(text: str, flag: str) -> int:
    """Return a text as int; raise `UsageError` if it is not a whole number."""
    if not re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
        raise UsageError(f"{flag} {show(text)} is not a whole number", "give one, such as 0")
    return int(text)


HELP = f"""Principal component analysis of tables: fit a model, save it, apply it to new rows.

    Examples:
      pcatool fit sample_data/houses.csv -o houses.npz
      pcatool transform houses.npz sample_data/houses.csv > scores.csv
      pcatool reconstruct houses.npz scores.csv > approx.csv
      pcatool explain-variance houses.npz
      pcatool scree sample_data/digits.csv -x digit
      pcatool components sample_data/digits.csv -x digit --image 8x8 -o eigen.png
      pcatool report houses.npz sample_data/houses.csv -o houses.html

    Tables come from files or a pipe, results go to standard output, all else to standard error. Exit codes:
    {", ".join(f"{code} {ending.brief}" for code, ending in EXIT_CODES.items())}. The same rows give the same
    bytes on one machine; with OPENBLAS_CORETYPE=Haswell in the environment, on all x86-64 processors that have AVX2.
    'pcatool COMMAND -h' shows the usual options of a
    command, 'pcatool COMMAND --help' all. 'pcatool help' lists topics, such as tables and missing."""

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
    help,
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
    """Return the command tree with all commands, or with some of them."""
    app = typer.Typer(
        name="pcatool",
        cls=CommandGroup,
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
    """Run one command and return its exit code.

    An error of the parser is printed here, and gives exit code 2; any other error is raised.
    """
    words = list(arguments)
    names = [module.NAME for module in COMMANDS]
    if words[:1] == [help.NAME] and words[1:2] and words[1] in names:
        words = [*words[1:], "--help"]
    named = [module for module in COMMANDS if words[:1] == [module.NAME]]
    needed = program(named or COMMANDS)  # one branch takes half the time of the whole tree
    try:
        # Typer's own `main` is not used: it turns a closed pipe into exit code 1.
        with needed.make_context("pcatool", words) as context:
            return int(needed.invoke(context) or 0)
    except Exit as done:
        return done.exit_code
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            say(error.format_message())
        else:
            tell(f"error: {sentence(error, program() if named else needed, words)}")
        return UsageError.exit_code
