"""The driver of all fits: open the rows of a job, fit a model to the rows or add up the rows, load or save models.

Rows are read and added up for a fit only here, on threads or on a cluster: by `fit`, `plan_fit` and `sums_of_job`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pcatool.arrays import Array, NoRows, Runner, nothing_to_fit, recut, run_serially
from pcatool.engines.threads import Threads
from pcatool.errors import DataError, FileError, UsageError
from pcatool.methods.align import aligned_to, check_older
from pcatool.methods.base import Fit, FitResources, Labels
from pcatool.model import npz
from pcatool.model.model import Model, VarianceTable
from pcatool.options import EngineOptions, FitOptions, SelectOptions, TableOptions, parse_components, parse_truncation
from pcatool.options.fields import given_flags
from pcatool.progress import FitCounts, Reporter
from pcatool.readers.base import rows_at_once
from pcatool.readers.inputs import Inputs
from pcatool.readers.paths import MODEL_SUFFIX, STDIN
from pcatool.readers.row_counts import MissingRemedy, RowCounts
from pcatool.readers.rows import USES_INCOMPLETE, rows_to_fit
from pcatool.readers.schema import ColumnChoice
from pcatool.readers.streams import read_whole
from pcatool.registry import METHODS
from pcatool.resources import free_bytes, parse_size
from pcatool.rules.base import Evidence
from pcatool.solvers.estimate import in_flight, scoring_bytes
from pcatool.solvers.plan import Plan
from pcatool.stores.uri import is_remote, plain_name
from pcatool.wording import counted, grouped, show
from pcatool.writers.sink import check_target

if TYPE_CHECKING:
    from pcatool.methods.sums import MergeableSums
    from pcatool.readers.splits import Split

__all__ = [
    "Fitted",
    "Job",
    "fit",
    "fit_and_save",
    "fit_opened",
    "model_or_fit",
    "model_or_fit_of",
    "no_effect",
    "older_model",
    "open_model_or_data",
    "plan_fit",
    "refuse_settings",
    "refuse_updatable",
    "rows_of",
    "split_off_components",
    "sums_of_job",
]

# Bytes that a fit may always take without --memory: on a small machine, trying is better than refusing.
SMALL_JOB = 256 << 20


class Job(NamedTuple):
    """Data of a fit and all its options; made by the commands and by the Python API."""

    data: Any  # paths, or a table in memory
    table: TableOptions
    select: SelectOptions
    options: FitOptions
    engine: EngineOptions
    reporter: Reporter
    columns_of_model: Model | None = None  # model whose columns are used instead of the selected ones
    scored: bool = False  # the rows are read again and scored after the fit

    def open(self) -> Inputs:
        """Return the open inputs."""
        return Inputs(self.data, self.table, self.reporter)

    @property
    def limit(self) -> int:
        """Bytes that the fit may take: --memory, or half of the free memory, at least SMALL_JOB."""
        memory = self.options.memory
        return parse_size(memory) if memory is not None else max(free_bytes() // 2, SMALL_JOB)

    def remedy(self, features: int) -> MissingRemedy:
        """Return the remedy of the error for missing cells in a table with this number of features."""
        if self.columns_of_model is not None:
            return MissingRemedy(use=False, exclude=False)
        use = self.options.method == "pca" and self.options.weights is None
        return MissingRemedy(use, exclude=features > 1)


# --- rows ---


class FitRows(NamedTuple):
    """Columns and rows of a fit; in each block the labels follow the features, and the weights come last."""

    columns: ColumnChoice | None  # None for triples
    features: tuple[str, ...]
    labels: Labels | None
    rows: Any  # iterator of blocks, or `SparseRows` of triples


def open_rows(job: Job, inputs: Inputs, counts: RowCounts, run: Runner) -> FitRows:
    """Choose the columns of a job, and return the columns with the rows, which are read while they are iterated.

    The rows read are added to `counts`; `run` maps a function over batches.
    """
    if job.options.triples:
        from pcatool.readers.triples import table_to_fit

        table, items = table_to_fit(inputs, job.options, job.select, counts, job.reporter, run)
        return FitRows(None, items, None, table)
    columns = columns_of(job, inputs, run)
    return rows_of(job.options, inputs, columns, counts, run, job.remedy(len(columns.features)))


def columns_of(job: Job, inputs: Inputs, run: Runner) -> ColumnChoice:
    """Return the columns of a job, settled by the first good input; `run` maps a function over batches.

    Features are those of `job.columns_of_model` or, without this model, those of -c and -x; labels and weights follow.
    """
    o = job.options
    inputs.settle(lambda one: read_blocks(job, one, run))
    if job.columns_of_model is None:
        return inputs.columns.choose(job.select, o.weights, o.label, o.label_kernel)
    meta = job.columns_of_model.meta
    wanted = ColumnChoice(job.columns_of_model.columns, frozenset(meta.get("booleans", ())), widths=meta.get("vectors"))
    return inputs.columns.choose_same(wanted, o.weights, o.label, o.label_kernel, meta.get("label_numbers"))


def rows_of(
    o: FitOptions, inputs: Inputs, columns: ColumnChoice, counts: RowCounts, run: Runner, remedy: MissingRemedy
) -> FitRows:
    """Return the rows of a fit in blocks, for columns that are already chosen.

    Rows read are added to `counts`. `remedy` returns the hint of the error for missing cells; `run` maps over batches.
    """
    rows = rows_to_fit(inputs, columns, o.missing, counts, weighted=o.weights is not None, remedy=remedy, run=run)
    return FitRows(columns, columns.features, labels_of(columns), recut(rows, columns.width))


def read_blocks(job: Job, inputs: Inputs, run: Runner) -> Iterator[Array]:
    """Choose the columns of a job, and return its rows in blocks, without adding to any row counts."""
    columns = columns_of(job, inputs, run)
    blocks: Iterator[Array] = rows_of(
        job.options, inputs, columns, RowCounts(), run, job.remedy(len(columns.features))
    ).rows
    return blocks


def labels_of(columns: ColumnChoice) -> Labels | None:
    """Return the label columns among the chosen columns, None without labels."""
    if columns.classes is not None:
        return Labels(columns.classes.names, True, 1, columns.classes.levels)
    return Labels(columns.labels, False, len(columns.labels), list) if columns.labels else None


def resources_of(job: Job, inputs: Inputs, pool: Threads, read: FitRows) -> FitResources:
    """Return memory limit, threads, labels, estimates, and how to reread a table in memory, for a fit to `read`."""
    d = len(read.features)

    def reading(threads: int) -> int:
        return inputs.reading_bytes(in_flight(threads))

    def scoring(k: int, model: int) -> int:
        rows = rows_at_once(d) if job.options.triples else inputs.rows_at_once(d)
        return scoring_bytes(d, k, rows, pool.count, reading(pool.count) + model) if job.scored else 0

    again = (lambda: read_blocks(job, inputs.reopened(), pool.map)) if inputs.in_memory else None
    found = FitResources(job.limit, again, inputs.expected_rows, pool, pool.count, read.labels, reading, scoring)
    drops = read.columns is None or job.options.missing != "error" or job.options.weights
    return found if drops else found._replace(at_least=inputs.certain_rows())


def report_rows(job: Job, inputs: Inputs, counts: RowCounts) -> None:
    """Warn about dropped rows, and hand the counts of the rows that were read to the reporter."""
    dropped = counts.incomplete if job.options.missing == "drop" else 0
    if dropped:
        job.reporter.warn(f"dropped {grouped(dropped)} of {grouped(counts.rows)} rows because of missing cells")
    job.reporter.fit_counts = FitCounts(counts.rows, dropped, inputs.columns.left_out)


# --- fits ---


class Fitted(NamedTuple):
    """A fitted or loaded model, and the facts about the fit that reports show."""

    model: Model
    row_counts: RowCounts  # counts of the rows of the fit; zeros for a loaded model
    evidence: Evidence | None = None  # facts for the rules for k, from the fit; None for a loaded model
    shown_k: int | None = None  # number of components that a report shows; None: all

    @classmethod
    def of_model(cls, model: Model, shown_k: int | None) -> Fitted:
        """Wrap a model, cut to its first `shown_k` components; whole if `shown_k` is None or exceeds its components."""
        return cls(model.truncated(shown_k and min(shown_k, model.k)), RowCounts(), shown_k=shown_k)

    @property
    def shown_model(self) -> Model:
        """The model cut to the components that a report shows; `DataError` when it has fewer components."""
        return self.model.truncated(self.shown_k)

    @property
    def shown_variance(self) -> VarianceTable:
        """The rows of the variance table that a report shows; `DataError` when fewer eigenvalues are known."""
        table = self.model.variance
        known = len(table.component)
        if self.shown_k is not None and self.shown_k > known:
            raise DataError(
                f"-k {self.shown_k}: the model has {counted(known, 'eigenvalue')}",
                f"give a number from 1 to {known}, or leave out -k",
            )
        return table if self.shown_k is None else table.first(self.shown_k)


def fit(job: Job) -> Fitted:
    """Return the model fitted to the data of a job, aligned to the older model if the job names one."""
    old = older_model(job)
    return fit_opened(job, job.open(), old)


def fit_opened(job: Job, inputs: Inputs, old: Model | None) -> Fitted:
    """Like `fit`, for inputs that are already open and an older model that is already loaded, or None."""
    fitted = _fit_rows(job, inputs)
    return fitted if old is None else fitted._replace(model=aligned_to(fitted.model, old, job.reporter))


def plan_fit(job: Job) -> Plan:
    """Return the plan of a fit, without fitting: solver, reason, passes over the rows, memory."""
    older_model(job)  # refuses an unsuitable older model
    with prepare_fit(job, job.open(), RowCounts()) as ready:
        return ready.plan()


def _fit_rows(job: Job, inputs: Inputs) -> Fitted:
    """Fit a model to the rows of a job, not yet aligned, and report the counts of the rows.

    Raises `DataError` with the cause when no complete row is left, or when all weights are 0.
    """
    options, counts = job.options, RowCounts()
    try:
        with prepare_fit(job, inputs, counts) as ready:
            columns, fitted = ready.columns, ready.fit()
    except DataError as error:
        if options.missing == "drop" and counts.rows and counts.incomplete == counts.rows:
            raise counts.error(job.remedy(counts.features), dropped=True) from None
        if isinstance(error, NoRows) and counts.rows and options.weights:
            rows = "row" if options.missing != "drop" or not counts.incomplete else "complete row"
            raise DataError(
                f"column {show(options.weights)}: the weight of every {rows} is 0",
                "give a weight above 0 to the rows that the fit is to use",
            ) from None
        raise
    model = fitted.model
    if model.n_samples == 1:
        job.reporter.warn("the fit has only one row: its one component is the direction of this row")
    if columns is None:
        return Fitted(model.with_meta(absent=options.absent or "missing"), counts, fitted.evidence)
    report_rows(job, inputs, counts)
    if booleans := columns.booleans.intersection(columns.features):
        model = model.with_meta(booleans=sorted(booleans))
    if widths := inputs.columns.vector_widths:
        model = model.with_meta(vectors=widths)
    if columns.classes is not None:
        model = model.with_meta(label_numbers=list(columns.classes.numbers))
    return Fitted(model, counts, fitted.evidence)


class PreparedFit(NamedTuple):
    """A fit whose columns are chosen: call `plan` for its plan, or `fit` once for the model."""

    columns: ColumnChoice | None  # None for triples
    plan: Callable[[], Plan]
    fit: Callable[[], Fit]


@contextmanager
def prepare_fit(job: Job, inputs: Inputs, counts: RowCounts) -> Iterator[PreparedFit]:
    """Open the rows of a job, and yield a fit to them: on threads, or from sums that workers of a cluster add up."""
    if job.engine.in_other_processes:
        yield _from_sums(job, inputs, counts)
        return
    with Threads(job.engine.threads) as pool:
        read = open_rows(job, inputs, counts, pool.map)
        method = method_of(job.options if read.columns is None else read.columns.named(job.options), job.reporter)
        work = (read.rows, read.features)
        resources = resources_of(job, inputs, pool, read)
        yield PreparedFit(
            read.columns,
            partial(method.plan, *work, resources=resources),
            partial(method.fit, *work, resources=resources),
        )


def _from_sums(job: Job, inputs: Inputs, counts: RowCounts) -> PreparedFit:
    """Return a fit from sums over the rows, which the workers of a cluster add up when the fit is run."""
    from pcatool.methods.pca import PCA
    from pcatool.methods.sums import check_adds_up, fit_sums, plan_sums
    from pcatool.pipeline.cluster import cluster_of, tasks_of
    from pcatool.readers.splits import splits_of

    check_adds_up(job.options)
    cluster_of(job.engine)  # refuses a wrong address
    splits = splits_of(inputs.resolved, job.table)
    columns = columns_of(job, inputs, run_serially)
    labels, options = labels_of(columns), columns.named(job.options)
    plan = plan_sums(options, columns.features, labels, inputs.expected_rows())

    def run() -> Fit:
        plan.check(job.limit, PCA(options, job.reporter).problem(columns.features, None))
        sums = _sums_of_splits(job, inputs, splits, columns, counts, triangular=plan.solver == "tsqr")
        if sums is None:
            raise nothing_to_fit()
        reason = "" if labels else plan.reason  # labels have a reason that names their number
        return fit_sums(sums, columns.features, options, job.reporter, reason)

    return PreparedFit(columns, lambda: plan._replace(parts=len(tasks_of(splits, inputs))), run)


# --- sums ---


def sums_of_job(job: Job, inputs: Inputs, counts: RowCounts, *, triangular: bool) -> MergeableSums | None:
    """Return the sums over the rows of a job, None without rows, and report the counts of the rows.

    `triangular` sums, from a QR decomposition, keep twice as many digits. The caller must check that the options allow
    sums.
    """
    from pcatool.methods.sums import sums_of

    if job.engine.in_other_processes:
        from pcatool.readers.splits import splits_of

        splits = splits_of(inputs.resolved, job.table)
        columns = columns_of(job, inputs, run_serially)
        sums = _sums_of_splits(job, inputs, splits, columns, counts, triangular=triangular)
    else:
        with Threads(job.engine.threads) as pool:
            read = open_rows(job, inputs, counts, pool.map)
            resources = resources_of(job, inputs, pool, read)
            sums = sums_of(read.rows, read.features, job.options, resources, triangular=triangular)
    report_rows(job, inputs, counts)
    return sums


def _sums_of_splits(
    job: Job, inputs: Inputs, splits: Sequence[Split], columns: ColumnChoice, counts: RowCounts, *, triangular: bool
) -> MergeableSums | None:
    """Return the sums over all splits, added up by the workers of a cluster, and report their notes and counts.

    None without rows. Raises `DataError` for missing cells that are refused, once the rows of all splits are counted.
    """
    from pcatool.pipeline.cluster import SplitReading, SplitSums, count_parts, started_cluster, tasks_of

    tasks, found, options = tasks_of(splits, inputs), inputs.resolved, columns.named(job.options)
    facts = inputs.columns.facts_for_workers(columns.passthrough)
    inputs.close()
    solver = job.options.solver if columns.labels or columns.classes else "tsqr" if triangular else "covariance"
    options = replace(options, solver=solver, align_to=None)
    accumulator = SplitSums(SplitReading(found.partitions, job.table, facts), columns, options, triangular)
    with started_cluster(job.engine, found, job.table) as cluster:
        summed = cluster.reduce(tasks, accumulator, count_parts(job.reporter, len(tasks)))
    job.reporter.all_parts(job.engine.engine, len(tasks))
    counts.join(summed.record.row_counts)
    summed.record.report(inputs, job.reporter)
    if options.missing == "error" and counts.incomplete:
        raise counts.error(job.remedy(len(columns.features)))
    return summed.sums


# --- models, from files or fitted ---


def older_model(job: Job) -> Model | None:
    """Return the model to align to, None without --align-to; `UsageError` for a model that does not suit the fit.

    Call this before the fit, because the output of the fit may replace the file of the older model.
    """
    o = job.options
    if o.align_to is None:
        return None
    old = o.align_to if isinstance(o.align_to, Model) else _read_older(str(o.align_to), job.data)
    check_older(old, method=o.method, in_kernel=o.kernel is not None, standardized=o.standardize)
    return old


def _read_older(path: str, data: Any) -> Model:
    """Load the older model; if the file does not exist, the error says to leave out --align-to in a first fit."""
    if path == STDIN and isinstance(data, list) and (not data or STDIN in data):
        raise UsageError("standard input cannot be both the older model and the data", "name a file for --align-to")
    try:
        return npz.load_model(path)
    except FileError as error:
        there = "no such object" not in error.message if is_remote(path) else Path(path).exists()
        if path == STDIN or there:
            raise
        raise FileError(error.message, "for a first fit, leave out --align-to") from None


def method_of(options: FitOptions, reporter: Reporter) -> Any:
    """Return the object that fits, such as a `PCA`; the class depends on --method, --missing and --triples."""
    if options.triples:
        from pcatool.methods.missing_data import TriplesPCA

        return TriplesPCA(options, reporter)
    if options.missing in USES_INCOMPLETE:
        from pcatool.methods.missing_data import IncompletePCA

        return IncompletePCA(options, reporter)
    return METHODS.load(options.method)(options, reporter)


def fit_and_save(job: Job, output: str, *, no_clobber: bool) -> Fitted:
    """Fit a model, and save it to the file `output`; an output that cannot be written is refused before the fit."""
    old = older_model(job)
    inputs = job.open()
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    fitted = fit_opened(job, inputs, old)
    npz.save_model(fitted.model, output, no_clobber=no_clobber, inputs=inputs.paths)
    return fitted


def model_or_fit(job: Job) -> Fitted:
    """Load the model if the input holds a model; else fit a model to the rows of the input.

    The content of the input decides, but a file named .npz that is no model is refused.
    """
    return model_or_fit_of(job, open_model_or_data(job))


def open_model_or_data(job: Job) -> Inputs:
    """Return the open inputs; a file named .npz that does not begin like a model is refused, not read as a table."""
    match job.data:
        case [str(path)] if plain_name(path).endswith(MODEL_SUFFIX) and (is_remote(path) or Path(path).is_file()):
            npz.check_beginning(path)
    return job.open()


def model_or_fit_of(job: Job, inputs: Inputs) -> Fitted:
    """Load the model if the open `inputs` hold a model, else fit a model to their rows, with all eigenvalues."""
    if inputs.model is None:
        refuse_updatable(job.options)
        job = job._replace(options=with_all_eigenvalues(job.options))
        return fit_opened(job, inputs, older_model(job))
    cluster_options = [job.engine] if job.engine.in_other_processes else []
    shown_k, others = split_off_components(job.options)
    refuse_settings(inputs.model.name, job.table, job.select, others, *cluster_options)
    return Fitted.of_model(npz.loads(read_whole(inputs.model.stream), inputs.model.name), shown_k)


def with_all_eigenvalues(o: FitOptions) -> FitOptions:
    """Return options with --eigenvalues all, unless --eigenvalues or a count -k is given or not all can be found."""
    possible = o.method == "pca" and o.policy != "em" and o.solver != "randomized"
    few = isinstance(parse_components(o.components), int)
    return replace(o, eigenvalues="all") if possible and not few and o.eigenvalues == "auto" else o


def split_off_components(options: FitOptions) -> tuple[int | None, FitOptions]:
    """Return -k as the number of components to show, None for the default -k, and the options with the default -k.

    For a model that is already fitted, -k only sets how many components are shown; None shows all.
    """
    default = FitOptions().components
    if options.components == default:
        return None, options
    return parse_truncation(str(options.components)), replace(options, components=default)


def refuse_updatable(options: FitOptions) -> None:
    """Raise `UsageError` for --updatable or --no-updatable where no model is saved: they have no effect."""
    if options.updatable is not None:
        flag = options.updatable_flag
        raise UsageError(f"{flag} has no effect: no model is written", f"leave out {flag}")


def refuse_settings(
    name: str, *records: Any, what: str = "is already fitted", remedy: str = "name the data instead of the model"
) -> None:
    """Raise `UsageError` if an option in `records` is set, because options of a fit have no effect on a fitted model.

    `name` is the model or input; `what` says in the message why, and `remedy` is the way to use these options.
    """
    given = given_flags(*records)
    if given:
        raise UsageError(f"{name} {what}: {no_effect(given)}", f"leave out {', '.join(given)}, or {remedy}")


def no_effect(flags: Sequence[str], where: str = "") -> str:
    """Return the text "-a, -b have no effect", followed by `where`, the case in which they have none."""
    verb = "has" if len(flags) == 1 else "have"
    return f"{', '.join(flags)} {verb} no effect {where}".rstrip()
