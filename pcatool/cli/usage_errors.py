"""Messages for wrong calls, one line each: what is wrong, and the call that would be right.

Typer suggests the nearest option of the same command. It does not know the commands that have an option, the names that
other tools use, or words taken for files by mistake. It also draws a box by rich, which takes 60 ms; logs need a line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from typer.exceptions import TyperException

from pcatool.cli.topics import topics, topics_with
from pcatool.errors import UsageError
from pcatool.options.fields import OPTIONS, SENTENCES, option_word
from pcatool.stores.uri import shown
from pcatool.wording import nearest, show

__all__ = [
    "error_line",
    "flag_remedy",
    "further_values_error",
    "no_command",
    "no_topic",
    "refuse_short_equals",
    "refuse_typographic_marks",
]

# Characters that word processors and web pages put in place of hyphens and quotation marks.
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"

# Name of a command in other tools -> command of pcatool.
COMMAND_ALIASES = {
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


def error_line(error: TyperException, program: Any, arguments: Sequence[str]) -> str:
    """Return the message for an error of the parser, in one line with a pointer to --help.

    There is no pointer after `did you mean ...?`. `program` is the command tree, `arguments` the words of the call.
    """
    context = getattr(error, "ctx", None)
    command = context.command if context is not None else _named_command(arguments, program)
    text = _explanation(error, command, program)
    path = "pcatool" if command is program else f"pcatool {command.name}"
    return text if text.endswith("?") else f"{text}; see '{path} --help'"


def _named_command(arguments: Sequence[str], program: Any) -> Any:
    """Return the first command named in the arguments, or the program if there is none."""
    return next((program.commands[word] for word in arguments if word in program.commands), program)


def _explanation(error: TyperException, command: Any, program: Any) -> str:
    """Return the message for an error of the parser, without a pointer to --help."""
    option: str = getattr(error, "option_name", "")
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return _no_option_message(option, command, program)
    if kind == "BadOptionUsage" and "requires" in str(error):
        return f"{option} needs a value"
    if kind == "MissingParameter":
        param: Any = getattr(error, "param", None)
        meaning = re.split(r"[;:]", param.help)[0].rstrip(".")
        return f"{command.name} needs {param.metavar.rstrip('.')}, {meaning[:1].lower()}{meaning[1:]}"
    message = error.format_message().strip().rstrip(".")
    if (extra := re.fullmatch(r"Got unexpected extra argument\S* \((.*)\)", message, re.DOTALL)) is not None:
        last = [param.metavar for param in command.params if not param.opts[0].startswith("-")][-1]
        words = " ".join(map(shown, extra[1].split(" ")))
        return f"{command.name} takes no argument after {last}; leave out {show(words)}"
    return message[:1].lower() + message[1:]


def _no_option_message(name: str, command: Any, program: Any) -> str:
    """Return the message for the option `name`, which `command` does not have."""
    with_option = [other.name for other in program.commands.values() if name in other.option_names]
    if with_option and command is program:
        return f"option {show(name)} belongs after the command, as in pcatool {with_option[0]} {name}"
    if with_option:
        return f"option {show(name)} is for {', '.join(with_option)}, not for {command.name}"
    if name.lstrip("-") in program.commands:
        return f"{show(name)} is a command, not an option; write pcatool {name.lstrip('-')}"
    if command is not program and name.lstrip("-").lower() in command.argument_names:
        right = f"pcatool {command.name} {command.options_metavar}"
        return f"{show(name)} is an argument, not an option; write its value alone, as in {right}"
    return f"there is no option {show(name)}{_option_hint(name, command, program)}"


def _option_hint(name: str, command: Any, program: Any) -> str:
    """Return a hint for the unknown option `name`, beginning with "; "; "" if there is no hint.

    For a name that other tools use, the hint names our option, the commands that have our option, or explains; for
    another name, the nearest option of `command`. Short options get no hint.
    """
    if not name.startswith("--"):
        return ""
    word, options = option_word(name), command.option_names
    option = OPTIONS.get(word)
    if option in options:
        return f"; did you mean {option}?"
    if word in SENTENCES:
        return f"; {SENTENCES[word]}"
    with_option = [other.name for other in program.commands.values() if option in other.option_names]
    if with_option:
        return f"; {option} is an option of {', '.join(with_option)}"
    near = nearest(name, [option for option in options if option.startswith("--")])
    return f"; did you mean {near}?" if near else ""


def no_command(name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a word that is no command; its remedy names the command that was probably meant.

    If the word is a file or a help topic, the error says so. `known` are the names of all commands.
    """
    known = list(known)
    near = _command_alias(name)
    near = near if near in (*known, "--version") else nearest(name, known)
    if near is None and Path(name).exists():
        return UsageError(
            f"{show(name)} is a file, not a command", f"write a command before the file: {', '.join(known)}"
        )
    if name in topics():
        return UsageError(f"{show(name)} is a help topic, not a command", f"write pcatool help {name}")
    return UsageError(
        f"there is no command {show(shown(name))}",
        f"did you mean {near}?" if near else f"choose one of: {', '.join(known)}",
    )


