"""Rows of tables with one line for each cell (user, item, value), for a fit or for a model that is applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pcatool.arrays import Runner, block_rows, nothing_to_fit
from pcatool.errors import DataError, UsageError, listed, show
from pcatool.linalg.sparse import SparseRows
from pcatool.model.model import Model
from pcatool.options import NULLS, ApplyOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Batch
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import IncompleteCells, RowCounts, TripleCounts
from pcatool.readers.rows import CheckedBatch
from pcatool.readers.triples import Triples, read_triples
from pcatool.resources import release_free_memory

if TYPE_CHECKING:
    from pcatool.pipeline.fit import Job

__all__ = ["rows_of_triples", "table_to_fit"]


def table_to_fit(job: Job, inputs: Inputs, row_counts: RowCounts, run: Runner) -> tuple[SparseRows, tuple[str, ...]]:
    """Read the triples of a job; return the sparse rows and the column names."""
    o = job.options
    for flag, given in (("-c", job.select.columns), ("-x", job.select.exclude)):
        if given:
            raise UsageError(f"{flag} does not go with --triples", "remove the lines of unwanted items")
    triples = read_triples(inputs, str(o.triples), row_counts, allow_missing=o.absent != "zero", run=run)
    if not triples.users:
        raise nothing_to_fit()
    _note_odd_names(triples, job.reporter)
    table, items = triples.sorted()
    del triples
    release_free_memory()
    row_counts.table = TripleCounts.of(table)
    return table, items


def _note_odd_names(triples: Triples, reporter: Reporter) -> None:
    """Note names such as NA: in text they may be ordinary words, and are not taken as missing."""
    for what, names in (("a user", triples.users), ("an item", triples.items)):
        odd = [name for name in names if name.lower() in {null.lower() for null in NULLS}]
        if odd:
            reporter.note(f"read as the name of {what}, not as missing: {listed(odd)}")


def rows_of_triples(
    inputs: Inputs, options: ApplyOptions, model: Model, row_counts: RowCounts, reporter: Reporter, run: Runner
) -> Iterator[CheckedBatch]:
    """Yield a row for each user, in order of first appearance, under the columns of the model.

    Items that the model does not know are left out with a note; `DataError` when it knows none of them.
    """
    absent = options.absent or str(model.meta.get("absent", "missing"))
    triples = read_triples(inputs, str(options.triples), RowCounts(), allow_missing=absent != "zero", run=run)
    table, unknown = triples.select_items(model.columns)
    if unknown and len(unknown) == len(triples.items):
        raise DataError(
            f"the model has none of the items: {listed(unknown)}",
            "give the columns of --triples in the order user, item, value",
        )
    if unknown:
        reporter.note(f"left out items that the model does not have: {listed(unknown)}")
    height = block_rows(table.d)
    for first in range(0, table.n, height):
        last = min(first + height, table.n)
        X = table.dense(first, last, 0.0 if absent == "zero" else np.nan)
        users = triples.user_values.slice(first, last - first)
        batch = Batch(X, [users], partial(_place, triples.users[first:last]), False)
        holes = IncompleteCells.of(batch, report=False)
        row_counts.rows += len(X)
        row_counts.count(batch, holes, model.columns)
        yield CheckedBatch(X, batch.passthrough, batch.place, holes.rows if holes.rows.any() else None)


def _place(users: Sequence[str], row: int) -> str:
    """Return the place of a row for messages."""
    return f"user {show(users[row])}"
