"""Models of more rows or of fewer, from the sums that models keep: exact, and without the rows that were fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from pcatool.engines.threads import Threads
from pcatool.errors import DataError, MissingColumns, ModelError, RefusedError, UsageError, listed, show
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.cross import CrossMoments
from pcatool.linalg.moments import Moments
from pcatool.linalg.spectral import EPS, unit_scale
from pcatool.linalg.statistic import Statistic
from pcatool.methods.again import fit_again, options_of, sums_of
from pcatool.methods.alignment import aligned_to
from pcatool.methods.kept import reason_against
from pcatool.model import Model
from pcatool.modelfile import load_model
from pcatool.notices import Notices
from pcatool.options import EngineOptions, FitOptions, SelectOptions, TableOptions, UpdateOptions
from pcatool.pipeline.fit import Job, older_model, read_blocks, supply_of
from pcatool.readers.paths import STDIN, Input, resolve, resolve_models
from pcatool.readers.source import MODEL, Opened
from pcatool.readers.tally import Tally

__all__ = ["Combined", "merge", "older_of", "statistic_of", "subtract", "subtract_models", "update"]

# Squares that may be off by more than this part of themselves say too little of the scale of a column.
DIGITS = 1e-8

# What makes two models models of different things.
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

# Those that another fit of the same sums can change.
REFITTED = ("center", "standardize", "ddof", "whiten", "epsilon")

Named = tuple[str, Model]  # as the user knows it


def model_paths(paths: Sequence[str]) -> list[str]:
    """Models by name, those of folders and globs among them."""
    return [item.path for item in resolve_models(paths)]


def models_of(paths: Sequence[str]) -> Iterator[Named]:
    """Models as they are asked for, each with its name."""
    return ((Input(path).name, load_model(path)) for path in model_paths(paths))


def are_models(paths: Sequence[str]) -> bool:
    """Is the first of them a model? Then the others must be models, too."""
    if not paths or paths[0] == STDIN:
        return False
    first = resolve(paths[:1])[0]
    if first.flows:
        return False
    opened = Opened(first, None, "utf-8")
    opened.close()
    return opened.format == MODEL


def refuse_reading(*records: Any) -> None:
    """Models are not read as tables are: what says how must not be passed over in silence."""
    given = [
        f.metadata["flag"].names[0]
        for record in records
        for f in fields(record)
        if f.name != "align_to" and getattr(record, f.name) != f.default
    ]
    if given:
        raise UsageError(f"{', '.join(given)} would change nothing where models are subtracted", "leave it out")


class Combined(NamedTuple):
    """A model, of how many rows it was before, and what was read for it."""

    model: Model
    before: int
    tally: Tally | None = None

    @property
    def rows(self) -> int:
        """How many rows came or went."""
        return abs(self.model.n_samples - self.before)


def update(
    named: Named, data: Any, table: TableOptions, options: UpdateOptions, engine: EngineOptions, notices: Notices
) -> Combined:
    """The model of its rows and of those of the data."""
    return _with_rows(named, data, table, options, engine, notices, Statistic.merged)


def subtract(
    named: Named, data: Any, table: TableOptions, options: UpdateOptions, engine: EngineOptions, notices: Notices
) -> Combined:
    """The model of its rows without those of the data, which are among them."""
    combined = _with_rows(named, data, table, options, engine, notices, less(named[1], notices))
    _check_digits(named[1], combined.model)
    return combined


def _with_rows(
    named: Named,
    data: Any,
    table: TableOptions,
    options: UpdateOptions,
    engine: EngineOptions,
    notices: Notices,
    join: Callable[[Statistic, Statistic], Statistic],
) -> Combined:
    _, model = named
    statistic = statistic_of(named)
    fit_options = options_of(model, missing=options.missing or model.meta.get("missing", "error"))
    job = Job(data, table, SelectOptions(), fit_options, engine, notices, model)
    old = older_of(model, options.align_to, data)
    rows, tally = _rows_of(job, statistic)
    if rows is None:
        notices.warn("the input has no rows: the model stays as it is")
        return Combined(model, model.n_samples, tally)
    return Combined(_fitted(named, join(statistic, rows), fit_options, old, notices), model.n_samples, tally)


def _rows_of(job: Job, like: Statistic) -> tuple[Statistic | None, Tally]:
    """The sums over the rows of the data; none of no rows."""
    tally, inputs = Tally(), job.open()
    if inputs.model is not None:
        raise UsageError(f"{inputs.model.name} is a model, not a table", "pcatool merge adds models up")
    with Threads(job.engine.threads) as pool:
        _, columns, labels, blocks = read_blocks(job, inputs, tally, pool.map)
        sums = sums_of(blocks, columns, job.options, like, supply_of(job, inputs, pool, labels))
    if tally.incomplete and job.options.missing == "drop":
        job.notices.warn(f"dropped {tally.incomplete} of {tally.rows} rows for missing cells")
    return sums, tally


def merge(models: Iterable[Named], align_to: Any, notices: Notices) -> Combined:
    """The model of the rows of all of them; one at a time is at hand."""
    others = iter(models)
    named = next(others)
    name, first = named
    statistic = statistic_of(named)
    old = older_of(first, align_to, None)
    watch = Watch(named, notices)
    for other in others:
        statistic = statistic.merged(_in_order_of(first, other, name))
        watch.see(other)
    watch.tell()
    return Combined(_fitted(named, statistic, options_of(first), old, notices), first.n_samples)


def subtract_models(named: Named, others: Iterable[Named], align_to: Any, notices: Notices) -> Combined:
    """The model of its rows without those of the others."""
    name, model = named
    whole = statistic_of(named)
    old = older_of(model, align_to, None)
    gone = reduce(Statistic.merged, (_in_order_of(model, other, name) for other in others))
    left = _fitted(named, less(model, notices)(whole, gone), options_of(model), old, notices)
    _check_digits(model, left)
    return Combined(left, model.n_samples)


def older_of(model: Model, align_to: Any, data: Any, options: FitOptions | None = None) -> Model | None:
    """The older model that a model fitted so is to be aligned to."""
    options = replace(options or options_of(model), align_to=align_to)
    return older_model(Job(data, TableOptions(), SelectOptions(), options, EngineOptions(), Notices(), model))


def statistic_of(named: Named) -> Statistic:
    """The sums that a model keeps; a model without them is refused with the reason."""
    name, model = named
    if model.statistic is None:
        what = f"{show(name)} keeps no sums over its rows: {reason_against(model)}"
        raise ModelError(what, "fit all rows together")
    return model.statistic


def _fitted(named: Named, statistic: Statistic, options: FitOptions, old: Model | None, notices: Notices) -> Model:
    _, model = named
    fitted = fit_again(statistic, model.columns, options, notices).model
    if booleans := model.meta.get("booleans"):
        fitted = fitted.with_meta(booleans=booleans)
    return fitted if old is None else aligned_to(fitted, old, notices)


def _in_order_of(first: Model, named: Named, name: str) -> Statistic:
    """The sums of a model with its columns in the order of the first; what cannot be added to it is refused."""
    other, model = named
    statistic = statistic_of(named)
    if model is first:
        return statistic
    for (here, there), lacks, has in (((other, name), model, first), ((name, other), first, model)):
        missing = [column for column in has.columns if column not in lacks.columns]
        if missing:
            raise MissingColumns(missing, lacks.columns, here, f"{show(there)} has it: fit both with the same columns")
    for setting, flag in SETTINGS.items():
        a, b = (_setting(setting, of) for of in (first, model))
        if a != b and (a or b):
            remedy = f"pcatool refit makes one like the other ({flag})" if setting in REFITTED else "fit both alike"
            raise ModelError(f"{show(name)} and {show(other)} differ in {flag}: {_said(a)} against {_said(b)}", remedy)
    places = {column: i for i, column in enumerate(model.columns)}
    return statistic.take(np.array([places[column] for column in first.columns], dtype=np.intp))


def _setting(name: str, model: Model) -> Any:
    """As it was given: an epsilon that was not differs from model to model."""
    return options_of(model).epsilon if name == "epsilon" else model.meta.get(name)


def _said(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return show(", ".join(value) if isinstance(value, list) else value)


class Watch:
    """Looks for what may be a slip: rows that count twice, and another number of components."""

    def __init__(self, first: Named, notices: Notices) -> None:
        self._name, self._wish = first[0], first[1].meta.get("components")
        self._notices = notices
        self._otherwise: list[str] = []
        self._seen: dict[bytes, str] = {}
        self.see(first)

    def see(self, named: Named) -> None:
        name, model = named
        if model.meta.get("components") != self._wish:
            self._otherwise.append(name)
        centre = statistic_of(named).centre
        key = b"".join(part.tobytes() for part in (centre.high, centre.low, statistic_of(named).sums.squares))
        if key in self._seen:
            self._notices.warn(f"{show(self._seen[key])} and {show(name)} are of the same rows, which count twice now")
        self._seen.setdefault(key, name)

    def tell(self) -> None:
        if self._otherwise:
            self._notices.note(
                f"-k {self._wish} is taken from {show(self._name)}; another one in {listed(self._otherwise)}"
            )


def less(model: Model, notices: Notices) -> Callable[[Statistic, Statistic], Statistic]:
    """Taking rows back out of the sums of a model, where they are in it and leave enough digits."""

    def taken(whole: Statistic, gone: Statistic) -> Statistic:
        left = whole.centre.rows - gone.centre.rows
        if left < 1 or not whole.centre.weight > gone.centre.weight:
            raise DataError(
                f"{gone.centre.rows} rows are to be taken out of {whole.centre.rows}: none would be left",
                "take out fewer, or fit anew",
            )
        if unknown := [name for name in gone.classes if name not in whole.classes]:
            raise _not_among(f"class {listed(unknown)} is not in the model")
        rest = whole.less(gone)
        if len(wrong := np.flatnonzero(rest.sums.squares < 0)):
            raise _not_among(f"column {show(model.columns[wrong[0]])} would have a variance below 0")
        if isinstance(rest.sums, CrossMoments) and np.any(rest.sums.label_squares < 0):
            raise _not_among("so many with these labels are not in the model")
        if model.standardized:
            check_scales(rest, model.columns)
        if len(rest.flat):
            names = listed(model.columns[j] for j in rest.flat)
            if not rest.centre.varies.any():
                raise RefusedError(
                    f"what cancels leaves no variance that is told from rounding in {names}",
                    "fit the rows that are left",
                )
            notices.note(f"no variance is left that is told from rounding in {names}")
        _check_products(rest)
        return rest

    return taken


def check_scales(statistic: Statistic, columns: Sequence[str]) -> None:
    """Refuse to divide by scales of which too little is known."""
    noise = 2 * statistic.rounding
    blurred = np.flatnonzero((statistic.sums.squares > 0) & ~(noise <= DIGITS)).tolist()
    if blurred:
        names, known = [columns[i] for i in blurred], noise[blurred[0]]
        said = f"would be known to {known:.0e} of itself" if known < 1 else "would be nothing but rounding"
        raise RefusedError(
            f"the variance of column {show(names[0])} {said}: what cancels leaves fewer than 8 digits of the scale "
            "that it is to be divided by",
            f"leave it out first (pcatool refit -x {','.join(names)}), or fit the rows that are left",
        )


def _check_products(rest: Statistic) -> None:
    """Refuse what no rows can add up to."""
    rest = rest.without(rest.flat)
    if isinstance(rest.sums, Moments):
        scale = unit_scale(rest.sums.squares)
        with threads(factorisation_threads(len(scale))):
            smallest = float(np.linalg.eigvalsh(rest.sums.scatter / scale[:, None] / scale)[0])
        if smallest < -2 * float(np.sqrt(len(scale)) * np.linalg.norm(rest.noise + EPS)):
            raise _not_among("some combination of columns would have a variance below 0")


def _check_digits(before: Model, after: Model) -> None:
    """Refuse a model of which a component has lost the digits that it had."""
    sure, had = after.meta["certificate"]["vouched"], before.meta.get("certificate", {}).get("vouched", [])
    for j, (now, then) in enumerate(zip(sure, had, strict=False)):
        if then and not now and after.eigenvalues[j] > 0:
            raise RefusedError(
                f"the eigenvalue of PC{j + 1}, {after.eigenvalues[j]:.3g}, would be known to "
                f"{after.meta['certificate']['relative_error'][j]:.0e} of itself: what cancels has eaten its digits",
                "fit the rows that are left, or keep fewer components (pcatool refit -k)",
            )


def _not_among(why: str) -> DataError:
    return DataError(f"the rows to take out are not all among those of the model: {why}", "give rows that were fitted")
