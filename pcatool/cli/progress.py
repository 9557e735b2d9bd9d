"""How far a run is: one line on a terminal, written over and over, and gone when there is something else to say."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from time import monotonic

__all__ = ["LINE", "Progress"]

# Seconds until the line first appears, and between two of them.
PATIENCE = 1.0
EVERY = 0.2

ERASE = "\r\x1b[K"


class Progress:
    """Counts files and rows; draws on standard error, if that is a terminal."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._start = monotonic()
        self._next = self._start + PATIENCE
        self._file = self._files = self._rows = self._done = self._parts = 0

    def at_file(self, number: int, of: int) -> None:
        if number <= self._file:  # from the beginning, for another pass
            self._rows, self._start = 0, monotonic()
        self._file, self._files = number, of
        self._draw()

    def at_part(self, done: int, of: int) -> None:
        self._done, self._parts = done, of
        self._draw()

    def at_rows(self, count: int) -> None:
        self._rows += count
        self._draw()

    def _draw(self) -> None:
        now = monotonic()
        if self._wanted and now >= self._next:
            self._next = now + EVERY
            LINE.draw(self.line(now - self._start))

    def line(self, elapsed: float) -> str:
        if self._parts:
            said = [f"{self._done} of {self._parts} parts", clock(elapsed)]
            return ", ".join([*said, *left(elapsed, self._done, self._parts)])
        said = [f"{self._rows} rows", clock(elapsed)]
        if self._files > 1:
            said = [f"file {self._file} of {self._files}", *said, *left(elapsed, self._file - 1, self._files)]
        return ", ".join(said)


def left(elapsed: float, done: int, of: int) -> list[str]:
    """How much time is left, once something is done."""
    return [f"about {clock(elapsed * (of - done) / done)} left"] if done else []


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Line:
    """What stands on the terminal's last line and is not there to stay."""

    def __init__(self) -> None:
        self._shown = False

    def draw(self, text: str) -> None:
        from shutil import get_terminal_size

        self._write(f"{ERASE}{text[: get_terminal_size((80, 24)).columns - 1]}")
        self._shown = True

    def erase(self) -> None:
        if self._shown:
            self._shown = False
            self._write(ERASE)

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError, AttributeError):  # nobody to tell
            sys.stderr.write(text)
            sys.stderr.flush()


# There is one terminal: whoever writes there takes the line off first.
LINE = Line()
