"""Functions `update`, `subtract`, `merge` and `refit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from pcatool.api.arguments import Warnings, data_of, is_path, named_model, option_records
from pcatool.api.keywords import AlignSettings, RefitSettings, UpdateSettings
from pcatool.api.messages import errors_name_settings
from pcatool.errors import UsageError
from pcatool.model.model import Model
from pcatool.options import (
    AlignOptions,
    EngineOptions,
    RefitOptions,
    TableOptions,
    UpdateOptions,
)
from pcatool.pipeline import combine as combining
from pcatool.pipeline.combine import refit as refitting

__all__ = ["merge", "refit", "subtract", "update"]


@errors_name_settings
def update(model: Model | str | Path, data: Any, **settings: Unpack[UpdateSettings]) -> Model:
    """Return the model that one fit of the rows of `model` and the rows of `data` would give; `model` stays as it is.

    Settings: missing="error" or "drop", align_to=older, and how a file is read. Raises `ModelError` for a model without
    the sums over its rows, with the reason.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]])
    >>> model = pcatool.update(pcatool.fit(X[:3], components=1), X[3:])
    >>> model.n_samples, bool(np.allclose(model.eigenvalues, pcatool.fit(X).eigenvalues))
    (5, True)
    """
    table, options, engine = option_records(settings, TableOptions, UpdateOptions, EngineOptions)
    return combining.update(named_model(model), data_of(data), table, options, engine, Warnings()).model


@errors_name_settings
def subtract(model: Model | str | Path, data: Any, **settings: Unpack[UpdateSettings]) -> Model:
    """Return the model that a fit without the rows of `data` would give.

    `data` are rows that `model` was fitted to, or a model of such rows, or paths of rows or of models.

    Settings: those of `update`. Raises `RefusedError` where cancellation would leave too few digits, `DataError` for
    rows that cannot have been fitted, and `ModelError` for a model without the sums over its rows.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]])
    >>> pcatool.subtract(pcatool.fit(X, components=1), X[3:]).n_samples
    3
    """
    table, options, engine = option_records(settings, TableOptions, UpdateOptions, EngineOptions)
    named, data = named_model(model), data if isinstance(data, Model) else data_of(data)
    if isinstance(data, Model) or (is_path(data) and combining.are_models(data)):
        combining.refuse_reading(table, options, engine)
        gone = [named_model(data)] if isinstance(data, Model) else combining.models_of(data)
        return combining.subtract_models(named, gone, options.align_to, Warnings()).model
    return combining.subtract(named, data, table, options, engine, Warnings()).model


@errors_name_settings
def merge(*models: Model | str | Path, **settings: Unpack[AlignSettings]) -> Model:
    """Return the model that one fit of the rows of all these models would give. Settings: align_to=older.

    Raises `DataError` for models of different columns, and `ModelError` for models of different settings or without the
    sums over their rows.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]])
    >>> pcatool.merge(pcatool.fit(X[:3], components=1), pcatool.fit(X[3:], components=1)).n_samples
    5
    """
    if not models:
        raise UsageError("merge needs a model", "give one model or more, as in merge(model_a, model_b)")
    (options,) = option_records(settings, AlignOptions)
    return combining.merge(map(named_model, models), options.align_to, Warnings()).model


@errors_name_settings
def refit(model: Model | str | Path, **settings: Unpack[RefitSettings]) -> Model:
    """Return the model that a fit of the same rows with these settings would give; the rows are not needed.

    Settings: components, standardize, center, ddof, whiten, epsilon, columns, exclude, align_to. Raises `ModelError`
    for a model without the sums over its rows.

    >>> import pcatool
    >>> model = pcatool.fit("sample_data/houses.csv", components=1)
    >>> pcatool.refit(model, standardize=True, ddof=1).standardized
    True
    """
    (options,) = option_records(settings, RefitOptions)
    return refitting(named_model(model), options, Warnings())
