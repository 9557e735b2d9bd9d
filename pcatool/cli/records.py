"""Option records to command-line parameters: the parser is made from the fields, so the two cannot drift apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from pcatool.options import Flag

__all__ = ["command"]

GROUPS = {"input": "Input", "model": "Model", "output": "Output", "general": "General"}


def command(app: typer.Typer, function: Callable[..., int], name: str) -> None:
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
            key: record(**{f.name: _frozen(given[f"{key}__{f.name}"]) for f in fields(record)})
            for key, record in records.items()
        }
        return function(**plain, **built)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__doc__ = function.__doc__
    app.command(name)(call)


def _parameter(owner: str, field: Field[Any]) -> inspect.Parameter:
    flag: Flag = field.metadata["flag"]
    kind, default = _type_of(field)
    metavar = flag.metavar or ("|".join(flag.choices()) if flag.choices else None)
    shown = flag.shown_default or (field.default not in (None, False, (), "") and kind is not bool)
    option = typer.Option(
        *flag.names,
        help=flag.help,
        metavar=metavar,
        rich_help_panel=GROUPS[flag.group],
        show_default=shown,
    )
    return inspect.Parameter(
        f"{owner}__{field.name}", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _type_of(field: Field[Any]) -> tuple[Any, Any]:
    """What the parser reads; a record checks and converts further."""
    if isinstance(field.default, bool):
        return bool, field.default
    if isinstance(field.default, tuple):
        return list[str], []
    if isinstance(field.default, int):
        return int, field.default
    if field.type == "bool | None":
        return bool | None, None
    return str | None, field.default


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
