"""The keywords of the Python API, sorted into option records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

import numpy as np

from pcatool.errors import UsageError, nearest, show
from pcatool.options.fields import OPTIONS, option_word

__all__ = ["records", "texts"]

# Settings that take one text or several.
TUPLES = ("columns", "exclude", "keep", "label", "null_value")


def records(settings: Mapping[str, Any], *kinds: type, **always: Any) -> list[Any]:
    """The settings sorted into their records; one that no record knows is an error with the nearest that is known."""
    given = {**settings, **{key: str(value) for key, value in always.items() if value is not None}}
    known = [f.name for kind in kinds for f in fields(kind)]
    for name in given:
        if name not in known:
            called = OPTIONS.get(option_word(name), "").strip("-").replace("-", "_")
            near = called if called in known else nearest(name, known)
            raise UsageError(f"no setting called {show(name)}", f"did you mean {near}?" if near else "")
    return [kind(**{f.name: _plain(f, given[f.name]) for f in fields(kind) if f.name in given}) for kind in kinds]


def _plain(field: Field[Any], value: Any) -> Any:
    """A setting as the record holds it: numpy's numbers and truth values count as Python's own."""
    name = field.name
    if name in TUPLES:
        return texts(value)
    if name == "triples" and value is not None:
        return ",".join(texts(value))
    if isinstance(field.default, bool) or field.type == "bool | None":
        if not isinstance(value, (bool, np.bool_)):
            raise UsageError(f"{name} is {show(value)}", "give True or False")
        return bool(value)
    if isinstance(field.default, int):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise UsageError(f"{name} is {show(value)}", "give a whole number")
        return int(value)
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if field.type == "str | None" and value is not None:
        return str(value)
    return value


def texts(value: Any) -> tuple[str, ...]:
    """One text, or several."""
    return (value,) if isinstance(value, str) else tuple(str(item) for item in value)
