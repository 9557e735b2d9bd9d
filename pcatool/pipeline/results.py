"""Results of applying a model: rows scored batch by batch, written as they come, or sampled.

A sample is spread evenly over all rows. It takes the rows whose numbers have the smallest hashes, so it depends on the
number of rows alone, and not on the batches or on the threads that work on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, apply_in_blocks
from pcatool.engines.threads import Threads
from pcatool.errors import RefusedError
from pcatool.missing.project import IncompleteScorer, fill
from pcatool.model.model import Model
from pcatool.options import ApplyOptions, EngineOptions, OutputOptions
from pcatool.progress import Reporter
from pcatool.readers.base import all_finite
from pcatool.readers.inputs import Inputs
from pcatool.readers.labels import texts_of
from pcatool.readers.paths import Input
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import CheckedBatch, checked_batches, refuse_incomplete
from pcatool.readers.schema import ColumnChoice
from pcatool.wording import counted, grouped
from pcatool.writers.base import open_writer
from pcatool.writers.jsonlines import cells_at
from pcatool.writers.sink import open_sink

__all__ = [
    "BatchTable",
    "ErrorSum",
    "PlacedBatch",
    "Results",
    "ResultsPlan",
    "RowWork",
    "Sample",
    "Scorer",
    "TextCounts",
    "hashes",
    "results_of",
    "sample_of",
    "write",
]

NO_ERRORS: Array = np.zeros(0)


class PlacedBatch(NamedTuple):
    """A batch, and the number of its first row, counted from 0, which sets the places of the rows in blocks."""

    batch: CheckedBatch
    first_row: int


class Scored(NamedTuple):
    """Results of a batch."""

    values: Array  # (n, w) results; NaN in rows without results, except for their coverage
    errors: Array  # (m,) squared errors of the rows with results; empty without --with-error
    empty: int  # number of rows without results


class RowWork(NamedTuple):
    """Functions that turn rows into results, the policy for missing cells, and the names of the results."""

    score_complete: Callable[[Array], Array]  # rows without missing cells (n, d) to results
    score_incomplete: Callable[[Array], Array] | None  # rows with missing cells (n, d) to results; None: empty results
    policy: str  # one of APPLY_MISSING
    names: list[str]  # names of the results, without squared_error and coverage
    fill: bool = False  # the results are the rows, with missing cells replaced by reconstructed ones


class Scorer(NamedTuple):
    """Turns batches of rows into batches of results, with the columns squared_error and coverage if asked for."""

    model: Model
    work: RowWork
    with_error: bool
    with_coverage: bool

    @property
    def names(self) -> list[str]:
        """Names of the result columns."""
        more = [("squared_error", self.with_error), ("coverage", self.with_coverage)]
        return [*self.work.names, *(name for name, given in more if given)]

    def score(self, placed: PlacedBatch) -> Scored:
        """Return the results of one batch; `RefusedError` for a row whose result overflows."""
        batch, incomplete = placed.batch, placed.batch.incomplete
        X = batch.X if incomplete is None else _without_incomplete(batch.X, incomplete)
        values = apply_in_blocks(self._score_complete, X, placed.first_row)
        if not all_finite(values) and not (good := _good(values, incomplete)).all():
            raise _overflow(good, batch)
        if incomplete is not None:
            values[incomplete] = self._score_incomplete(batch.X[incomplete])
            if np.isinf(values).any():
                raise _overflow(~np.isinf(values), batch)
        if self.work.fill:
            values[:, : self.model.d] = fill(batch.X, values[:, : self.model.d])
        errors = values[:, len(self.work.names)] if self.with_error else NO_ERRORS
        empty = 0 if incomplete is None else int(np.isnan(values[incomplete, 0]).sum())
        return Scored(values, errors[~np.isnan(errors)], empty)

    def _score_complete(self, X: Array) -> Array:
        """Results (n, w) of rows (n, d) without missing cells."""
        with np.errstate(all="ignore"):
            values = self.work.score_complete(X)
            more = [self.model.squared_error(X)] if self.with_error else []
        more += [np.ones(len(X))] if self.with_coverage else []
        return np.column_stack([values, *more]) if more else values

    def _score_incomplete(self, X: Array) -> Array:
        """Results (n, w) of rows (n, d) with missing cells; NaN where the policy leaves results empty."""
        scorer = IncompleteScorer(self.model, self.work.policy)
        coverage = [scorer.coverage(X)] if self.with_coverage else []
        if self.work.policy == "keep" or self.work.score_incomplete is None:
            return np.column_stack([np.full((len(X), len(self.names) - len(coverage)), np.nan), *coverage])
        with np.errstate(all="ignore"):
            error = [scorer.squared_error(X)] if self.with_error else []
            return np.column_stack([self.work.score_incomplete(X), *error, *coverage])


def _without_incomplete(X: Array, incomplete: NDArray[np.bool_]) -> Array:
    """Return a copy of X (n, d) in which each row with missing cells is replaced by a complete row.

    So every complete row keeps its place in a block; the results of the replaced rows are overwritten later.
    """
    stand_in = X[np.argmin(incomplete)] if not incomplete.all() else 0.0
    return np.where(incomplete[:, None], stand_in, X)


def _good(values: Array, incomplete: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Mask (n, w) of results that are finite, or that are overwritten later because their row has missing cells."""
    good = np.isfinite(values)
    return good if incomplete is None else good | incomplete[:, None]


