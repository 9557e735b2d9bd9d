"""Read -> batches -> blocks -> apply a model -> write."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcatool.blocks import Runner, by_block
from pcatool.engines.threads import Threads
from pcatool.errors import DataError, RefusedError, UsageError, show
from pcatool.holes.applied import OfHoles
from pcatool.holes.projection import fill as filled
from pcatool.model import Array, Model
from pcatool.notices import Notices
from pcatool.options import ApplyOptions, EngineOptions, OutputOptions, TableOptions
from pcatool.pipeline.incomplete import policy_for_rows, policy_for_scores
from pcatool.readers.base import all_finite
from pcatool.readers.rows import Checked, checked_batches
from pcatool.readers.tables import Inputs, Wanted
from pcatool.readers.tally import Tally
from pcatool.writers.base import open_writer
from pcatool.writers.sink import open_sink

__all__ = ["Results", "reconstruct", "transform", "write"]

Result = TypeVar("Result")

NONE: Array = np.zeros(0)


@dataclass(frozen=True)
class Results:
    """Rows that come out of a model; computed as they are taken."""

    model: Model
    names: list[str]
    kept: list[tuple[str, Any]]  # columns passed through, with their Arrow types; they come first
    tally: Tally
    errors: ErrorSum
    inputs: Inputs
    engine: EngineOptions
    _batches: Callable[[Runner], Iterator[Placed]]
    _score: Callable[[Placed], Scored]

    def each(self, finish: Callable[[Sequence[Any], Array], Result]) -> Generator[Result]:
        """What `finish` makes of kept columns and values, a batch at a time, in order; done by the engine, too."""

        def work(placed: Placed) -> tuple[Result, Scored]:
            scored = self._score(placed)
            return finish(placed.batch.kept, scored.values), scored

        with Threads(self.engine.threads) as pool:
            for result, scored in pool.map(work, self._batches(pool.map), ready=self.inputs.ready):
                self.errors.add(scored.errors)
                self.tally.left_empty += scored.empty
                yield result


class Placed(NamedTuple):
    """A batch and the number of its first row, which says where in a block it lies."""

    batch: Checked
    first_row: int


class Scored(NamedTuple):
    """Results, the squared errors that were asked for, and how many rows got none."""

    values: Array
    errors: Array
    empty: int


class Work(NamedTuple):
    """What becomes of rows, of those with missing cells apart, and how the columns of the results are called."""

    of_whole: Callable[[Array], Array]
    of_holes: Callable[[Array], Array] | None
    policy: str  # one of APPLY_MISSING
    names: list[str]
    fill: bool = False  # the rows come back as they are, with only their holes filled


@dataclass
class ErrorSum:
    """Running mean of the squared errors that were asked for."""

    rows: int = 0
    total: float = 0.0

    def add(self, errors: Array) -> None:
        self.rows += len(errors)
        self.total += float(errors.sum())

    @property
    def mean(self) -> float | None:
        return self.total / self.rows if self.rows else None


def transform(
    model: Model, data: Any, table: TableOptions, options: ApplyOptions, engine: EngineOptions, notices: Notices
) -> Results:
    """Scores of the rows of the data."""
    inputs = Inputs(data, table, notices)
    model = model.truncated(options.components)
    policy = policy_for_rows(model, options.missing, fill=False, back=False)
    holes = OfHoles(model, expected=policy == "em")
    work = Work(model.project, holes.scores, policy, model.score_names())
    return _apply(model, inputs, _model_columns(model, inputs), work, options, engine, notices)


def reconstruct(
    model: Model,
    data: Any,
    table: TableOptions,
    options: ApplyOptions,
    source: str | None,
    engine: EngineOptions,
    notices: Notices,
    preimage: bool = False,
    fill: bool = False,
) -> Results:
    """Rows in original units, from scores or by projecting original rows and coming back, or only their holes so."""
    model = (model.with_preimage() if preimage else model.reversible()).truncated(options.components)
    inputs = Inputs(data, table, notices)
    names = list(model.columns)
    if (source or _sees(model, inputs)) == "rows":
        policy = policy_for_rows(model, options.missing, fill=fill, back=True)
        holes = OfHoles(model, expected=policy == "em")
        work = Work(model.there_and_back, holes.rows, policy, names, fill)
        return _apply(model, inputs, _model_columns(model, inputs), work, options, engine, notices)
    for flag, given in (
        ("--with-error", options.with_error), ("--with-coverage", options.with_coverage), ("--fill", fill)
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


def write(results: Results, output: OutputOptions, model_path: str | None) -> None:
    """Write the results as they come."""
    inputs = [*results.inputs.paths, *([model_path] if model_path else [])]
    with open_sink(output.output, no_clobber=output.no_clobber, inputs=inputs) as sink:
        writer = open_writer(output, sink, results.kept, results.names)
        with closing(results.each(writer.format)) as rows:
            for formatted in rows:
                writer.put(formatted)
        writer.close()


def _apply(
    model: Model,
    inputs: Inputs,
    wanted: Wanted,
    work: Work,
    options: ApplyOptions,
    engine: EngineOptions,
    notices: Notices,
) -> Results:
    tally = Tally()
    read: Callable[..., Iterator[Checked]]
    if options.triples:
        from pcatool.pipeline.triples import rows_of_triples

        keep = inputs.choose_triples(options.triples).kept[:1]
        read = partial(rows_of_triples, inputs, options, model, tally, notices)
    else:
        keep = inputs.keep(options.keep, options.keep_all)
        wanted = Wanted(wanted.names, wanted.booleans, wanted.by_position, keep)
        read = partial(checked_batches, inputs, wanted, tally, eager=True)
    scorer = Scorer(model, work, options.with_error, options.with_coverage)

    def batches(run: Runner) -> Iterator[Placed]:
        first_row = 0
        for batch in read(run=run):
            if batch.incomplete is not None and work.policy == "error":
                raise DataError(
                    f"{tally.places[0]}: missing cell in column {show(next(iter(tally.cells)))}",
                    "--missing keep leaves such rows in, with empty cells"
                    + ("; project goes by the cells that are there" if _is_linear(model, work) else ""),
                )
            yield Placed(batch, first_row)
            first_row += len(batch.X)

    kept = inputs.kept_types(keep)
    return Results(model, scorer.names, kept, tally, ErrorSum(), inputs, engine, batches, scorer.score)


def _is_linear(model: Model, work: Work) -> bool:
    return work.of_holes is not None and model.meta.get("method", "pca") == "pca"


class Scorer(NamedTuple):
    """Batches of rows to batches of results."""

    model: Model
    work: Work
    with_error: bool
    with_coverage: bool

    @property
    def names(self) -> list[str]:
        more = [("squared_error", self.with_error), ("coverage", self.with_coverage)]
        return [*self.work.names, *(name for name, given in more if given)]

    def score(self, placed: Placed) -> Scored:
        batch, holes = placed.batch, placed.batch.incomplete
        X = batch.X
        if holes is not None:
            X = self.model.with_means(X) if self.work.policy == "mean" else _without_holes(X, holes)
        values = by_block(self._whole, X, placed.first_row)
        _check_overflow(values, batch)
        if holes is not None and self.work.policy != "mean":
            values[holes] = self._incomplete(batch.X[holes])
        if self.with_coverage and holes is not None:
            values[holes, -1] = self._of_holes.coverage(batch.X[holes])
        if self.work.fill:
            values[:, : self.model.d] = filled(batch.X, values[:, : self.model.d])
        errors = values[:, len(self.work.names)] if self.with_error else NONE
        empty = 0 if holes is None else int(np.isnan(values[holes, 0]).sum())
        return Scored(values, errors[~np.isnan(errors)], empty)

    def _whole(self, X: Array) -> Array:
        """Results of rows without holes."""
        with np.errstate(all="ignore"):
            values = self.work.of_whole(X)
        more = [self.model.squared_error(X)] if self.with_error else []
        more += [np.ones(len(X))] if self.with_coverage else []
        return np.column_stack([values, *more]) if more else values

    def _incomplete(self, X: Array) -> Array:
        """Results of rows with holes."""
        m = len(self.names)
        if self.work.policy == "keep" or self.work.of_holes is None:
            return np.full((len(X), m), np.nan)
        with np.errstate(all="ignore"):
            values = self.work.of_holes(X)
            more = [self._of_holes.squared_error(X)] if self.with_error else []
        more += [np.zeros(len(X))] if self.with_coverage else []
        return np.column_stack([values, *more])

    @property
    def _of_holes(self) -> OfHoles:
        return OfHoles(self.model, expected=self.work.policy == "em")


def _without_holes(X: Array, holes: NDArray[np.bool_]) -> Array:
    """The rows with something to reckon with in place of those that are seen to apart: a row that is whole."""
    stand_in = X[np.argmin(holes)] if not holes.all() else 0.0
    return np.where(holes[:, None], stand_in, X)


def _check_overflow(values: Array, batch: Checked) -> None:
    """Finite cells give finite results, or the row is refused: an infinity would look like a missing one further on."""
    if all_finite(values):
        return
    row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
    raise RefusedError(f"{batch.place(row)}: the result overflows a double", "rescale the values of this row")


def _model_columns(model: Model, inputs: Inputs) -> Wanted:
    """The model's columns by name; without a header, by position when the names are not the made-up ones."""
    present = {c.name for c in inputs.columns}
    by_position = inputs.headerless and not present.issuperset(model.columns)
    return Wanted(model.columns, frozenset(model.meta.get("booleans", ())), by_position)


def _sees(model: Model, inputs: Inputs) -> str:
    """What the input holds, by its columns; the scores of ZCA are called like the rows."""
    if model.whitening == "zca":
        return "scores"
    names = [c.name for c in inputs.columns]
    has_scores = "PC1" in names
    if has_scores and "PC1" in model.columns:
        raise UsageError(
            f"{inputs.first.name}: columns PC1, ... may be scores or the model's own columns",
            "say which with --from scores or --from rows",
        )
    if inputs.headerless and len(names) == model.d == model.k:
        raise UsageError(
            f"{inputs.first.name}: {model.d} columns without names may be scores or rows",
            "say which with --from scores or --from rows",
        )
    if has_scores or (inputs.headerless and len(names) <= model.k and len(names) < model.d):
        return "scores"
    return "rows"


def _score_columns(model: Model, inputs: Inputs, most: int | None) -> list[str]:
    """PC1, PC2, ... as far as they go; a gap, or more than the model has, is an error."""
    names = [c.name for c in inputs.columns]
    where = inputs.first.name
    if inputs.headerless:
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
