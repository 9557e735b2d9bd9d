"""Batches checked for cells that are missing or infinite, and what is done about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.blocks import Runner, in_turn
from pcatool.errors import BadCell, DataError, show
from pcatool.model import Array
from pcatool.readers.base import MEND, Batch, Part
from pcatool.readers.tables import Inputs, Wanted

__all__ = ["Checked", "Tally", "checked_batches", "complete_rows"]

# Places named in an error; more are counted.
FIRST_PLACES = 3


@dataclass
class Tally:
    """What was read so far."""

    rows: int = 0
    incomplete: int = 0  # rows with a missing cell
    cells: dict[str, int] = field(default_factory=dict)  # missing cells by column
    places: list[str] = field(default_factory=list)  # the first incomplete rows

    def count(self, batch: Batch, holes: NDArray[np.bool_], rows: NDArray[np.bool_], names: Sequence[str]) -> None:
        self.incomplete += int(rows.sum())
        for j in np.flatnonzero(holes.any(axis=0)).tolist():
            self.cells[names[j]] = self.cells.get(names[j], 0) + int(holes[:, j].sum())
        for i in np.flatnonzero(rows)[: max(FIRST_PLACES - len(self.places), 0)]:
            self.places.append(batch.place(int(i)))

    def error(self, remedy: str) -> DataError:
        """The refusal that names columns, counts and first rows."""
        worst = sorted(self.cells.items(), key=lambda item: -item[1])
        columns = ", ".join(f"{show(name)} ({count})" for name, count in worst[:5])
        more = f" and {len(worst) - 5} more" if len(worst) > 5 else ""
        has = "has" if self.incomplete == 1 else "have"
        return DataError(
            f"{self.incomplete} of {self.rows} rows {has} missing cells, in column {columns}{more}; "
            f"first: {'; '.join(self.places)}",
            remedy,
        )


class Checked(NamedTuple):
    """A batch whose cells are finite, save in the incomplete rows."""

    X: Array
    kept: Sequence[Any]
    place: Callable[[int], str]
    incomplete: NDArray[np.bool_] | None  # rows with a missing cell; None when there is none


def checked_batches(
    inputs: Inputs, wanted: Wanted, tally: Tally, *, eager: bool, run: Runner = in_turn
) -> Iterator[Checked]:
    """All rows of all inputs, in order. An infinite cell is refused; missing ones are counted and marked.

    Cutting the inputs into parts is done here, parsing them wherever `run` does it.
    """
    types = inputs.kept_types(wanted.kept)

    def parts() -> Iterator[tuple[str, Part]]:
        for table, features, kept in inputs.tables(wanted):
            yield from ((table.name, part) for part in table.parts(features, kept, eager=eager, run=run))

    def parsed(named: tuple[str, Part]) -> Batch:
        batch = named[1].batch()
        return batch._replace(kept=inputs.as_first(batch.kept, types, named[0]))

    names = wanted.names if wanted.classes is None else (*wanted.features, wanted.classes.name)
    for batch in run(parsed, parts(), ready=inputs.ready if eager else None):
        tally.rows += len(batch.X)
        if wanted.classes is not None:
            batch = wanted.classes.added(batch)
        yield Checked(batch.X, batch.kept, batch.place, _incomplete(batch, tally, names))


def _incomplete(batch: Batch, tally: Tally, names: Sequence[str]) -> NDArray[np.bool_] | None:
    if batch.finite:
        return None
    X = batch.X
    infinite = np.isinf(X)
    if infinite.any():
        i, j = (int(at[0]) for at in np.nonzero(infinite))
        raise BadCell(batch.place(i), names[j], str(X[i, j]), "is not finite", MEND)
    holes = np.isnan(X)
    rows = np.asarray(holes.any(axis=1))
    tally.count(batch, holes, rows, names)
    return rows


def complete_rows(
    inputs: Inputs, wanted: Wanted, policy: str, tally: Tally, *, weighted: bool, run: Runner = in_turn
) -> Iterator[Array]:
    """Rows for a fit: incomplete ones are dropped, or refused once all of them have been counted.

    With weights in the last column, rows of weight 0 stand for nothing and are left out.
    """
    for batch in checked_batches(inputs, wanted, tally, eager=False, run=run):
        if policy == "error" and tally.incomplete:
            continue
        if weighted:
            _check_weights(batch, wanted.names[-1])
        X = batch.X if batch.incomplete is None else batch.X[~batch.incomplete]
        yield X[X[:, -1] > 0] if weighted and not np.all(X[:, -1] > 0) else X
    if policy == "error" and tally.incomplete:
        raise tally.error("--missing drop leaves such rows out, -x COLUMN such a column")


def _check_weights(batch: Checked, name: str) -> None:
    below = np.flatnonzero(batch.X[:, -1] < 0)
    if len(below):
        row = int(below[0])
        raise BadCell(batch.place(row), name, str(batch.X[row, -1]), "is a weight below 0", "weights are 0 or more")
