"""Results that are computed and written elsewhere: parts of the inputs -> a file each, in one folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pcatool.errors import FileError, PcatoolError, UsageError, show
from pcatool.options import EngineOptions, OutputOptions, TableOptions
from pcatool.pipeline.earlier import Make, columns_of, marks_of, tell, were_found_in
from pcatool.pipeline.elsewhere import Met, Reading, cluster_of, counting, remedied
from pcatool.pipeline.naming import is_folder, lies_in
from pcatool.pipeline.output_folder import Task, refuse_inputs
from pcatool.pipeline.output_parts import SEEN_BY_ALL, PartsFolder
from pcatool.pipeline.results import ErrorSum, Plan, Results, results_of, write
from pcatool.progress import Notices
from pcatool.readers.input_files import Found
from pcatool.readers.inputs import Inputs
from pcatool.readers.paths import Input
from pcatool.readers.row_counts import Tally
from pcatool.readers.splits import Portion, portions_of, together
from pcatool.stores.uri import shown
from pcatool.writers.base import open_writer
from pcatool.writers.sink import open_sink

__all__ = ["Parted", "write_parts"]


class Parted(NamedTuple):
    """What was written: the results with their counts, and of each part its input, its name and its rows."""

    results: Results
    written: list[tuple[str, str, int]]


class Item(NamedTuple):
    """A part of the inputs, and the name of the file that its results go to."""

    portion: Portion
    name: str


class Written(NamedTuple):
    """What became of one; no errors where it was left out."""

    errors: ErrorSum | None
    met: Met


@dataclass(frozen=True)
class WriteParts:
    """Reads parts of the inputs and writes what becomes of each; what workers do."""

    reading: Reading
    plan: Plan
    output: OutputOptions
    folder: PartsFolder
    sign: str

    def __call__(self, items: Sequence[Item]) -> list[Written]:
        if self.sign and not Path(self.sign).exists():
            raise FileError(f"a worker does not see the folder {show(self.folder.name)} that is here", SEEN_BY_ALL)
        return [Written(*self.reading.read(item.portion, partial(self._write, item.name))) for item in items]

    def _write(self, name: str, inputs: Inputs, notices: Notices, tally: Tally) -> ErrorSum:
        results = results_of(self.plan, inputs, EngineOptions(threads=1), notices)
        write(results, replace(self.output, output=self.folder.place(name)), None)
        tally.join(results.tally)
        return results.errors


def write_parts(
    make: Make,
    data: Any,
    table: TableOptions,
    output: OutputOptions,
    model: str | None,
    engine: EngineOptions,
    notices: Notices,
) -> Parted:
    """Results of all inputs, in parts; what can be refused is refused before the first is written."""
    folder, output = _folder_of(output, engine)
    found = _inputs_of(make, data, table, output, notices)
    portions = portions_of(found, table)
    items = [Item(*pair) for pair in zip(portions, folder.parts(len(portions)), strict=True)]
    refuse_inputs([Task(item.portion.input, folder.called(item.name)) for item in items], model)
    folder.look_at(no_clobber=output.no_clobber)
    results = make(found, table, notices)
    if results.by_users:
        raise UsageError(
            "--triples cannot be spread over parts: any line may add to any row",
            "--engine threads does it on one machine",
        )
    _try_writer(results, output)
    items = [item for item in items if item.portion.at not in results.inputs.skipping.bad]
    written = _run(results, items, folder, table, output, engine, notices)
    done = [(item, part) for item, part in zip(items, written, strict=True) if part.errors is not None]
    named = [(item.portion.input.path, shown(folder.called(item.name)), part.met.tally.rows) for item, part in done]
    return Parted(results, named)


def _folder_of(output: OutputOptions, engine: EngineOptions) -> tuple[PartsFolder, OutputOptions]:
    """Where the parts go, and how each is written."""
    name, remedy = output.output, "name it with -o, as in -o scores/"
    if name is None or name == "-":
        raise UsageError(f"--engine {engine.engine} writes a folder of parts, not one stream", remedy)
    if not is_folder(name):
        raise UsageError(f"--engine {engine.engine} writes a folder of parts, and {show(shown(name))} is none", remedy)
    if output.resume:
        raise UsageError(
            f"--resume does not go with --engine {engine.engine}: parts do not tell what they were made from",
            "leave it out: all parts are written anew",
        )
    output = replace(output, output_format=output.output_format or "parquet")
    return PartsFolder(name, str(output.output_format)), output


def _inputs_of(make: Make, data: Any, table: TableOptions, output: OutputOptions, notices: Notices) -> Found:
    """The inputs without results of an earlier run, found in a folder or by a glob that holds theirs."""
    if not (isinstance(data, list) and all(isinstance(item, str) for item in data)):
        raise UsageError("a table in memory cannot be read elsewhere", "write it to files that all workers see")
    folder = str(output.output)
    found = Found.of(data, table)
    within = were_found_in(folder, found.inputs)
    if within:
        marks = marks_of(make, found, within, folder, table)
        earlier = {item for item in within if marks.are_in(columns_of(item), by_name=True)}
        found = found.some(item for item in found.inputs if item not in earlier)
        tell(list(earlier), folder, notices)
    _refuse_within(found.inputs, folder)
    return found


def _refuse_within(inputs: Sequence[Input], folder: str) -> None:
    """What lies where the parts go might be taken for one of them."""
    for item in inputs:
        if not item.flows and lies_in(item.path, folder):
            raise UsageError(
                f"the input {show(item.name)} lies in {show(shown(folder))}, where the parts would go",
                "write to another folder",
            )


def _try_writer(results: Results, output: OutputOptions) -> None:
    """Refuse here what every worker would."""
    with open_sink(os.devnull, no_clobber=False) as sink:
        open_writer(output, sink, results.kept, results.names)


def _run(
    results: Results,
    items: Sequence[Item],
    folder: PartsFolder,
    table: TableOptions,
    output: OutputOptions,
    engine: EngineOptions,
    notices: Notices,
) -> list[Written]:
    inputs = results.inputs
    reading = Reading(inputs.found.partitions, table, inputs.columns.tell(results.plan.wanted.kept))
    inputs.close()
    tasks = _tasks(items)
    output = replace(output, no_clobber=False)  # a task that is done again finds what it wrote
    try:
        with cluster_of(engine) as cluster, folder.writing(notices) as sign:
            work = WriteParts(reading, results.plan, output, folder, sign)
            written = [part for parts in cluster.map(work, tasks, counting(notices, len(tasks))) for part in parts]
            notices.all_parts(engine.engine, len(items))
            _add_up(results, written, notices)
            folder.finish([item.name for item, part in zip(items, written, strict=True) if part.errors is not None])
    except PcatoolError as error:
        raise remedied(error, len(inputs.found.inputs), table.skip_bad) from None
    return written


def _tasks(items: Sequence[Item]) -> list[list[Item]]:
    """Small ones go together, each with a file of its own all the same."""
    rest = iter(items)
    return [list(islice(rest, len(portions))) for portions in together([item.portion for item in items])]


def _add_up(results: Results, written: Sequence[Written], notices: Notices) -> None:
    """What the parts have told, in their order, as if all had been done here."""
    met = reduce(Met.merged, (part.met for part in written), Met(Tally()))
    results.tally.join(met.tally)
    for part in written:
        results.errors.join(part.errors or ErrorSum())
    met.tell(results.inputs, notices)
