"""Frozen option records: what a run was asked to do, each field with its flags and help.

Begin with `fitting`. `fields` declares what a field is; the parser, help, completion and keywords derive from it.
"""

from __future__ import annotations

from pcatool.options.applying import APPLY_MISSING, ApplyOptions, OutputOptions, parse_truncation
from pcatool.options.combining import AlignOptions, RefitOptions, UpdateOptions
from pcatool.options.comparing import DiffOptions
from pcatool.options.components import ComponentsOptions
from pcatool.options.fitting import MISSING, MOST_KEPT, WEIGHTS_KINDS, WHITENINGS, FitOptions, parse_components
from pcatool.options.flags import Flag
from pcatool.options.labels import LABEL_KERNELS
from pcatool.options.page import PageOptions
from pcatool.options.reading import BLANKS, NULLS, SelectOptions, TableOptions
from pcatool.options.running import EngineOptions, GeneralOptions, ReportOptions, ThreadOptions
from pcatool.options.scoring import ScoreOptions
from pcatool.options.showing import PictureOptions, PlotOptions
from pcatool.options.triples import ABSENT
from pcatool.options.wanted import ANY_FILE, DATA, MODEL, MODEL_OR_DATA, NOTHING, Wanted, some_of, word_of

__all__ = [
    "ABSENT",
    "ANY_FILE",
    "APPLY_MISSING",
    "BLANKS",
    "DATA",
    "LABEL_KERNELS",
    "MISSING",
    "MODEL",
    "MODEL_OR_DATA",
    "MOST_KEPT",
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
    "Wanted",
    "parse_components",
    "parse_truncation",
    "some_of",
    "word_of",
]
