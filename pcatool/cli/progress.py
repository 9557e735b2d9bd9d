"""How far a run is: a line on a terminal for what takes more than a second, and nothing anywhere else.

A thread of its own draws it, so that it moves while the others reckon; it asks where the run stands only then.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep

from pcatool.cli.line import LINE, window
from pcatool.cli.status_line import Look, State, bar_line
from pcatool.progress import Gauge

__all__ = ["Progress"]

# Seconds until the line first appears, and between two of them.
PATIENCE = 1.0
EVERY = 0.2

OPENING, READING, WORKING = "opening", "reading", "working"
UNTIL_READING = (OPENING, WORKING, "looking at the first file")


class Progress:
    """Told what happens, shows it on standard error if that is a terminal."""

    def __init__(self, wanted: bool) -> None:
        self._what = OPENING
        self._since = self._reading_since = monotonic()
        self._gauge: Gauge | None = None
        self._file = self._files = self._rows = self._done = self._parts = 0
        if wanted and is_terminal():
            self._show()

    def at_stage(self, what: str) -> None:
        if what != self._what:
            self._what, self._since = what, monotonic()

    def at_file(self, number: int, of: int) -> None:
        self._file, self._files = number, of

    def at_part(self, done: int, of: int) -> None:
        if self._parts != of:
            self.at_stage(WORKING)
        self._done, self._parts = done, of

    def at_reading(self, gauge: Gauge, further: bool) -> None:
        self._gauge = gauge
        if further:
            return
        self._rows, self._reading_since = 0, monotonic()
        if self._what in UNTIL_READING:
            self._what = READING

    def at_rows(self, count: int) -> None:
        self._rows += count

    def at_end(self) -> None:
        self._gauge, self._rows, self._files, self._parts = None, 0, 0, 0
        self.at_stage(WORKING)

    def _show(self) -> None:
        LINE.open()
        with suppress(RuntimeError):  # no memory for a thread: the run is more than its picture
            Thread(target=self._draw, daemon=True).start()

    def _draw(self) -> None:
        sleep(PATIENCE)
        color = not os.environ.get("NO_COLOR")
        unicode = (sys.stderr.encoding or "").lower().replace("-", "").startswith("utf")
        while LINE.draw(bar_line(self.state(), Look(window(), color, unicode))):
            sleep(EVERY)

    def state(self) -> State:
        """As it is now; the run goes on meanwhile, so that each thing is looked at once."""
        seconds, gauge = monotonic() - self._since, self._gauge
        if parts := self._parts:
            done = self._done
            return State(self._what, seconds, done / parts, self._rows, place=f"{done} of {parts} parts")
        if gauge is None:
            return State(self._what, seconds)
        seconds = monotonic() - self._reading_since
        share, size, file, files = gauge.share(), None, self._file, self._files
        if share is None:
            size = gauge.taken()
        elif files > 1 and not gauge.several:  # one after the other, each for itself
            share = (file - 1 + share) / files
        place = f"file {file} of {files}" if files > 1 else ""
        return State(self._what, seconds, share, self._rows, size, place, gauge.current if files > 1 else "")


def is_terminal() -> bool:
    """One that can write a line over another."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
