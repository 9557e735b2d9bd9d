"""Work on parts of the inputs in other processes: how a part is read there, and what was met on the way back here."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from pcatool.engines.base import Cluster, Done
from pcatool.errors import PcatoolError, UsageError
from pcatool.options import EngineOptions, TableOptions
from pcatool.progress import Notices, doing
from pcatool.readers.hive_partitions import Partitions
from pcatool.readers.input_files import Found
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import Tally
from pcatool.readers.schema import Further, SchemaFacts
from pcatool.readers.skip_bad import Skip, is_bad_file
from pcatool.readers.splits import Portion
from pcatool.registry import ENGINES

__all__ = ["Met", "Reading", "cluster_of", "counting", "remedied"]

Taken = TypeVar("Taken")


def cluster_of(engine: EngineOptions) -> Cluster:
    """Who does the work elsewhere."""
    if engine.threads is not None:
        raise UsageError(
            f"--threads would change nothing with --engine {engine.engine}: each worker takes one core for a task",
            "leave out --threads",
        )
    doing(f"starting {engine.engine}")
    cluster: Cluster = ENGINES.load(engine.engine)(engine.scheduler)
    return cluster


def counting(notices: Notices, parts: int) -> Done:
    """Tells how many parts are done."""
    done = 0
    notices.at_part(0, parts)

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


class Met(NamedTuple):
    """What was met while parts of the inputs were read."""

    tally: Tally
    rounded: str = ""  # the note on the first whole number that no double holds
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    further: tuple[tuple[int, Further], ...] = ()
    skipped: tuple[tuple[int, Skip], ...] = ()

    def merged(self, other: Met) -> Met:
        """Of these parts followed by the others; both are left as they are, since a merge may have to be done again."""
        tally = deepcopy(self.tally)
        tally.join(other.tally)
        return Met(
            tally,
            self.rounded or other.rounded,
            tuple(dict.fromkeys((*self.notes, *other.notes))),
            tuple(dict.fromkeys((*self.warnings, *other.warnings))),
            (*self.further, *other.further),
            (*self.skipped, *other.skipped),
        )

    def tell(self, inputs: Inputs, notices: Notices) -> None:
        """Say what was met on the way, as if it had been met here."""
        inputs.at_rows(self.tally.rows)
        if self.rounded:
            inputs.tell_rounding(self.rounded)
        for note in self.notes:
            notices.note(note)
        for warning in self.warnings:
            notices.warn(warning)
        for at, further in self.further:
            inputs.columns.found_more(at, further)
        for at, skip in self.skipped:
            inputs.skipping.left_out(at, skip)
        inputs.finish()


@dataclass(frozen=True)
class Reading:
    """How those read a part of the inputs who have nothing else of them."""

    partitions: Partitions | None
    table: TableOptions
    told: SchemaFacts

    def read(self, portion: Portion, take: Callable[[Inputs, Notices, Tally], Taken]) -> tuple[Taken | None, Met]:
        """What is taken from it, nothing where it is left out; and what was met."""
        notices, tally = Notices(), Tally()
        try:
            inputs = self._open(portion, notices)
            taken = take(inputs, notices, tally)
        except PcatoolError as error:
            if not (self.table.skip_bad and error.of_input and is_bad_file(error)):
                raise
            return None, Met(Tally(), skipped=((portion.at, Skip(portion.input.name, error.message)),))
        rounded, further = inputs.told_rounding, inputs.columns.more
        return taken, Met(
            tally,
            rounded,
            tuple(note for note in notices.notes if note != rounded),
            tuple(notices.warnings),
            ((portion.at, further),) if further else (),
        )

    def _open(self, portion: Portion, notices: Notices) -> Inputs:
        found = Found((portion.input,), self.partitions)
        table = replace(self.table, skip_bad=False)
        try:
            return Inputs(found, table, notices, by_file=self.table.skip_bad, told=self.told.of(portion.at))
        except PcatoolError as error:
            error.of_input = True
            raise
