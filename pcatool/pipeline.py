"""The only file that joins the stages: read -> batches -> blocks -> solve -> model -> apply -> write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pcatool import modelfile
from pcatool.blocks import by_block, recut
from pcatool.errors import DataError, RefusedError, UsageError, show
from pcatool.memory import free_bytes, parse_size
from pcatool.methods.base import Supply
from pcatool.model import Array, Model
from pcatool.notices import Notices
from pcatool.options import ApplyOptions, FitOptions, OutputOptions, SelectOptions, TableOptions
from pcatool.readers.base import all_finite
from pcatool.readers.rows import Checked, Tally, checked_batches, complete_rows
from pcatool.readers.source import read_whole
from pcatool.readers.tables import Inputs, Wanted
from pcatool.registry import METHODS
from pcatool.render.pictures import picture_form, scree_picture
from pcatool.render.summary import how_fitted
from pcatool.rules.base import Evidence
from pcatool.rules.compare import Verdict, compare
from pcatool.solvers.plan import Plan
from pcatool.writers.base import open_writer
from pcatool.writers.sink import check_target, open_sink, write_whole

__all__ = [
    "Fitted",
    "Results",
    "draw_scree",
    "fit",
    "fit_and_draw",
    "fit_and_save",
    "judge",
    "model_or_fit",
    "plan_fit",
    "reconstruct",
    "smallest_k",
    "transform",
    "write",
]


# What is never refused unasked: on a small machine such a fit is better tried.
SMALL_JOB = 256 << 20


@dataclass(frozen=True)
class Fitted:
    """A model, and what was read for it."""

    model: Model
    tally: Tally
    evidence: Evidence | None = None  # of data just fitted; a model read from a file has its own


@dataclass(frozen=True)
class Results:
    """Rows that come out of a model, while they are being computed."""

    model: Model
    names: list[str]
    kept: list[tuple[str, Any]]  # columns passed through, with their Arrow types; they come first
    batches: Iterator[tuple[Sequence[Any], Array]]
    tally: Tally
    errors: ErrorSum
    inputs: Inputs


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


def fit(data: Any, table: TableOptions, select: SelectOptions, options: FitOptions, notices: Notices) -> Fitted:
    """A model of the data: paths, or something in memory."""
    return _fit(Inputs(data, table, notices), select, options, notices)


def _fit(inputs: Inputs, select: SelectOptions, options: FitOptions, notices: Notices) -> Fitted:
    tally = Tally()
    wanted, features, blocks = _blocks(inputs, select, options, tally)
    method = METHODS.load(options.method)(options, notices)
    try:
        fitted = method.fit(blocks, features, supply=_supply(inputs, select, options))
    except DataError:
        if options.missing == "drop" and tally.rows and tally.incomplete == tally.rows:
            raise tally.error("no complete row is left") from None
        raise
    model = fitted.model
    if tally.incomplete:
        notices.warn(f"dropped {tally.incomplete} of {tally.rows} rows for missing cells")
    if wanted.booleans:
        model = model.with_meta(booleans=sorted(wanted.booleans))
    return Fitted(model, tally, fitted.evidence)


def _blocks(
    inputs: Inputs, select: SelectOptions, options: FitOptions, tally: Tally
) -> tuple[Wanted, tuple[str, ...], Iterator[Array]]:
    """What is read, the features' names, and the rows in blocks; with weights, the last column holds them."""
    weighted = options.weights is not None
    wanted = inputs.choose(select, options.weights)
    rows = complete_rows(inputs, wanted, options.missing, tally, weighted=weighted)
    return wanted, wanted.names[:-1] if weighted else wanted.names, recut(rows, len(wanted.names))


