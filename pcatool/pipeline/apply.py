"""Apply a model to rows: transform and reconstruct, with the columns that tell rows from scores."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import DataError, UsageError, show
from pcatool.missing.project import OfHoles
from pcatool.model.model import Model
from pcatool.options import ApplyOptions, EngineOptions, TableOptions
from pcatool.pipeline.abilities import policy_for_rows, policy_for_scores
from pcatool.pipeline.results import Results, ResultsPlan, Scorer, Work, results_of
from pcatool.progress import Notices, doing
from pcatool.readers.inputs import Inputs
from pcatool.readers.schema import Wanted

__all__ = ["Back", "reconstruct", "transform", "transform_opened"]


def model_columns(model: Model, inputs: Inputs) -> Wanted:
    """The model's columns by name; without a header, by position when the names are not the made-up ones."""
    present = {c.name for c in inputs.columns.own}
    by_position = inputs.columns.nameless and not present.issuperset(model.columns)
    booleans = frozenset(model.meta.get("booleans", ()))
    return Wanted(model.columns, booleans, by_position, widths=model.meta.get("vectors"))


def sees(model: Model, inputs: Inputs) -> str:
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


def score_columns(model: Model, inputs: Inputs, most: int | None) -> list[str]:
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


class Back(NamedTuple):
    """How rows come back."""

    source: str | None = None  # what the input holds, "scores" or "rows"; None goes by its columns
    preimage: bool = False  # approximately, from a kernel model
    fill: bool = False  # rows as they are, but for their holes


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
    return _apply(model, inputs, model_columns(model, inputs), work, options, engine, notices)


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
    if (known or sees(model, inputs)) == "rows":
        policy = policy_for_rows(model, options.missing, fill=back.fill, back=True)
        holes = OfHoles(model, policy)
        work = Work(model.there_and_back, holes.rows, policy, names, back.fill)
        return _apply(model, inputs, model_columns(model, inputs), work, options, engine, notices)
    for flag, given in (
        ("--with-error", options.with_error), ("--with-coverage", options.with_coverage), ("--fill", back.fill)
    ):  # fmt: skip
        if given:
            raise UsageError(f"{flag} needs the original rows, the input holds scores", "give the original rows")
    if model.rows_centered:
        notices.warn("the rows come back about 0: their own means, which --center-rows took out, are not in the scores")
    if model.whitening == "zca":
        wanted = model_columns(model, inputs)
    else:
        wanted = Wanted(tuple(score_columns(model, inputs, options.components)))
    work = Work(model.reconstruct, None, policy_for_scores(model, options.missing), names)
    return _apply(model, inputs, wanted, work, options, engine, notices)


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
    wanted = wanted._replace(kept=keep)
    return results_of(ResultsPlan(wanted, scorer, options), inputs, engine, notices)
