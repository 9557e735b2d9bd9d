"""Frozen option records: the options of a run, each declared once with its flags and help.

Begin with `fitting`. `fields` defines how a field is declared; the parser, help, completion and Python keywords derive
from these declarations.
"""

from __future__ import annotations

from pcatool.options.applying import (
    AlignOptions,
    ApplyOptions,
    OutputOptions,
    RefitOptions,
    UpdateOptions,
    parse_truncation,
)
from pcatool.options.fields import (
    ANY_FILE,
    DATA,
    MODEL,
    MODEL_OR_DATA,
    NO_COMPLETION,
    Completion,
    Flag,
    some_of,
    word_of,
)
from pcatool.options.fitting import (
    MAX_UPDATABLE_COLUMNS,
    FitOptions,
    ScoreOptions,
    parse_components,
)
from pcatool.options.reading import BLANKS, NULLS, SelectOptions, TableOptions
from pcatool.options.running import (
    DiffGeneralOptions,
    EngineOptions,
    GeneralOptions,
    InspectGeneralOptions,
    ReportOptions,
    ThreadOptions,
)
from pcatool.options.showing import ComponentsOptions, DiffOptions, PageOptions, PictureOptions, PlotOptions

__all__ = [
    "ANY_FILE",
    "BLANKS",
    "DATA",
    "MAX_UPDATABLE_COLUMNS",
    "MODEL",
    "MODEL_OR_DATA",
    "NO_COMPLETION",
    "NULLS",
    "AlignOptions",
    "ApplyOptions",
    "Completion",
    "ComponentsOptions",
    "DiffGeneralOptions",
    "DiffOptions",
    "EngineOptions",
    "FitOptions",
    "Flag",
    "GeneralOptions",
    "InspectGeneralOptions",
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
    "parse_components",
    "parse_truncation",
    "some_of",
    "word_of",
]
