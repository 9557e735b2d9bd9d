"""Messages for wrong calls, one line each: what is wrong, and the call that would be right.

Typer suggests the nearest option of the same command. It does not know the commands that have an option, the names that
other tools use, or files that were not meant; and it draws a box by rich, which takes 60 ms, where logs want a line.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from glob import glob
from itertools import pairwise
from pathlib import Path
from typing import Any

from typer.exceptions import TyperException

from pcatool.cli.topics import topics
from pcatool.errors import UsageError, nearest, nearest_file_hint, show
from pcatool.options.fields import OPTIONS, SENTENCES, option_word
from pcatool.registry import PLOTS, READERS
from pcatool.stores.uri import is_remote

__all__ = ["check_words", "no_command", "no_topic", "refuse_option_as_value", "sentence"]

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

# Characters that word processors and web pages put in place of hyphens and quotation marks.
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"


# Values that options of other tools take, where the option here takes none.
TRUTH = ("true", "false", "yes", "no", "on", "off", "0", "1", "2")

# A word with one of these suffixes is taken for a file, whether the file exists or not.
ENDINGS = (*(suffix for name in READERS for suffix in READERS[name].suffixes), ".npz", ".gz", ".bz2", ".zst", ".zstd")


def refuse_pasted(words: Sequence[str]) -> None:
    """Refuse words that begin with a typographic dash or quotation mark, unless a file has that name."""
    for word in words:
        if word[:1] in (*DASHES, *QUOTES) and not Path(word).exists():
            if word[0] in DASHES:
                stem = word.lstrip(DASHES + "-")
                dashes = "-" if len(re.split(r"[=:]", stem)[0]) == 1 else "--"
                raise UsageError(f"{show(word)} begins with a dash that is no hyphen", f"type it anew: {dashes}{stem}")
            raise UsageError(
                f"{show(word)} is in quotation marks that no shell knows", "type them anew: plain ' or \", or none"
            )


def refuse_short_equals(words: Sequence[str], options: Collection[str]) -> None:
    """Refuse `-k=3`, which would be read as the value `=3`; `options` are short options with a value."""
    for word in words:
        short, equals, value = word.partition("=")
        if equals and value and short in options:
            raise UsageError(f"{show(word)}: a short option takes no =", f"write {short} {value}")


def refuse_truth(words: Sequence[str], flags: Collection[str], valued: Collection[str]) -> None:
    """Refuse `--standardize true`, which would be read as a file called true.

    `flags` are the options without a value, `valued` those with one.
    """
    at, before = 0, ""
    while at < len(words) and words[at] != "--":
        word = words[at]
        if before and word.lower() in TRUTH and not os.path.lexists(word):
            raise UsageError(
                f"{show(word)} after {before} would be read as a file, and there is none",
                f"{before} takes no value: leave out {show(word)}, or both",
            )
        before = word if word in flags else ""
        at += _option_at(words, at, valued)[2]


def refuse_split_values(
    words: Sequence[str], several: Mapping[str, tuple[str, str]], valued: Collection[str], choices: Collection[str]
) -> None:
    """Refuse `-c a b`, which would be read as column a of a file called b.

    `several` maps an option that takes several values to the mark between them and the noun for one; `valued` are all
    options with a value; `choices` are words with a meaning of their own as arguments.
    """
    at = 0
    while at < len(words) and words[at] != "--":
        flag, value, taken = _option_at(words, at, valued)
        at += taken
        if flag not in several:
            continue
        more = at
        while more < len(words) and words[more] not in choices and not _is_input(words[more]):
            more += 1
        if more > at:
            _refuse_more(flag, value, words[at:more], several[flag])


def _option_at(words: Sequence[str], at: int, valued: Collection[str]) -> tuple[str, str, int]:
    """Return the option at a word, its value, and how many words both take; an empty option at other words."""
    word = words[at]
    if word in valued:
        return word, words[at + 1] if at + 1 < len(words) else "", 2
    name, equals, value = word.partition("=")
    if equals and name in valued:
        return name, value, 1
    if word[:1] == "-" and word[1:2] != "-" and word[:2] in valued:
        return word[:2], word[2:], 1
    return "", "", 1


def _is_input(word: str) -> bool:
    """Whether a word may be the name of a file, or an option."""
    folder = os.path.dirname(word)  # noqa: PTH120
    named = word.lower().endswith(ENDINGS) or (folder and os.path.isdir(folder)) or ("://" in word and is_remote(word))  # noqa: PTH112
    return word[:1] == "-" or bool(named) or os.path.lexists(word) or bool(glob(word)) or bool(nearest_file_hint(word))


def _refuse_more(flag: str, value: str, more: Sequence[str], kind: tuple[str, str]) -> None:
    """Raise `UsageError` for further values of an option; `kind` is the mark between and the noun for one."""
    mark, one = kind
    terms = [part for part in (word.strip(",") for word in (value, *more)) if part]
    what = f"it looks like a {one}" if len(more) == 1 else f"they look like {one}s"
    raise UsageError(
        f"{', '.join(show(word) for word in more)} after {flag} {shlex.quote(value)} would be read as a file, and "
        "there is none",
        f"{what}: write {flag} {shlex.quote(mark.join(terms))}",
    )


# Metavar -> (mark between values, noun for one value), for options that take several values.
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
    """Return a hint at the right option: the one that other tools call so, a sentence, or the nearest; else empty."""
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
    """Return the metavars of positional arguments in lower case, such as model, input, data."""
    metavars = [param.metavar or "" for param in command.params if not param.opts[0].startswith("-")]
    return [word.rstrip(".").lower() for metavar in metavars for word in metavar.split("|")]


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


def check_words(command: Any, words: Sequence[str]) -> None:
    """Raise `UsageError` for words that the parser would misread."""
    valued = {name for param in command.params if not getattr(param, "is_flag", False) for name in param.opts}
    given = [word for before, word in pairwise(["", *words]) if before not in valued]  # a value may be any text
    refuse_pasted(given)
    refuse_short_equals(given, {name for name in valued if len(name) == 2})
    refuse_single_dash(command, words)
    several = {
        name: SEVERAL[param.metavar] for param in command.params if param.metavar in SEVERAL for name in param.opts
    }
    choices = PLOTS if "kind" in _arguments(command) else ()
    refuse_split_values(words, several, valued, tuple(choices))
    flags = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} - valued
    refuse_truth(words, flags, valued)


def refuse_single_dash(command: Any, words: Sequence[str]) -> None:
    """Refuse `-output x`, which would be read as `-o utput`."""
    for word in words:
        if word.startswith("-") and len(word) > 2 and f"-{word.partition('=')[0]}" in _options(command):
            raise UsageError(f"{show(word)} needs two dashes", f"write -{word}")


def refuse_option_as_value(command: Any, given: dict[str, Any]) -> None:
    """Refuse an option as the value of another: `-o -v` would write a file called -v."""
    options = _options(command)
    for param in command.params:
        values = given.get(param.name)
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if value in options:
                flag = param.opts[0]
                raise UsageError(f"{flag} needs a value, and {value} is an option", f"give {flag} {param.metavar}")


def _options(command: Any) -> list[str]:
    """Return all spellings of the options of a command."""
    names = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
    return [name for name in names if name.startswith("-")]
