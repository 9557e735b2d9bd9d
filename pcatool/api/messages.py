"""Messages of the Python API: replace options of the command line in errors and warnings by settings, its keywords.

All layers below name options in their messages, such as `--missing drop`. The API replaces this by missing="drop", so
that a remedy can be typed. The options come from the option records, whose fields are the settings. Commands such as
`pcatool refit -k` stay as they are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import Field, fields
from functools import cache, partial, wraps
from inspect import signature
from typing import Any, NamedTuple, ParamSpec, TypeVar

from pcatool.errors import PcatoolError
from pcatool.options import (
    ApplyOptions,
    ComponentsOptions,
    EngineOptions,
    FitOptions,
    OutputOptions,
    PageOptions,
    PictureOptions,
    PlotOptions,
    RefitOptions,
    ReportOptions,
    ScoreOptions,
    SelectOptions,
    TableOptions,
)
from pcatool.options.fields import Flag, python_type
from pcatool.wording import reword_for_model

__all__ = ["errors_name_settings", "with_settings"]

# Records whose fields are keywords of the API. If several records have an option, its setting comes from the first
# record, and knows the values of all.
RECORDS = (
    TableOptions,
    SelectOptions,
    FitOptions,
    EngineOptions,
    ApplyOptions,
    ScoreOptions,
    RefitOptions,
    OutputOptions,
    PlotOptions,
    PageOptions,
    PictureOptions,
    ComponentsOptions,
    ReportOptions,
)

# Options that the API does not have: the type of the data decides about the type of the result.
COMMAND_LINE_ONLY = ("--format", "--output-header", "--no-output-header")

# Keywords of `reconstruct` that no record has.
KEYWORD_SWITCHES = ("fill", "preimage")

# A command of pcatool, up to the end of its clause; or an option, with the next word if this is surely its value: a
# quoted text, a number, a file name, a word before a closing parenthesis, any word after --null-value and after
# "with -x", or a word that the option knows.
COMMAND = r"pcatool [a-z][a-z-]*[^;,()]*"
OPTION = r"(?<![\w-])(--[a-z][a-z0-9-]*|-[a-zA-Z])(?![\w-])"
NUMBER = r"-?[0-9]+(?:[.,x][0-9]+|e-?[0-9]+)*[A-Za-z]*(?![\w-])"
WORDS = r"[^\s;,]+(?:,[^\s;,]+)*"
ANY_WORD = rf"(?<=--null-value[ =]){WORDS}|(?<=with -x ){WORDS}"
VALUE = rf"'[^']*'|{ANY_WORD}|{NUMBER}|[\w-]+(?:\.\w+|/[\w/]*)|[^\s();,]+(?=\))|[a-z][a-z0-9-]*"
TOKENS = re.compile(rf"{COMMAND}|{OPTION}(?:[ =]({VALUE}))?")

P = ParamSpec("P")
R = TypeVar("R")


class ApiSetting(NamedTuple):
    """The setting (keyword of the Python API) that replaces an option of the command line."""

    name: str  # name of the keyword
    value: str  # value of an option that takes none: True or False; empty for an option that takes a value
    numeric: bool  # the value is a number, written without quotes
    words: frozenset[str]  # values that the option knows


def with_settings(text: str) -> str:
    """Return a message with options replaced by keywords: `--missing drop` becomes `missing="drop"`."""
    return TOKENS.sub(lambda match: _replacement(match, text), text)


def errors_name_settings(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of the API: messages of its `PcatoolError`s name keywords instead of command-line options.

    If the function applies a model, advice to leave a column out becomes a call of `refit`.
    """

    applies_model = "model" in signature(function).parameters and function.__name__ != "refit"

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except PcatoolError as error:
            if applies_model:
                error.reword(partial(reword_for_model, without=_refit))
            error.reword(with_settings)
            raise

    return call


def _refit(columns: str) -> str:
    """Return the text of a call of `refit` that excludes `columns`, an argument of -x as a shell reads it.

    With empty `columns`, the text ends with `exclude=...)`.
    """
    return f"refit(model, exclude={' '.join(shlex.split(columns))!r})" if columns else "refit(model, exclude=...)"


def _replacement(match: re.Match[str], text: str) -> str:
    option, value = match[1], match[2]
    setting = _settings().get(option) if option else None
    if setting is None:
        return match[0]
    before, after = text[: match.start()], match[0].removeprefix(option)
    if setting.value:
        bare = setting.value == "True" and (before.endswith("leave out ") or text[match.end() :].startswith(":"))
        return f"{setting.name}{'' if bare else f'={setting.value}'}{with_settings(after)}"
    if value is None or (re.fullmatch(r"[a-z][a-z0-9-]*", value) and not _is_value(match, setting)):
        return f"{'value of ' if before.endswith(('smaller ', 'larger ')) else ''}{setting.name}{after}"
    if value.startswith("'"):
        return f"{setting.name}={value}"
    plain = setting.numeric and re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?", value)
    return f"{setting.name}={value}" if plain else f'{setting.name}="{value}"'


def _is_value(match: re.Match[str], setting: ApiSetting) -> bool:
    """Whether the word after an option, `match[2]`, is the value of the option rather than the next word of a sentence.

    A value is a word that the option knows, the last word in parentheses, or any word after --null-value or "with -x".
    """
    if match.string[: match.start(2) - 1].endswith(("--null-value", "with -x")):
        return True
    return match[2] in setting.words or match.string[match.end() : match.end() + 1] == ")"


@cache
def _settings() -> dict[str, ApiSetting]:
    """Return a dict from each option, such as `--missing`, to the setting that replaces it."""
    found = {f"--{name}": ApiSetting(name, "True", False, frozenset()) for name in KEYWORD_SWITCHES}
    for record in RECORDS:
        for field in fields(record):
            for option, setting in _of_field(field):
                if option not in COMMAND_LINE_ONLY:
                    first = found.get(option, setting)
                    found[option] = first._replace(words=first.words | setting.words)
    return found


def _of_field(field: Field[Any]) -> list[tuple[str, ApiSetting]]:
    """Return each option of a field of an option record, with its setting; `--center/--no-center` are two options."""
    flag: Flag = field.metadata["flag"]
    kind = python_type(field)
    words = frozenset((*(flag.choices() if flag.choices else ()), *flag.completion.words()))
    numeric = "int" in kind or "float" in kind
    switch = kind.partition(" ")[0] == "bool"
    options = [option for names in flag.names for option in names.split("/")]
    negative = [names.partition("/")[2] for names in flag.names]
    return [
        (option, ApiSetting(field.name, ("False" if option in negative else "True") if switch else "", numeric, words))
        for option in options
    ]
