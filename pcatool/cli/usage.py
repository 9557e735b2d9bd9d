"""Wrong calls in one line each: what is wrong, and the call that would be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from typer.exceptions import TyperException

from pcatool.cli.usage_errors import COMMANDS, refuse_apart, refuse_pasted, refuse_short_equals, refuse_truth
from pcatool.errors import UsageError, nearest, show
from pcatool.options.fields import OPTIONS, SENTENCES, option_word
from pcatool.registry import PLOTS

__all__ = ["no_command", "refuse_slips", "refuse_swallowed", "sentence"]


# Of options that take several values, by the word for these: the mark between, and what one of them is.
SEVERAL = {
    "COLS": (",", "column"),
    "NAMES": (",", "value"),
    "all|NAMES": (",", "rule"),
    "M,N": (",", "component"),
    "X,Y": (",", "component"),
    "HxW": ("x", "number of pixels"),
    "WxH": ("x", "length"),
}


def sentence(error: TyperException, program: Any, arguments: Sequence[str]) -> str:
    """The parser's error in the words of this program."""
    context = getattr(error, "ctx", None)
    command = context.command if context is not None else _command_in(arguments, program)
    text = _what(error, command, program)
    path = "pcatool" if command is program else f"pcatool {command.name}"
    return text if text.endswith("?") else f"{text}; see '{path} --help'"


def _command_in(arguments: Sequence[str], program: Any) -> Any:
    return next((program.commands[word] for word in arguments if word in program.commands), program)


def _what(error: TyperException, command: Any, program: Any) -> str:
    option: str = getattr(error, "option_name", "")
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return _no_option(option, command, program)
    if kind == "BadOptionUsage" and "requires" in str(error):
        return f"{option} needs a value"
    if kind == "MissingParameter":
        param: Any = getattr(error, "param", None)
        return f"{command.name} needs a {param.metavar}, {param.help[:1].lower()}{param.help[1:].partition(';')[0]}"
    message = error.format_message().strip().rstrip(".")
    return message[:1].lower() + message[1:]


def _no_option(name: str, command: Any, program: Any) -> str:
    having = [other.name for other in program.commands.values() if name in _options(other)]
    if having and command is program:
        return f"option {show(name)} belongs after the command, as in pcatool {having[0]} {name}"
    if having:
        return f"option {show(name)} is for {', '.join(having)}, not for {command.name}"
    if name.lstrip("-") in program.commands:
        return f"{show(name)} is a command, not an option: pcatool {name.lstrip('-')}"
    if command is not program and name.lstrip("-").lower() in _arguments(command):
        return f"no option {show(name)}; it is given without one: pcatool {command.name} {command.options_metavar}"
    return f"no option {show(name)}{_instead(name, command, program)}"


def _instead(name: str, command: Any, program: Any) -> str:
    """What there is in place of an option: the one that others call so, or one that is near."""
    if not name.startswith("--"):
        return ""
    word, options = option_word(name), _options(command)
    called = OPTIONS.get(word)
    if called in options:
        return f"; did you mean {called}?"
    if word in SENTENCES:
        return f"; {SENTENCES[word]}"
    having = [other.name for other in program.commands.values() if called in _options(other)]
    if having:
        return f"; {called} is for {', '.join(having)}"
    near = nearest(name, [option for option in options if option.startswith("--")])
    return f"; did you mean {near}?" if near else ""


def _arguments(command: Any) -> list[str]:
    """What is given by its place, in small letters: model, input, data."""
    metavars = [param.metavar or "" for param in command.params if not param.opts[0].startswith("-")]
    return [word.rstrip(".").lower() for metavar in metavars for word in metavar.split("|")]


def no_command(name: str, known: Iterable[str]) -> UsageError:
    known = list(known)
    near = COMMANDS.get(name.lower().replace("_", "-"))
    near = near if near in (*known, "--version") else nearest(name, known)
    if near is None and Path(name).exists():
        return UsageError(f"{show(name)} is a file, not a command", f"say what to do with it: {', '.join(known)}")
    return UsageError(f"no command {show(name)}", f"did you mean {near}?" if near else f"there are: {', '.join(known)}")


def refuse_slips(command: Any, words: Sequence[str]) -> None:
    """What the parser would take for something else."""
    valued = {name for param in command.params if not getattr(param, "is_flag", False) for name in param.opts}
    given = [word for before, word in pairwise(["", *words]) if before not in valued]  # a value may be any text
    refuse_pasted(given)
    refuse_short_equals(given, {name for name in valued if len(name) == 2})
    refuse_single_dash(command, words)
    several = {
        name: SEVERAL[param.metavar] for param in command.params if param.metavar in SEVERAL for name in param.opts
    }
    choices = PLOTS if "kind" in _arguments(command) else ()
    refuse_apart(words, several, valued, tuple(choices))
    flags = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} - valued
    refuse_truth(words, flags, valued)


def refuse_single_dash(command: Any, words: Sequence[str]) -> None:
    """`-output x` would be read as `-o utput`."""
    for word in words:
        if word.startswith("-") and len(word) > 2 and f"-{word.partition('=')[0]}" in _options(command):
            raise UsageError(f"{show(word)} needs two dashes", f"write -{word}")


def refuse_swallowed(command: Any, given: dict[str, Any]) -> None:
    """`-o -v` would write a file called -v: a value that is an option was forgotten."""
    options = _options(command)
    for param in command.params:
        values = given.get(param.name)
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if value in options:
                flag = param.opts[0]
                raise UsageError(f"{flag} needs a value, and {value} is an option", f"give {flag} {param.metavar}")


def _options(command: Any) -> list[str]:
    names = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
    return [name for name in names if name.startswith("-")]
