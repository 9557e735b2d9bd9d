"""Read -> batches -> blocks -> apply a model -> write."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcatool.blocks import Runner, by_block
from pcatool.engines.threads import Threads
from pcatool.errors import DataError, RefusedError, UsageError, show
from pcatool.model import Array, Model
from pcatool.notices import Notices
from pcatool.options import ApplyOptions, EngineOptions, OutputOptions, TableOptions
from pcatool.readers.base import all_finite
from pcatool.readers.rows import Checked, Tally, checked_batches
from pcatool.readers.tables import Inputs, Wanted
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

        def work(placed: Placed) -> tuple[Result, Array]:
            values, errors = self._score(placed)
            return finish(placed.batch.kept, values), errors

        with Threads(self.engine.threads) as pool:
            for result, errors in pool.map(work, self._batches(pool.map), ready=self.inputs.ready):
                self.errors.add(errors)
                yield result


class Placed(NamedTuple):
    """A batch and the number of its first row, which says where in a block it lies."""

    batch: Checked
    first_row: int


Scored = tuple[Array, Array]  # values, and the squared errors that were asked for


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
    return _apply(model, inputs, _model_columns(model, inputs), model.project, model.score_names(), options, engine)


def reconstruct(
    model: Model,
    data: Any,
    table: TableOptions,
    options: ApplyOptions,
    source: str | None,
    engine: EngineOptions,
    notices: Notices,
    preimage: bool = False,
) -> Results:
    """Rows in original units, from scores or by projecting original rows and coming back."""
    model = (model.with_preimage() if preimage else model.reversible()).truncated(options.components)
    inputs = Inputs(data, table, notices)
    names = list(model.columns)
    if (source or _sees(model, inputs)) == "rows":
        return _apply(model, inputs, _model_columns(model, inputs), model.there_and_back, names, options, engine)
    if options.with_error:
        raise UsageError("--with-error needs the original rows, the input holds scores", "give the original rows")
    if model.rows_centered:
        notices.warn("the rows come back about 0: their own means, which --center-rows took out, are not in the scores")
    if model.whitening == "zca":
        wanted = _model_columns(model, inputs)
    else:
        wanted = Wanted(tuple(_score_columns(model, inputs, options.components)))
    return _apply(model, inputs, wanted, model.reconstruct, names, options, engine)


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
    function: Callable[[Array], Array],
    names: list[str],
    options: ApplyOptions,
    engine: EngineOptions,
) -> Results:
    keep = inputs.keep(options.keep, options.keep_all)
    wanted = Wanted(wanted.names, wanted.booleans, wanted.by_position, keep)
    policy = options.missing or ("keep" if model.meta.get("missing") == "drop" else "error")
    tally = Tally()
    if options.with_error:
        names = [*names, "squared_error"]

    def compute(X: Array) -> Array:
        with np.errstate(all="ignore"):
            values = function(X)
        return np.column_stack([values, model.squared_error(X)]) if options.with_error else values

    def batches(run: Runner) -> Iterator[Placed]:
        first_row = 0
        for batch in checked_batches(inputs, wanted, tally, eager=True, run=run):
            if batch.incomplete is not None and policy == "error":
                raise DataError(
                    f"{tally.places[0]}: missing cell in column {show(next(iter(tally.cells)))}",
                    "--missing keep leaves such rows in, with empty cells",
                )
            yield Placed(batch, first_row)
            first_row += len(batch.X)

    def score(placed: Placed) -> Scored:
        batch, holes = placed.batch, placed.batch.incomplete
        X = batch.X if holes is None else _without_holes(batch.X, holes)
        values = by_block(compute, X, placed.first_row)
        _check_overflow(values, batch)
        errors = values[:, -1] if options.with_error else NONE
        if holes is not None:
            values[holes] = np.nan
            errors = errors[~holes] if options.with_error else NONE
        return values, errors

    kept = inputs.kept_types(keep)
    return Results(model, names, kept, tally, ErrorSum(), inputs, engine, batches, score)


def _without_holes(X: Array, holes: NDArray[np.bool_]) -> Array:
    """The rows with something to reckon with in place of those that will be left empty: a row that is whole."""
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
