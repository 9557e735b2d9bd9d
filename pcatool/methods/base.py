"""What every method takes beside the rows, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from pcatool.arrays import Array, Runner, in_turn
from pcatool.model.model import Model
from pcatool.rules.base import Evidence
from pcatool.solvers.base import Solution

__all__ = ["NOTHING_MORE", "Fit", "Labels", "Supply", "linear_model"]


class Labels(NamedTuple):
    """What supervises: columns that follow the features in every block."""

    names: tuple[str, ...]
    classes: bool  # one column with the number of the row's class, 0, 1, ... as they first appear; else numbers
    width: int  # of the columns
    levels: Callable[[], list[str]]  # names of the classes, once the rows were read


class Supply(NamedTuple):
    """What a fit may ask of where its rows come from, and of who works on them.

    `scoring` takes the number of components and the bytes of the model; it gives 0 where nothing is scored.
    """

    limit: int | None = None  # bytes of memory
    reread: Callable[[], Iterable[Array]] | None = None  # all blocks once more
    expected: Callable[[], int | None] = lambda: None  # about how many rows there are
    run: Runner = in_turn  # who works on the blocks
    threads: int = 1  # at how many of them at a time
    labels: Labels | None = None
    reading: Callable[[], int] = lambda: 0  # bytes that the input takes while it is read, beside blocks
    scoring: Callable[[int, int], int] = lambda k, model: 0  # bytes at the peak while the same rows are scored
    small: int | None = None  # bytes of rows that are held, to know their number before a solver is chosen


NOTHING_MORE = Supply()


class Fit(NamedTuple):
    """A model, and what the rules for k looked at."""

    model: Model
    evidence: Evidence


def linear_model(solution: Solution, basis: Array, columns: tuple[str, ...], meta: Mapping[str, Any]) -> Model:
    """The model of what a solver found."""
    return Model(
        mean=solution.mean,
        std=solution.std,
        basis=basis,
        eigenvalues=solution.eigenvalues,
        total_variance=solution.total_variance,
        n_samples=solution.n,
        columns=columns,
        meta=meta,
        variances=solution.variances,
        statistic=solution.statistic,
    )
