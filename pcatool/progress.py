"""Reporters: notes, warnings, row counts and the current stage of a run.

Library code calls a `Reporter`; the caller that started the run decides what is shown. Most code takes its reporter as
an argument. Computations that take none announce their stages by `doing`, which calls the reporter that `report_to`
made current, if there is one. No result depends on a reporter.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import NamedTuple, Protocol

__all__ = ["FitCounts", "Gauge", "KeptRows", "NestedReporter", "Reporter", "doing", "report_to"]


class FitCounts(NamedTuple):
    """Row counts of a fit, and names of the columns that the fit left out."""

    rows_read: int
    rows_dropped: int
    columns_left_out: tuple[str, ...]


class KeptRows(NamedTuple):
    """Bytes of the rows that a fit keeps for several passes: exact after a fit, expected in a plan."""

    memory_bytes: int  # in memory
    file_bytes: int | None  # in a temporary file; None if unknown
    folder: str | None = None  # of the temporary file, if there is one


class Gauge(Protocol):
    """Progress of a pass over inputs, which any thread may ask at any moment; `readers.inputs.RowStream` is a gauge."""

    @property
    def several(self) -> bool:
        """Whether this pass reads more than one input; `share` is then the share of all of these inputs together."""
        ...

    @property
    def current(self) -> str:
        """Name of the input that is being read."""
        ...

    def share(self) -> float | None:
        """Return the share that was read of all inputs of this pass, from 0 to 1; None if unknown, as for a pipe."""
        ...

    def bytes_read(self) -> int:
        """Return the number of bytes that were read of the current input."""
        ...


class Reporter:
    """Receiver of the notes, warnings, counts and progress of a run; it collects notes and warnings, each text once.

    A note is for information, a warning asks to check something. The methods `at_...` and `show` do nothing here; the
    reporters of the command line and of the Python API override them.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.files_read = 0
        self.skipped: list[tuple[str, str]] = []  # (file, reason) of each input that was left out
        self.fit_counts: FitCounts | None = None
        self.kept_rows: KeptRows | None = None  # of a fit that passed over the rows several times
        self.cluster_parts: tuple[str, int] | None = None  # engine of a cluster, number of parts

    def note(self, text: str) -> None:
        """Record and show a note, unless it was recorded before."""
        if text not in self.notes:
            self.notes.append(text)
            self.show("note", text)

    def warn(self, text: str, items: Sequence[str] = ()) -> None:
        """Record and show a warning, unless it was recorded before; each of `items` is a line below the text."""
        whole = "\n  ".join([text, *items])
        if whole not in self.warnings:
            self.warnings.append(whole)
            self.show("warning", text, items)

    def at_stage(self, what: str) -> None:
        """Called when the run enters a stage, such as `solving`, `pass 2` or `EM step 12`."""

    def at_file(self, number: int, of: int) -> None:
        """Called when input `number`, counted from 1, of `of` inputs is opened."""

    def at_part(self, done: int, of: int) -> None:
        """Called when a cluster has processed `done` of `of` parts of the input."""

    def all_parts(self, engine: str, parts: int) -> None:
        """Record that the cluster `engine` has processed all parts of the input; `parts` is their number."""
        self.cluster_parts = engine, parts

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        """Called when a pass over the inputs begins, whose progress `gauge` gives.

        `further`: the pass before continues with another input, so row counts go on.
        """

    def at_rows(self, count: int) -> None:
        """Called when `count` more rows were read."""

    def all_read(self, files: int, skipped: Sequence[tuple[str, str]]) -> None:
        """Record the number of files read and (file, reason) of each file left out, then call `at_end`."""
        self.files_read, self.skipped = files, list(skipped)
        self.at_end()

    def at_end(self) -> None:
        """Called when reading has ended."""

    def silent(self) -> Reporter:
        """Return a reporter for reading the same inputs again, which passes only progress on to this reporter."""
        return ProgressOnly(self)

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        """Called for each new notice of `kind` note or warning: the command line prints it, Python issues a warning."""


class ProgressOnly(Reporter):
    """Reporter that passes progress on to the reporter `outer`, and records notes and warnings without showing them."""

    def __init__(self, outer: Reporter) -> None:
        super().__init__()
        self._outer = outer

    def at_stage(self, what: str) -> None:
        self._outer.at_stage(what)

    def at_file(self, number: int, of: int) -> None:
        self._outer.at_file(number, of)

    def at_part(self, done: int, of: int) -> None:
        self._outer.at_part(done, of)

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        self._outer.at_reading(gauge, further=further)

    def at_rows(self, count: int) -> None:
        self._outer.at_rows(count)

    def at_end(self) -> None:
        self._outer.at_end()


class NestedReporter(ProgressOnly):
    """Reporter of a run that is part of an outer run: passes notes, warnings and progress on to the outer reporter."""

    def note(self, text: str) -> None:
        self._outer.note(text)

    def warn(self, text: str, items: Sequence[str] = ()) -> None:
        self._outer.warn(text, items)

    def at_file(self, number: int, of: int) -> None:
        """Do nothing: the outer run counts its files."""

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        """Pass the gauge on with `further`, so that the row count of the outer run goes on."""
        self._outer.at_reading(gauge, further=True)

    def at_end(self) -> None:
        """Do nothing: reading ends with the outer run."""


_current: ContextVar[Reporter | None] = ContextVar("current reporter", default=None)


def report_to(reporter: Reporter | None) -> None:
    """Make `reporter`, or no reporter, the current one of this context (contextvars), to which `doing` sends stages."""
    _current.set(reporter)


def doing(what: str) -> None:
    """Announce to the current reporter, if there is one, that the run enters stage `what`."""
    reporter = _current.get()
    if reporter is not None:
        reporter.at_stage(what)
