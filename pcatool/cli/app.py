"""The command tree, with parameters made from option records, and the function that runs a command.

Typer parses. This module adds checks of wrong calls, help as a plain page, and values that stay text.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import Field, fields, is_dataclass
from glob import glob
from itertools import pairwise
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
from pcatool.cli.parameters import remedies_for_model
from pcatool.cli.reporter import print_message, print_on_stderr, print_result
from pcatool.cli.usage_errors import (
    error_line,
    flag_remedy,
    further_values_error,
    no_command,
    refuse_short_equals,
    refuse_typographic_marks,
)
from pcatool.errors import EXIT_CODES, UsageError
from pcatool.options import Completion, Flag
from pcatool.readers.paths import COMPRESSED, MODEL_SUFFIX
from pcatool.registry import PLOTS, READERS
from pcatool.stores.uri import is_remote
from pcatool.terminal import Screen
from pcatool.wording import nearest_file_hint, show

__all__ = ["command", "program", "run"]

# Most columns of an option with its choices as metavar; if there are more, the help lists the choices.
MAX_CHOICES_WIDTH = 23

HELP_OF_HELP = "Show the usual options (-h) or all options (--help)."


class TextParameter:
    """Conversion of parameter values that leaves text unchanged, in place of Typer's own conversion.

    Typer converts with pydantic, whose import takes a fifth of a small run; all our values are text. Typer has no
    public setting to avoid pydantic, so pyproject.toml allows only the versions of Typer that this was tested with.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value unchanged, or an empty tuple for a repeatable parameter that is absent from the call."""
        return () if value is None and (param.multiple or param.nargs == -1) else value


def adapted(params: list[Any]) -> list[Any]:
    """Return the Typer parameters, changed in place: values stay text, and `--help` calls `print_help`."""
    for param in params:
        vars(param)["get_runtime_param"] = TextParameter
        if "--help" in param.opts:
            param.callback, param.help = print_help, HELP_OF_HELP
    return params


def print_help(ctx: Any, param: Any, given: bool) -> None:
    """Callback of `--help`: if `given`, print the help page and exit with code 0."""
    if given:
        from pcatool.cli.help_page import with_headings

        text = ctx.get_help()
        print_result(with_headings(text) if Screen.now().color else text)
        ctx.exit()


def option_names(params: list[Any]) -> list[str]:
    """Return the names of all options among Typer parameters: short, long and negated, such as -o and --no-header."""
    names = [name for param in params for name in (*param.opts, *param.secondary_opts)]
    return [name for name in names if name.startswith("-")]


class Command(TyperCommand):
    """Typer class of a subcommand: values stay text, `--help` prints our page, misleading calls (-k=3) are refused."""

    words: Sequence[str] = ()  # words of the call after the name of the command

    def get_params(self, ctx: Any) -> list[Any]:
        return adapted(super().get_params(ctx))

    @property
    def option_names(self) -> list[str]:
        """Names of all options: short, long and negated, such as -o and --no-header."""
        return option_names(self.params)

    @property
    def argument_names(self) -> list[str]:
        """Metavars of the positional arguments in lower case, such as model, input, data."""
        metavars = [param.metavar or "" for param in self.params if not param.opts[0].startswith("-")]
        return [word.rstrip(".").lower() for metavar in metavars for word in metavar.split("|")]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a call into `ctx.params`, and return the words left over.

        Raises `UsageError` for words that the parser would misread.
        """
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
    """Typer class of the program, whose subcommands are `Command`s."""

    def get_params(self, ctx: Any) -> list[Any]:
        return adapted(super().get_params(ctx))

    @property
    def option_names(self) -> list[str]:
        """Names of all options: short, long and negated, such as -o and --no-header."""
        return option_names(self.params)

    def get_usage(self, ctx: Any) -> str:
        return "Usage: pcatool COMMAND [ARGUMENTS] [OPTIONS]"

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise no_command(args[0], self.commands)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: Any) -> str:
        from pcatool.cli.help_page import program_page

        return program_page(self.get_usage(ctx), self, self.get_params(ctx))


# --- words that the parser would misread ---

# Values that other tools take after an option, but that no flag takes here.
TRUTH_VALUES = ("true", "false", "yes", "no", "on", "off", "0", "1", "2")

# A word with one of these suffixes is taken for a file, whether the file exists or not.
TABLE_SUFFIXES = tuple(suffix for name in READERS for suffix in READERS[name].suffixes)
FILE_SUFFIXES = (*TABLE_SUFFIXES, MODEL_SUFFIX, *COMPRESSED)

# Metavar -> (mark between values, noun for the values), for options that take several values.
SEPARATORS = {
    "COLS": (",", "several columns"),
    "NAMES": (",", "several values"),
    "all|NAMES": (",", "several rules"),
    "M,N": (",", "several components"),
    "X,Y": (",", "two components"),
    "HxW": ("x", "height and width"),
    "WxH": ("x", "width and height"),
}


