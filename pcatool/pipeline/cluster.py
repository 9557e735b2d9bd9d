"""Let the workers of a cluster read splits of the inputs: sum up their rows, or write their results to a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pcatool.arrays import Accumulator, run_serially
from pcatool.engines.base import Cluster, Done
from pcatool.errors import DataError, FileError, PcatoolError, UsageError
from pcatool.methods.base import FitResources
from pcatool.methods.sums import MergeableSums, sums_of
from pcatool.options import EngineOptions, FitOptions, OutputOptions, TableOptions
from pcatool.options.fitting import USE_THREADS
from pcatool.pipeline.fit import rows_of
from pcatool.pipeline.output_folder import (
    Make,
    OutputTask,
    columns_of,
    inputs_in_output_folder,
    note_earlier_results,
    refuse_inputs,
    result_marks,
)
from pcatool.pipeline.output_parts import SEEN_BY_ALL, PartsFolder, is_folder, is_inside
from pcatool.pipeline.results import ErrorSum, Results, ResultsPlan, results_of, warn_of_empty_results, write
from pcatool.progress import Reporter, doing
from pcatool.readers.bad_files import SKIP_BAD_REMEDY, SkippedFile, is_bad_file
from pcatool.readers.hive_partitions import Partitions
from pcatool.readers.input_files import ResolvedInputs
from pcatool.readers.inputs import Inputs
from pcatool.readers.paths import Input, are_paths
from pcatool.readers.row_counts import MissingRemedy, RowCounts
from pcatool.readers.schema import ColumnChoice, NewColumns, SchemaFacts
from pcatool.readers.splits import Split, group_splits, splits_of
from pcatool.registry import ENGINES
from pcatool.stores.uri import shown
from pcatool.wording import show
from pcatool.writers.base import open_writer
from pcatool.writers.sink import open_sink

__all__ = ["SplitReading", "SplitSums", "cluster_of", "count_parts", "started_cluster", "tasks_of", "write_parts"]

Result = TypeVar("Result")


def cluster_of(engine: EngineOptions) -> Cluster:
    """Return the cluster that the engine options name; its `with` block finds or starts the workers.

    Raises `UsageError` for --threads, and for a --scheduler that is not an address.
    """
    if engine.threads is not None:
        raise UsageError(
            f"--threads has no effect with --engine {engine.engine}: each worker uses one core for a task",
            "leave out --threads",
        )
    cluster: Cluster = ENGINES.load(engine.engine)(engine.scheduler)
    return cluster


def count_parts(reporter: Reporter, parts: int) -> Done:
    """Return a callback for progress: it takes the number of parts just done, and reports how many of all are done."""
    done = 0
    reporter.at_part(0, parts)

    def more(count: int) -> None:
        nonlocal done
        done += count
        reporter.at_part(done, parts)

    return more


@contextmanager
def started_cluster(engine: EngineOptions, found: ResolvedInputs, table: TableOptions) -> Iterator[Cluster]:
    """Start the cluster that the engine options name, yield it, and release it at the end.

    An error for a bad file, raised in the `with` block, gets a hint at --skip-bad if the run has several files.
    """
    cluster = cluster_of(engine)
    doing(f"starting {engine.engine}")
    try:
        with cluster:
            yield cluster
    except PcatoolError as error:
        if error.of_input and is_bad_file(error) and len(found.inputs) > 1 and not table.skip_bad:
            error.add_remedy(SKIP_BAD_REMEDY)
        raise


class ReadRecord(NamedTuple):
    """Record of reading some splits of the inputs: row counts, notes, warnings, left-out files.

    Workers return a record with each result; the main process merges the records and reports them.
    """

    row_counts: RowCounts
    rounded: str = ""  # note on the first whole number that a double cannot hold exactly
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    new_columns: tuple[tuple[int, NewColumns], ...] = ()  # number of the input, and columns missing in the first input
    skipped: tuple[tuple[int, SkippedFile], ...] = ()  # number of the input, and why it was left out

    def merged(self, other: ReadRecord) -> ReadRecord:
        """Return the record of these splits followed by the splits of `other`.

        Both records stay unchanged, since a merge is run again when its worker is lost.
        """
        row_counts = deepcopy(self.row_counts)
        row_counts.join(other.row_counts)
        return ReadRecord(
            row_counts,
            self.rounded or other.rounded,
            tuple(dict.fromkeys((*self.notes, *other.notes))),
            tuple(dict.fromkeys((*self.warnings, *other.warnings))),
            (*self.new_columns, *other.new_columns),
            (*self.skipped, *other.skipped),
        )

    def report(self, inputs: Inputs, reporter: Reporter) -> None:
        """Pass the record on to the inputs and the reporter, as if this process had read all splits; called once.

        Raises `DataError` if all inputs were left out.
        """
        inputs.at_rows(self.row_counts.rows)
        if self.rounded:
            inputs.note_rounding(self.rounded)
        for note in self.notes:
            reporter.note(note)
        for warning in self.warnings:
            reporter.warn(warning)
        for at, further in self.new_columns:
            inputs.columns.add_new_columns(at, further)
        for at, skip in self.skipped:
            inputs.bad_files.add_left_out(at, skip)
        inputs.finish()


@dataclass(frozen=True)
class SplitReading:
    """Reader of single splits, with all that a worker must know of the other inputs; sent to the workers."""

    partitions: Partitions | None  # columns that the names of folders add; None without such folders
    table: TableOptions
    facts: SchemaFacts  # facts about the columns, settled by the first input

    def read(
        self, split: Split, work: Callable[[Inputs, Reporter, RowCounts], Result]
    ) -> tuple[Result | None, ReadRecord]:
        """Open a split, run `work(inputs, reporter, row_counts)`, and return its result and the record of the reading.

        The result is None for a bad file that --skip-bad leaves out.
        """
        reporter, row_counts = Reporter(), RowCounts()
        try:
            inputs = self._open(split, reporter)
            result = work(inputs, reporter, row_counts)
        except PcatoolError as error:
            if not (self.table.skip_bad and error.of_input and is_bad_file(error)):
                raise
            return None, ReadRecord(
                RowCounts(), skipped=((split.position, SkippedFile(split.input.name, error.message)),)
            )
        rounded, new_columns = inputs.rounding_note, inputs.columns.new_columns
        return result, ReadRecord(
            row_counts,
            rounded,
            tuple(note for note in reporter.notes if note != rounded),
            tuple(reporter.warnings),
            ((split.position, new_columns),) if new_columns else (),
        )

    def _open(self, split: Split, reporter: Reporter) -> Inputs:
        """Return the split as open inputs; a `PcatoolError` raised here is marked as an error of the input."""
        found = ResolvedInputs((split.input,), self.partitions)
        table = replace(self.table, skip_bad=False)
        try:
            return Inputs(found, table, reporter, by_file=self.table.skip_bad, facts=self.facts.of(split.position))
        except PcatoolError as error:
            error.of_input = True
            raise


class SplitSum(NamedTuple):
    """Sums over the rows of some splits, and the record of reading the splits."""

    sums: MergeableSums | None  # None without rows, or when missing cells are to be refused
    record: ReadRecord


class SplitSums(Accumulator[tuple[Split, ...], SplitSum]):
    """Adds up the rows of splits; an item is a group of splits, which a worker reads."""

    def __init__(self, reading: SplitReading, columns: ColumnChoice, options: FitOptions, triangular: bool) -> None:
        self.reading = reading
        self.columns = columns
        self.options = options
        self.triangular = triangular

    def of_block(self, block: tuple[Split, ...]) -> SplitSum:
        """Return the sums over the rows of a group of splits, and the record of reading them."""
        return reduce(self.merge, (SplitSum(*self.reading.read(split, self._sums)) for split in block))

    def merge(self, one: SplitSum, other: SplitSum) -> SplitSum:
        """Return the sums over the splits of `one`, then of `other`; neither is changed."""
        record = one.record.merged(other.record)
        if one.sums is None or other.sums is None:
            return SplitSum(other.sums if one.sums is None else one.sums, record)
        return SplitSum(one.sums.merged(other.sums), record)  # type: ignore[arg-type]  # both are of one kind

    def _sums(self, inputs: Inputs, reporter: Reporter, counts: RowCounts) -> MergeableSums | None:
        """Return the sums over the rows of one split; None without rows.

        None also for missing cells that are to be refused: the caller refuses them, once all rows are counted.
        """
        classes = self.columns.classes
        columns = self.columns if classes is None else self.columns._replace(classes=classes.without_classes())
        read = rows_of(self.options, inputs, columns, counts, run_serially, MissingRemedy(use=False, exclude=False))
        try:
            resources = FitResources(labels=read.labels, small=0)
            return sums_of(read.rows, read.features, self.options, resources, triangular=self.triangular)
        except DataError as error:
            if self.options.missing == "error" and counts.incomplete and not error.of_input:
                return None
            raise


def tasks_of(splits: Sequence[Split], inputs: Inputs) -> list[tuple[Split, ...]]:
    """Return the splits in groups of neighbours, one group for each task.

    Inputs that were found bad while the columns were chosen are left out: a worker, which may read other columns, might
    not notice that an input is bad.
    """
    return group_splits([split for split in splits if split.position not in inputs.bad_files.left_out])


class PartsOutcome(NamedTuple):
    """Outcome of `write_parts`, whose rows are already written."""

    results: Results  # the model, and of all rows the row counts and the sum of squared errors
    written: list[tuple[str, str, int]]  # of each written file: path of the input, name of the output, number of rows


class OutputPart(NamedTuple):
    """A split of the inputs, and the name of its file in the output folder."""

    split: Split
    name: str


class WrittenPart(NamedTuple):
    """Outcome of one split: the squared errors of its rows, and the record of reading it."""

    errors: ErrorSum | None  # None for a bad file that --skip-bad left out
    record: ReadRecord


@dataclass(frozen=True)
class WriteParts:
    """Task of a worker: read some splits of the inputs, and write the results of each split to a file of its own.

    `probe` is the path of a file that proves that the worker sees the output folder; it is empty for a folder in a
    store.
    """

    reading: SplitReading
    plan: ResultsPlan
    output: OutputOptions
    folder: PartsFolder
    probe: str

    def __call__(self, items: Sequence[OutputPart]) -> list[WrittenPart]:
        if self.probe and not Path(self.probe).exists():
            raise FileError(f"a worker cannot see the output folder {show(self.folder.name)}", SEEN_BY_ALL)
        return [WrittenPart(*self.reading.read(item.split, partial(self._write, item.name))) for item in items]

    def _write(self, name: str, inputs: Inputs, reporter: Reporter, row_counts: RowCounts) -> ErrorSum:
        """Write the results of one split to the file `name`, add up its row counts, and return its squared errors."""
        results = results_of(self.plan, inputs, EngineOptions(threads=1), reporter)
        write(results, replace(self.output, output=self.folder.full_path(name)), None)
        row_counts.join(results.row_counts)
        return results.errors


def write_parts(
    make: Make,
    data: Any,
    table: TableOptions,
    output: OutputOptions,
    model: str | None,
    engine: EngineOptions,
    reporter: Reporter,
) -> PartsOutcome:
    """Let workers write the results of all inputs into a folder, one file for each split.

    `make` applies the model; `model` is the path of the model, None without a file. All that can be refused is refused
    before the first file is written. The outcome holds the results, written already, and for each file its input, its
    name and its number of rows.
    """
    folder, output = _folder_of(output, engine)
    found = _inputs_of(make, data, table, output, reporter)
    splits = splits_of(found, table)
    items = [OutputPart(*pair) for pair in zip(splits, folder.parts(len(splits)), strict=True)]
    refuse_inputs([OutputTask(item.split.input, folder.named_by_user(item.name)) for item in items], model)
    folder.check(no_clobber=output.no_clobber)
    results = make(found, table, reporter)
    if results.by_users:
        raise UsageError(
            "--triples cannot be spread over workers: the cells of a row may be in any part of the input",
            USE_THREADS,
        )
    _try_writer(results, output)
    items = [item for item in items if item.split.position not in results.inputs.bad_files.left_out]
    written = _run(results, items, folder, table, output, engine, reporter)
    done = [(item, part) for item, part in zip(items, written, strict=True) if part.errors is not None]
    named = [
        (item.split.input.path, shown(folder.named_by_user(item.name)), part.record.row_counts.rows)
        for item, part in done
    ]
    read = {item.split.input.path: item.split.input for item, _ in done}
    warn_of_empty_results(results.row_counts, list(read.values()), results.plan.options, reporter)
    return PartsOutcome(results, named)


def _folder_of(output: OutputOptions, engine: EngineOptions) -> tuple[PartsFolder, OutputOptions]:
    """Return the output folder, and the options to write its files: in Parquet, unless --format names another format.

    Raises `UsageError` when the output is not a folder, and for --resume.
    """
    name, remedy = output.output, "name a folder, as in -o scores/"
    if name is None or name == "-":
        raise UsageError(f"--engine {engine.engine} writes a folder, and cannot write to standard output", remedy)
    if not is_folder(name):
        raise UsageError(f"--engine {engine.engine} writes a folder, but {show(shown(name))} is not a folder", remedy)
    if output.resume:
        raise UsageError(
            f"--resume does not go with --engine {engine.engine}, whose output files are not named after the inputs",
            "leave out --resume, to write all files again",
        )
    output = replace(output, output_format=output.output_format or "parquet")
    return PartsFolder(name, str(output.output_format)), output


def _inputs_of(make: Make, data: Any, table: TableOptions, output: OutputOptions, reporter: Reporter) -> ResolvedInputs:
    """Return the inputs, without the results of an earlier run in the output folder.

    Raises `UsageError` for a table in memory, and for another input that lies in the output folder.
    """
    if not are_paths(data):
        raise UsageError("workers cannot read a table in memory", "write the table to files that all workers can read")
    folder = str(output.output)
    found = ResolvedInputs.of(data, table)
    inside = inputs_in_output_folder(folder, found.inputs)
    if inside:
        marks = result_marks(make, found, inside, folder, table)
        earlier = {item for item in inside if marks.match(columns_of(item), by_name=True)}
        found = found.with_inputs(item for item in found.inputs if item not in earlier)
        note_earlier_results(list(earlier), folder, reporter)
    _refuse_inside(found.inputs, folder)
    return found


def _refuse_inside(inputs: Sequence[Input], folder: str) -> None:
    """Raise `UsageError` for an input in the output folder, where a later run could take it for a result."""
    for item in inputs:
        if not item.is_stream and is_inside(item.path, folder):
            raise UsageError(
                f"the input {show(item.name)} is in the output folder {show(shown(folder))}",
                "write to another folder",
            )


def _try_writer(results: Results, output: OutputOptions) -> None:
    """Open a writer on the null device, to raise before any file is written an error that every worker would raise."""
    with open_sink(os.devnull, no_clobber=False) as sink:
        open_writer(output, sink, results.passthrough, results.names)


def _run(
    results: Results,
    items: Sequence[OutputPart],
    folder: PartsFolder,
    table: TableOptions,
    output: OutputOptions,
    engine: EngineOptions,
    reporter: Reporter,
) -> list[WrittenPart]:
    """Let workers write all files, add their counts to `results`, and mark the folder as complete.

    Return the outcomes in the order of `items`.
    """
    inputs = results.inputs
    reading = SplitReading(
        inputs.resolved.partitions, table, inputs.columns.facts_for_workers(results.plan.choice.passthrough)
    )
    inputs.close()
    tasks = _tasks(items)
    output = replace(output, no_clobber=False)  # a task that is run again finds the file it wrote
    with started_cluster(engine, inputs.resolved, table) as cluster, folder.writing(reporter) as probe:
        work = WriteParts(reading, results.plan, output, folder, probe)
        written = [part for parts in cluster.map(work, tasks, count_parts(reporter, len(tasks))) for part in parts]
        reporter.all_parts(engine.engine, len(items))
        _add_up(results, written, reporter)
        folder.finish([item.name for item, part in zip(items, written, strict=True) if part.errors is not None])
    return written


def _tasks(items: Sequence[OutputPart]) -> list[list[OutputPart]]:
    """Return the items in groups of neighbours, one group for each task; every item still has a file of its own."""
    rest = iter(items)
    return [list(islice(rest, len(splits))) for splits in group_splits([item.split for item in items])]


def _add_up(results: Results, written: Sequence[WrittenPart], reporter: Reporter) -> None:
    """Add the row counts and errors of all splits to the results, in order, and report their notes and warnings."""
    record = reduce(ReadRecord.merged, (part.record for part in written), ReadRecord(RowCounts()))
    results.row_counts.join(record.row_counts)
    for part in written:
        results.errors.join(part.errors or ErrorSum())
    record.report(results.inputs, reporter)
