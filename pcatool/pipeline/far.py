"""A fit whose rows are added up elsewhere: parts of the inputs -> sums, merged as a tree -> solve -> model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from pcatool.blocks import in_turn
from pcatool.errors import DataError, PcatoolError
from pcatool.methods.base import Fit, Supply
from pcatool.methods.sums import Sums, adding_up, fit_sums, sums_of
from pcatool.notices import Notices
from pcatool.options import FitOptions
from pcatool.pipeline.elsewhere import Met, Reading, cluster_of, counting, remedied
from pcatool.pipeline.job import Job, labels_of, limit_of, read_wanted, remedy_of, wanted_of
from pcatool.readers.portions import Portion, portions_of
from pcatool.readers.tables import Inputs
from pcatool.readers.tally import Tally
from pcatool.readers.wanted import Wanted
from pcatool.solvers.rows import nothing_to_fit

__all__ = ["fit_far", "sums_far"]


class Summed(NamedTuple):
    """What some parts of the inputs add up to, and what was met while they were read."""

    sums: Sums | None
    met: Met

    def merged(self, other: Summed) -> Summed:
        """Of these parts followed by the others."""
        return Summed(_joined(self.sums, other.sums), self.met.merged(other.met))


def _joined(one: Sums | None, other: Sums | None) -> Sums | None:
    if one is None or other is None:
        return other if one is None else one
    return one.merged(other)  # type: ignore[arg-type]  # both are of one kind


@dataclass(frozen=True)
class SumUp:
    """Reads a part of the inputs and adds it up; what workers do."""

    reading: Reading
    wanted: Wanted
    options: FitOptions
    triangular: bool

    def __call__(self, portion: Portion) -> Summed:
        return Summed(*self.reading.read(portion, self._sums))

    def _sums(self, inputs: Inputs, notices: Notices, tally: Tally) -> Sums | None:
        classes = self.wanted.classes
        wanted = self.wanted if classes is None else self.wanted._replace(classes=classes.fresh())
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
    work = SumUp(Reading(found.partitions, job.table, told), wanted, options, triangular)
    try:
        with cluster_of(job.engine) as cluster:
            summed = cluster.gather(work, Summed.merged, portions, counting(job.notices, len(portions)))
    except PcatoolError as error:
        raise remedied(error, len(found.inputs), job.table.skip_bad) from None
    tally.join(summed.met.tally)
    summed.met.tell(inputs, job.notices)
    if options.missing == "error" and tally.incomplete:
        raise tally.error(remedy_of(options))
    return summed.sums
