"""Arguments of the Python interface: models or their paths, tables in any form, keywords; and warnings."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pcatool.api.keywords import records
from pcatool.errors import PcatoolNote, PcatoolWarning, UsageError
from pcatool.model.model import Model
from pcatool.model.npz import load_model
from pcatool.options import EngineOptions, FitOptions, SelectOptions, TableOptions
from pcatool.pipeline import fit as fitting
from pcatool.progress import Notices

__all__ = [
    "Warnings",
    "data_of",
    "fitted_of",
    "is_model",
    "is_path",
    "job_of",
    "model_of",
    "model_or_fit",
    "named_model",
]


class Warnings(Notices):
    """Warnings and notes go through Python's own machinery, each in a class of its own."""

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        category = PcatoolWarning if kind == "warning" else PcatoolNote
        warnings.warn("\n  ".join([text, *items]), category, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """How many calls `show` lies below the first that is not in this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "pcatool":
        frame, level = frame.f_back, level + 1
    return level


def named_model(model: Model | str | Path) -> tuple[str, Model]:
    made = model_of(model)
    return ("the model" if isinstance(model, Model) else os.fspath(model)), made


def model_of(model: Model | str | Path) -> Model:
    """A model as it is, or read from a path."""
    if isinstance(model, (list, tuple)) and model:
        raise UsageError(
            f"a {type(model).__name__} is no model, nor a path to one", "give models one by one, as in merge(*models)"
        )
    if not isinstance(model, (Model, str, os.PathLike)):
        raise UsageError(f"a {type(model).__name__} is no model, nor a path to one", "give what fit or load_model gave")
    return model if isinstance(model, Model) else load_model(model)


def model_or_fit(subject: Any, settings: Mapping[str, Any]) -> Model:
    """A model as it is, or from a path, or fitted to the data with these settings.

    Of a model the setting `components` takes the first of them.
    """
    return fitted_of(subject, settings).components


def is_model(subject: Any) -> bool:
    """Is it a model, or a path to one?"""
    from pcatool.pipeline.plot_request import is_model

    return isinstance(subject, Model) or (isinstance(subject, (str, Path)) and is_model(str(subject)))


def fitted_of(subject: Any, settings: Mapping[str, Any]) -> fitting.Fitted:
    """The same with what the fit knows of its data."""
    if isinstance(subject, Model):
        others = [name for name in settings if name != "components"]
        if others:
            raise UsageError(f"a model is fitted already: {', '.join(others)} would change nothing", "give the data")
        (options,) = records(settings, FitOptions)
        return fitting.Fitted.of_model(subject, fitting.narrowing(options)[0])
    return fitting.model_or_fit(job_of(subject, settings))


def job_of(data: Any, settings: Mapping[str, Any]) -> fitting.Job:
    table, select, options, engine = records(settings, TableOptions, SelectOptions, FitOptions, EngineOptions)
    return fitting.Job(data_of(data), table, select, options, engine, Warnings())


def data_of(data: Any) -> Any:
    """Paths as a list of texts; anything else as it is."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and not data:
        raise UsageError("there is no data: the list is empty", "give a path, several, or a table")
    if isinstance(data, (list, tuple)) and all(isinstance(item, (str, os.PathLike)) for item in data):
        return [os.fspath(item) for item in data]
    return data


def is_path(data: Any) -> bool:
    return isinstance(data_of(data), list) and all(isinstance(item, str) for item in data_of(data))
