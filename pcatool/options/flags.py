"""How a field of an option record is spelled and explained on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from typing import Any, NamedTuple

from pcatool.errors import UsageError, nearest, show
from pcatool.options.wanted import NOTHING, Wanted
from pcatool.registry import Registry

__all__ = ["Flag", "given_flags", "names_of", "option", "require"]


class Flag(NamedTuple):
    """How a field is spelled and explained on the command line."""

    names: tuple[str, ...]
    help: str
    group: str
    metavar: str | None = None
    choices: Callable[[], tuple[str, ...]] | None = None
    shown_default: str | None = None
    wanted: Wanted = NOTHING  # of the value, where it is none of the choices


def option(default: Any, *names: str, group: str, help: str, **more: Any) -> Any:
    return field(default=default, metadata={"flag": Flag(names, help, group, **more)})


def given_flags(*records: Any, leaving_out: str = "") -> list[str]:
    """The flags of all that is not as it is unasked, but for one field."""
    return [
        each.metadata["flag"].names[0]
        for record in records
        for each in fields(record)
        if each.name != leaving_out and getattr(record, each.name) != each.default
    ]


def names_of(registry: Registry, *first: str) -> Callable[[], tuple[str, ...]]:
    return lambda: (*first, *registry)


def require(choice: str, allowed: Callable[[], tuple[str, ...]], flag: str) -> None:
    if choice not in allowed():
        near = nearest(choice, allowed())
        hint = f"did you mean {near}?" if near else ""
        raise UsageError(f"{flag} {show(choice)} is none of {', '.join(allowed())}", hint)
