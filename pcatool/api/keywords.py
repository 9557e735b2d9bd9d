"""Keywords of the Python API, listed for type checkers and editors, and sorted into option records.

The typed dicts list the fields of the option records; a test compares each dict with its records. Where a record takes
several texts, the keyword also takes one. Where a record takes a number of components, a share or a rule, so does the
keyword.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from pcatool.errors import UsageError, nearest, show
from pcatool.options.fields import OPTIONS, option_word

__all__ = [
    "AlignSettings",
    "ApplySettings",
    "ArraySettings",
    "FitSettings",
    "RefitSettings",
    "ReportSettings",
    "UpdateSettings",
    "records",
    "texts",
]

if TYPE_CHECKING:
    from pcatool.model.model import Model

Texts = str | Sequence[str]


class TableSettings(TypedDict, total=False):
    """Settings of reading tables."""

    input_format: str | None
    delimiter: str | None
    row_names: bool
    null_value: Texts
    encoding: str
    comment: str | None
    decimal: str
    thousands: str | None
    strip: str
    skip_lines: int
    skip_bad: bool
    header: bool | None


class EngineSettings(TypedDict, total=False):
    """Settings of the engine that does the work."""

    threads: int | None
    engine: str
    scheduler: str | None


class TriplesSettings(TypedDict, total=False):
    """Settings of tables with one line for each cell."""

    triples: Texts | None
    absent: str | None


class FitSettings(TableSettings, EngineSettings, TriplesSettings, total=False):
    """Settings of a fit."""

    columns: Texts
    exclude: Texts
    components: int | float | str
    standardize: bool
    center: bool
    center_rows: bool
    ddof: int
    method: str
    solver: str
    whiten: str
    epsilon: float | None
    missing: str
    weights: str | None
    weights_kind: str
    updatable: bool | None
    seed: int
    memory: str | None
    align_to: Model | str | PathLike[str] | None
    label: Texts
    label_kernel: str | None
    label_gamma: float | None
    kernel: str | None
    gamma: float | None
    degree: float | None
    coef0: float | None
    neighbours: int | None
    landmarks: int | None


class ArraySettings(TableSettings, EngineSettings, TriplesSettings, total=False):
    """Settings of `transform` and `reconstruct` for arrays, which have no named columns to pass through."""

    components: int | None
    missing: str | None
    with_error: bool
    with_coverage: bool
    output_format: str | None
    float_format: str | None
    no_clobber: bool
    resume: bool


class ApplySettings(ArraySettings, total=False):
    """Settings of `transform` and `reconstruct`."""

    keep: Texts
    keep_all: bool


class ReportSettings(TableSettings, EngineSettings, TriplesSettings, total=False):
    """Settings of `report`."""

    components: int | None
    missing: str | None
    keep: Texts
    keep_all: bool
    with_error: bool
    with_coverage: bool
    color: str | None
    axes: tuple[int, int] | str | None
    image: tuple[int, int] | str | None
    first: int | None


class AlignSettings(TypedDict, total=False):
    """Settings of a model that is aligned to an older one."""

    align_to: Model | str | PathLike[str] | None


class UpdateSettings(TableSettings, EngineSettings, AlignSettings, total=False):
    """Settings of `update` and `subtract`."""

    missing: str | None


class RefitSettings(AlignSettings, total=False):
    """Settings of `refit`."""

    components: int | float | str | None
    standardize: bool | None
    center: bool | None
    ddof: int | None
    whiten: str | None
    epsilon: float | None
    columns: Texts
    exclude: Texts


# Settings that take one text or several.
TEXT_SETTINGS = ("columns", "exclude", "keep", "label", "null_value")


def records(settings: Mapping[str, Any], *kinds: type, **always: Any) -> list[Any]:
    """Sort the settings into option records of these kinds, in order.

    Raises `UsageError` for a setting that no record has, with the nearest name. `always` adds settings as text.
    """
    given = {**settings, **{key: str(value) for key, value in always.items() if value is not None}}
    known = [f.name for kind in kinds for f in fields(kind)]
    for name in given:
        if name not in known:
            called = OPTIONS.get(option_word(name), "").strip("-").replace("-", "_")
            near = called if called in known else nearest(name, known)
            raise UsageError(f"no setting called {show(name)}", f"did you mean {near}?" if near else "")
    return [kind(**{f.name: _plain(f, given[f.name]) for f in fields(kind) if f.name in given}) for kind in kinds]


def _plain(field: Field[Any], value: Any) -> Any:
    """Return a setting as its record holds it; numpy numbers and booleans become those of Python.

    Raises `UsageError` for a value of the wrong type.
    """
    name = field.name
    if name in TEXT_SETTINGS:
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
    """Return one text or several as a tuple."""
    return (value,) if isinstance(value, str) else tuple(str(item) for item in value)
