"""Read -> batches -> blocks -> solve -> model."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from pcatool import modelfile
from pcatool.blocks import Runner, recut
from pcatool.engines.threads import Threads
from pcatool.errors import DataError, FileError, UsageError
from pcatool.memory import free_bytes, parse_size
from pcatool.methods.alignment import aligned_to, check_older
from pcatool.methods.base import Labels, Supply
from pcatool.model import Array, Model
from pcatool.notices import Notices
from pcatool.options import EngineOptions, FitOptions, SelectOptions, TableOptions
from pcatool.readers.paths import MODEL_SUFFIX, STDIN
from pcatool.readers.rows import WITH_HOLES, rows_to_fit
from pcatool.readers.source import read_whole
from pcatool.readers.tables import Inputs
from pcatool.readers.tally import Tally
from pcatool.readers.wanted import Wanted
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
    "older_model",
    "open_subject",
    "plan_fit",
    "read_blocks",
    "supply_of",
]


# What is never refused unasked: on a small machine such a fit is better tried.
SMALL_JOB = 256 << 20


class Fitted(NamedTuple):
    """A model, and what was read for it."""

    model: Model
    tally: Tally
    evidence: Evidence | None = None  # of data just fitted; a model read from a file has its own


class Job(NamedTuple):
    """The data of a fit, and everything that was asked of it."""

    data: Any  # paths, or something in memory
    table: TableOptions
    select: SelectOptions
    options: FitOptions
    engine: EngineOptions
    notices: Notices
    like: Model | None = None  # whose columns are taken, instead of those selected

    def open(self) -> Inputs:
        return Inputs(self.data, self.table, self.notices)


def fit(job: Job) -> Fitted:
    """A model of the data."""
    old = older_model(job)
    return fit_opened(job, job.open(), old)


def fit_opened(job: Job, inputs: Inputs, old: Model | None) -> Fitted:
    """The same of inputs that are open already, and an older model that was read."""
    fitted = _fit_rows(job, inputs)
    return fitted if old is None else fitted._replace(model=aligned_to(fitted.model, old, job.notices))


def _fit_rows(job: Job, inputs: Inputs) -> Fitted:
    options, tally = job.options, Tally()
    if options.triples:
        return _fit_triples(job, inputs, tally)
    with Threads(job.engine.threads) as pool:
        wanted, features, labels, blocks = read_blocks(job, inputs, tally, pool.map)
        method = _method(job, wanted)
        try:
            fitted = method.fit(blocks, features, supply=supply_of(job, inputs, pool, labels))
        except DataError:
            if options.missing == "drop" and tally.rows and tally.incomplete == tally.rows:
                raise tally.error("no complete row is left") from None
            raise
    model = fitted.model
    if tally.incomplete and options.missing == "drop":
        job.notices.warn(f"dropped {tally.incomplete} of {tally.rows} rows for missing cells")
    if booleans := wanted.booleans.intersection(features):
        model = model.with_meta(booleans=sorted(booleans))
    return Fitted(model, tally, fitted.evidence)


def _fit_triples(job: Job, inputs: Inputs, tally: Tally) -> Fitted:
    """The same of a table with one line for each cell."""
    from pcatool.pipeline.triples import table_to_fit

    with Threads(job.engine.threads) as pool:
        method, table, items = table_to_fit(job, inputs, tally, pool.map)
        fitted = method.fit_cells(table, items, supply_of(job, inputs, pool))
    return Fitted(fitted.model.with_meta(absent=job.options.absent or "missing"), tally, fitted.evidence)


def older_model(job: Job) -> Model | None:
    """The model to align to, read before the data are, whose place it may be about to take."""
    o = job.options
    if o.align_to is None:
        return None
    old = o.align_to if isinstance(o.align_to, Model) else _read_older(str(o.align_to), job.data)
    check_older(old, method=o.method, in_kernel=o.kernel is not None, standardized=o.standardize)
    return old


def _read_older(path: str, data: Any) -> Model:
    if path == STDIN and isinstance(data, list) and (not data or STDIN in data):
        raise UsageError("standard input cannot be both the older model and the data", "name a file for one of them")
    try:
        return modelfile.load_model(path)
    except FileError as error:
        there = "no such object" not in error.message if is_remote(path) else Path(path).exists()
        if path == STDIN or there:
            raise
        raise FileError(error.message, "a first fit has nothing to align to: leave out --align-to") from None


def _method(job: Job, wanted: Wanted) -> Any:
    options = job.options
    if wanted.weighted:  # by its name, so that it is found in other tables, too
        options = replace(options, weights=wanted.names[-1])
    if options.missing in WITH_HOLES:
        from pcatool.methods.incomplete import IncompletePCA

        return IncompletePCA(options, job.notices)
    return METHODS.load(options.method)(options, job.notices)


class Read(NamedTuple):
    """What is read of the inputs: after the features come the labels, then the weights."""

    wanted: Wanted
    features: tuple[str, ...]
    labels: Labels | None
    blocks: Iterator[Array]


def read_blocks(job: Job, inputs: Inputs, tally: Tally, run: Runner) -> Read:
    """The rows of a fit, in blocks, and what their columns are."""
    o = job.options
    inputs.settle(lambda one: deque(read_blocks(job, one, Tally(), run).blocks, maxlen=0).clear())
    if job.like is None:
        wanted = inputs.columns.choose(job.select, o.weights, o.label, o.label_kernel)
    else:
        booleans = frozenset(job.like.meta.get("booleans", ()))
        wanted = inputs.columns.choose_same(job.like.columns, booleans, o.weights, o.label, o.label_kernel)
    others = ", mean and em fit with them" if o.method == "pca" and o.weights is None else ""
    remedy = f"--missing drop leaves such rows out{others}, -x leaves a column out"
    weighted = o.weights is not None
    rows = rows_to_fit(inputs, wanted, o.missing, tally, weighted=weighted, remedy=remedy, run=run)
    return Read(wanted, wanted.features, _labels(wanted), recut(rows, wanted.width))


def _labels(wanted: Wanted) -> Labels | None:
    if wanted.classes is not None:
        return Labels((*wanted.labels, *wanted.kept), True, 1, wanted.classes.levels)
    return Labels(wanted.labels, False, len(wanted.labels), list) if wanted.labels else None


def supply_of(job: Job, inputs: Inputs, pool: Threads, labels: Labels | None = None) -> Supply:
    """How much memory there is, how to read the rows again, and who works on them."""
    memory = job.options.memory
    limit = parse_size(memory) if memory is not None else max(free_bytes() // 2, SMALL_JOB)

    def reread() -> Iterator[Array]:
        return read_blocks(job, inputs.again(), Tally(), pool.map).blocks

    return Supply(limit, reread if inputs.can_reread() else None, inputs.expected_rows, pool.map, pool.count, labels)


def plan_fit(job: Job) -> Plan:
    """What a fit would do and need."""
    older_model(job)  # which may be refused
    inputs = job.open()
    with Threads(job.engine.threads) as pool:
        if job.options.triples:
            from pcatool.pipeline.triples import table_to_fit

            by_cells, table, items = table_to_fit(job, inputs, Tally(), pool.map)
            return by_cells.plan_cells(table, items, supply_of(job, inputs, pool))
        wanted, features, labels, blocks = read_blocks(job, inputs, Tally(), pool.map)
        method = _method(job, wanted)
        plan: Plan = method.plan(blocks, features, supply=supply_of(job, inputs, pool, labels))
    return plan


def fit_and_save(job: Job, output: str, *, no_clobber: bool) -> Fitted:
    """Fit and write the model; a place that cannot be written is refused before the work."""
    old = older_model(job)
    inputs = job.open()
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    fitted = fit_opened(job, inputs, old)
    modelfile.save_model(fitted.model, output, no_clobber=no_clobber, inputs=inputs.paths)
    return fitted


def model_or_fit(job: Job) -> Fitted:
    """The model that the input is, or a fit of the table that it is; the content tells, or else the name."""
    return model_or_fit_of(job, open_subject(job))


def open_subject(job: Job) -> Inputs:
    """The inputs; what is called a model and begins like none is refused as one, not as a table."""
    match job.data:
        case [str(path)] if plain_name(path).endswith(MODEL_SUFFIX) and (is_remote(path) or Path(path).is_file()):
            modelfile.check_beginning(path)
    return job.open()


def model_or_fit_of(job: Job, inputs: Inputs) -> Fitted:
    """The same of inputs that are open already."""
    if inputs.model is None:
        _refuse_kept(job.options)
        return fit_opened(job, inputs, older_model(job))
    _refuse_settings(inputs.model.name, job.select, job.options)
    return Fitted(modelfile.loads(read_whole(inputs.model.stream), inputs.model.name), Tally())


def _refuse_kept(options: FitOptions) -> None:
    """What is kept in a model must not be passed over in silence where a fit is only reported."""
    if options.updatable is not None:
        flag = options.updatable_flag
        raise UsageError(f"{flag} would change nothing here: no model is written", f"leave out {flag}")


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
