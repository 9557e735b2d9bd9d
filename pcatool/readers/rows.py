"""Batches checked for cells that are missing or infinite, and what is done about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import BadCell, DataError, show
from pcatool.model import Array
from pcatool.readers.base import Batch
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
        for j in np.flatnonzero(holes.any(axis=0)):
            self.cells[names[j]] = self.cells.get(names[j], 0) + int(holes[:, j].sum())
        for i in np.flatnonzero(rows)[: max(FIRST_PLACES - len(self.places), 0)]:
            self.places.append(batch.place(int(i)))

    def error(self, remedy: str) -> DataError:
        """The refusal that names columns, counts and first rows."""
        worst = sorted(self.cells.items(), key=lambda item: -item[1])
        columns = ", ".join(f"{show(name)} ({count})" for name, count in worst[:5])
        more = f" and {len(worst) - 5} more" if len(worst) > 5 else ""
        noun = "row has" if self.incomplete == 1 else "rows have"
        return DataError(
            f"{self.incomplete} of {self.rows} {noun} missing cells, in column {columns}{more}; "
            f"first: {'; '.join(self.places)}",
            remedy,
        )


@dataclass(frozen=True)
class Checked:
    """A batch whose cells are finite, save in the incomplete rows."""

    X: Array
    kept: Sequence[Any]
    incomplete: NDArray[np.bool_] | None  # rows with a missing cell; None when there is none


def checked_batches(inputs: Inputs, wanted: Wanted, tally: Tally, *, eager: bool) -> Iterator[Checked]:
    """All rows of all inputs, in order. An infinite cell is refused; missing ones are counted and marked."""
    for table, features, kept in inputs.tables(wanted):
        for part in table.parts(features, kept, eager=eager):
            batch = part.batch()
            tally.rows += len(batch.X)
            yield Checked(batch.X, batch.kept, _incomplete(batch, tally, wanted.names))


def _incomplete(batch: Batch, tally: Tally, names: Sequence[str]) -> NDArray[np.bool_] | None:
    X = batch.X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # one NaN or infinity anywhere would show
            return None
    infinite = np.isinf(X)
    if infinite.any():
        i, j = (int(at[0]) for at in np.nonzero(infinite))
        raise BadCell(
            batch.place(i), names[j], str(X[i, j]), "is not finite",
            "mend the cell, leave the column out with -x, or name the value with --null-value if it means missing",
        )  # fmt: skip
    holes = np.isnan(X)
    rows: NDArray[np.bool_] = holes.any(axis=1)
    if not rows.any():
        return None
    tally.count(batch, holes, rows, names)
    return rows


def complete_rows(inputs: Inputs, wanted: Wanted, policy: str, tally: Tally) -> Iterator[Array]:
    """Rows for a fit: incomplete ones are dropped, or refused once all of them have been counted."""
    for batch in checked_batches(inputs, wanted, tally, eager=False):
        if policy == "error" and tally.incomplete:
            continue
        yield batch.X if batch.incomplete is None else batch.X[~batch.incomplete]
    if policy == "error" and tally.incomplete:
        raise tally.error("--missing drop leaves such rows out, -x COLUMN such a column")