def _overflow(good: NDArray[np.bool_], batch: CheckedBatch) -> RefusedError:
    """Return the error for the first row in which `good` (n, w) is false.

    An infinity in the output could be read as a missing cell later, so finite cells must give finite results.
    """
    row = int(np.flatnonzero(~good.all(axis=1))[0])
    return RefusedError(f"{batch.place(row)}: the result overflows a double", "check the values of this row")


Result = TypeVar("Result")


class ResultsPlan(NamedTuple):
    """Recipe for the results of any input: the columns to read, settled by the first input, and the scorer.

    Workers receive the plan to score splits of the inputs.
    """

    choice: ColumnChoice
    scorer: Scorer
    options: ApplyOptions


class BatchTable(Protocol):
    """Protocol of a table that is written or gathered batch by batch: `Results`, or `PlotTable` for plots.

    `passthrough` are the columns passed through, with their Arrow types, and `names` the result columns. `by_users`
    says whether the rows are users of triples. `each` yields `finish(passthrough columns, results)` of each batch.
    """

    @property
    def passthrough(self) -> list[tuple[str, Any]]: ...
    @property
    def inputs(self) -> Inputs: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def by_users(self) -> bool: ...
    def each(self, finish: Callable[[Sequence[Any], Array], Result]) -> Generator[Result]: ...


@dataclass(frozen=True)
class Results:
    """Results of applying a model to inputs; rows are read and scored while `each` is iterated."""

    plan: ResultsPlan
    passthrough: list[tuple[str, Any]]  # columns passed through, with their Arrow types; they precede the results
    row_counts: RowCounts  # of the rows read so far
    errors: ErrorSum  # of the rows scored so far
    inputs: Inputs
    engine: EngineOptions
    _batches: Callable[[Runner], Iterator[PlacedBatch]]

    @property
    def model(self) -> Model:
        """The model that is applied."""
        return self.plan.scorer.model

    @property
    def names(self) -> list[str]:
        """Names of the result columns, without the columns passed through."""
        return self.plan.scorer.names

    @property
    def by_users(self) -> bool:
        """Whether there is one row for each user of triples, and not one for each row of the input."""
        return bool(self.plan.options.triples)

    def placed(self, run: Runner) -> Iterator[PlacedBatch]:
        """Yield batches of rows that are not yet scored, with their places; `run` maps a function over batches."""
        return self._batches(run)

    def each(self, finish: Callable[[Sequence[Any], Array], Result]) -> Generator[Result]:
        """Yield `finish(passthrough columns, results)` for each batch, in order; the threads call `finish`, too."""

        def work(placed: PlacedBatch) -> tuple[Result, Scored]:
            scored = self.plan.scorer.score(placed)
            return finish(placed.batch.passthrough, scored.values), scored

        with Threads(self.engine.threads) as pool:
            for result, scored in pool.map(work, self.placed(pool.map), ready=self.inputs.ready):
                self.errors.add(scored.errors)
                self.row_counts.left_empty += scored.empty
                yield result

    def rows_read(self) -> Iterator[object]:
        """Yield the rows in batches, without scoring; to find bad files."""
        with Threads(self.engine.threads) as pool:
            yield from self.placed(pool.map)


