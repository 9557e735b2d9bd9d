"""A model and rows: what is read of them, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import UsageError, show
from pcatool.missing.project import OfHoles
from pcatool.model.model import Model
from pcatool.options import ApplyOptions, EngineOptions, TableOptions
from pcatool.pipeline.incomplete import policy_for_rows, policy_for_scores
from pcatool.pipeline.results import Plan, Results, results_of
from pcatool.pipeline.scoring import Scorer, Work
from pcatool.pipeline.seen import model_columns, score_columns, sees
from pcatool.progress import Notices, doing
from pcatool.readers.inputs import Inputs
from pcatool.readers.schema import Wanted

__all__ = ["Back", "reconstruct", "transform", "transform_opened"]


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
    return results_of(Plan(wanted, scorer, options), inputs, engine, notices)
