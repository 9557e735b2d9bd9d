"""Read -> batches -> blocks -> apply a model -> write."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from pcatool.blocks import Runner
from pcatool.engines.threads import Threads
from pcatool.errors import DataError, UsageError, show
from pcatool.holes.applied import OfHoles
from pcatool.model import Array, Model
from pcatool.notices import Notices
from pcatool.options import ApplyOptions, EngineOptions, OutputOptions, TableOptions
from pcatool.pipeline.incomplete import policy_for_rows, policy_for_scores
from pcatool.pipeline.scoring import Placed, Scored, Scorer, Work
from pcatool.readers.rows import Checked, checked_batches, refuse_incomplete
from pcatool.readers.tables import Inputs
from pcatool.readers.tally import Tally
from pcatool.readers.wanted import Wanted
from pcatool.stages import doing
from pcatool.writers.base import open_writer
from pcatool.writers.sink import open_sink

__all__ = [
    "Back",
    "ErrorSum",
    "Flow",
    "Plan",
    "Results",
    "reconstruct",
    "results_of",
    "transform",
    "transform_opened",
    "write",
]

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


class Back(NamedTuple):
    """How rows come back."""

    source: str | None = None  # what the input holds, "scores" or "rows"; None goes by its columns
    preimage: bool = False  # approximately, from a kernel model
    fill: bool = False  # rows as they are, but for their holes


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


def transform(
    model: Model, data: Any, table: TableOptions, options: ApplyOptions, engine: EngineOptions, notices: Notices
) -> Results:
    """Scores of the rows of the data."""
    return transform_opened(model, Inputs(data, table, notices), options, engine, notices)


def transform_opened(
    model: Model, inputs: Inputs, options: ApplyOptions, engine: EngineOptions, notices: Notices
) -> Results:
    """The same of inputs that are open already."""
    doing("scoring")
    model = _light(model, engine).truncated(options.components)
    return _settled(inputs, lambda one: _transform(model, one, options, engine, notices))


def _light(model: Model, engine: EngineOptions) -> Model:
    """Without the sums over rows where it is sent to others: they are large, and tell nothing of new rows."""
    return replace(model, statistic=None) if engine.far and model.statistic is not None else model


def _settled(inputs: Inputs, make: Callable[[Inputs], Results]) -> Results:
    """Results of all inputs; where bad files are left out, the first of those named is good."""
    inputs.settle(lambda one: make(one).read_through())
    return make(inputs)


def _transform(model: Model, inputs: Inputs, options: ApplyOptions, engine: EngineOptions, notices: Notices) -> Results:
    policy = policy_for_rows(model, options.missing, fill=False, back=False)
    holes = OfHoles(model, policy)
    work = Work(model.project, holes.scores, policy, model.score_names())
    return _apply(model, inputs, _model_columns(model, inputs), work, options, engine, notices)


def reconstruct(
    model: Model,
    data: Any,
    table: TableOptions,
    options: ApplyOptions,
    engine: EngineOptions,
    notices: Notices,
    back: Back = Back(),  # noqa: B008
) -> Results:
    """Rows in original units, from scores or by projecting original rows and coming back, or only their holes so."""
    doing("reconstructing")
    model = _light(model, engine)
    model = (model.with_preimage() if back.preimage else model.reversible()).truncated(options.components)
    inputs = Inputs(data, table, notices)
    return _settled(inputs, lambda one: _reconstruct(model, one, options, engine, notices, back))


def _reconstruct(
    model: Model, inputs: Inputs, options: ApplyOptions, engine: EngineOptions, notices: Notices, back: Back
) -> Results:
    names = list(model.columns)
    if options.triples and back.source == "scores":
        raise UsageError("--triples gives rows, not scores", "leave out --from scores")
    rows = options.triples or (back.fill and model.whitening == "zca")  # whose scores are called like rows
    known = back.source or ("rows" if rows else None)
    if (known or _sees(model, inputs)) == "rows":
        policy = policy_for_rows(model, options.missing, fill=back.fill, back=True)
        holes = OfHoles(model, policy)
        work = Work(model.there_and_back, holes.rows, policy, names, back.fill)
        return _apply(model, inputs, _model_columns(model, inputs), work, options, engine, notices)
    for flag, given in (
        ("--with-error", options.with_error), ("--with-coverage", options.with_coverage), ("--fill", back.fill)
    ):  # fmt: skip
        if given:
            raise UsageError(f"{flag} needs the original rows, the input holds scores", "give the original rows")
    if model.rows_centered:
        notices.warn("the rows come back about 0: their own means, which --center-rows took out, are not in the scores")
    if model.whitening == "zca":
        wanted = _model_columns(model, inputs)
    else:
        wanted = Wanted(tuple(_score_columns(model, inputs, options.components)))
    work = Work(model.reconstruct, None, policy_for_scores(model, options.missing), names)
    return _apply(model, inputs, wanted, work, options, engine, notices)


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


def _apply(
    model: Model,
    inputs: Inputs,
    wanted: Wanted,
    work: Work,
    options: ApplyOptions,
    engine: EngineOptions,
    notices: Notices,
) -> Results:
    scorer = Scorer(model, work, options.with_error, options.with_coverage)
    if options.triples:
        keep = inputs.columns.choose_triples(options.triples).kept[:1]
        if keep[0] in scorer.names:
            what = f"the column of users and a column of the output are both called {show(keep[0])}"
            raise UsageError(what, "rename the column of users")
    else:
        keep = inputs.columns.keep(options.keep, options.keep_all)
        if work.fill and options.keep_all:  # all columns, each once
            keep = tuple(name for name in keep if name not in work.names)
    wanted = Wanted(wanted.names, wanted.booleans, wanted.by_position, keep)
    return results_of(Plan(wanted, scorer, options), inputs, engine, notices)


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


def _model_columns(model: Model, inputs: Inputs) -> Wanted:
    """The model's columns by name; without a header, by position when the names are not the made-up ones."""
    present = {c.name for c in inputs.columns.own}
    by_position = inputs.columns.nameless and not present.issuperset(model.columns)
    return Wanted(model.columns, frozenset(model.meta.get("booleans", ())), by_position)


