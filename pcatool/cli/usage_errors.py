"""Messages for wrong calls, one line each: what is wrong, and the call that would be right.

Typer suggests the nearest option of the same command. It does not know the commands that have an option, the names that
other tools use, or files that were not meant; and it draws a box by rich, which takes 60 ms, where logs want a line.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from typer.exceptions import TyperException

from pcatool.cli.topics import topics
from pcatool.errors import UsageError, nearest, show
from pcatool.options.fields import OPTIONS, SENTENCES, option_word

__all__ = ["further_values_error", "no_command", "no_topic", "sentence"]

# Name elsewhere, or what a user may look for -> command here.
COMMANDS = {
    "train": "fit",
    "learn": "fit",
    "pca": "fit",
    "predict": "transform",
    "apply": "transform",
    "project": "transform",
    "score": "transform",
    "scores": "transform",
    "inverse": "reconstruct",
    "inverse-transform": "reconstruct",
    "invert": "reconstruct",
    "eigenvalues": "explain-variance",
    "loadings": "components",
    "info": "inspect",
    "show": "inspect",
    "describe": "inspect",
    "compare": "diff",
    "add": "update",
    "partial-fit": "update",
    "combine": "merge",
    "fit-transform": "fit",
    "svd": "fit",
    "denoise": "reconstruct",
    "impute": "reconstruct",
    "variance": "explain-variance",
    "screeplot": "scree",
    "biplot": "plot",
    "draw": "plot",
    "version": "--version",
}


def sentence(error: TyperException, program: Any, arguments: Sequence[str]) -> str:
    """Return an error of the parser as one line in the words of this program."""
    context = getattr(error, "ctx", None)
    command = context.command if context is not None else _command_in(arguments, program)
    text = _what(error, command, program)
    path = "pcatool" if command is program else f"pcatool {command.name}"
    return text if text.endswith("?") else f"{text}; see '{path} --help'"


def _command_in(arguments: Sequence[str], program: Any) -> Any:
    """Return the first command named in the arguments, or the program if there is none."""
    return next((program.commands[word] for word in arguments if word in program.commands), program)


def _what(error: TyperException, command: Any, program: Any) -> str:
    """Return what is wrong in an error of the parser."""
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
    """Return the message for an option that the command does not have."""
    having = [other.name for other in program.commands.values() if name in other.option_names]
    if having and command is program:
        return f"option {show(name)} belongs after the command, as in pcatool {having[0]} {name}"
    if having:
        return f"option {show(name)} is for {', '.join(having)}, not for {command.name}"
    if name.lstrip("-") in program.commands:
        return f"{show(name)} is a command, not an option: pcatool {name.lstrip('-')}"
    if command is not program and name.lstrip("-").lower() in command.argument_names:
        return f"no option {show(name)}; it is given without one: pcatool {command.name} {command.options_metavar}"
    return f"no option {show(name)}{_instead(name, command, program)}"


def _instead(name: str, command: Any, program: Any) -> str:
    """Return a hint at the right option: the one that other tools call so, a sentence, or the nearest; else empty."""
    if not name.startswith("--"):
        return ""
    word, options = option_word(name), command.option_names
    called = OPTIONS.get(word)
    if called in options:
        return f"; did you mean {called}?"
    if word in SENTENCES:
        return f"; {SENTENCES[word]}"
    having = [other.name for other in program.commands.values() if called in other.option_names]
    if having:
        return f"; {called} is for {', '.join(having)}"
    near = nearest(name, [option for option in options if option.startswith("--")])
    return f"; did you mean {near}?" if near else ""


def no_command(name: str, known: Iterable[str]) -> UsageError:
    """Return the error for an unknown command, with the command that was probably meant."""
    known = list(known)
    near = _elsewhere(name)
    near = near if near in (*known, "--version") else nearest(name, known)
    if near is None and Path(name).exists():
        return UsageError(f"{show(name)} is a file, not a command", f"say what to do with it: {', '.join(known)}")
    if name in topics():
        return UsageError(f"{show(name)} is a help topic, not a command", f"write pcatool help {name}")
    return UsageError(f"no command {show(name)}", f"did you mean {near}?" if near else f"there are: {', '.join(known)}")


def no_topic(name: str, commands: Sequence[str]) -> UsageError:
    """Return the error for an unknown help topic, with the topic or command that was probably meant."""
    near = _elsewhere(name)
    near = near if near in commands else nearest(name, [*topics(), *commands])
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(topics())}; and the commands"
    return UsageError(f"no help topic or command {show(name)}", hint)


def _elsewhere(name: str) -> str | None:
    """Return the command for a name that other tools use; None if there is none."""
    return COMMANDS.get(name.lower().replace("_", "-"))


def further_values_error(flag: str, value: str, more: Sequence[str], kind: tuple[str, str]) -> UsageError:
    """Return the error for values after the first of an option.

    `kind` is the mark that separates values, and the noun for one value.
    """
    mark, one = kind
    terms = [part for part in (word.strip(",") for word in (value, *more)) if part]
    what = f"it looks like a {one}" if len(more) == 1 else f"they look like {one}s"
    return UsageError(
        f"{', '.join(show(word) for word in more)} after {flag} {shlex.quote(value)} would be read as a file, and "
        "there is none",
        f"{what}: write {flag} {shlex.quote(mark.join(terms))}",
    )


def _arguments(command: Any) -> list[str]:
    """Return the metavars of positional arguments in lower case, such as model, input, data."""
    metavars = [param.metavar or "" for param in command.params if not param.opts[0].startswith("-")]
    return [word.rstrip(".").lower() for metavar in metavars for word in metavar.split("|")]