@dataclass
class ErrorSum:
    """Sum of the squared errors of rows, added up batch by batch."""

    rows: int = 0  # number of rows with a squared error
    total: float = 0.0

    def add(self, errors: Array) -> None:
        self.rows += len(errors)
        self.total += float(errors.sum())

    def join(self, other: ErrorSum) -> None:
        self.rows += other.rows
        self.total += other.total

    @property
    def mean(self) -> float | None:
        """Mean of the squared errors; None without rows."""
        return self.total / self.rows if self.rows else None


def warn_of_empty_results(
    counts: RowCounts, inputs: Sequence[Input], options: ApplyOptions, reporter: Reporter
) -> None:
    """Warn if the output has no rows, or only rows without results; without --missing, also if some have no results."""
    files = [item.name for item in inputs]
    if not counts.rows and files:
        have = f"{files[0]} has no rows" if len(files) == 1 else f"none of the {grouped(len(files))} inputs has rows"
        reporter.warn(f"{have}: the output has no rows either")
    elif counts.rows and counts.left_empty == counts.rows:
        reporter.warn("all results are empty: every row has missing cells")
    elif counts.left_empty and options.missing is None and files:
        have = (
            "has missing cells: its results are" if counts.left_empty == 1 else "have missing cells: their results are"
        )
        reporter.warn(f"{grouped(counts.left_empty)} of {counted(counts.rows, 'row')} {have} empty")


def results_of(plan: ResultsPlan, inputs: Inputs, engine: EngineOptions, reporter: Reporter) -> Results:
    """Return the results of the inputs by a plan; no row is read before the results are iterated."""
    row_counts = RowCounts()
    (choice, scorer, options), model = plan, plan.scorer.model
    check = partial(_refuse_missing, scorer.work, choice, model)
    read: Callable[..., Iterator[CheckedBatch]]
    if options.triples:
        from pcatool.readers.triples import rows_of_triples

        read = partial(rows_of_triples, inputs, options, model, row_counts, reporter)
    else:
        allow = "--missing keep" if scorer.work.policy == "error" else ""
        read = partial(checked_batches, inputs, choice, row_counts, eager=True, check=check, allow=allow)

    def batches(run: Runner) -> Iterator[PlacedBatch]:
        first_row = 0
        for batch in read(run=run):
            check(batch)
            yield PlacedBatch(batch, first_row)
            first_row += len(batch.X)

    return Results(
        plan, inputs.columns.passthrough_types(choice.passthrough), row_counts, ErrorSum(), inputs, engine, batches
    )


def _refuse_missing(work: RowWork, choice: ColumnChoice, model: Model, batch: CheckedBatch) -> None:
    """Raise `DataError` for missing cells in the batch if the policy is "error"."""
    if work.policy == "error":
        more = ", or --missing project to use the observed cells" if _is_linear(model, work) else ""
        refuse_incomplete(
            batch, choice, "give --missing keep to leave the results of rows with missing cells empty" + more
        )


def _is_linear(model: Model, work: RowWork) -> bool:
    """Whether the work projects rows with linear PCA, so that --missing project is possible."""
    return work.score_incomplete is not None and model.meta.get("method", "pca") == "pca"


def write(
    results: BatchTable, output: OutputOptions, model_path: str | None, before_end: Callable[[], None] = lambda: None
) -> None:
    """Write a table to the output, batch by batch; `model_path` and the inputs may not be replaced.

    `before_end` is called after the last row. If `before_end` raises an error, the output file does not appear.
    """
    inputs = [*results.inputs.paths, *([model_path] if model_path else [])]
    with open_sink(output.output, no_clobber=output.no_clobber, inputs=inputs) as sink:
        writer = open_writer(output, sink, results.passthrough, results.names)
        with closing(results.each(writer.format)) as rows:
            for formatted in rows:
                writer.put(formatted)
        writer.close()
        before_end()