def check_words(command: Any, words: Sequence[str]) -> None:
    """Raise `UsageError` if the parser would misread some of the words of a call, as in `-k=3` or `-c a b`."""
    with_value = {name for param in command.params if not getattr(param, "is_flag", False) for name in param.opts}
    others = [word for before, word in pairwise(["", *words]) if before not in with_value]  # values may be any text
    if not "".join(others).isascii():
        refuse_typographic_marks(others)
    if any(re.match("-[a-zA-Z]=", word) for word in others):
        refuse_short_equals(others, {name for name in with_value if len(name) == 2})
    refuse_single_dash(command, words)
    several = (param for param in command.params if param.metavar in SEPARATORS)
    separators = {name: SEPARATORS[param.metavar] for param in several for name in param.opts}
    kinds = tuple(PLOTS if "kind" in command.argument_names else ())
    refuse_split_values(words, separators, with_value, command.option_names, kinds)
    refuse_value_of_flag(words, opposites(command.params), with_value)


def opposites(params: Sequence[Any]) -> dict[str, str]:
    """Return for each option without a value the option that undoes it, such as --no-center; "" if there is none."""
    found: dict[str, str] = {}
    for param in params:
        if getattr(param, "is_flag", False):
            found |= dict.fromkeys(param.opts, param.secondary_opts[-1] if param.secondary_opts else "")
            found |= dict.fromkeys(param.secondary_opts, param.opts[-1])
    return found


def refuse_value_of_flag(words: Sequence[str], flags: Mapping[str, str], with_value: Collection[str]) -> None:
    """Raise `UsageError` for a value of an option that takes none: `--standardize true` or `--standardize=true`.

    The parser would read the word true as a file; a file of that name is accepted. `flags` maps the name of each option
    without a value to its opposite, "" if it has none. `with_value` are the names of options with a value.
    """
    at, before = 0, ""
    while at < len(words) and words[at] != "--":
        word = words[at]
        if before and word.lower() in TRUTH_VALUES and not os.path.lexists(word):
            raise UsageError(
                f"{show(word)} after {before} would be read as a file, which does not exist",
                f"{before} takes no value: {flag_remedy(before, flags[before])}",
            )
        name, equals, value = word.partition("=")
        if equals and name in flags:
            raise UsageError(f"{name} takes no value, but {show(value)} was given", flag_remedy(name, flags[name]))
        before = word if word in flags else ""
        at += _option_at(words, at, with_value)[2]


def refuse_split_values(
    words: Sequence[str],
    separators: Mapping[str, tuple[str, str]],
    with_value: Collection[str],
    options: Collection[str],
    arguments: Collection[str],
) -> None:
    """Raise `UsageError` for `-c a b`, which would be read as column a of a file called b, unless b may be an input.

    `separators` maps the name of each option with several values to (mark between values, noun for the values).
    `with_value` are the names of all options with a value, `options` those of all options. `arguments` are words that
    are valid as arguments, such as kinds of plots.
    """
    at = 0
    while at < len(words) and words[at] != "--":
        flag, value, taken = _option_at(words, at, with_value)
        at += taken
        if flag not in separators or value in options:  # `refuse_option_as_value` names the forgotten value
            continue
        more = at
        while more < len(words) and words[more] not in arguments and not _is_input(words[more]):
            more += 1
        if more > at:
            raise further_values_error(flag, value, words[at:more], separators[flag])


def _option_at(words: Sequence[str], at: int, with_value: Collection[str]) -> tuple[str, str, int]:
    """Return (option, its value, number of words of both) at index `at`; ("", "", 1) if not in `with_value`."""
    word = words[at]
    if word in with_value:
        return word, words[at + 1] if at + 1 < len(words) else "", 2
    name, equals, value = word.partition("=")
    if equals and name in with_value:
        return name, value, 1
    if word[:1] == "-" and word[1:2] != "-" and word[:2] in with_value:
        return word[:2], word[2:], 1
    return "", "", 1


def _is_input(word: str) -> bool:
    """Whether a word may be an option or an input: an existing or misspelt path, a glob, a URL, a known suffix."""
    folder = os.path.dirname(word)  # noqa: PTH120
    in_folder = bool(folder) and os.path.isdir(folder)  # noqa: PTH112
    if word[:1] == "-" or word.lower().endswith(FILE_SUFFIXES) or in_folder or ("://" in word and is_remote(word)):
        return True
    return os.path.lexists(word) or bool(glob(word)) or bool(nearest_file_hint(word))


def refuse_single_dash(command: Any, words: Sequence[str]) -> None:
    """Raise `UsageError` for a long option with a single dash: `-output x` would be read as `-o utput`."""
    for word in words:
        if word.startswith("-") and len(word) > 2 and f"-{word.partition('=')[0]}" in command.option_names:
            raise UsageError(f"{show(word)} needs two dashes", f"write -{word}")


def refuse_option_as_value(command: Any, given: dict[str, Any]) -> None:
    """Raise `UsageError` for an option as the value of another option: `-o -v` would write a file called -v.

    `given` maps names of parameters to parsed values.
    """
    options = command.option_names
    for param in command.params:
        values = given.get(param.name)
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if value in options:
                flag = param.opts[0]
                raise UsageError(f"{flag} needs a value, but {value} is an option", f"give {flag} {param.metavar}")


