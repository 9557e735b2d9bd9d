"""Models of more rows or of fewer, from the sums that models keep: exact, and without the rows that were fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from pcatool.engines.threads import Threads
from pcatool.errors import UsageError
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.triangle import Triangle
from pcatool.methods.align import aligned_to
from pcatool.methods.subtract import check_digits, less
from pcatool.methods.sums import fit_again, options_of, sums_of
from pcatool.model.model import Model
from pcatool.options import EngineOptions, FitOptions, SelectOptions, TableOptions, UpdateOptions
from pcatool.pipeline.fit import older_model
from pcatool.pipeline.job import Job, read_blocks, supply_of
from pcatool.pipeline.models import Named, Watch, in_order_of, statistic_of
from pcatool.progress import Notices, Taken
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import Tally

__all__ = ["Combined", "merge", "older_of", "refitted", "subtract", "subtract_models", "update"]


class Combined(NamedTuple):
    """A model, of how many rows it was before, and what was read for it."""

    model: Model
    before: int
    tally: Tally | None = None


def update(
    named: Named, data: Any, table: TableOptions, options: UpdateOptions, engine: EngineOptions, notices: Notices
) -> Combined:
    """The model of its rows and of those of the data."""
    combined = _with_rows(named, data, table, options, engine, notices, Statistic.merged)
    _tell_lost(_rank(named[1]), combined.model, notices)
    return combined


def subtract(
    named: Named, data: Any, table: TableOptions, options: UpdateOptions, engine: EngineOptions, notices: Notices
) -> Combined:
    """The model of its rows without those of the data, which are among them."""
    combined = _with_rows(named, data, table, options, engine, notices, less(named[1], notices))
    check_digits(named[1], combined.model)
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
        what = f"none of the {tally.rows} rows of the input is left" if tally.rows else "the input has no rows"
        notices.warn(f"{what}: the model stays as it is")
        return Combined(model, model.n_samples, tally)
    return Combined(refitted(model, join(statistic, rows), fit_options, old, notices), model.n_samples, tally)


def _rows_of(job: Job, like: Statistic) -> tuple[Statistic | None, Tally]:
    """The sums over the rows of the data; none of no rows."""
    tally, inputs = Tally(), job.open()
    if inputs.model is not None:
        raise UsageError(f"{inputs.model.name} is a model, not a table", "pcatool merge adds models up")
    sums = (_sums_far if job.engine.far else _sums_here)(job, inputs, tally, isinstance(like.sums, Triangle))
    dropped = tally.incomplete if job.options.missing == "drop" else 0
    if dropped:
        job.notices.warn(f"dropped {dropped} of {tally.rows} rows for missing cells")
    job.notices.taken = Taken(tally.rows, dropped, inputs.columns.left_out)
    return sums, tally


def _sums_here(job: Job, inputs: Inputs, tally: Tally, triangular: bool) -> Any:
    with Threads(job.engine.threads) as pool:
        _, columns, labels, blocks = read_blocks(job, inputs, tally, pool.map)
        supply = supply_of(job, inputs, pool, len(columns), labels)
        return sums_of(blocks, columns, job.options, supply, triangular=triangular)


def _sums_far(job: Job, inputs: Inputs, tally: Tally, triangular: bool) -> Any:
    from pcatool.pipeline.far import sums_far

    return sums_far(job, inputs, tally, triangular=triangular)


def merge(models: Iterable[Named], align_to: Any, notices: Notices) -> Combined:
    """The model of the rows of all of them; one at a time is at hand."""
    others = iter(models)
    named = next(others)
    name, first = named
    statistic = statistic_of(named)
    old = older_of(first, align_to, None)
    watch, rank, booleans = Watch(named, notices), _rank(first), set(first.meta.get("booleans", ()))
    for other in others:
        statistic = statistic.merged(in_order_of(first, other, name))
        watch.see(other)
        rank = max(rank, _rank(other[1]))
        booleans.update(other[1].meta.get("booleans", ()))
    watch.tell()
    merged = refitted(first, statistic, options_of(first), old, notices)
    merged = merged.with_meta(booleans=sorted(booleans)) if booleans else merged
    _tell_lost(rank, merged, notices)
    return Combined(merged, first.n_samples)


def _rank(model: Model) -> int:
    """More rows have no lower one; of labels nothing is said, whose sums with the columns may cancel."""
    return int(model.meta.get("rank", 0)) if model.meta.get("method") == "pca" else 0


def _tell_lost(rank: int, model: Model, notices: Notices) -> None:
    """Components of some rows that sums over all rows hold too few digits of."""
    if rank > _rank(model):
        notices.warn(
            f"of {rank} components that some of the rows have, {_rank(model)} are told from rounding in the sums over "
            "all; a fit of all rows with --solver tsqr keeps more digits"
        )


def subtract_models(named: Named, others: Iterable[Named], align_to: Any, notices: Notices) -> Combined:
    """The model of its rows without those of the others."""
    name, model = named
    whole = statistic_of(named)
    old = older_of(model, align_to, None)
    gone = reduce(Statistic.merged, (in_order_of(model, other, name) for other in others))
    left = refitted(model, less(model, notices)(whole, gone), options_of(model), old, notices)
    check_digits(model, left)
    return Combined(left, model.n_samples)


def older_of(model: Model, align_to: Any, data: Any, options: FitOptions | None = None) -> Model | None:
    """The older model that a model fitted so is to be aligned to."""
    options = replace(options or options_of(model), align_to=align_to)
    return older_model(Job(data, TableOptions(), SelectOptions(), options, EngineOptions(), Notices(), model))


def refitted(
    model: Model,
    statistic: Statistic,
    options: FitOptions,
    old: Model | None,
    notices: Notices,
    columns: tuple[str, ...] = (),
) -> Model:
    """A model of such sums, of the columns of the one that it comes from or of some of them."""
    columns = columns or model.columns
    fitted = fit_again(statistic, columns, options, notices).model
    if booleans := [column for column in model.meta.get("booleans", ()) if column in columns]:
        fitted = fitted.with_meta(booleans=booleans)
    of_columns = {key: model.meta[key] for key in ("label_numbers", "vectors") if key in model.meta}
    if of_columns:
        fitted = fitted.with_meta(**of_columns)
    return fitted if old is None else aligned_to(fitted, old, notices)
