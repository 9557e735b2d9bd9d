"""The rows of a picture as a table that is written as it comes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pcatool.arrays import Array
from pcatool.engines.threads import Threads
from pcatool.model.model import Model
from pcatool.pipeline.job import Job
from pcatool.pipeline.plot import color_of, names_of, projected
from pcatool.pipeline.plots.asked import Asked
from pcatool.pipeline.results import Flow, Results
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import Tally
from pcatool.readers.rows import checked_batches
from pcatool.readers.schema import Wanted

__all__ = ["flow_of"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class Table:
    """The same rows as they are written: the column that colours them as it stands, and their scores."""

    source: Results | None  # of rows that are projected
    columns: tuple[int, ...]
    names: list[str]
    kept: list[tuple[str, Any]]
    inputs: Inputs
    job: Job
    by_users: bool = False

    def each(self, finish: Callable[[Sequence[Any], Array], Result]) -> Generator[Result]:
        if self.source is not None:
            yield from self.source.each(lambda kept, values: finish(kept, values[:, self.columns]))
            return
        wanted = Wanted(tuple(self.names), frozenset(), kept=tuple(name for name, _ in self.kept))
        with Threads(self.job.engine.threads) as pool:
            batches = checked_batches(self.inputs, wanted, Tally(), eager=True, run=pool.map)
            yield from pool.map(lambda batch: finish(batch.kept, batch.X), batches, ready=self.inputs.ready)


def flow_of(job: Job, asked: Asked, axes: tuple[int, ...], model: Model | None, inputs: Inputs) -> Flow:
    """Every row with its scores, an empty cell where it has none."""
    color = color_of(asked, job, inputs)
    kept = () if color is None else (color.name,)
    if model is None:
        return Table(None, (), list(names_of(axes)), inputs.columns.kept_types(kept), inputs, job)
    results = projected(job, axes, model, inputs, kept)
    columns = tuple(number - 1 for number in axes)
    return Table(results, columns, list(names_of(axes)), results.kept, inputs, job, results.by_users)
