"""Request of a fit (`Job`), and the rows of a fit: from inputs to blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from pcatool.arrays import Array, Runner, recut
from pcatool.engines.threads import Threads
from pcatool.methods.base import Labels, Supply
from pcatool.model.model import Model
from pcatool.options import EngineOptions, FitOptions, SelectOptions, TableOptions
from pcatool.progress import Reporter
from pcatool.readers.base import rows_at_once
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import rows_to_fit
from pcatool.readers.schema import ColumnChoice
from pcatool.resources import free_bytes, parse_size
from pcatool.solvers.plan import in_flight, scoring_bytes

__all__ = [
    "FitRows",
    "Job",
    "labels_of",
    "limit_of",
    "read_blocks",
    "read_wanted",
    "remedy_of",
    "supply_of",
    "wanted_of",
]

# Bytes that a fit may always take without --memory: on a small machine, trying is better than refusing.
SMALL_JOB = 256 << 20


class Job(NamedTuple):
    """Data of a fit and all its options. Commands and the Python API make one; `pipeline.fit` runs it."""

    data: Any  # paths, or a table in memory
    table: TableOptions
    select: SelectOptions
    options: FitOptions
    engine: EngineOptions
    notices: Reporter
    like: Model | None = None  # model whose columns are taken instead of the selected ones
    scored: bool = False  # the rows are read again and scored after the fit

    def open(self) -> Inputs:
        """Open the inputs."""
        return Inputs(self.data, self.table, self.notices)


class FitRows(NamedTuple):
    """Columns and blocks of a fit. In a block the labels follow the features, and the weights come last."""

    wanted: ColumnChoice
    features: tuple[str, ...]
    labels: Labels | None
    blocks: Iterator[Array]


def read_blocks(job: Job, inputs: Inputs, tally: RowCounts, run: Runner) -> FitRows:
    """Choose the columns of a fit, and return them with the rows in blocks."""
    return read_wanted(job.options, inputs, wanted_of(job, inputs, run), tally, run, remedy_of(job))


def wanted_of(job: Job, inputs: Inputs, run: Runner) -> ColumnChoice:
    """Return the columns of a fit, settled by the first good input.

    They are the columns of the model `job.like` if there is one, else the selected ones.
    """
    o = job.options
    inputs.settle(lambda one: deque(read_blocks(job, one, RowCounts(), run).blocks, maxlen=0).clear())
    if job.like is None:
        return inputs.columns.choose(job.select, o.weights, o.label, o.label_kernel)
    meta = job.like.meta
    same = ColumnChoice(job.like.columns, frozenset(meta.get("booleans", ())), widths=meta.get("vectors"))
    return inputs.columns.choose_same(same, o.weights, o.label, o.label_kernel, meta.get("label_numbers"))


def read_wanted(
    o: FitOptions, inputs: Inputs, wanted: ColumnChoice, tally: RowCounts, run: Runner, remedy: str
) -> FitRows:
    """Return the rows of a fit in blocks, for columns that are already chosen.

    `remedy` is the hint of the error for missing cells; `run` maps a function over batches.
    """
    rows = rows_to_fit(inputs, wanted, o.missing, tally, weighted=o.weights is not None, remedy=remedy, run=run)
    return FitRows(wanted, wanted.features, labels_of(wanted), recut(rows, wanted.width))


def remedy_of(job: Job) -> str:
    """Return the hint of the error for missing cells."""
    drop = "--missing drop leaves such rows out"
    if job.like is not None:
        return drop
    others = ", mean and em fit with them" if job.options.method == "pca" and job.options.weights is None else ""
    return f"{drop}{others}, -x leaves a column out"


def labels_of(wanted: ColumnChoice) -> Labels | None:
    """Return the labels of a supervised fit, None without labels."""
    if wanted.classes is not None:
        return Labels(wanted.classes.names, True, 1, wanted.classes.levels)
    return Labels(wanted.labels, False, len(wanted.labels), list) if wanted.labels else None


def supply_of(job: Job, inputs: Inputs, pool: Threads, d: int, labels: Labels | None = None) -> Supply:
    """Return what a solver may use for rows of d columns.

    That is memory, a second reading of the rows, threads, and estimates of rows and of the memory of reading and
    scoring.
    """

    def reread() -> Iterator[Array]:
        return read_blocks(job, inputs.again(), RowCounts(), pool.map).blocks

    def reading() -> int:
        return inputs.reading_bytes(in_flight(pool.count))

    def scoring(k: int, model: int) -> int:
        return scoring_bytes(d, k, rows_at_once(d), pool.count, reading() + model) if job.scored else 0

    again = reread if inputs.can_reread() else None
    return Supply(
        limit_of(job.options),
        again,
        inputs.expected_rows,
        pool,
        pool.count,
        labels,
        reading=reading,
        scoring=scoring,
    )


def limit_of(options: FitOptions) -> int:
    """Return the bytes that a fit may take: --memory, or half of the free memory, at least SMALL_JOB."""
    return parse_size(options.memory) if options.memory is not None else max(free_bytes() // 2, SMALL_JOB)
