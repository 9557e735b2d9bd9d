"""Write a folder with one output for each input; a second run can resume an interrupted run."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pcatool.errors import FileError, PcatoolError, UsageError
from pcatool.options import ApplyOptions, OutputOptions, TableOptions
from pcatool.pipeline.output_parts import (
    canonical_name,
    exists_in_folder,
    is_folder,
    is_inside,
    join_name,
    latest_modified,
    make_folders,
    make_old,
    modified_at,
    name_in_format,
    output_exists,
    relative_name,
    state_of,
)
from pcatool.pipeline.results import ErrorSum, Results, warn_of_empty_results, write
from pcatool.progress import NestedReporter, Reporter
from pcatool.readers.bad_files import SKIP_BAD_REMEDY, SkippedFile, is_bad_file, none_left, reason_lines
from pcatool.readers.input_files import ResolvedInputs
from pcatool.readers.inputs import Inputs
from pcatool.readers.paths import STDIN, Input
from pcatool.readers.row_counts import RowCounts
from pcatool.stores.uri import is_remote, shown
from pcatool.wording import counted, grouped, show
from pcatool.writers.base import format_name

__all__ = [
    "Make",
    "OutputTask",
    "columns_of",
    "goes_to_folder",
    "inputs_in_output_folder",
    "note_earlier_results",
    "refuse_inputs",
    "result_marks",
    "write_each",
]

# Function from inputs, table options and notices to results; it knows the model and the other options.
Make = Callable[[Any, TableOptions, Reporter], Results]


class InputsAndResults(NamedTuple):
    """Inputs to read, and inputs left out because they are results of an earlier run; both in their order."""

    inputs: list[Input]
    earlier: list[Input]


class ResultMarks(NamedTuple):
    """Columns by which a file is recognised as a result of this command, and not as an input."""

    reads: frozenset[str]  # columns that the run reads
    keeps: frozenset[str]  # passthrough columns, which results have, too
    writes: str  # first result column

    def match(self, names: Collection[str], *, by_name: bool) -> bool:
        """Whether a file with the columns `names` is a result, and could not be an input.

        A file with all columns that the run reads could be an input. If the file has the name of a result (`by_name`),
        passthrough columns do not count, because results have them, too.
        """
        own = self.reads - self.keeps if by_name else self.reads
        could_be_read = self.writes in self.reads or (bool(own) and own.issubset(names))
        return self.writes in names and not could_be_read


def inputs_in_output_folder(folder: str, inputs: Iterable[Input]) -> list[Input]:
    """Return the inputs inside the output folder that were found there by a search of a folder outside.

    Links are resolved. Inputs of a search that began in the output folder, or below, are not returned.
    """
    return [item for item in inputs if _is_in_output_folder(folder, item)]


def _is_in_output_folder(folder: str, item: Input) -> bool:
    """Whether the input is inside the output folder, and was found by a search that began outside this folder."""
    root = item.root or folder
    return (
        canonical_name(folder) != canonical_name(root) and not is_inside(root, folder) and is_inside(item.path, folder)
    )


def result_marks(
    make: Make, found: ResolvedInputs, inside: Sequence[Input], folder: str, table: TableOptions
) -> ResultMarks:
    """Return the columns that mark results, from the inputs that are not `inside` the output folder.

    `make` applies the model. Raises `FileError` when all inputs are inside the folder.
    """
    inner = set(inside)
    elsewhere = [item for item in found.inputs if item not in inner and not item.is_stream]
    if not elsewhere:
        raise FileError(f"all inputs are in the output folder {show(shown(folder))}", "name another folder with -o")
    results = make(found.with_inputs(elsewhere), table, Reporter())
    results.inputs.close()
    reads, keeps = results.plan.choice.names, (name for name, _ in results.passthrough)
    return ResultMarks(frozenset(reads), frozenset(keeps), results.names[0])


def separate_earlier_results(
    found: ResolvedInputs, inside: Sequence[Input], marks: ResultMarks, output_of: Callable[[Input], str]
) -> InputsAndResults:
    """Separate results of an earlier run from the inputs `found`; only files `inside` the output folder can be results.

    `output_of` returns the name of the output of an input. Raises `UsageError` for a file that an output would replace,
    unless its columns show that the file is an earlier result.
    """
    inner, earlier = set(inside), set[Input]()
    made_of = {canonical_name(output_of(item)): item for item in found.inputs if item not in inner}
    for item in sorted(inside, key=lambda item: len(canonical_name(item.path))):  # a result lies deeper than its input
        source = made_of.get(canonical_name(item.path))
        if marks.match(columns_of(item), by_name=source is not None):
            earlier.add(item)
        elif source is None:
            made_of[canonical_name(output_of(item))] = item
        else:
            raise UsageError(
                f"the results of {show(source.name)} would replace {show(item.name)}, which is an input too, and "
                "does not look like a result of an earlier run",
                "write to another folder",
            )
    return InputsAndResults(
        [item for item in found.inputs if item not in earlier], [item for item in found.inputs if item in earlier]
    )


def columns_of(item: Input) -> list[str]:
    """Return the column names of a file, read without table options, as results are; an empty list for a bad file."""
    try:
        inputs = Inputs(ResolvedInputs((item,), None), TableOptions(), Reporter())
        try:
            return [column.name for column in inputs.first.columns]
        finally:
            inputs.close()
    except PcatoolError as error:
        if not is_bad_file(error):
            raise
        return []


def note_earlier_results(earlier: Sequence[Input], folder: str, reporter: Reporter) -> None:
    """Write a note with the number of earlier results that were left out of the inputs, unless there are none."""
    if earlier:
        are = "is" if len(earlier) == 1 else "are"
        results = f"{counted(len(earlier), 'result')} of an earlier run"
        reporter.note(f"{show(shown(folder))} holds {results}, which {are} not read as input")


class OutputTask(NamedTuple):
    """An input, and the name of its output."""

    input: Input
    output: str


@dataclass
class Outputs:
    """Counts and written files of a run over all inputs; made by `write_each`."""

    row_counts: RowCounts = field(default_factory=RowCounts)
    errors: ErrorSum = field(default_factory=ErrorSum)
    written: list[tuple[str, str, int]] = field(default_factory=list)  # input, output, rows
    resumed: int = 0  # inputs that --resume skipped, since their output was up to date
    skipped: list[SkippedFile] = field(default_factory=list)  # bad files left out by --skip-bad
    options: ApplyOptions = field(default_factory=ApplyOptions)  # options of the run, set with the first input

    def add(self, task: OutputTask, results: Results) -> None:
        """Add the counts, the errors and the output file of one input."""
        self.written.append((task.input.path, task.output, results.row_counts.rows))
        self.row_counts.rows += results.row_counts.rows
        self.row_counts.incomplete += results.row_counts.incomplete
        self.row_counts.left_empty += results.row_counts.left_empty
        self.errors.join(results.errors)
        self.options = results.plan.options


def goes_to_folder(output: OutputOptions) -> bool:
    """Whether the output is a folder: its name ends with /, or a folder of that name exists.

    Raises `UsageError` for --resume if the output is no folder.
    """
    name = output.output
    into = name is not None and name != "-" and is_folder(name)
    if output.resume and not into:
        raise UsageError("--resume needs an output folder", "name a folder, as in -o scores/")
    return into


def write_each(
    make: Make, paths: Sequence[str], table: TableOptions, output: OutputOptions, model: str | None, reporter: Reporter
) -> Outputs:
    """Write the results of every input to a file of its own in the output folder; return counts and written files.

    `make` applies the model; `model` is the path of the model, None without a file. Outputs that may not be written are
    refused before the first file is written. With --resume, inputs whose output is up to date are not read.
    """
    found = ResolvedInputs.of(paths, table)
    tasks = _tasks(_without_earlier(make, found, table, output, reporter), output)
    refuse_inputs(tasks, model)
    outputs = Outputs()
    todo = [task for task in tasks if not _is_done(task, model)] if output.resume else tasks
    if output.no_clobber:
        for task in todo:
            if output_exists(task.output):
                raise exists_in_folder(task.output)
    outputs.resumed = len(tasks) - len(todo)
    if outputs.resumed:
        are = "is" if outputs.resumed == 1 else "are"
        files = f"{grouped(outputs.resumed)} of {grouped(len(tasks))} output files"
        reporter.note(f"{files} {are} up to date, and {are} not written again")
    read: list[Input] = []
    each = _InputWork(make, found, replace(table, skip_bad=False), output, model, NestedReporter(reporter))
    for number, task in enumerate(todo, 1):
        reporter.at_file(number, len(todo))
        try:
            outputs.add(task, each.run(task))
            read.append(task.input)
        except PcatoolError as error:
            if not (error.of_input and is_bad_file(error)) or task.input.is_stream:
                raise
            if not table.skip_bad:
                if len(tasks) > 1:
                    error.add_remedy(SKIP_BAD_REMEDY)
                raise
            outputs.skipped.append(SkippedFile(task.input.name, error.message))
    reporter.all_read(len(outputs.written), outputs.skipped)
    if len(outputs.skipped) == len(tasks):
        raise none_left(outputs.skipped)
    if outputs.skipped:
        reporter.warn(
            f"left out {grouped(len(outputs.skipped))} of {grouped(len(tasks))} files:", reason_lines(outputs.skipped)
        )
    warn_of_empty_results(outputs.row_counts, read, outputs.options, reporter)
    return outputs


class _InputWork(NamedTuple):
    """The work on one input: `run` writes its results. All fields are the same for every input."""

    make: Make
    found: ResolvedInputs
    table: TableOptions
    output: OutputOptions
    model: str | None
    reporter: Reporter

    def run(self, task: OutputTask) -> Results:
        """Write and return the results of one input; warn if the input was changed meanwhile."""
        before = state_of(task.input.path)
        try:
            results = self.make(self.found.with_inputs([task.input]), self.table, self.reporter)
        except PcatoolError as error:  # nothing is written yet, so reading failed
            error.of_input = True
            raise
        try:
            make_folders(task.output)
            write(results, replace(self.output, output=task.output), self.model)
        finally:
            results.inputs.close()
        if state_of(task.input.path) != before:
            self._warn_changed(task)
        return results

    def _warn_changed(self, task: OutputTask) -> None:
        """Warn that the input was changed while it was read, so the output may hold results of its earlier content.

        The output, which is newer than the input, gets an old date or is removed, so that --resume writes it again.
        """
        make_old(task.output)
        now = "was removed" if is_remote(task.output) else "may hold results of the earlier content"
        what = f"{task.input.name} changed while it was read: the output {show(shown(task.output))} {now}"
        self.reporter.warn(f"{what}; --resume writes the output again")


def _without_earlier(
    make: Make, found: ResolvedInputs, table: TableOptions, output: OutputOptions, reporter: Reporter
) -> Sequence[Input]:
    """Return the inputs without results of an earlier run, which a search for inputs found in the output folder.

    Raises `UsageError` for standard input, which has no name for its output.
    """
    if any(item.path == STDIN for item in found.inputs):
        raise UsageError(
            f"each file in {show(shown(str(output.output)))} is named after its input, but standard input has no name",
            "name input files, or an output file with -o",
        )
    folder = str(output.output)
    inside = inputs_in_output_folder(folder, found.inputs)
    if not inside:
        return found.inputs
    inputs, earlier = separate_earlier_results(
        found, inside, result_marks(make, found, inside, folder, table), lambda item: _output_of(item, output)
    )
    note_earlier_results(earlier, folder, reporter)
    return inputs


def _output_of(item: Input, output: OutputOptions) -> str:
    return join_name(str(output.output), name_in_format(relative_name(item), output.output_format))


def _tasks(inputs: Sequence[Input], output: OutputOptions) -> list[OutputTask]:
    """Return each input with the name of its output; `UsageError` when two inputs would have the same output."""
    tasks = [OutputTask(item, _output_of(item, output)) for item in inputs]
    taken: dict[str, str] = {}
    for task in tasks:
        format_name(replace(output, output=task.output))
        if task.output in taken:
            one, other = taken[task.output], task.input.path
            raise UsageError(
                f"the results of {show(shown(one))} and {show(shown(other))} would both be written to "
                f"{show(shown(task.output))}",
                _remedy_for_one_output(canonical_name(one), canonical_name(other)),
            )
        taken[task.output] = task.input.path
    return tasks


def _remedy_for_one_output(one: str, other: str) -> str:
    """Return the hint for two inputs with the same output, by the canonical names of the inputs."""
    if one == other:
        return "name each input once"
    apart = "run the command once for each input, each time with another -o"
    if one.rpartition("/")[0] == other.rpartition("/")[0]:
        return apart
    return f"give one quoted glob, such as '*/*.csv', which keeps the folders of the inputs, or {apart}"


def refuse_inputs(tasks: Sequence[OutputTask], model: str | None) -> None:
    """Raise `UsageError` for an output that is the same file as an input or the model, under any name."""
    key_of = _FileIdentity()
    names = [*(task.input.path for task in tasks), *([model] if model else [])]
    used = {key: name for name in names if (key := key_of(name)) is not None}
    for task in tasks:
        if (key := key_of(task.output)) in used:
            what = "model" if used[key] == model else "input"
            raise UsageError(
                f"the output {show(shown(task.output))} is the same file as the {what} {show(shown(used[key]))}",
                "write to another folder",
            )


class _FileIdentity:
    """Callable that returns the identity of a file, the same under each of its names.

    The identity is the device and the inode, or the canonical name of an object in a store; None for a file that does
    not exist, a pipe or a device.
    """

    def __init__(self) -> None:
        self._one_name: Callable[[str], str] | None = None

    def __call__(self, name: str) -> tuple[int, int] | str | None:
        if is_remote(name):
            return self._of_object(name)
        try:
            there = Path(name).stat()
        except (OSError, ValueError):
            return None
        return (there.st_dev, there.st_ino) if stat.S_ISREG(there.st_mode) else None

    def _of_object(self, name: str) -> str:
        if self._one_name is None:
            from pcatool.stores.providers import CanonicalName

            self._one_name = CanonicalName()
        return self._one_name(name)


def _is_done(task: OutputTask, model: str | None) -> bool:
    """Whether the output exists, and is not older than its input and the model.

    Raises `UsageError` for a model without a file, which has no date.
    """
    if model is None or model == "-":
        raise UsageError(
            "--resume compares file times, but a model from a pipe or from memory has no file time", "name a model file"
        )
    done = modified_at(task.output)
    sources = [latest_modified(task.input.path), latest_modified(model)] if done is not None else []
    return done is not None and all(made is not None and made <= done for made in sources)
