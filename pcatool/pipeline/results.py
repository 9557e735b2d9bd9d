"""Rows that come out of a model: read, scored and written as they are taken."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from pcatool.arrays import Array, Runner
from pcatool.engines.threads import Threads
from pcatool.model.model import Model
from pcatool.options import ApplyOptions, EngineOptions, OutputOptions
from pcatool.pipeline.scoring import Placed, Scored, Scorer, Work
from pcatool.progress import Notices
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import Tally
from pcatool.readers.rows import Checked, checked_batches, refuse_incomplete
from pcatool.readers.schema import Wanted
from pcatool.writers.base import open_writer
from pcatool.writers.sink import open_sink

__all__ = ["ErrorSum", "Flow", "Plan", "Results", "results_of", "write"]

Result = TypeVar("Result")


class Plan(NamedTuple):
    """What is read of every input, settled by the first of them, and what becomes of its rows."""

    wanted: Wanted
    scorer: Scorer
    options: ApplyOptions


class Flow(Protocol):
    """Rows of a table that is written or gathered as it comes."""

    @property
    def kept(self) -> list[tuple[str, Any]]: ...
    @property
    def inputs(self) -> Inputs: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def by_users(self) -> bool: ...
    def each(self, finish: Callable[[Sequence[Any], Array], Result]) -> Generator[Result]: ...


@dataclass(frozen=True)
class Results:
    """Rows that come out of a model; computed as they are taken."""

    plan: Plan
    kept: list[tuple[str, Any]]  # columns passed through, with their Arrow types; they come first
    tally: Tally
    errors: ErrorSum
    inputs: Inputs
    engine: EngineOptions
    _batches: Callable[[Runner], Iterator[Placed]]

    @property
    def model(self) -> Model:
        return self.plan.scorer.model

    @property
    def names(self) -> list[str]:
        return self.plan.scorer.names

    @property
    def by_users(self) -> bool:
        """Is there a row for each user of triples, not for each that was read?"""
        return bool(self.plan.options.triples)

    def placed(self, run: Runner) -> Iterator[Placed]:
        """The rows before anything is made of them, with their places."""
        return self._batches(run)

    def each(self, finish: Callable[[Sequence[Any], Array], Result]) -> Generator[Result]:
        """What `finish` makes of kept columns and values, a batch at a time, in order; done by the engine, too."""

        def work(placed: Placed) -> tuple[Result, Scored]:
            scored = self.plan.scorer.score(placed)
            return finish(placed.batch.kept, scored.values), scored

        with Threads(self.engine.threads) as pool:
            for result, scored in pool.map(work, self.placed(pool.map), ready=self.inputs.ready):
                self.errors.add(scored.errors)
                self.tally.left_empty += scored.empty
                yield result

    def read_through(self) -> None:
        """Read all rows, to see that they can be read."""
        with Threads(self.engine.threads) as pool:
            for _ in self.placed(pool.map):
                pass


@dataclass
class ErrorSum:
    """Running mean of the squared errors that were asked for."""

    rows: int = 0
    total: float = 0.0

    def add(self, errors: Array) -> None:
        self.rows += len(errors)
        self.total += float(errors.sum())

    def join(self, other: ErrorSum) -> None:
        self.rows += other.rows
        self.total += other.total

    @property
    def mean(self) -> float | None:
        return self.total / self.rows if self.rows else None


def results_of(plan: Plan, inputs: Inputs, engine: EngineOptions, notices: Notices) -> Results:
    """What becomes of these inputs."""
    tally = Tally()
    (wanted, scorer, options), model = plan, plan.scorer.model
    check = partial(_check, scorer.work, wanted, model)
    read: Callable[..., Iterator[Checked]]
    if options.triples:
        from pcatool.pipeline.triples import rows_of_triples

        read = partial(rows_of_triples, inputs, options, model, tally, notices)
    else:
        read = partial(checked_batches, inputs, wanted, tally, eager=True, check=check)

    def batches(run: Runner) -> Iterator[Placed]:
        first_row = 0
        for batch in read(run=run):
            check(batch)
            yield Placed(batch, first_row)
            first_row += len(batch.X)

    return Results(plan, inputs.columns.kept_types(wanted.kept), tally, ErrorSum(), inputs, engine, batches)


def _check(work: Work, wanted: Wanted, model: Model, batch: Checked) -> None:
    """Refuse missing cells where that is the policy."""
    if work.policy == "error":
        more = "; project goes by the cells that are there" if _is_linear(model, work) else ""
        refuse_incomplete(batch, wanted, "--missing keep leaves such rows in, with empty cells" + more)


def _is_linear(model: Model, work: Work) -> bool:
    return work.of_holes is not None and model.meta.get("method", "pca") == "pca"


def write(
    results: Flow, output: OutputOptions, model_path: str | None, before_end: Callable[[], None] = lambda: None
) -> None:
    """Write the results as they come; what is done `before_end` fails before they are in their place."""
    inputs = [*results.inputs.paths, *([model_path] if model_path else [])]
    with open_sink(output.output, no_clobber=output.no_clobber, inputs=inputs) as sink:
        writer = open_writer(output, sink, results.kept, results.names)
        with closing(results.each(writer.format)) as rows:
            for formatted in rows:
                writer.put(formatted)
        writer.close()
        before_end()
