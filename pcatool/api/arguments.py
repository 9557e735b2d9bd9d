"""Turn the arguments of the Python API (models, paths, data, keywords) into records; issue Python warnings."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import numpy as np

from pcatool.api.messages import with_settings
from pcatool.errors import PcatoolNote, PcatoolWarning, UsageError
from pcatool.model.model import Model
from pcatool.model.npz import load_model
from pcatool.options import EngineOptions, FitOptions, SelectOptions, TableOptions
from pcatool.options.fields import OPTIONS, option_word, python_type
from pcatool.pipeline import fit as fitting
from pcatool.progress import Reporter
from pcatool.readers.paths import are_paths
from pcatool.stores.uri import shown
from pcatool.wording import nearest, show

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
    "option_records",
    "texts",
]


class Warnings(Reporter):
    """Reporter that issues Python warnings: a `PcatoolWarning` for each warning, a `PcatoolNote` for each note."""

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        """Issue a Python warning that points to the line of the first caller outside this package.

        `kind` is "warning" or "note"; `items` follow the text, each on a line.
        """
        category = PcatoolWarning if kind == "warning" else PcatoolNote
        warnings.warn(with_settings("\n  ".join([text, *items])), category, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """Return the `stacklevel` for `warnings.warn` in `show` that points to the first caller outside this package."""
    frame, level = sys._getframe(1), 1
    inside = ("pcatool", "contextlib")  # a context manager of this package is entered by contextlib
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    return level


def named_model(model: Model | str | Path) -> tuple[str, Model]:
    """Return the name of the model for messages (its path, or "the model"), and the model, loaded if a path is given.

    Raises `UsageError` for an object that is neither a model nor a path.
    """
    made = model_of(model)
    return ("the model" if isinstance(model, Model) else shown(os.fspath(model))), made


def model_of(model: Model | str | Path) -> Model:
    """Return the model itself, or the model loaded from a path; raise `UsageError` for any other object."""
    checked = model_or_path(model)
    return checked if isinstance(checked, Model) else load_model(checked)


def model_or_path(model: object) -> Model | str:
    """Return the model itself, or the path as text, not loaded; raise `UsageError` for any other object."""
    if isinstance(model, Model):
        return model
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    several = isinstance(model, (list, tuple)) and model
    raise UsageError(
        f"an object of type {type(model).__name__} is neither a model nor the path of a model",
        "give one model; merge takes several, as in merge(*models)"
        if several
        else "give a model from fit or load_model",
    )


def model_or_fit(subject: Any, settings: Mapping[str, Any]) -> Model:
    """Return the model `subject`, or the model loaded from a path; else a model fitted to the data `subject`.

    For data, `settings` are those of `fit`. For a model, only the setting `components` is valid, which keeps the first
    components; raise `UsageError` for other settings.
    """
    return fitted_of(subject, settings).shown_model


def is_model(subject: Any) -> bool:
    """Whether the subject is a model, or a path that ends with `.npz` or leads to a file that is a model."""
    from pcatool.pipeline.plot_request import is_model

    return isinstance(subject, Model) or (isinstance(subject, (str, os.PathLike)) and is_model(os.fspath(subject)))


def fitted_of(subject: Any, settings: Mapping[str, Any]) -> fitting.Fitted:
    """Like `model_or_fit`, but return a record: the model, the number of components to show, and the fit's row counts.

    The row counts are 0 if the model was not fitted here.
    """
    if isinstance(subject, Model):
        others = [name for name in settings if name != "components"]
        if others:
            raise UsageError(
                f"{fitting.no_effect(others)} on a model that is already fitted",
                f"give data instead of a model, or leave out {', '.join(others)}",
            )
        (options,) = option_records(settings, FitOptions)
        return fitting.Fitted.of_model(subject, fitting.split_off_components(options)[0])
    return fitting.model_or_fit(job_of(subject, settings))


def job_of(data: Any, settings: Mapping[str, Any]) -> fitting.Job:
    """Return the job of a fit: the data, the settings as option records, and a reporter that issues warnings."""
    table, select, options, engine = option_records(settings, TableOptions, SelectOptions, FitOptions, EngineOptions)
    return fitting.Job(data_of(data), table, select, options, engine, Warnings())


def data_of(data: Any) -> Any:
    """Return one path or several as a list of texts, and other data as they are.

    Raise `UsageError` for an empty list or tuple.
    """
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and not data:
        raise UsageError("the list of data is empty", "give one path, several paths, or a table")
    if isinstance(data, (list, tuple)) and all(isinstance(item, (str, os.PathLike)) for item in data):
        return [os.fspath(item) for item in data]
    return data


def is_path(data: Any) -> bool:
    """Whether the data are one path or several paths."""
    return are_paths(data_of(data))


def option_records(settings: Mapping[str, Any], *kinds: type, **always: Any) -> list[Any]:
    """Return one option record of each of these kinds, in order, with the settings that are its fields.

    `always` are further settings, converted to text; None leaves a setting at its default. Raises `UsageError` for a
    setting that no record has, with the nearest name, or else with all names.
    """
    given = {**settings, **{key: str(value) for key, value in always.items() if value is not None}}
    known = [f.name for kind in kinds for f in fields(kind)]
    for name in given:
        if name not in known:
            called = OPTIONS.get(option_word(name), "").strip("-").replace("-", "_")
            near = called if called in known else nearest(name, known)
            remedy = f"did you mean {near}?" if near else f"the settings are {', '.join(sorted(known))}"
            raise UsageError(f"there is no setting called {show(name)}", remedy)
    return [kind(**{f.name: _plain(f, given[f.name]) for f in fields(kind) if f.name in given}) for kind in kinds]


def _plain(field: Field[Any], value: Any) -> Any:
    """Convert the value of a setting to the type of its field in an option record.

    Numpy numbers and booleans become those of Python; several names become a tuple, or one text with commas. Raises
    `UsageError` for a switch that is not True or False, and for a count that is not a whole number.
    """
    name = field.name
    if isinstance(field.default, tuple):
        return texts(value)
    if "Sequence[str]" in python_type(field) and value is not None:
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
    """Return a text as a tuple of one, and several values as a tuple of texts."""
    return (value,) if isinstance(value, str) else tuple(str(item) for item in value)
