"""Request of a fit, and its rows: from inputs to blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from pcatool.arrays import Array, Runner, recut
from pcatool.engines.threads import Threads
from pcatool.methods.base import Labels, Supply
from pcatool.model.model import Model
from pcatool.options import EngineOptions, FitOptions, SelectOptions, TableOptions
from pcatool.progress import Notices
from pcatool.readers.base import rows_at_once
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import Tally
from pcatool.readers.rows import rows_to_fit
from pcatool.readers.schema import Wanted
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

# What is never refused unasked: on a small machine such a fit is better tried.
SMALL_JOB = 256 << 20


class Job(NamedTuple):
    """The data of a fit, and everything that was asked of it."""

    data: Any  # paths, or something in memory
    table: TableOptions
    select: SelectOptions
    options: FitOptions
    engine: EngineOptions
    notices: Notices
    like: Model | None = None  # whose columns are taken, instead of those selected
    scored: bool = False  # the rows are read again and scored, once the model is there

    def open(self) -> Inputs:
        return Inputs(self.data, self.table, self.notices)


class FitRows(NamedTuple):
    """What is read of the inputs: after the features come the labels, then the weights."""

    wanted: Wanted
    features: tuple[str, ...]
    labels: Labels | None
    blocks: Iterator[Array]


def read_blocks(job: Job, inputs: Inputs, tally: Tally, run: Runner) -> FitRows:
    """The rows of a fit, in blocks, and what their columns are."""
    return read_wanted(job.options, inputs, wanted_of(job, inputs, run), tally, run, remedy_of(job))


def wanted_of(job: Job, inputs: Inputs, run: Runner) -> Wanted:
    """The columns of a fit, by the first input that is good."""
    o = job.options
    inputs.settle(lambda one: deque(read_blocks(job, one, Tally(), run).blocks, maxlen=0).clear())
    if job.like is None:
        return inputs.columns.choose(job.select, o.weights, o.label, o.label_kernel)
    meta = job.like.meta
    same = Wanted(job.like.columns, frozenset(meta.get("booleans", ())), widths=meta.get("vectors"))
    return inputs.columns.choose_same(same, o.weights, o.label, o.label_kernel, meta.get("label_numbers"))


def read_wanted(o: FitOptions, inputs: Inputs, wanted: Wanted, tally: Tally, run: Runner, remedy: str) -> FitRows:
    """The rows of a fit of which the columns are known."""
    rows = rows_to_fit(inputs, wanted, o.missing, tally, weighted=o.weights is not None, remedy=remedy, run=run)
    return FitRows(wanted, wanted.features, labels_of(wanted), recut(rows, wanted.width))


def remedy_of(job: Job) -> str:
    """What can be done about rows with missing cells."""
    drop = "--missing drop leaves such rows out"
    if job.like is not None:
        return drop
    others = ", mean and em fit with them" if job.options.method == "pca" and job.options.weights is None else ""
    return f"{drop}{others}, -x leaves a column out"


def labels_of(wanted: Wanted) -> Labels | None:
    """What supervises, if anything does."""
    if wanted.classes is not None:
        return Labels(wanted.classes.names, True, 1, wanted.classes.levels)
    return Labels(wanted.labels, False, len(wanted.labels), list) if wanted.labels else None


def supply_of(job: Job, inputs: Inputs, pool: Threads, d: int, labels: Labels | None = None) -> Supply:
    """How much memory there is for rows of d columns, how to read them again, and who works on them."""

    def reread() -> Iterator[Array]:
        return read_blocks(job, inputs.again(), Tally(), pool.map).blocks

    def reading() -> int:
        return inputs.reading_bytes(in_flight(pool.count))

    def scoring(k: int, model: int) -> int:
        return scoring_bytes(d, k, rows_at_once(d), pool.count, reading() + model) if job.scored else 0

    again = reread if inputs.can_reread() else None
    return Supply(
        limit_of(job.options),
        again,
        inputs.expected_rows,
        pool.map,
        pool.count,
        labels,
        reading=reading,
        scoring=scoring,
    )


def limit_of(options: FitOptions) -> int:
    """Bytes that a fit may take."""
    return parse_size(options.memory) if options.memory is not None else max(free_bytes() // 2, SMALL_JOB)