# Most distinct texts that are counted: more take memory like the rows, and are no classes.
MOST_TEXTS = 10_000


@dataclass
class TextCounts:
    """Counts of the distinct texts in the column `name`, over all rows."""

    name: str
    nulls: Sequence[str]  # further spellings of a missing cell
    texts: Counter[str] | None = field(default_factory=Counter)  # None for more than MOST_TEXTS texts

    def of(self, column: Any) -> Counter[str]:
        """Return the counts of the texts in one batch of the column; empty once `texts` is None."""
        if self.texts is None:
            return Counter()
        found = texts_of(column, self.nulls)
        counts = np.bincount(found.codes[found.codes >= 0], minlength=len(found.distinct))
        return Counter(dict(zip(found.distinct, counts.tolist(), strict=True)))

    def add(self, more: Counter[str]) -> None:
        """Add the counts of one batch; for more than MOST_TEXTS texts, set `texts` to None."""
        if self.texts is not None:
            self.texts.update(more)
            self.texts = self.texts if len(self.texts) <= MOST_TEXTS else None


class Sample(NamedTuple):
    """Sampled rows in the order of the input."""

    numbers: NDArray[np.int64]  # (s,) numbers of the rows in the input, from 1
    values: Array  # (s, w) results
    passthrough: dict[str, list[str | None]]  # cells passed through, by column
    names: list[str]  # of the result columns
    seen: int  # rows that the sample was taken from

    def smallest(self, most: int) -> Sample:
        """Return the `most` rows whose numbers have the smallest hashes."""
        order = smallest(hashes(self.numbers), most)
        passthrough = {name: [cells[i] for i in order] for name, cells in self.passthrough.items()}
        return self._replace(numbers=self.numbers[order], values=self.values[order], passthrough=passthrough)

    def joined(self, other: Sample) -> Sample:
        """Return the rows of both samples, those of `other` last; `seen` is that of `other`."""
        return self._replace(
            numbers=np.concatenate([self.numbers, other.numbers]),
            values=np.concatenate([self.values, other.values]),
            passthrough={name: cells + other.passthrough[name] for name, cells in self.passthrough.items()},
            seen=other.seen,
        )


def hashes(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a hash of each row number, without collisions (splitmix64; Steele, Lea and Flood 2014)."""
    z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


def smallest(values: NDArray[np.uint64], most: int) -> NDArray[np.intp]:
    """Return the indices of the `most` smallest values, ascending."""
    if len(values) <= most:
        return np.arange(len(values))
    return np.sort(np.argpartition(values, most - 1)[:most])


def sample_of(results: Results, most: int, columns: list[int], counted: TextCounts | None = None) -> Sample:
    """Return a sample of at most `most` rows, with the result columns at the indices `columns`.

    Memory holds at most 3 * `most` rows. The texts of one passthrough column, in all rows, are added to `counted`.
    """
    names = [name for name, _ in results.passthrough]
    found = Sample(
        np.zeros(0, np.int64),
        np.zeros((0, len(columns))),
        {name: [] for name in names},
        [results.names[j] for j in columns],
        0,
    )
    bound = np.uint64(2**64 - 1)
    at = names.index(counted.name) if counted is not None else 0

    def part(passthrough: Sequence[Any], values: Array) -> tuple[Sequence[Any], Array, Counter[str]]:
        return passthrough, values[:, columns], Counter() if counted is None else counted.of(passthrough[at])

    with closing(results.each(part)) as batches:
        for passthrough, values, texts in batches:
            if counted is not None:
                counted.add(texts)
            numbers = np.arange(found.seen + 1, found.seen + len(values) + 1)
            hashed = hashes(numbers)
            rows = np.flatnonzero(hashed <= bound)
            rows = rows[smallest(hashed[rows], most)]  # first, since turning cells into text is slow
            cells = {name: cells_at(column, rows) for name, column in zip(names, passthrough, strict=True)}
            seen = found.seen + len(values)
            found = found.joined(
                found._replace(numbers=numbers[rows], values=values[rows], passthrough=cells, seen=seen)
            )
            if len(found.numbers) >= 2 * most:
                found = found.smallest(most)
                bound = hashes(found.numbers).max()
    return found.smallest(most)
