"""A fit whose rows are added up elsewhere: parts of the inputs -> sums, merged as a tree -> solve -> model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from pcatool.blocks import in_turn
from pcatool.engines.base import Cluster, Done
from pcatool.errors import DataError, PcatoolError, UsageError
from pcatool.methods.base import Fit, Supply
from pcatool.methods.sums import Sums, adding_up, fit_sums, sums_of
from pcatool.notices import Notices
from pcatool.options import EngineOptions, FitOptions, TableOptions
from pcatool.pipeline.job import Job, labels_of, limit_of, read_wanted, remedy_of, wanted_of
from pcatool.readers.columns import Told
from pcatool.readers.found import Found
from pcatool.readers.further import Further
from pcatool.readers.partitions import Partitions
from pcatool.readers.portions import Portion, portions_of
from pcatool.readers.skipping import Skip, is_bad_file
from pcatool.readers.tables import Inputs
from pcatool.readers.tally import Tally
from pcatool.readers.wanted import Wanted
from pcatool.registry import ENGINES
from pcatool.solvers.rows import nothing_to_fit

__all__ = ["cluster_of", "counting", "fit_far", "remedied", "sums_far"]


def cluster_of(engine: EngineOptions) -> Cluster:
    """Who does the work elsewhere."""
    if engine.threads is not None:
        raise UsageError(
            f"--threads would change nothing with --engine {engine.engine}: each worker takes one core for a task",
            "leave out --threads",
        )
    cluster: Cluster = ENGINES.load(engine.engine)(engine.scheduler)
    return cluster


def counting(notices: Notices, parts: int) -> Done:
    """Tells how many parts are done."""
    done = 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        notices.at_part(done, parts)

    return more


def remedied(error: PcatoolError, files: int, skip_bad: bool) -> PcatoolError:
    """An error of an input, with the way out that there is where there are several."""
    if error.of_input and is_bad_file(error) and files > 1 and not skip_bad:
        error.add_remedy("--skip-bad leaves such files out")
    return error


class Summed(NamedTuple):
    """What some parts of the inputs add up to, and what was met while they were read."""

    sums: Sums | None
    tally: Tally
    rounded: str = ""  # the note on the first whole number that no double holds
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    further: tuple[tuple[int, Further], ...] = ()
    skipped: tuple[tuple[int, Skip], ...] = ()

    def merged(self, other: Summed) -> Summed:
        """Of these parts followed by the others."""
        self.tally.join(other.tally)
        return Summed(
            _joined(self.sums, other.sums),
            self.tally,
            self.rounded or other.rounded,
            tuple(dict.fromkeys((*self.notes, *other.notes))),
            tuple(dict.fromkeys((*self.warnings, *other.warnings))),
            (*self.further, *other.further),
            (*self.skipped, *other.skipped),
        )


def _joined(one: Sums | None, other: Sums | None) -> Sums | None:
    if one is None or other is None:
        return other if one is None else one
    return one.merged(other)  # type: ignore[arg-type]  # both are of one kind


@dataclass(frozen=True)
class SumUp:
    """Reads a part of the inputs and adds it up; what workers do."""

    partitions: Partitions | None
    table: TableOptions
    told: Told
    wanted: Wanted
    options: FitOptions
    triangular: bool

    def __call__(self, portion: Portion) -> Summed:
        try:
            return self._read(portion)
        except PcatoolError as error:
            if not (self.table.skip_bad and error.of_input and is_bad_file(error)):
                raise
            return Summed(None, Tally(), skipped=((portion.at, Skip(portion.input.name, error.message)),))

    def _read(self, portion: Portion) -> Summed:
        notices, tally = Notices(), Tally()
        inputs = self._inputs(portion, notices)
        classes = self.wanted.classes
        wanted = self.wanted if classes is None else self.wanted._replace(classes=classes.fresh())
        sums = self._sums(inputs, wanted, tally)
        rounded = inputs.told_rounding
        further = inputs.columns.more
        return Summed(
            sums,
            tally,
            rounded,
            tuple(note for note in notices.notes if note != rounded),
            tuple(notices.warnings),
            ((portion.at, further),) if further else (),
        )

    def _inputs(self, portion: Portion, notices: Notices) -> Inputs:
        found = Found((portion.input,), self.partitions)
        table = replace(self.table, skip_bad=False)
        told = self.told.of(portion.at)
        try:
            return Inputs(found, table, notices, by_file=self.table.skip_bad, told=told)
        except PcatoolError as error:
            error.of_input = True
            raise

    def _sums(self, inputs: Inputs, wanted: Wanted, tally: Tally) -> Sums | None:
        read = read_wanted(self.options, inputs, wanted, tally, in_turn)
        try:
            supply = Supply(labels=read.labels, small=0)
            return sums_of(read.blocks, read.features, self.options, supply, triangular=self.triangular)
        except DataError as error:
            if self.options.missing == "error" and tally.incomplete and not error.of_input:
                return None  # all are counted before they are refused
            raise


def fit_far(job: Job, inputs: Inputs, tally: Tally) -> tuple[Wanted, Fit]:
    """A model of rows that are read and added up elsewhere."""
    wanted = wanted_of(job, inputs, in_turn)
    options, labels = wanted.named(job.options), labels_of(wanted)
    name, reason = adding_up(options, wanted.features, labels, limit_of(options))
    sums = sums_far(job, inputs, wanted, tally, triangular=name == "tsqr")
    if sums is None:
        raise nothing_to_fit()
    return wanted, fit_sums(sums, wanted.features, options, job.notices, reason)


def sums_far(job: Job, inputs: Inputs, wanted: Wanted, tally: Tally, *, triangular: bool) -> Sums | None:
    """The sums over all rows, and what was met on the way."""
    found, options = inputs.found, wanted.named(job.options)
    portions = portions_of(found, job.table)
    told = inputs.columns.tell(wanted.kept)
    inputs.close()
    solver = job.options.solver if wanted.labels or wanted.classes else "tsqr" if triangular else "covariance"
    options = replace(options, solver=solver, align_to=None)
    work = SumUp(found.partitions, job.table, told, wanted, options, triangular)
    try:
        with cluster_of(job.engine) as cluster:
            summed = cluster.gather(work, Summed.merged, portions, counting(job.notices, len(portions)))
    except PcatoolError as error:
        raise remedied(error, len(found.inputs), job.table.skip_bad) from None
    tally.join(summed.tally)
    _tell(summed, inputs, job.notices)
    if options.missing == "error" and tally.incomplete:
        raise tally.error(remedy_of(options))
    return summed.sums


def _tell(summed: Summed, inputs: Inputs, notices: Notices) -> None:
    """Say what was met on the way, as if it had been met here."""
    inputs.at_rows(summed.tally.rows)
    if summed.rounded:
        inputs.tell_rounding(summed.rounded)
    for note in summed.notes:
        notices.note(note)
    for warning in summed.warnings:
        notices.warn(warning)
    for at, further in summed.further:
        inputs.columns.found_more(at, further)
    for at, skip in summed.skipped:
        inputs.skipping.left_out(at, skip)
    inputs.finish()
