"""A model fitted again from the sums it keeps: other components, another scale or centre, fewer columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcatool.errors import DataError, UsageError
from pcatool.methods.subtract import check_scales
from pcatool.methods.sums import options_of
from pcatool.model.model import Model
from pcatool.options import RefitOptions
from pcatool.pipeline.combine import older_of, refitted
from pcatool.pipeline.models import Named, statistic_of
from pcatool.progress import Notices
from pcatool.readers.base import Column
from pcatool.readers.select_columns import Names, element_of, find_columns

__all__ = ["refit"]


def refit(named: Named, options: RefitOptions, notices: Notices) -> Model:
    """The model that a fit of the same rows with these settings would have given."""
    name, model = named
    if options.changes_nothing:
        raise UsageError("nothing is asked to be otherwise", "give -k, -s, --no-center, --ddof, --whiten, -c or -x")
    statistic = statistic_of(named)
    settings = options_of(model, **options.changes)
    places = _kept(name, model, options)
    if len(places) < model.d and model.rows_centered:
        raise UsageError(
            "the model was fitted with --center-rows: the mean of a row is of all columns, so none can be dropped",
            "fit the other columns anew",
        )
    old = None if options.align_to is None else older_of(model, options.align_to, None, settings)
    columns = tuple(model.columns[j] for j in places)
    taken = statistic.take(np.array(places, dtype=np.intp))
    if settings.standardize:
        check_scales(taken, columns)
    return refitted(model, taken, settings, old, notices, columns)


def _kept(name: str, model: Model, options: RefitOptions) -> list[int]:
    """The places of the columns that stay, in the order in which they are named, or else that of the model."""
    chosen = _places(name, model, options.columns) if options.columns else range(model.d)
    gone = frozenset(_places(name, model, options.exclude))
    left = [j for j in chosen if j not in gone]
    if not left:
        raise DataError(f"{name}: no column is left", "drop fewer")
    return left


def _places(name: str, model: Model, terms: Sequence[str]) -> list[int]:
    """Columns that terms name: as in a table, where the elements of a vector are one column."""
    elements = [element_of(column) for column in model.columns]
    heads = [column if element is None else element[0] for column, element in zip(model.columns, elements, strict=True)]
    tables = [Column(column) for column in model.columns], [Column(head) for head in dict.fromkeys(heads)]
    found: dict[int, None] = {}
    for term in Names([*tables[0], *tables[1]], name).split(terms):
        of_vectors = term in heads and term not in model.columns
        names = heads if of_vectors else model.columns
        for i in find_columns([term], tables[of_vectors], name):
            found.update(dict.fromkeys(j for j in range(model.d) if names[j] == tables[of_vectors][i].name))
    return list(found)
