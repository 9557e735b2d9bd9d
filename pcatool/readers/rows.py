"""Batches checked for cells that are missing or infinite, and what is done about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.blocks import Runner, in_turn
from pcatool.errors import BadCell, DataError, show
from pcatool.model import Array
from pcatool.readers.base import MEND, Batch, Part, Table
from pcatool.readers.nulled import null_numbers, nulled
from pcatool.readers.rounding import Rounded, has_large
from pcatool.readers.tables import Inputs, Wanted
from pcatool.readers.tally import Holes, Tally

__all__ = ["WITH_HOLES", "Checked", "checked_batches", "rows_to_fit"]

# Fits that take rows with holes as they are.
WITH_HOLES = ("mean", "em")


class Checked(NamedTuple):
    """A batch whose cells are finite, save in the incomplete rows."""

    X: Array
    kept: Sequence[Any]
    place: Callable[[int], str]
    incomplete: NDArray[np.bool_] | None  # rows with a missing cell; None when there is none


def checked_batches(
    inputs: Inputs, wanted: Wanted, tally: Tally, *, eager: bool, report: bool = False, run: Runner = in_turn
) -> Iterator[Checked]:
    """All rows of all inputs, in order. An infinite cell is refused; missing ones are counted and marked.

    Cutting the inputs into parts is done here, parsing them wherever `run` does it. With a `report`, the tally tells
    how missing cells are spelled, and which are missing together.
    """
    types = inputs.kept_types(wanted.kept)
    names = wanted.names if wanted.classes is None else (*wanted.features, wanted.classes.name)

    numbers = null_numbers(inputs.nulls)

    def parts() -> Iterator[tuple[Table, Part]]:
        for table, features, kept in inputs.tables(wanted):
            yield from ((table, part) for part in table.parts(features, kept, eager=eager, run=run))

    def parsed(of: tuple[Table, Part]) -> tuple[Batch, Holes | None, Rounded | None]:
        table, part = of
        batch = part.batch()
        batch = batch._replace(kept=inputs.as_first(batch.kept, types, table.name))
        if numbers and not table.text:
            batch = nulled(batch, numbers)
        holes = _holes(batch, names, report) if wanted.classes is None else None
        return batch, holes, batch.rounded() if not inputs.told_rounding and has_large(batch.X) else None

    for batch, holes, rounded in run(parsed, parts(), ready=inputs.ready if eager else None):
        tally.rows += len(batch.X)
        if rounded is not None:
            inputs.tell_rounding(batch.place(rounded.row), wanted.names[rounded.feature], rounded.written)
        if wanted.classes is not None:
            batch = wanted.classes.added(batch)
            holes = _holes(batch, names, report)
        if holes is not None:
            tally.features = len(wanted.features)
            tally.count(batch, holes, names)
        yield Checked(batch.X, batch.kept, batch.place, None if holes is None else holes.rows)


def _holes(batch: Batch, names: Sequence[str], report: bool) -> Holes | None:
    if batch.finite:
        return None
    infinite = np.isinf(batch.X)
    if infinite.any():
        i, j = (int(at[0]) for at in np.nonzero(infinite))
        raise BadCell(batch.place(i), names[j], str(batch.X[i, j]), "is not finite", MEND)
    return Holes.of(batch, report=report)


def rows_to_fit(
    inputs: Inputs, wanted: Wanted, policy: str, tally: Tally, *, weighted: bool, remedy: str, run: Runner = in_turn
) -> Iterator[Array]:
    """Rows for a fit: incomplete ones as they are, dropped, or refused once all of them have been counted.

    With weights in the last column, rows of weight 0 stand for nothing and are left out.
    """
    for batch in checked_batches(inputs, wanted, tally, eager=False, report=policy != "error", run=run):
        if policy == "error" and tally.incomplete:
            continue
        dropped = None if policy in WITH_HOLES else batch.incomplete
        if weighted:
            _check_weights(batch, wanted.names[-1], missing=dropped is None)
        X = batch.X if dropped is None else batch.X[~dropped]
        yield X[X[:, -1] > 0] if weighted and not np.all(X[:, -1] > 0) else X
    if policy == "error" and tally.incomplete:
        raise tally.error(remedy)


def _check_weights(batch: Checked, name: str, *, missing: bool) -> None:
    """No weight below 0, and none missing where the rows without are not dropped."""
    w = batch.X[:, -1]
    bad = np.flatnonzero(~(w >= 0)) if missing else np.flatnonzero(w < 0)
    if len(bad):
        value, place = float(w[bad[0]]), batch.place(int(bad[0]))
        if value < 0:
            raise BadCell(place, name, str(value), "is a weight below 0", "weights are 0 or more")
        raise DataError(f"{place}, column {show(name)}: the weight is missing", "--missing drop leaves such rows out")
