"""The keywords of the Python API as type checkers and editors read them: the fields of the option records, spelled out.

A test holds each against its records. Where a record takes several texts, one is as good; where it takes a number of
components, a share or a rule, so does the keyword.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pcatool.model.model import Model

__all__ = [
    "AlignSettings",
    "ApplySettings",
    "ArraySettings",
    "FitSettings",
    "RefitSettings",
    "ReportSettings",
    "UpdateSettings",
]

Texts = str | Sequence[str]


class TableSettings(TypedDict, total=False):
    """How tables are read."""

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
    """What does the work."""

    threads: int | None
    engine: str
    scheduler: str | None


class TriplesSettings(TypedDict, total=False):
    """Tables with one line for each cell."""

    triples: Texts | None
    absent: str | None


class FitSettings(TableSettings, EngineSettings, TriplesSettings, total=False):
    """Of a fit."""

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
    """Of what is made of new rows without names, and how it is written."""

    components: int | None
    missing: str | None
    with_error: bool
    with_coverage: bool
    output_format: str | None
    float_format: str | None
    no_clobber: bool
    resume: bool


class ApplySettings(ArraySettings, total=False):
    """Of what is made of new rows that have columns to pass through."""

    keep: Texts
    keep_all: bool


class ReportSettings(TableSettings, EngineSettings, TriplesSettings, total=False):
    """Of a page about a model, and of the rows on it."""

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
    """Of models that follow an older one."""

    align_to: Model | str | PathLike[str] | None


class UpdateSettings(TableSettings, EngineSettings, AlignSettings, total=False):
    """Of rows that are added or taken away."""

    missing: str | None


class RefitSettings(AlignSettings, total=False):
    """Of another fit of the same sums."""

    components: int | float | str | None
    standardize: bool | None
    center: bool | None
    ddof: int | None
    whiten: str | None
    epsilon: float | None
    columns: Texts
    exclude: Texts
