"""Batches of rows to batches of results, rows with missing cells apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, by_block
from pcatool.errors import RefusedError
from pcatool.missing.project import OfHoles, fill
from pcatool.model.model import Model
from pcatool.readers.base import all_finite
from pcatool.readers.rows import Checked

__all__ = ["Placed", "Scored", "Scorer", "Work"]

NONE: Array = np.zeros(0)


class Placed(NamedTuple):
    """A batch and the number of its first row, which says where in a block it lies."""

    batch: Checked
    first_row: int


class Scored(NamedTuple):
    """Results, the squared errors that were asked for, and how many rows got none."""

    values: Array
    errors: Array
    empty: int


class Work(NamedTuple):
    """What becomes of rows, of those with missing cells apart, and how the columns of the results are called."""

    of_whole: Callable[[Array], Array]
    of_holes: Callable[[Array], Array] | None
    policy: str  # one of APPLY_MISSING
    names: list[str]
    fill: bool = False  # the rows come back as they are, with only their holes filled


class Scorer(NamedTuple):
    """Batches of rows to batches of results."""

    model: Model
    work: Work
    with_error: bool
    with_coverage: bool

    @property
    def names(self) -> list[str]:
        more = [("squared_error", self.with_error), ("coverage", self.with_coverage)]
        return [*self.work.names, *(name for name, given in more if given)]

    def score(self, placed: Placed) -> Scored:
        batch, holes = placed.batch, placed.batch.incomplete
        X = batch.X if holes is None else _without_holes(batch.X, holes)
        values = by_block(self._of_whole, X, placed.first_row)
        if not all_finite(values) and not (good := _good(values, holes)).all():
            raise _overflow(good, batch)
        if holes is not None:
            values[holes] = self._of_incomplete(batch.X[holes])
            if np.isinf(values).any():
                raise _overflow(~np.isinf(values), batch)
        if self.work.fill:
            values[:, : self.model.d] = fill(batch.X, values[:, : self.model.d])
        errors = values[:, len(self.work.names)] if self.with_error else NONE
        empty = 0 if holes is None else int(np.isnan(values[holes, 0]).sum())
        return Scored(values, errors[~np.isnan(errors)], empty)

    def _of_whole(self, X: Array) -> Array:
        with np.errstate(all="ignore"):
            values = self.work.of_whole(X)
            more = [self.model.squared_error(X)] if self.with_error else []
        more += [np.ones(len(X))] if self.with_coverage else []
        return np.column_stack([values, *more]) if more else values

    def _of_incomplete(self, X: Array) -> Array:
        holes = OfHoles(self.model, self.work.policy)
        coverage = [holes.coverage(X)] if self.with_coverage else []
        if self.work.policy == "keep" or self.work.of_holes is None:
            return np.column_stack([np.full((len(X), len(self.names) - len(coverage)), np.nan), *coverage])
        with np.errstate(all="ignore"):
            error = [holes.squared_error(X)] if self.with_error else []
            return np.column_stack([self.work.of_holes(X), *error, *coverage])


def _without_holes(X: Array, holes: NDArray[np.bool_]) -> Array:
    """The rows with something to reckon with in place of those that are seen to apart: a row that is whole."""
    stand_in = X[np.argmin(holes)] if not holes.all() else 0.0
    return np.where(holes[:, None], stand_in, X)


def _good(values: Array, holes: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Which results are finite; those of rows with holes are not the last word."""
    good = np.isfinite(values)
    return good if holes is None else good | holes[:, None]


def _overflow(good: NDArray[np.bool_], batch: Checked) -> RefusedError:
    """Finite cells give finite results, or the row is refused: an infinity would look like a missing one further on."""
    row = int(np.flatnonzero(~good.all(axis=1))[0])
    return RefusedError(f"{batch.place(row)}: the result overflows a double", "rescale the values of this row")