# Fewest letters of a word that is sought in the text of the topics, and most topics that a message names.
SHORTEST_SOUGHT, MOST_TOPICS = 3, 3


def no_topic(name: str, commands: Sequence[str]) -> UsageError:
    """Return the error for an unknown help topic, with the topic or command that was probably meant."""
    near = _command_alias(name)
    near = near if near in commands else nearest(name, [*topics(), *commands])
    if near:
        hint = f"did you mean {near}?"
    elif found := topics_with(name) if len(name) >= SHORTEST_SOUGHT else []:
        shown = " and ".join(found) if len(found) <= 2 else f"{', '.join(found[:MOST_TOPICS])} and others"
        hint = f"{show(name)} occurs in the {'topic' if len(found) == 1 else 'topics'} {shown}"
    else:
        hint = f"choose one of: {', '.join(topics())}, or a command"
    return UsageError(f"there is no help topic or command {show(name)}", hint)


def _command_alias(name: str) -> str | None:
    """Return the command, or --version, for a name that other tools use; None for any other name."""
    return COMMAND_ALIASES.get(name.lower().replace("_", "-"))


def flag_remedy(flag: str, opposite: str) -> str:
    """Return the remedy for a value after an option that takes none; `opposite` undoes the option, "" if none does."""
    if opposite:
        return f"give {flag} alone, or {opposite}"
    if flag.startswith("--no-"):
        return f"give {flag} alone, or leave it out"
    return f"give {flag} alone to switch it on, or leave it out to switch it off"


def further_values_error(flag: str, value: str, more: Sequence[str], kind: tuple[str, str]) -> UsageError:
    """Return the error for words after the value of an option that look like further values.

    `more` are these words. `kind` is (mark that separates values, noun for the values).
    """
    mark, nouns = kind
    terms = [part for part in (word.strip(",") for word in (value, *more)) if part]
    files = "a file, which does not exist" if len(more) == 1 else "files, which do not exist"
    return UsageError(
        f"{', '.join(show(word) for word in more)} after {flag} {shlex.quote(value)} would be read as {files}",
        f"to give {nouns}, write {flag} {shlex.quote(mark.join(terms))}",
    )


def refuse_typographic_marks(words: Sequence[str]) -> None:
    """Raise `UsageError` for a word that begins with a typographic dash or quotation mark, unless it names a file."""
    for word in words:
        if word[:1] in (*DASHES, *QUOTES) and not Path(word).exists():
            if word[0] in DASHES:
                stem = word.lstrip(DASHES + "-")
                dashes = "-" if len(re.split(r"[=:]", stem)[0]) == 1 else "--"
                raise UsageError(f"{show(word)} begins with a typographic dash, not a hyphen", f"type {dashes}{stem}")
            raise UsageError(
                f"{show(word)} begins with a typographic quotation mark",
                "use a plain quotation mark, ' or \", or no quotation mark",
            )


def refuse_short_equals(words: Sequence[str], options: Collection[str]) -> None:
    """Raise `UsageError` for `-k=3`, which would be read as the value `=3`.

    `options` are the names of the short options with a value.
    """
    for word in words:
        short, equals, value = word.partition("=")
        if equals and value and short in options:
            raise UsageError(
                f"{show(word)} has an equals sign, which is allowed after long options only", f"write {short} {value}"
            )