def _sees(model: Model, inputs: Inputs) -> str:
    """What the input holds, by its columns; the scores of ZCA are called like the rows."""
    if model.whitening == "zca":
        return "scores"
    names = [c.name for c in inputs.columns.own]
    has_scores = "PC1" in names
    if has_scores and "PC1" in model.columns:
        raise UsageError(
            f"{inputs.first.name}: columns PC1, ... may be scores or the model's own columns",
            "say which with --from scores or --from rows",
        )
    if inputs.columns.nameless and len(names) == model.d == model.k:
        raise UsageError(
            f"{inputs.first.name}: {model.d} columns without names may be scores or rows",
            "say which with --from scores or --from rows",
        )
    if has_scores or (inputs.columns.nameless and len(names) <= model.k and len(names) < model.d):
        return "scores"
    return "rows"


def _score_columns(model: Model, inputs: Inputs, most: int | None) -> list[str]:
    """PC1, PC2, ... as far as they go; a gap, or more than the model has, is an error."""
    names = [c.name for c in inputs.columns.own]
    where = inputs.first.name
    if inputs.columns.nameless:
        if len(names) > model.k:
            raise DataError(f"{where}: {len(names)} columns of scores, the model has {model.k} components")
        return names
    numbers = sorted({int(name[2:]) for name in names if re.fullmatch(r"PC[1-9][0-9]*", name, re.ASCII)})
    if most is not None:
        numbers = [number for number in numbers if number <= most]
    if not numbers:
        raise DataError(f"{where}: no columns of scores (PC1, ...)", "give what transform writes, or --from rows")
    for expected, number in enumerate(numbers, 1):
        if number != expected:
            raise DataError(
                f"{where}: no column {show(f'PC{expected}')}, but {show(f'PC{number}')}: a gap in the scores"
            )
    if numbers[-1] > model.k:
        raise DataError(f"{where}: column {show(f'PC{numbers[-1]}')}, but the model has {model.k} components")
    return [f"PC{number}" for number in numbers]
