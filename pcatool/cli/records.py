"""Option records to command-line parameters: the parser is made from the fields, so the two cannot drift apart."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from pcatool.cli.page import WORDS
from pcatool.cli.subcommand import Command
from pcatool.errors import UsageError, show
from pcatool.options import Flag, ValueKind

__all__ = ["command"]


def command(app: typer.Typer, function: Callable[..., int], name: str, usage: str) -> None:
    """Register `function`, whose parameters annotated with an option record are spread into that record's flags."""
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
        annotation=Annotated[kind, option, wanted],  # Typer passes over what is not its own
    )


def _choices(flag: Flag) -> tuple[str | None, str]:
    """Choices stand where the value does, if they are few; else behind the explanation."""
    if flag.choices is None:
        return flag.metavar, flag.help
    listed = "|".join(flag.choices())
    if flag.metavar is None and len(f"    {flag.names[-1]} {listed}") < WORDS:
        return listed, flag.help
    return flag.metavar or "NAME", f"{flag.help} One of: {', '.join(flag.choices())}."


def _type_of(field: Field[Any]) -> tuple[Any, Any]:
    """What the parser reads: flags as such, all else as text; a record checks and converts further."""
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
    if isinstance(given, (list, tuple)):
        return tuple(given)
    if isinstance(field.default, int) and isinstance(given, str):
        return _whole(given, field.metadata["flag"].names[-1])
    return given


def _whole(text: str, flag: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
        raise UsageError(f"{flag} {show(text)} is not a whole number", "give one, such as 0")
    return int(text)
