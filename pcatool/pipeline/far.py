"""A fit whose rows are added up elsewhere: parts of the inputs -> sums, merged as a tree -> solve -> model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

from pcatool.arrays import in_turn
from pcatool.errors import DataError, PcatoolError
from pcatool.methods.base import Fit, Supply
from pcatool.methods.pca import PCA
from pcatool.methods.sums import Sums, check_adds_up, fit_sums, plan_sums, sums_of
from pcatool.options import FitOptions
from pcatool.pipeline.elsewhere import Met, Reading, cluster_of, counting, remedied
from pcatool.pipeline.job import Job, labels_of, limit_of, read_wanted, remedy_of, wanted_of
from pcatool.progress import Notices
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import Tally
from pcatool.readers.schema import Wanted
from pcatool.readers.splits import Portion, portions_of, together
from pcatool.solvers.plan import Plan
from pcatool.solvers.rows import nothing_to_fit

__all__ = ["fit_far", "plan_far", "sums_far"]


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

    def __call__(self, portions: tuple[Portion, ...]) -> Summed:
        return reduce(Summed.merged, (Summed(*self.reading.read(portion, self._sums)) for portion in portions))

    def _sums(self, inputs: Inputs, notices: Notices, tally: Tally) -> Sums | None:
        classes = self.wanted.classes
        wanted = self.wanted if classes is None else self.wanted._replace(classes=classes.fresh())
        read = read_wanted(self.options, inputs, wanted, tally, in_turn, "")  # refused when all are counted
        try:
            supply = Supply(labels=read.labels, small=0)
            return sums_of(read.blocks, read.features, self.options, supply, triangular=self.triangular)
        except DataError as error:
            if self.options.missing == "error" and tally.incomplete and not error.of_input:
                return None  # all are counted before they are refused
            raise


def fit_far(job: Job, inputs: Inputs, tally: Tally) -> tuple[Wanted, Fit]:
    """A model of rows that are read and added up elsewhere."""
    check_adds_up(job.options)
    portions = portions_of(inputs.found, job.table)
    wanted, plan = _planned(job, inputs)
    options = wanted.named(job.options)
    plan.check(limit_of(options), PCA(options, job.notices).problem(wanted.features, None))
    sums = _gathered(job, inputs, portions, wanted, tally, triangular=plan.solver == "tsqr")
    if sums is None:
        raise nothing_to_fit()
    reason = None if labels_of(wanted) else plan.reason  # that of labels tells how many there are
    return wanted, fit_sums(sums, wanted.features, options, job.notices, reason)


def plan_far(job: Job, inputs: Inputs) -> Plan:
    """What such a fit would do and need."""
    check_adds_up(job.options)
    cluster_of(job.engine)  # whose address may be none
    portions = portions_of(inputs.found, job.table)
    plan = _planned(job, inputs)[1]
    return plan._replace(parts=len(_parts(portions, inputs)))


def _planned(job: Job, inputs: Inputs) -> tuple[Wanted, Plan]:
    """The columns, and what becomes of them."""
    wanted = wanted_of(job, inputs, in_turn)
    return wanted, plan_sums(wanted.named(job.options), wanted.features, labels_of(wanted), inputs.expected_rows())


def sums_far(job: Job, inputs: Inputs, tally: Tally, *, triangular: bool) -> Sums | None:
    """The sums over all rows, of a fit whose columns and options are known to add up."""
    portions = portions_of(inputs.found, job.table)
    return _gathered(job, inputs, portions, wanted_of(job, inputs, in_turn), tally, triangular=triangular)


def _parts(portions: Sequence[Portion], inputs: Inputs) -> list[tuple[Portion, ...]]:
    """What is read: not the inputs left out while the columns were chosen, which other columns may not show as bad."""
    return together([portion for portion in portions if portion.at not in inputs.skipping.bad])


def _gathered(
    job: Job, inputs: Inputs, portions: Sequence[Portion], wanted: Wanted, tally: Tally, *, triangular: bool
) -> Sums | None:
    """The sums over all parts; what was met on the way is told."""
    parts = _parts(portions, inputs)
    found, options = inputs.found, wanted.named(job.options)
    told = inputs.columns.tell(wanted.kept)
    inputs.close()
    solver = job.options.solver if wanted.labels or wanted.classes else "tsqr" if triangular else "covariance"
    options = replace(options, solver=solver, align_to=None)
    work = SumUp(Reading(found.partitions, job.table, told), wanted, options, triangular)
    try:
        with cluster_of(job.engine) as cluster:
            summed = cluster.gather(work, Summed.merged, parts, counting(job.notices, len(parts)))
    except PcatoolError as error:
        raise remedied(error, len(found.inputs), job.table.skip_bad) from None
    job.notices.all_parts(job.engine.engine, len(parts))
    tally.join(summed.met.tally)
    summed.met.tell(inputs, job.notices)
    if options.missing == "error" and tally.incomplete:
        raise tally.error(remedy_of(job))
    return summed.sums
