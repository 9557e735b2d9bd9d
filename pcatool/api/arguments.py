"""Arguments of the Python API: models or their paths, data, keywords; and warnings."""

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
from pcatool.progress import Reporter

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


class Warnings(Reporter):
    """Notices issued as Python warnings: a `PcatoolWarning` for each warning, a `PcatoolNote` for each note."""

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        """Issue one notice, with the line of the caller outside this package."""
        category = PcatoolWarning if kind == "warning" else PcatoolNote
        warnings.warn("\n  ".join([text, *items]), category, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """Return the `stacklevel` for `warnings.warn` in `show` that points to the first caller outside this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "pcatool":
        frame, level = frame.f_back, level + 1
    return level


def named_model(model: Model | str | Path) -> tuple[str, Model]:
    """Return the model with a name for messages: its path, or "the model"."""
    made = model_of(model)
    return ("the model" if isinstance(model, Model) else os.fspath(model)), made


def model_of(model: Model | str | Path) -> Model:
    """Return the model as given, or load it from a path; `UsageError` for anything else."""
    if isinstance(model, (list, tuple)) and model:
        raise UsageError(
            f"a {type(model).__name__} is no model, nor a path to one", "give models one by one, as in merge(*models)"
        )
    if not isinstance(model, (Model, str, os.PathLike)):
        raise UsageError(f"a {type(model).__name__} is no model, nor a path to one", "give what fit or load_model gave")
    return model if isinstance(model, Model) else load_model(model)


def model_or_fit(subject: Any, settings: Mapping[str, Any]) -> Model:
    """Return the model as given, loaded from a path, or fitted to the data with these settings.

    Of a model that is already fitted, the setting `components` keeps only the first components.
    """
    return fitted_of(subject, settings).components


def is_model(subject: Any) -> bool:
    """Whether the subject is a model, or a path to one."""
    from pcatool.pipeline.plot_request import is_model

    return isinstance(subject, Model) or (isinstance(subject, (str, Path)) and is_model(str(subject)))


def fitted_of(subject: Any, settings: Mapping[str, Any]) -> fitting.Fitted:
    """Like `model_or_fit`, with what the fit knows of its data."""
    if isinstance(subject, Model):
        others = [name for name in settings if name != "components"]
        if others:
            raise UsageError(f"a model is fitted already: {', '.join(others)} would change nothing", "give the data")
        (options,) = records(settings, FitOptions)
        return fitting.Fitted.of_model(subject, fitting.narrowing(options)[0])
    return fitting.model_or_fit(job_of(subject, settings))


def job_of(data: Any, settings: Mapping[str, Any]) -> fitting.Job:
    """Return the request of a fit: the data, and the settings as option records."""
    table, select, options, engine = records(settings, TableOptions, SelectOptions, FitOptions, EngineOptions)
    return fitting.Job(data_of(data), table, select, options, engine, Warnings())


def data_of(data: Any) -> Any:
    """Return paths as a list of texts, and anything else as it is; `UsageError` for an empty list."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and not data:
        raise UsageError("there is no data: the list is empty", "give a path, several, or a table")
    if isinstance(data, (list, tuple)) and all(isinstance(item, (str, os.PathLike)) for item in data):
        return [os.fspath(item) for item in data]
    return data


def is_path(data: Any) -> bool:
    """Whether the data are a path, or several."""
    return isinstance(data_of(data), list) and all(isinstance(item, str) for item in data_of(data))