# --- the command tree ---


def command(app: typer.Typer, function: Callable[..., int], name: str, usage: str) -> None:
    """Register `function` as the subcommand `name`.

    A parameter annotated with an option record becomes one flag for each field of the record; a call builds the records
    from the flags. `usage` is the usage line after the name. If the command has no -x, errors that advise -x advise to
    make another model instead.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    option_names: set[str] = set()
    records: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            records[parameter.name] = kind
            option_names.update(name for field in fields(kind) for name in field.metadata["flag"].names)
            parameters.extend(_typer_parameter(parameter.name, f) for f in fields(kind))
        else:
            parameters.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

    def call(**given: Any) -> int:
        others = {key: value for key, value in given.items() if "__" not in key}
        filled = {
            key: record(**{f.name: _convert(f, given[f"{key}__{f.name}"]) for f in fields(record)})
            for key, record in records.items()
        }
        with nullcontext() if "-x" in option_names else remedies_for_model(others.get("model")):
            return function(**others, **filled)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__doc__ = function.__doc__
    app.command(name, cls=Command, options_metavar=usage)(call)


def _typer_parameter(owner: str, field: Field[Any]) -> inspect.Parameter:
    """Return the Typer parameter for one field of an option record (a dataclass); its name is `owner__field`.

    `owner` is the parameter of the command function that takes the record.
    """
    flag: Flag = field.metadata["flag"]
    kind, default = _parser_type(field)
    shown = flag.shown_default or (kind is str and field.default not in (None, ""))
    metavar, help = _metavar_and_help(flag)
    option = typer.Option(
        *flag.names, help=help, metavar=metavar, rich_help_panel=flag.group.capitalize(), show_default=shown
    )
    completion = flag.completion if flag.choices is None else Completion(words=flag.choices)
    return inspect.Parameter(
        f"{owner}__{field.name}",
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option, completion],  # Typer ignores the Completion; shell completion reads it
    )


def _metavar_and_help(flag: Flag) -> tuple[str | None, str]:
    """Return metavar and help of a flag: a few choices are the metavar, if it has none; else the help lists them."""
    if flag.choices is None:
        return flag.metavar, flag.help
    listed = "|".join(flag.choices())
    if flag.metavar is None and len(f"{flag.names[-1]} {listed}") <= MAX_CHOICES_WIDTH:
        return listed, flag.help
    return flag.metavar or "NAME", f"{flag.help} One of: {', '.join(flag.choices())}."


def _parser_type(field: Field[Any]) -> tuple[Any, Any]:
    """Return (type, default) that the parser uses for a field.

    A flag without a value is bool, a tuple is a list of text, any other field is text; `_convert` and the option record
    convert and check the text.
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


def _convert(field: Field[Any], given: Any) -> Any:
    """Return a parsed value in the type of its field: a list as a tuple, text of an int field as int."""
    if isinstance(given, (list, tuple)):
        return tuple(given)
    if isinstance(field.default, int) and isinstance(given, str):
        return _parse_int(given, field.metadata["flag"].names[-1])
    return given


def _parse_int(text: str, flag: str) -> int:
    """Return a text as int; raise `UsageError` if it is not a whole number."""
    if not re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
        raise UsageError(f"{flag} {show(text)} is not a whole number", "give a whole number, such as 0")
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

    Tables come from files or a pipe. Results go to standard output, messages to standard error.
    Exit codes: {", ".join(f"{code} {ending.brief}" for code, ending in EXIT_CODES.items())}. On one machine,
    the same call with the same rows gives the same output, byte for byte. If the environment variable
    OPENBLAS_CORETYPE is Haswell, the output is the same on all x86-64 processors with AVX2. 'pcatool COMMAND -h'
    shows the usual options of a command, and 'pcatool COMMAND --help' shows all options. 'pcatool help' lists
    topics, such as tables and missing."""

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


def _print_version(given: bool) -> None:
    if given:
        print_result(f"pcatool {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def program(commands: Sequence[ModuleType] = COMMANDS) -> Any:
    """Return the Typer command tree of `commands`, modules that define `NAME`, `USAGE` and `run`."""
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
    """Run one command and return its exit code; `arguments` are the words after `pcatool`.

    An error of the parser is printed here, and gives exit code 2; any other error is raised.
    """
    words = list(arguments)
    names = [module.NAME for module in COMMANDS]
    if words[:1] == [help.NAME] and words[1:2] and words[1] in names:
        words = [*words[1:], "--help"]
    chosen = [module for module in COMMANDS if words[:1] == [module.NAME]]
    tree = program(chosen or COMMANDS)  # a tree with one command takes half the time of the whole tree
    try:
        # Typer's own `main` is not used: it turns a closed pipe into exit code 1.
        with tree.make_context("pcatool", words) as context:
            return int(tree.invoke(context) or 0)
    except Exit as done:
        return done.exit_code
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print_on_stderr(error.format_message())
        else:
            print_message(f"error: {error_line(error, program() if chosen else tree, words)}")
        return UsageError.exit_code
