"""Apply a model: transform and reconstruct rows; recognise by the columns whether an input holds rows or scores."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import DataError, MissingColumns, UsageError
from pcatool.missing.project import IncompleteScorer, policy_for_rows, policy_for_scores
from pcatool.model.model import Model, component_name
from pcatool.options import ApplyOptions, EngineOptions, TableOptions
from pcatool.pipeline.results import Results, ResultsPlan, RowWork, Scorer, results_of
from pcatool.progress import Reporter, doing
from pcatool.readers.inputs import Inputs
from pcatool.readers.schema import ColumnChoice
from pcatool.wording import counted, grouped, show

__all__ = ["ReconstructRequest", "reconstruct", "transform", "transform_opened"]


def model_columns(model: Model, inputs: Inputs) -> ColumnChoice:
    """Return the columns of the model as the choice of columns to read from every input.

    Columns are found by name. Without a header line they are found by position, unless the generated names (c1, c2,
    ...) include all columns of the model.
    """
    present = {c.name for c in inputs.columns.file_columns}
    by_position = inputs.columns.nameless and not present.issuperset(model.columns)
    booleans = frozenset(model.meta.get("booleans", ()))
    return ColumnChoice(model.columns, booleans, by_position, widths=model.meta.get("vectors"))


def rows_or_scores(model: Model, inputs: Inputs) -> str:
    """Return "rows" or "scores": the kind of data that the first input holds, judged by its columns.

    An input with a column PC1 holds scores; so does an input without a header line that has at most as many columns as
    the model has components, and fewer than the model has columns. For a ZCA model return "scores", since its scores
    have the names of the columns. Raises `UsageError` when the input could hold either.
    """
    if model.whitening == "zca":
        return "scores"
    names = [c.name for c in inputs.columns.file_columns]
    has_scores = "PC1" in names
    if has_scores and "PC1" in model.columns:
        raise UsageError(
            f"{inputs.first.name}: columns PC1, ... may hold scores or rows, since PC1 is also a column of the model",
            "give --from scores or --from rows",
        )
    if inputs.columns.nameless and len(names) == model.d == model.k:
        raise UsageError(
            f"{inputs.first.name}: {counted(model.d, 'column')} without names may hold scores or rows",
            "give --from scores or --from rows",
        )
    if has_scores or (inputs.columns.nameless and len(names) <= model.k and len(names) < model.d):
        return "scores"
    return "rows"


OTHER_MODEL = "name the model that made these scores"


def score_columns(model: Model, inputs: Inputs, most: int | None) -> list[str]:
    """Return the names of the columns of the first input that hold scores: PC1, PC2, ..., at most `most` (None: all).

    Without a header line, return all columns. Raises `DataError` when no column holds scores, when a column before
    the last one is missing, or when the model has fewer components.
    """
    names = [c.name for c in inputs.columns.file_columns]
    where = inputs.first.name
    if inputs.columns.nameless:
        if len(names) > model.k:
            scores = f"there are {grouped(len(names))} columns of scores"
            raise DataError(
                f"{where}: {scores}, but the model has {counted(model.k, 'component')}",
                f"{OTHER_MODEL}, or give --from rows",
            )
        return names
    numbers = sorted({int(name[2:]) for name in names if re.fullmatch(r"PC[1-9][0-9]*", name, re.ASCII)})
    if most is not None:
        numbers = [number for number in numbers if number <= most]
    if not numbers:
        raise DataError(
            f"{where} has no columns of scores (PC1, ...)", "give the output of pcatool transform, or --from rows"
        )
    for expected, number in enumerate(numbers, 1):
        if number != expected:
            missing, found = component_name(expected), component_name(number)
            raise DataError(
                f"{where}: there is a column {show(found)}, but column {show(missing)} is missing",
                f"give all columns from PC1 to {found}",
            )
    if numbers[-1] > model.k:
        last = show(component_name(numbers[-1]))
        raise DataError(
            f"{where}: there is a column {last}, but the model has {counted(model.k, 'component')}", OTHER_MODEL
        )
    return [component_name(number) for number in numbers]


class ReconstructRequest(NamedTuple):
    """Request of `reconstruct`: the kind of its input and of its output."""

    source: str | None = None  # kind of the input, "scores" or "rows"; None: judged by its columns
    preimage: bool = False  # a kernel model gives approximate rows
    fill: bool = False  # the output is the original rows, with only their missing cells replaced


def transform(
    model: Model, data: Any, table: TableOptions, options: ApplyOptions, engine: EngineOptions, reporter: Reporter
) -> Results:
    """Return the scores of the rows of `data`; rows are read and scored while the results are iterated."""
    return transform_opened(model, Inputs(data, table, reporter), options, engine, reporter)


def transform_opened(
    model: Model, inputs: Inputs, options: ApplyOptions, engine: EngineOptions, reporter: Reporter
) -> Results:
    """Like `transform`, for inputs that are already open."""
    doing("scoring")
    model = _for_workers(model, engine).truncated(options.components)
    return _with_settled_columns(inputs, lambda one: _transform(model, one, options, engine, reporter))


def _for_workers(model: Model, engine: EngineOptions) -> Model:
    """Return the model, without its sums over rows if workers of a cluster apply it.

    The sums are large, and applying a model does not need them.
    """
    return replace(model, statistic=None) if engine.in_other_processes and model.statistic is not None else model


def _with_settled_columns(inputs: Inputs, make: Callable[[Inputs], Results]) -> Results:
    """Return `make(inputs)`, after the first good file has settled the columns.

    With --skip-bad, bad files before the first good one are found by reading them to their end, and are left out.
    """
    inputs.settle(lambda one: make(one).rows_read())
    return make(inputs)


def _transform(
    model: Model, inputs: Inputs, options: ApplyOptions, engine: EngineOptions, reporter: Reporter
) -> Results:
    policy = policy_for_rows(model, options.missing, fill=False, reconstructing=False)
    scorer = IncompleteScorer(model, policy)
    work = RowWork(model.project, scorer.scores, policy, model.score_names())
    return _apply(model, inputs, model_columns(model, inputs), work, options, engine, reporter)


def reconstruct(
    model: Model,
    data: Any,
    table: TableOptions,
    options: ApplyOptions,
    engine: EngineOptions,
    reporter: Reporter,
    request: ReconstructRequest = ReconstructRequest(),  # noqa: B008
) -> Results:
    """Return rows in original units, from scores, or from original rows that are projected and reconstructed.

    Rows are read while the results are iterated. With `request.fill`, only the missing cells of the original rows are
    replaced.
    """
    doing("reconstructing")
    model = _for_workers(model, engine)
    model = (model.with_preimage() if request.preimage else model.reversible()).truncated(options.components)
    inputs = Inputs(data, table, reporter)
    return _with_settled_columns(inputs, lambda one: _reconstruct(model, one, options, engine, reporter, request))


def _reconstruct(
    model: Model,
    inputs: Inputs,
    options: ApplyOptions,
    engine: EngineOptions,
    reporter: Reporter,
    request: ReconstructRequest,
) -> Results:
    """Return the rows reconstructed from open inputs, which hold original rows or scores.

    Raises `UsageError` for options that need the original rows when the inputs hold scores.
    """
    names = list(model.columns)
    if options.triples and request.source == "scores":
        raise UsageError("--triples reads rows, not scores", "leave out --from scores")
    rows = options.triples or (request.fill and model.whitening == "zca")  # scores of ZCA have the names of the columns
    holds = request.source or ("rows" if rows else None)
    if (holds or rows_or_scores(model, inputs)) == "rows":
        policy = policy_for_rows(model, options.missing, fill=request.fill, reconstructing=True)
        scorer = IncompleteScorer(model, policy)
        work = RowWork(model.project_and_reconstruct, scorer.rows, policy, names, request.fill)
        return _apply(model, inputs, model_columns(model, inputs), work, options, engine, reporter)
    for flag, given in (
        ("--with-error", options.with_error), ("--with-coverage", options.with_coverage), ("--fill", request.fill)
    ):  # fmt: skip
        if given:
            raise UsageError(
                f"{flag} needs the original rows, but the input holds scores",
                "name the table of original rows instead of the scores",
            )
    if model.rows_centered:
        reporter.warn(
            "each reconstructed row lacks its mean: --center-rows subtracted the mean of each row before the fit, and "
            "scores do not contain these means"
        )
    if model.whitening == "zca":
        choice = model_columns(model, inputs)
    else:
        choice = ColumnChoice(tuple(score_columns(model, inputs, options.components)))
    work = RowWork(model.reconstruct, None, policy_for_scores(model, options.missing), names)
    return _apply(model, inputs, choice, work, options, engine, reporter)


def _apply(
    model: Model,
    inputs: Inputs,
    choice: ColumnChoice,
    work: RowWork,
    options: ApplyOptions,
    engine: EngineOptions,
    reporter: Reporter,
) -> Results:
    """Return the results of `work` on the columns `choice` of the inputs, with the passthrough columns.

    The passthrough columns are those of --keep or --keep-all; with --triples, the column of users alone. Raise
    `UsageError` if a result has the name of the column of users; the writer checks the names of --keep.
    """
    scorer = Scorer(model, work, options.with_error, options.with_coverage)
    if options.triples:
        keep = inputs.columns.choose_triples(options.triples).passthrough[:1]
        if keep[0] in scorer.names:
            what = f"the column of users and a column of the output are both called {show(keep[0])}"
            raise UsageError(what, "rename the column of users")
    else:
        try:
            keep = inputs.columns.keep(options.keep, options.keep_all)
        except MissingColumns as error:
            results = [name for name in scorer.names if name in error.names]
            if results:
                error.add_remedy(f"results such as {show(results[0])} are in the output without --keep")
            raise
        if work.fill and options.keep_all:  # reconstructed columns are not passed through a second time
            keep = tuple(name for name in keep if name not in work.names)
    choice = choice._replace(passthrough=keep)
    return results_of(ResultsPlan(choice, scorer, options), inputs, engine, reporter)
