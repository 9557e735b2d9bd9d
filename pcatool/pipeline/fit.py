"""Fit a model: read, cut into blocks, solve, build the model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pcatool.engines.threads import Threads
from pcatool.errors import DataError, FileError, UsageError, show
from pcatool.linalg.accumulator import NoRows
from pcatool.methods.align import aligned_to, check_older
from pcatool.methods.base import Fit
from pcatool.model import npz
from pcatool.model.model import Model, VarianceTable
from pcatool.options import FitOptions, parse_truncation
from pcatool.options.fields import given_flags
from pcatool.pipeline.job import Job, read_blocks, supply_of
from pcatool.progress import Reporter, Taken
from pcatool.readers.inputs import Inputs
from pcatool.readers.paths import MODEL_SUFFIX, STDIN
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import USES_INCOMPLETE
from pcatool.readers.schema import ColumnChoice
from pcatool.readers.streams import read_whole
from pcatool.registry import METHODS
from pcatool.rules.base import Evidence
from pcatool.solvers.plan import Plan
from pcatool.stores.uri import is_remote, plain_name
from pcatool.writers.sink import check_target

__all__ = [
    "Fitted",
    "Job",
    "fit",
    "fit_and_save",
    "fit_opened",
    "model_or_fit",
    "model_or_fit_of",
    "narrowing",
    "older_model",
    "open_model_or_data",
    "plan_fit",
    "refuse_settings",
    "refuse_updatable",
]


class Fitted(NamedTuple):
    """A fitted or loaded model, with the counts of the rows that were read for it."""

    model: Model
    tally: RowCounts
    evidence: Evidence | None = None  # what the rules for k need, from a fit; None for a loaded model
    first: int | None = None  # number of components that a report shows; None: all

    @classmethod
    def of_model(cls, model: Model, first: int | None) -> Fitted:
        """Wrap an existing model, cut to its first components: `first` of them, all if None or more than there are."""
        return cls(model.truncated(first and min(first, model.k)), RowCounts(), first=first)

    @property
    def components(self) -> Model:
        """The model with only the components that a report shows; `DataError` when it has fewer."""
        return self.model.truncated(self.first)

    @property
    def variance(self) -> VarianceTable:
        """The rows of the variance table that a report shows; `DataError` when fewer eigenvalues are known."""
        table = self.model.variance
        known = len(table.component)
        if self.first is not None and self.first > known:
            has = "1 eigenvalue" if known == 1 else f"{known} eigenvalues"
            raise DataError(
                f"-k {self.first}: the model knows {has}", f"give a number from 1 to {known}, or leave out -k"
            )
        return table if self.first is None else table.first(self.first)


def fit(job: Job) -> Fitted:
    """Fit a model to the data of a job."""
    old = older_model(job)
    return fit_opened(job, job.open(), old)


def fit_opened(job: Job, inputs: Inputs, old: Model | None) -> Fitted:
    """Like `fit`, for inputs that are already open and an older model to align to, None without one."""
    fitted = _fit_rows(job, inputs)
    return fitted if old is None else fitted._replace(model=aligned_to(fitted.model, old, job.notices))


def _fit_rows(job: Job, inputs: Inputs) -> Fitted:
    """Fit a model to rows, here or on a cluster, and report the counts of the rows.

    Raises `DataError` with the cause when no complete row is left, or when all weights are 0.
    """
    options, tally = job.options, RowCounts()
    if options.triples and not job.engine.far:
        return _fit_triples(job, inputs, tally)
    try:
        wanted, fitted = (_fit_far if job.engine.far else _fit_here)(job, inputs, tally)
    except DataError as error:
        if options.missing == "drop" and tally.rows and tally.incomplete == tally.rows:
            raise tally.error("no complete row is left") from None
        if isinstance(error, NoRows) and tally.rows and options.weights:
            left = "" if options.missing != "drop" or not tally.incomplete else " of the complete rows"
            raise DataError(
                f"every weight in column {show(options.weights)}{left} is 0", "give weights above 0; 0 leaves a row out"
            ) from None
        raise
    model = fitted.model
    dropped = tally.incomplete if options.missing == "drop" else 0
    if dropped:
        job.notices.warn(f"dropped {dropped} of {tally.rows} rows for missing cells")
    job.notices.taken = Taken(tally.rows, dropped, inputs.columns.left_out)
    if booleans := wanted.booleans.intersection(wanted.features):
        model = model.with_meta(booleans=sorted(booleans))
    if widths := inputs.columns.vector_widths:
        model = model.with_meta(vectors=widths)
    if wanted.classes is not None:
        model = model.with_meta(label_numbers=list(wanted.classes.numbers))
    return Fitted(model, tally, fitted.evidence)


def _fit_here(job: Job, inputs: Inputs, tally: RowCounts) -> tuple[ColumnChoice, Fit]:
    """Fit on the threads of this process; return the columns and the fit."""
    with Threads(job.engine.threads) as pool:
        wanted, features, labels, blocks = read_blocks(job, inputs, tally, pool.map)
        method = method_of(wanted.named(job.options), job.notices)
        return wanted, method.fit(blocks, features, supply=supply_of(job, inputs, pool, len(features), labels))


def _fit_far(job: Job, inputs: Inputs, tally: RowCounts) -> tuple[ColumnChoice, Fit]:
    """Fit on the workers of a cluster; return the columns and the fit."""
    from pcatool.pipeline.cluster import fit_on_cluster

    return fit_on_cluster(job, inputs, tally)


def _fit_triples(job: Job, inputs: Inputs, tally: RowCounts) -> Fitted:
    """Fit a model to a table with one line for each cell (user, item, value)."""
    from pcatool.pipeline.triples import table_to_fit

    with Threads(job.engine.threads) as pool:
        method, table, items = table_to_fit(job, inputs, tally, pool.map)
        fitted = method.fit(table, items, supply=supply_of(job, inputs, pool, table.d))
    return Fitted(fitted.model.with_meta(absent=job.options.absent or "missing"), tally, fitted.evidence)


def older_model(job: Job) -> Model | None:
    """Return the model to align to, None without --align-to; refuse one that does not suit the fit.

    It is read before the data, because the output may replace its file.
    """
    o = job.options
    if o.align_to is None:
        return None
    old = o.align_to if isinstance(o.align_to, Model) else _read_older(str(o.align_to), job.data)
    check_older(old, method=o.method, in_kernel=o.kernel is not None, standardized=o.standardize)
    return old


def _read_older(path: str, data: Any) -> Model:
    """Load the older model; if the file does not exist, the error says that a first fit needs none."""
    if path == STDIN and isinstance(data, list) and (not data or STDIN in data):
        raise UsageError("standard input cannot be both the older model and the data", "name a file for one of them")
    try:
        return npz.load_model(path)
    except FileError as error:
        there = "no such object" not in error.message if is_remote(path) else Path(path).exists()
        if path == STDIN or there:
            raise
        raise FileError(error.message, "a first fit has nothing to align to: leave out --align-to") from None


def method_of(options: FitOptions, notices: Reporter) -> Any:
    """Return the method that fits, such as `PCA`; `IncompletePCA` where rows with missing cells are kept."""
    if options.missing in USES_INCOMPLETE:
        from pcatool.methods.missing_data import IncompletePCA

        return IncompletePCA(options, notices)
    return METHODS.load(options.method)(options, notices)


def plan_fit(job: Job) -> Plan:
    """Return the plan of a fit, without fitting: solver, reason, passes over the rows, memory."""
    older_model(job)  # refuses an unsuitable older model
    inputs = job.open()
    if job.engine.far:
        from pcatool.pipeline.cluster import plan_on_cluster

        return plan_on_cluster(job, inputs)
    with Threads(job.engine.threads) as pool:
        if job.options.triples:
            from pcatool.pipeline.triples import table_to_fit

            by_cells, table, items = table_to_fit(job, inputs, RowCounts(), pool.map)
            return by_cells.plan(table, items, supply=supply_of(job, inputs, pool, table.d))
        wanted, features, labels, blocks = read_blocks(job, inputs, RowCounts(), pool.map)
        method = method_of(wanted.named(job.options), job.notices)
        plan: Plan = method.plan(blocks, features, supply=supply_of(job, inputs, pool, len(features), labels))
    return plan


def fit_and_save(job: Job, output: str, *, no_clobber: bool) -> Fitted:
    """Fit a model and save it; an output that cannot be written is refused before the fit."""
    old = older_model(job)
    inputs = job.open()
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    fitted = fit_opened(job, inputs, old)
    npz.save_model(fitted.model, output, no_clobber=no_clobber, inputs=inputs.paths)
    return fitted


def model_or_fit(job: Job) -> Fitted:
    """Load the model if the input is one; else fit a model to its rows.

    The content of the input decides. A file with the name of a model must be one.
    """
    return model_or_fit_of(job, open_model_or_data(job))


def open_model_or_data(job: Job) -> Inputs:
    """Open the inputs; a file named .npz that does not begin like a model is refused, and not read as a table."""
    match job.data:
        case [str(path)] if plain_name(path).endswith(MODEL_SUFFIX) and (is_remote(path) or Path(path).is_file()):
            npz.check_beginning(path)
    return job.open()


def model_or_fit_of(job: Job, inputs: Inputs) -> Fitted:
    """Like `model_or_fit`, for inputs that are already open."""
    if inputs.model is None:
        refuse_updatable(job.options)
        return fit_opened(job, inputs, older_model(job))
    far = [job.engine] if job.engine.far else []
    first, others = narrowing(job.options)
    refuse_settings(inputs.model.name, job.table, job.select, others, *far)
    return Fitted.of_model(npz.loads(read_whole(inputs.model.stream), inputs.model.name), first)


def narrowing(options: FitOptions) -> tuple[int | None, FitOptions]:
    """Split off -k: return the number of components to show, and the options with the default -k.

    For a model that is already fitted, -k only sets how much of it is shown; None shows all.
    """
    usual = FitOptions().components
    if options.components == usual:
        return None, options
    return parse_truncation(str(options.components)), replace(options, components=usual)


def refuse_updatable(options: FitOptions) -> None:
    """Raise `UsageError` for --updatable or --no-updatable where no model is saved: they have no effect."""
    if options.updatable is not None:
        flag = options.updatable_flag
        raise UsageError(f"{flag} would change nothing here: no model is written", f"leave out {flag}")


def refuse_settings(
    name: str, *records: Any, what: str = "is a model, fitted already", remedy: str = "give the data"
) -> None:
    """Raise `UsageError` for options that have no effect, because the input `name` is already fitted.

    `records` are the option records to check; `what` and `remedy` word the message.
    """
    given = given_flags(*records)
    if given:
        raise UsageError(f"{name} {what}: {', '.join(given)} would change nothing", remedy)
