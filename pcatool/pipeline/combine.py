"""Update, merge, subtract and refit models from the sums over rows that they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from pcatool.errors import DataError, MissingColumns, ModelError, UsageError
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.triangle import Triangle
from pcatool.methods.align import aligned_to
from pcatool.methods.base import why_not_updatable
from pcatool.methods.sums import check_digits, check_scales, fit_from_statistic, make_subtraction, options_of
from pcatool.model.model import Model
from pcatool.model.npz import load_model
from pcatool.options import EngineOptions, FitOptions, RefitOptions, SelectOptions, TableOptions, UpdateOptions
from pcatool.options.fields import given_flags
from pcatool.pipeline.fit import Job, no_effect, older_model, sums_of_job
from pcatool.progress import Reporter, doing
from pcatool.readers.base import Column
from pcatool.readers.opener import MODEL, OpenedInput
from pcatool.readers.paths import STDIN, Input, resolve, resolve_models
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.select_columns import ColumnNames, find_columns, vector_element
from pcatool.wording import grouped, listed, show

__all__ = [
    "Combined",
    "are_models",
    "merge",
    "model_paths",
    "models_of",
    "refit",
    "refuse_reading",
    "subtract",
    "subtract_models",
    "update",
]

# Settings, with their flags, in which models must agree before their sums are added.
SETTINGS = {
    "method": "--method",
    "center": "--center",
    "standardize": "--standardize",
    "ddof": "--ddof",
    "center_rows": "--center-rows",
    "weights": "--weights",
    "weights_kind": "--weights-kind",
    "labels": "--label",
    "label_kernel": "--label-kernel",
    "whiten": "--whiten",
    "epsilon": "--epsilon",
}

# Settings that `refit` can change, since the sums do not depend on them.
REFITTED = ("center", "standardize", "ddof", "whiten", "epsilon")

# Fits that give the result of a command for a model that keeps no sums.
FITS_INSTEAD = {
    "update": "run pcatool fit on the old and the new rows together",
    "merge": "run pcatool fit on the rows of all models together",
    "subtract": "run pcatool fit on the rows that remain",
    "refit": "run pcatool fit on the same rows with the new settings",
}

NamedModel = tuple[str, Model]  # the name is for messages: a path, or "the model"


def model_paths(paths: Sequence[str]) -> list[str]:
    """Return the paths of the models, with folders and globs expanded."""
    return [item.path for item in resolve_models(paths)]


def models_of(paths: Sequence[str]) -> Iterator[NamedModel]:
    """Yield (name, model) for each model; a model is loaded when the iterator reaches it."""
    found = model_paths(paths)
    for number, path in enumerate(found, 1):
        doing(f"model {number} of {len(found)}")
        yield Input(path).name, load_model(path)


def are_models(paths: Sequence[str]) -> bool:
    """Whether the first path is a model file; callers then take all paths as models.

    False for standard input and for pipes, which are not read.
    """
    if not paths or paths[0] == STDIN:
        return False
    first = resolve(paths[:1])[0]
    if first.is_stream:
        return False
    opened = OpenedInput(first, None, "utf-8")
    opened.close()
    return opened.format == MODEL


def refuse_reading(*records: Any) -> None:
    """Raise `UsageError` if an option in the records is set, other than --align-to.

    The records hold options of reading tables, but no table is read when models are subtracted from a model.
    """
    given = given_flags(*records, leaving_out="align_to")
    if given:
        raise UsageError(no_effect(given, "when models are subtracted"), f"leave out {', '.join(given)}")


def statistic_of(named: NamedModel, command: str) -> Statistic:
    """Return the sums that a model keeps; raise `ModelError` with the reason when it keeps none.

    `named` is (name for messages, model); `command`, a key of FITS_INSTEAD, is the command that needs the sums.
    """
    name, model = named
    if model.statistic is None:
        reason = why_not_updatable(model)
        raise ModelError(
            f"{command} needs sums over rows, but {show(name)} keeps no sums: {reason}", FITS_INSTEAD[command]
        )
    return model.statistic


def compatible_sums(first: Model, named: NamedModel, name: str, command: str) -> Statistic:
    """Return the sums of the model `named`, with its columns in the order of the first model.

    `name` is the name of the first model, and `command` needs the sums. Raises `MissingColumns` when the models have
    different columns, and `ModelError` when their settings differ or the model keeps no sums.
    """
    other, model = named
    statistic = statistic_of(named, command)
    if model is first:
        return statistic
    for (here, there), lacks, has in (((other, name), model, first), ((name, other), first, model)):
        missing = [column for column in has.columns if column not in lacks.columns]
        if missing:
            raise MissingColumns(
                missing, lacks.columns, here, f"fit {show(here)} and {show(there)} with the same columns"
            )
    for setting, flag in SETTINGS.items():
        a, b = (_setting(setting, of) for of in (first, model))
        if a != b and (a or b):
            refits = setting in REFITTED
            remedy = (
                f"use pcatool refit to change {flag} of one model"
                if refits
                else "fit both models with the same settings"
            )
            raise ModelError(
                f"{show(name)} and {show(other)} differ in {flag}: {_setting_text(a)} and {_setting_text(b)}",
                remedy,
            )
    _check_labels(first, model, name, other)
    places = {column: i for i, column in enumerate(model.columns)}
    return statistic.take(np.array([places[column] for column in first.columns], dtype=np.intp))


def _check_labels(first: Model, model: Model, name: str, other: str) -> None:
    """Raise `ModelError` if one model read a label as a number and the other model read the label as text.

    As numbers, 7 and 07 are one class; as text, they are two. `name` is the first model, `other` the second.
    """
    numbers = [set(of.meta.get("label_numbers", ())) for of in (first, model)]
    differing = [label for label in model.meta.get("labels", ()) if (label in numbers[0]) != (label in numbers[1])]
    if not differing or not all("label_numbers" in of.meta for of in (first, model)):
        return
    number, text = (other, name) if differing[0] in numbers[1] else (name, other)
    raise ModelError(
        f"label {show(differing[0])} is a number in {show(number)} and text in {show(text)}: as numbers, "
        "7 and 07 are one class; as text, 7 and 07 are two classes",
        f"add the rows of {show(number)} with pcatool update {show(text)}, which reads labels as text",
    )


def _setting(name: str, model: Model) -> Any:
    """Return the value of the setting `name` in the model, to compare it with another model; None if it is not set.

    A default epsilon becomes None: its value depends on the data, so it differs from model to model.
    """
    return options_of(model).epsilon if name == "epsilon" else model.meta.get(name)


def _setting_text(value: Any) -> str:
    """Return a setting as text for a message; a switch is "yes" or "no", and None is "no"."""
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return show(", ".join(value) if isinstance(value, list) else value)


class MergeChecks:
    """Checks of the models of a merge for two likely mistakes: models of the same rows, and models with another -k."""

    def __init__(self, first: NamedModel, reporter: Reporter) -> None:
        self._name, self._first_k = first[0], first[1].meta.get("components")
        self._reporter = reporter
        self._other_k: list[str] = []
        self._seen: dict[bytes, str] = {}
        self.add(first)

    def add(self, named: NamedModel) -> None:
        """Check the next model: warn when its means and sums of squares equal those of an earlier model.

        A -k that differs from that of the first model is remembered for `note_other_k`.
        """
        name, model = named
        if model.meta.get("components") != self._first_k:
            self._other_k.append(name)
        statistic = statistic_of(named, "merge")
        key = b"".join(part.tobytes() for part in (statistic.centre.high, statistic.centre.low, statistic.sums.squares))
        if key in self._seen:
            both = f"{show(self._seen[key])} and {show(name)}"
            self._reporter.warn(f"{both} seem to hold the same rows, which the merged model counts twice")
        self._seen.setdefault(key, name)

    def note_other_k(self) -> None:
        """Write a note that names the models fitted with another -k than the first model; do nothing if all agree."""
        if self._other_k:
            self._reporter.note(
                f"the merged model uses -k {self._first_k} of {show(self._name)}; "
                f"{listed(self._other_k)} {'was' if len(self._other_k) == 1 else 'were'} fitted with another -k"
            )


class Combined(NamedTuple):
    """A model after update, merge or subtract, with the counts of rows for its summary."""

    model: Model
    before: int  # number of rows of the model before the change; of the first model for a merge
    row_counts: RowCounts | None = None  # counts of the rows that were read; None if no rows were read


def update(
    named: NamedModel, data: Any, table: TableOptions, options: UpdateOptions, engine: EngineOptions, reporter: Reporter
) -> Combined:
    """Return the model `named`, refitted to its rows and the rows of `data` together, from sums over both.

    Warn if the sums of all rows have too few digits for a component that the model had.
    """
    combined = _with_rows(named, data, table, options, engine, reporter, "update", Statistic.merged)
    _warn_lost_rank(_rank(named[1]), combined.model, reporter)
    return combined


def subtract(
    named: NamedModel, data: Any, table: TableOptions, options: UpdateOptions, engine: EngineOptions, reporter: Reporter
) -> Combined:
    """Return the model `named`, refitted to its rows without the rows of `data`, from the difference of sums.

    Raises `DataError` for rows that the model does not hold, and `RefusedError` where too few digits are left.
    """
    join = make_subtraction(named[1], reporter)
    combined = _with_rows(named, data, table, options, engine, reporter, "subtract", join)
    check_digits(named[1], combined.model)
    return combined


def _with_rows(
    named: NamedModel,
    data: Any,
    table: TableOptions,
    options: UpdateOptions,
    engine: EngineOptions,
    reporter: Reporter,
    command: str,
    join: Callable[[Statistic, Statistic], Statistic],
) -> Combined:
    """Refit the model from `join(sums of the model, sums over data)`, for `command`, update or subtract.

    The model stays as it is, with a warning, when the data have no rows or all rows are dropped.
    """
    _, model = named
    statistic = statistic_of(named, command)
    fit_options = options_of(model, missing=options.missing or model.meta.get("missing", "error"))
    job = Job(data, table, SelectOptions(), fit_options, engine, reporter, model)
    old = model_to_align_to(model, options.align_to, data)
    row_counts, inputs = RowCounts(), job.open()
    if inputs.model is not None:
        raise UsageError(f"{inputs.model.name} is a model, not a table", "to combine models, run pcatool merge")
    rows: Any = sums_of_job(job, inputs, row_counts, triangular=isinstance(statistic.sums, Triangle))
    if rows is None:
        what = "every row of the input was dropped" if row_counts.rows else "the input has no rows"
        reporter.warn(f"{what}: the model is unchanged")
        return Combined(model, model.n_samples, row_counts)
    if command == "update":
        _warn_constant(statistic, rows, model.columns, reporter)
    return Combined(refitted(model, join(statistic, rows), fit_options, old, reporter), model.n_samples, row_counts)


# Fewest new rows in which a constant column is reported, and the least distance of its value from the mean of the
# model, in standard errors of the mean of the new rows. A rare value, such as the 1 of a 0/1 column, may be absent by
# chance: if n p rows with a 1 are expected, the distance is sqrt(n p), and at 5 the chance exp(-n p) is 1e-11.
CONSTANT_ROWS, CONSTANT_DISTANCE = 10, 5.0


def _warn_constant(old: Statistic, new: Statistic, columns: Sequence[str], reporter: Reporter) -> None:
    """Warn about columns that are constant in the new rows, far from their mean in the rows of the model.

    Such a column may come from a broken sensor, or from a failed join of tables.
    """
    was, now = old.sums.centre, new.sums.centre
    deviations, values = np.sqrt(old.sums.squares / was.weight), now.mean
    constant = (new.sums.squares == 0) & (deviations > 0)
    constant &= np.sqrt(now.rows) * np.abs(values / 2 - was.mean / 2) > CONSTANT_DISTANCE / 2 * deviations
    found = np.flatnonzero(constant).tolist() if now.rows >= CONSTANT_ROWS else []
    rows = f"in all {grouped(now.rows)} new rows, but varied in the model"
    if len(found) == 1:
        reporter.warn(f"column {show(columns[found[0]])} has the value {values[found[0]]:g} {rows}")
    elif found:
        reporter.warn(f"columns {listed(columns[j] for j in found)} each have a single value {rows}")


def merge(models: Iterable[NamedModel], align_to: Any, reporter: Reporter) -> Combined:
    """Return the model fitted to the rows of all models, with the settings of the first model.

    One model after the other is taken from `models`, so that few are in memory. `align_to` is an older model, its path,
    or None. Raises `MissingColumns` for models of different columns, and `ModelError` for models without sums or with
    different settings.
    """
    others = iter(models)
    named = next(others)
    name, first = named
    statistic = statistic_of(named, "merge")
    old = model_to_align_to(first, align_to, None)
    checks, rank, booleans = MergeChecks(named, reporter), _rank(first), set(first.meta.get("booleans", ()))
    for other in others:
        statistic = statistic.merged(compatible_sums(first, other, name, "merge"))
        checks.add(other)
        rank = max(rank, _rank(other[1]))
        booleans.update(other[1].meta.get("booleans", ()))
    checks.note_other_k()
    merged = refitted(first, statistic, options_of(first), old, reporter)
    merged = merged.with_meta(booleans=sorted(booleans)) if booleans else merged
    _warn_lost_rank(rank, merged, reporter)
    return Combined(merged, first.n_samples)


def _rank(model: Model) -> int:
    """Return the rank of a PCA model; 0 for other methods.

    More rows cannot lower the rank in PCA. With labels more rows can do so, because sums of products of labels and
    columns may cancel.
    """
    return int(model.meta.get("rank", 0)) if model.meta.get("method") == "pca" else 0


def _warn_lost_rank(rank: int, model: Model, reporter: Reporter) -> None:
    """Warn when the combined model has a lower rank than `rank`, the largest rank of the models that it is made from.

    The sums over all rows then hold too few digits of the weakest components.
    """
    if rank > _rank(model):
        reporter.warn(
            f"the sums over all rows have too few digits for {rank - _rank(model)} of {rank} components; "
            "a fit of all rows with --solver tsqr keeps more digits"
        )


def subtract_models(named: NamedModel, others: Iterable[NamedModel], align_to: Any, reporter: Reporter) -> Combined:
    """Return the model `named`, refitted to its rows without the rows of the models `others`, from their sums.

    `align_to` is an older model, its path, or None. Raises `DataError` for rows that the model does not hold, and
    `RefusedError` where too few digits are left.
    """
    name, model = named
    whole = statistic_of(named, "subtract")
    old = model_to_align_to(model, align_to, None)
    removed = reduce(Statistic.merged, (compatible_sums(model, other, name, "subtract") for other in others))
    left = refitted(model, make_subtraction(model, reporter)(whole, removed), options_of(model), old, reporter)
    check_digits(model, left)
    return Combined(left, model.n_samples)


def model_to_align_to(model: Model, align_to: Any, data: Any, options: FitOptions | None = None) -> Model | None:
    """Return the older model that the new model is aligned to; None if `align_to` (a path or a model) is None.

    `options` are those of the new fit, by default those of `model`. `data` serves only to refuse standard input for
    both the older model and the data.
    """
    options = replace(options or options_of(model), align_to=align_to)
    return older_model(Job(data, TableOptions(), SelectOptions(), options, EngineOptions(), Reporter(), model))


def refitted(
    model: Model,
    statistic: Statistic,
    options: FitOptions,
    old: Model | None,
    reporter: Reporter,
    columns: tuple[str, ...] = (),
) -> Model:
    """Return a model fitted from sums over rows; settings that sums do not hold are copied from `model`.

    `columns` are the names of the summed columns, by default all of `model`. The new model is aligned to `old`, unless
    `old` is None.
    """
    columns = columns or model.columns
    fitted = fit_from_statistic(statistic, columns, options, reporter).model
    if booleans := [column for column in model.meta.get("booleans", ()) if column in columns]:
        fitted = fitted.with_meta(booleans=booleans)
    of_columns = {key: model.meta[key] for key in ("label_numbers", "vectors") if key in model.meta}
    if of_columns:
        fitted = fitted.with_meta(**of_columns)
    return fitted if old is None else aligned_to(fitted, old, reporter)


def refit(named: NamedModel, options: RefitOptions, reporter: Reporter) -> Model:
    """Return the model that a fit of the same rows with the changed settings would give.

    Raises `UsageError` when no setting is changed, and `ModelError` for a model without sums.
    """
    name, model = named
    if options.changes_nothing:
        raise UsageError("no setting is changed", "give -k, -s, --no-center, --ddof, --whiten, -c or -x")
    statistic = statistic_of(named, "refit")
    settings = options_of(model, **options.changes)
    places = _columns_left(name, model, options)
    if len(places) < model.d and model.rows_centered:
        raise UsageError(
            "the model was fitted with --center-rows: "
            "the mean of a row includes all columns, so no column can be dropped",
            "run pcatool fit --center-rows on the table, with the same -c or -x",
        )
    old = None if options.align_to is None else model_to_align_to(model, options.align_to, None, settings)
    columns = tuple(model.columns[j] for j in places)
    taken = statistic.take(np.array(places, dtype=np.intp))
    if settings.standardize:
        check_scales(taken, columns)
    return refitted(model, taken, settings, old, reporter, columns)


def _columns_left(name: str, model: Model, options: RefitOptions) -> list[int]:
    """Return the indices of the model's columns that -c and -x leave, in the order of -c; without -c, ascending.

    `name` is the name of the model for messages. Raises `DataError` if no column is left.
    """
    chosen = _indices_of(name, model, options.columns) if options.columns else range(model.d)
    removed = frozenset(_indices_of(name, model, options.exclude))
    left = [j for j in chosen if j not in removed]
    if not left:
        raise DataError(f"{name}: no column is left", "name fewer columns with -x")
    return left


def _indices_of(name: str, model: Model, terms: Sequence[str]) -> list[int]:
    """Return the indices of the columns of the model that the terms of -c or -x name, in the order of the terms.

    A vector can be named as one column, which means all its elements, as in a table. `name` is the name of the model
    for messages.
    """
    elements = [vector_element(column) for column in model.columns]
    heads = [column if element is None else element[0] for column, element in zip(model.columns, elements, strict=True)]
    tables = [Column(column) for column in model.columns], [Column(head) for head in dict.fromkeys(heads)]
    found: dict[int, None] = {}
    for term in ColumnNames([*tables[0], *tables[1]], name).split(terms):
        of_vectors = term in heads and term not in model.columns
        names = heads if of_vectors else model.columns
        for i in find_columns([term], tables[of_vectors], name):
            found.update(dict.fromkeys(j for j in range(model.d) if names[j] == tables[of_vectors][i].name))
    return list(found)
