"""The status line of a terminal: how far a run is, drawn while it works and erased afterwards.

`Line` is the last line of the terminal, written over and over, and erased before other text. The cursor stays visible
and in the first column. However the run ends, even by a signal that cannot be handled, the prompt then appears in the
right place, and typed characters such as ^C do not break the line.

`Progress` is told what happens, and shows it for runs that take more than a second, on a terminal only. A thread of its
own draws the line, so the line moves while other threads compute; the state of the run is read only then.
"""

from __future__ import annotations

import os
import sys
import termios
from contextlib import suppress
from threading import RLock, Thread
from time import monotonic, sleep
from typing import NamedTuple

from pcatool.errors import printable
from pcatool.progress import Gauge
from pcatool.terminal import DIM, ERASE, GREEN, PLAIN, display_width

__all__ = ["LINE", "Look", "Progress", "State", "bar_line", "clock", "fitted"]

STDERR = 2

USUAL = 80  # columns, where the terminal does not tell


def window() -> int:
    """Return the width of the terminal in columns, asked anew each time: people resize windows."""
    with suppress(OSError):
        return os.get_terminal_size(STDERR).columns or USUAL
    return USUAL


def fitted(text: str, most: int) -> str:
    """Return a name cut to `most` columns; its end is kept, because the end tells most."""
    if display_width(text) <= most:
        return text
    kept = ""
    for c in reversed(text):
        if display_width(c + kept) > most - 1:
            break
        kept = c + kept
    return f"~{kept}"


def is_ours() -> bool:
    """Whether this process may write to the terminal.

    It may not from the background, nor while a pager or an editor controls the terminal.
    """
    try:
        return bool(termios.tcgetattr(STDERR)[3] & termios.ICANON) and os.tcgetpgrp(STDERR) == os.getpgrp()
    except (OSError, termios.error):
        return True  # not the terminal of a shell: nobody shares it


class Line:
    """The status line on the terminal. One thread draws the line, others erase it."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._shown = False
        self._open = False

    def open(self) -> None:
        """Allow drawing."""
        self._open = True

    def draw(self, text: str) -> bool:
        """Draw one line of text, narrower than the window; return False once the line is closed."""
        with self.lock:
            if self._open and is_ours():
                self._shown = True
                self._write(f"\r{text}{ERASE}\r")
            return self._open

    def erase(self) -> None:
        """Erase the line, if it is drawn."""
        with self.lock:
            if self._shown and is_ours():
                self._write(f"\r{ERASE}")
            self._shown = False

    def close(self) -> None:
        """Erase the line, and draw no more."""
        with self.lock:
            self._open = False
            self.erase()

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError, AttributeError):  # standard error is closed or absent
            sys.stderr.write(text)
            sys.stderr.flush()


# There is one terminal: whoever writes to it erases the line first, and holds the lock while writing.
LINE = Line()


# Columns of the bar: fewer tell nothing, more are hard to follow.
LEAST, MOST = 8, 30
# Columns of the name of a file.
NAME = 24

GAP = "  "

# Share that must be done before the remaining time can be estimated.
TOLD = 0.005


class State(NamedTuple):
    """Where a run stands."""

    what: str  # current stage
    seconds: float  # since the stage, or reading, began
    share: float | None = None  # done, from 0 to 1
    rows: int = 0  # rows read
    size: int | None = None  # bytes that came through a pipe
    place: str = ""  # number of the file or part, if there are several
    name: str = ""  # name of the file


class Look(NamedTuple):
    """Capabilities of the terminal, and whether its user wants colour."""

    width: int
    color: bool
    unicode: bool


def bar_line(state: State, look: Look) -> str:
    """Return the status line, a column narrower than the window: in the last column some terminals wrap.

    Parts are dropped, the least important first, until the others fit; the bar takes the room that is left.
    """
    room = look.width - 1
    parts = _parts(state)
    order = [name for name in ("size", "name", "rate", "place", "rows", "what", "time") if parts.get(name)]
    while order and _width(parts) > room:
        del parts[order.pop(0)]
    if _width(parts) > room:
        return ""
    shown = [text for text in parts.values() if text]
    bar = min(room - _width(parts) - len(GAP), MOST)
    if state.share is not None and bar >= LEAST:
        shown.insert(1 if parts.get("what") else 0, _bar(state.share, bar, look))
    return GAP.join(shown)


def _parts(state: State) -> dict[str, str]:
    """Return all parts of the line in their order, but for the bar; a part that is not known is empty."""
    rate = state.rows / state.seconds if state.rows and state.seconds else 0.0
    return {
        "what": state.what,
        "share": "" if state.share is None else f"{int(100 * state.share):3}%",
        "place": state.place,
        "name": fitted(printable(state.name.rpartition("/")[2]), NAME),
        "rows": f"{state.rows:,} row{'' if state.rows == 1 else 's'}" if state.rows else "",
        "size": "" if not state.size else _size(state.size),
        "rate": f"{_rounded(rate):,} rows/s" if rate else "",
        "time": _time(state),
    }


def _width(parts: dict[str, str]) -> int:
    """Return the columns that the parts take, with the gaps between them."""
    shown = [display_width(text) for text in parts.values() if text]
    return sum(shown) + len(GAP) * (len(shown) - 1)


def _bar(share: float, width: int, look: Look) -> str:
    """Return a bar of `width` columns for a share from 0 to 1."""
    full, rest = ("━", "─") if look.unicode else ("#", ".")
    done = int(share * width)
    if not look.color:
        return full * done + rest * (width - done)
    return f"{GREEN}{full * done}{DIM}{rest * (width - done)}{PLAIN}"


def _time(state: State) -> str:
    """Return the remaining time once it can be estimated, and the elapsed time before."""
    if state.share is None or state.share < TOLD:
        return clock(state.seconds)
    return f"{clock(state.seconds * (1 - state.share) / state.share)} left"


def clock(seconds: float) -> str:
    """Format seconds as 1:02 or 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _rounded(rate: float) -> int:
    """Round a rate to two digits; further digits only flicker."""
    return int(float(f"{rate:.2g}")) or 1


def _size(size: int) -> str:
    value, unit = (size / 1e9, "GB") if size >= 1e9 else (size / 1e6, "MB")
    return f"{value:.1f} {unit}"


# Seconds until the line first appears, and between two drawings.
PATIENCE = 1.0
EVERY = 0.2

OPENING, READING, WORKING = "opening", "reading", "working"
# Stages that end when reading begins.
UNTIL_READING = (OPENING, WORKING, "looking at the first file")


class Progress:
    """Keeps the state of a run, and shows it on standard error if that is a terminal and `wanted`."""

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
        with suppress(RuntimeError):  # no memory for a thread: run without a status line
            Thread(target=self._draw, daemon=True).start()

    def _draw(self) -> None:
        """Draw the line again and again until the line is closed; the body of a thread."""
        sleep(PATIENCE)
        color = not os.environ.get("NO_COLOR")
        unicode = (sys.stderr.encoding or "").lower().replace("-", "").startswith("utf")
        while LINE.draw(bar_line(self.state(), Look(window(), color, unicode))):
            sleep(EVERY)

    def state(self) -> State:
        """Return the present state; the run goes on meanwhile, so each field is read once."""
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
        elif files > 1 and not gauge.several:  # read one by one: `share` is that of a single file
            share = (file - 1 + share) / files
        place = f"file {file} of {files}" if files > 1 else ""
        return State(self._what, seconds, share, self._rows, size, place, gauge.current if files > 1 else "")


def is_terminal() -> bool:
    """Whether standard error is a terminal that can write over a line."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
