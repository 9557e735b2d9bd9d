"""How a field of an option record is spelled and explained on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

from pcatool.errors import UsageError, nearest, show
from pcatool.options.wanted import NOTHING, Wanted
from pcatool.registry import Registry

__all__ = ["Flag", "names_of", "option", "require"]


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


def names_of(registry: Registry, *first: str) -> Callable[[], tuple[str, ...]]:
    return lambda: (*first, *registry)


def require(choice: str, allowed: Callable[[], tuple[str, ...]], flag: str) -> None:
    if choice not in allowed():
        near = nearest(choice, allowed())
        hint = f"did you mean {near}?" if near else ""
        raise UsageError(f"{flag} {show(choice)} is none of {', '.join(allowed())}", hint)
