"""Frozen option records: what a run was asked to do, each field declared with its flags and help.

Begin with `fitting`. `fields` defines how a field is declared; the parser, help, completion and Python keywords derive
from these declarations.
"""

from __future__ import annotations

from pcatool.options.applying import (
    APPLY_MISSING,
    AlignOptions,
    ApplyOptions,
    OutputOptions,
    RefitOptions,
    ScoreOptions,
    UpdateOptions,
    parse_truncation,
)
from pcatool.options.fields import ANY_FILE, DATA, MODEL, MODEL_OR_DATA, NOTHING, Flag, ValueKind, some_of, word_of
from pcatool.options.fitting import (
    LABEL_KERNELS,
    MAX_UPDATABLE_COLUMNS,
    MISSING,
    WEIGHTS_KINDS,
    WHITENINGS,
    FitOptions,
    parse_components,
)
from pcatool.options.reading import ABSENT, BLANKS, NULLS, SelectOptions, TableOptions
from pcatool.options.running import EngineOptions, GeneralOptions, ReportOptions, ThreadOptions
from pcatool.options.showing import ComponentsOptions, DiffOptions, PageOptions, PictureOptions, PlotOptions

__all__ = [
    "ABSENT",
    "ANY_FILE",
    "APPLY_MISSING",
    "BLANKS",
    "DATA",
    "LABEL_KERNELS",
    "MAX_UPDATABLE_COLUMNS",
    "MISSING",
    "MODEL",
    "MODEL_OR_DATA",
    "NOTHING",
    "NULLS",
    "WEIGHTS_KINDS",
    "WHITENINGS",
    "AlignOptions",
    "ApplyOptions",
    "ComponentsOptions",
    "DiffOptions",
    "EngineOptions",
    "FitOptions",
    "Flag",
    "GeneralOptions",
    "OutputOptions",
    "PageOptions",
    "PictureOptions",
    "PlotOptions",
    "RefitOptions",
    "ReportOptions",
    "ScoreOptions",
    "SelectOptions",
    "TableOptions",
    "ThreadOptions",
    "UpdateOptions",
    "ValueKind",
    "parse_components",
    "parse_truncation",
    "some_of",
    "word_of",
]
