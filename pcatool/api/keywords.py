"""Keywords of the Python API, for type checkers and editors.

Made by tests/make_keywords.py from the option records: change the records, and run it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypedDict

__all__ = [
    "AlignSettings",
    "ApplySettings",
    "ArraySettings",
    "FitSettings",
    "RefitSettings",
    "ReportSettings",
    "UpdateSettings",
]

if TYPE_CHECKING:
    from pcatool.model.model import Model


class TableSettings(TypedDict, total=False):
    """Settings of how files and tables are read."""

    input_format: str | None
    delimiter: str | None
    header: bool | None
    row_names: bool
    null_value: str | Sequence[str]
    encoding: str
    comment: str | None
    decimal: str
    thousands: str | None
    strip: str
    skip_lines: int
    skip_bad: bool


class EngineSettings(TypedDict, total=False):
    """Settings of the engine that does the work: threads of this process, or a cluster."""

    threads: int | None
    engine: str
    scheduler: str | None


class FitSettings(TableSettings, EngineSettings, total=False):
    """Settings of a fit."""

    columns: str | Sequence[str]
    exclude: str | Sequence[str]
    triples: str | Sequence[str] | None
    absent: str | None
    label: str | Sequence[str]
    label_kernel: str | None
    label_gamma: float | None
    kernel: str | None
    gamma: float | None
    degree: float | None
    coef0: float | None
    neighbours: int | None
    landmarks: int | None
    components: int | float | str
    standardize: bool
    center: bool
    center_rows: bool
    ddof: int
    method: str
    solver: str
    eigenvalues: str
    whiten: str
    epsilon: float | None
    missing: str
    weights: str | None
    weights_kind: str
    updatable: bool | None
    seed: int
    memory: str | None
    align_to: Model | str | PathLike[str] | None


class ArraySettings(TableSettings, EngineSettings, total=False):
    """Settings of `transform` and `reconstruct` for arrays, which have no named columns to pass through."""

    triples: str | Sequence[str] | None
    absent: str | None
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

    keep: str | Sequence[str]
    keep_all: bool


class ReportSettings(TableSettings, EngineSettings, total=False):
    """Settings of `report`."""

    triples: str | Sequence[str] | None
    absent: str | None
    components: int | None
    missing: str | None
    keep: str | Sequence[str]
    keep_all: bool
    with_error: bool
    with_coverage: bool
    color: str | None
    axes: tuple[int, int] | str | None
    image: tuple[int, int] | str | None
    first: int | None


class AlignSettings(TypedDict, total=False):
    """Setting that aligns the components of a new model to an older model."""

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
    columns: str | Sequence[str]
    exclude: str | Sequence[str]