def _supply(inputs: Inputs, select: SelectOptions, options: FitOptions) -> Supply:
    """How much memory there is, and how to read the rows again."""
    limit = parse_size(options.memory) if options.memory is not None else max(free_bytes() // 2, SMALL_JOB)

    def reread() -> Iterator[Array]:
        return _blocks(inputs.again(), select, options, Tally())[2]

    return Supply(limit, reread if inputs.can_reread() else None, inputs.expected_rows)


def plan_fit(data: Any, table: TableOptions, select: SelectOptions, options: FitOptions, notices: Notices) -> Plan:
    """What a fit would do and need."""
    inputs = Inputs(data, table, notices)
    _, features, blocks = _blocks(inputs, select, options, Tally())
    method = METHODS.load(options.method)(options, notices)
    plan: Plan = method.plan(blocks, features, supply=_supply(inputs, select, options))[2]
    return plan


def fit_and_save(
    data: Any,
    table: TableOptions,
    select: SelectOptions,
    options: FitOptions,
    output: str,
    no_clobber: bool,
    notices: Notices,
) -> Fitted:
    """Fit and write the model; a place that cannot be written is refused before the work."""
    inputs = Inputs(data, table, notices)
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    fitted = _fit(inputs, select, options, notices)
    modelfile.save_model(fitted.model, output, no_clobber=no_clobber, inputs=inputs.paths)
    return fitted


def model_or_fit(
    data: Any, table: TableOptions, select: SelectOptions, options: FitOptions, notices: Notices
) -> Fitted:
    """The model that the input is, or a fit of the table that it is; the content tells."""
    return _model_or_fit(Inputs(data, table, notices), select, options, notices)


def _model_or_fit(inputs: Inputs, select: SelectOptions, options: FitOptions, notices: Notices) -> Fitted:
    if inputs.model is not None:
        _refuse_settings(inputs.model.name, select, options)
        return Fitted(modelfile.loads(read_whole(inputs.model.stream), inputs.model.name), Tally())
    return _fit(inputs, select, options, notices)


def _refuse_settings(name: str, *records: Any) -> None:
    """A model was fitted as it was: what would need its data must not be passed over in silence."""
    given = [
        f.metadata["flag"].names[0]
        for record in records
        for f in fields(record)
        if getattr(record, f.name) != f.default
    ]
    if given:
        raise UsageError(f"{name} is a model, fitted already: {', '.join(given)} would change nothing", "give the data")


def transform(model: Model, data: Any, table: TableOptions, options: ApplyOptions, notices: Notices) -> Results:
    """Scores of the rows of the data."""
    inputs = Inputs(data, table, notices)
    model = model.truncated(options.components)
    return _apply(model, inputs, _model_columns(model, inputs), model.project, model.score_names(), options)


def reconstruct(
    model: Model, data: Any, table: TableOptions, options: ApplyOptions, source: str | None, notices: Notices
) -> Results:
    """Rows in original units, from scores or by projecting original rows and coming back."""
    inputs = Inputs(data, table, notices)
    model = model.truncated(options.components)
    names = list(model.columns)
    if (source or _sees(model, inputs)) == "rows":
        wanted = _model_columns(model, inputs)
        return _apply(model, inputs, wanted, lambda X: model.reconstruct(model.project(X)), names, options)
    if options.with_error:
        raise UsageError("--with-error needs the original rows, the input holds scores", "give the original rows")
    found = _score_columns(model, inputs, options.components)
    return _apply(model, inputs, Wanted(tuple(found)), model.reconstruct, names, options)


def write(results: Results, output: OutputOptions, model_path: str | None) -> None:
    """Write the results as they come."""
    inputs = [*results.inputs.paths, *([model_path] if model_path else [])]
    with open_sink(output.output, no_clobber=output.no_clobber, inputs=inputs) as sink:
        writer = open_writer(output, sink, results.kept, results.names)
        for kept, values in results.batches:
            writer.write(kept, values)
        writer.close()


def _apply(
    model: Model,
    inputs: Inputs,
    wanted: Wanted,
    function: Callable[[Array], Array],
    names: list[str],
    options: ApplyOptions,
) -> Results:
    keep = inputs.keep(options.keep, options.keep_all)
    wanted = Wanted(wanted.names, wanted.booleans, wanted.by_position, keep)
    policy = options.missing or ("keep" if model.meta.get("missing") == "drop" else "error")
    tally, errors = Tally(), ErrorSum()
    if options.with_error:
        names = [*names, "squared_error"]

    def compute(X: Array) -> Array:
        with np.errstate(all="ignore"):
            values = function(X)
        return np.column_stack([values, model.squared_error(X)]) if options.with_error else values

    def batches() -> Iterator[tuple[Sequence[Any], Array]]:
        first_row = 0
        for batch in checked_batches(inputs, wanted, tally, eager=True):
            if batch.incomplete is not None and policy == "error":
                raise DataError(
                    f"{tally.places[0]}: missing cell in column {show(next(iter(tally.cells)))}",
                    "--missing keep leaves such rows in, with empty cells",
                )
            X = batch.X if batch.incomplete is None else np.where(batch.incomplete[:, None], 0.0, batch.X)
            values = by_block(compute, X, first_row)
            first_row += len(X)
            if options.with_error:
                errors.add(values[:, -1] if batch.incomplete is None else values[~batch.incomplete, -1])
            _check_overflow(values, batch)
            if batch.incomplete is not None:
                values[batch.incomplete] = np.nan
            yield batch.kept, values

    return Results(model, names, inputs.kept_types(keep), batches(), tally, errors, inputs)


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
    """What the input holds, by its columns."""
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


def smallest_k(model: Model, share: float) -> int:
    """How many components keep this share; known even when the model keeps fewer, unknown only past its eigenvalues."""
    found = model.variance.smallest_k(share)
    if found is None:
        known = len(model.eigenvalues)
        raise RefusedError(
            f"the {known} eigenvalues known keep {model.variance.cumulative[-1]:.6g} of the variance, not {share:g}",
            "fit with a larger -k",
        )
    return found


def draw_scree(model: Model, output: str, *, no_clobber: bool = False, inputs: Sequence[str] = ()) -> None:
    """Write a picture of the eigenvalues."""
    form = picture_form(output)
    title = f"{len(model.eigenvalues)} eigenvalues of {model.n_samples} rows, {model.d} columns; {how_fitted(model)}"
    picture = scree_picture(model.variance, kept=model.k, form=form, title=title)
    write_whole(output, picture, no_clobber=no_clobber, inputs=inputs)


def fit_and_draw(
    data: Any,
    table: TableOptions,
    select: SelectOptions,
    options: FitOptions,
    output: str,
    no_clobber: bool,
    notices: Notices,
) -> Model:
    """The same for a model or data by name; what cannot be drawn or written is refused before the work."""
    picture_form(output)
    inputs = Inputs(data, table, notices)
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    model = _model_or_fit(inputs, select, options, notices).model
    draw_scree(model, output, no_clobber=no_clobber, inputs=inputs.paths)
    return model


def judge(fitted: Fitted, names: Sequence[str] | None, seed: int) -> list[Verdict]:
    """What the rules for k make of data, or of what a model knows of its data."""
    return compare(fitted.evidence or _evidence_of(fitted.model, seed), names)


def _evidence_of(model: Model, seed: int) -> Evidence:
    meta = model.meta
    return Evidence(
        eigenvalues=model.eigenvalues,
        total_variance=model.total_variance,
        n=model.n_samples,
        d=model.d,
        rank=int(meta.get("rank", np.count_nonzero(model.eigenvalues))),
        centered=model.centered,
        standardized=model.standardized,
        ddof=model.ddof,
        seed=seed,
        constant=int(meta.get("constant_columns", 0)),
    )
