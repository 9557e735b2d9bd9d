"""The status line of a terminal: how far a run is, drawn while it works and erased afterwards.

It appears in runs that take more than a second, on a terminal only: no other run imports this module. A thread of its
own draws the line, so the line moves while other threads compute; the state of the run is read only then.

rich draws the bar and the colours, and lays out the line; the thread imports it (25 ms). Three things keep
`rich.live` and `rich.progress` from being used:

- They hide and move the cursor. Here the cursor stays visible and in the first column. So however the run ends, even by
  a signal that cannot be handled, the prompt appears in the right place, and typed characters such as ^C do not break
  the line.
- They draw from the background too, and while a pager has the terminal.
- In a narrow window they cut every column. Here the least important parts are dropped.
"""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

from pcatool.progress import Gauge, Reporter
from pcatool.terminal import ERASE, display_width
from pcatool.wording import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["State", "StatusLine", "bar_line", "clock", "cut_to_width"]

STDERR = 2

DEFAULT_WIDTH = 80  # columns, if the width of the terminal is unknown


def window_width() -> int:
    """Return the present width of the terminal in columns; DEFAULT_WIDTH if standard error is not a terminal.

    rich would ask standard input and output first, and use the variable COLUMNS, which does not change with the window.
    """
    with suppress(OSError):
        return os.get_terminal_size(STDERR).columns or DEFAULT_WIDTH
    return DEFAULT_WIDTH


def cut_to_width(text: str, most: int) -> str:
    """Return a name in at most `most` columns: `~` and its end if it is longer, since names differ most at the end."""
    if display_width(text) <= most:
        return text
    kept = ""
    for c in reversed(text):
        if display_width(c + kept) > most - 1:
            break
        kept = c + kept
    return f"~{kept}"


def may_write() -> bool:
    """Whether this process may write to the terminal.

    A process in the background may not; nor may any while a pager or an editor controls the terminal.
    """
    try:
        return bool(termios.tcgetattr(STDERR)[3] & termios.ICANON) and os.tcgetpgrp(STDERR) == os.getpgrp()
    except (OSError, termios.error):
        return True  # not the terminal of a shell: no other process writes to it


# Columns of the bar: fewer show too little, more are hard to follow.
MIN_BAR, MAX_BAR = 8, 30
# Columns of the name of a file.
NAME_WIDTH = 24

GAP = 2  # columns between two parts

# Share that must be done before the remaining time can be estimated.
MIN_SHARE = 0.005


class State(NamedTuple):
    """Progress of a run at one moment, for the status line."""

    what: str  # current stage, such as reading
    seconds: float  # since the stage began; while rows are read, since reading began
    share: float | None = None  # done, from 0 to 1
    rows: int = 0  # rows read
    size: int | None = None  # bytes read from a pipe; None if `share` is known
    place: str = ""  # number of the file or part, such as "file 2 of 5"; empty if there is only one
    name: str = ""  # name of the file


def bar_line(state: State, console: Console, width: int) -> str:
    """Return the status line for a window of `width` columns, in the colours and letters of the console.

    The line is a column narrower than the window, because some terminals wrap in the last column. The least important
    parts are dropped until the line fits; the bar takes the remaining columns. "" if not even one part fits.
    """
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    room = width - 1
    parts = {name: part for name, part in _parts(state).items() if part}
    order = [name for name in ("size", "name", "rate", "place", "rows", "what", "time") if name in parts]
    while order and _width(parts) > room:
        del parts[order.pop(0)]
    if not parts or _width(parts) > room:
        return ""
    shown: list[Text | ProgressBar] = [Text(part) for part in parts.values()]
    bar = min(room - _width(parts) - GAP, MAX_BAR)
    if state.share is not None and bar >= MIN_BAR:
        drawn = ProgressBar(1.0, state.share, bar, style="dim", complete_style="green", finished_style="green")
        shown.insert(1 if "what" in parts else 0, drawn)
    line = Table.grid(padding=(0, GAP, 0, 0))
    line.add_row(*shown)
    console.width = room
    with console.capture() as text:
        console.print(line, end="")
    return text.get().rstrip("\n")


def _parts(state: State) -> dict[str, str]:
    """Return the texts of the line by name, in order of display, without the bar; "" for a text that is unknown."""
    from rich.filesize import decimal

    rate = state.rows / state.seconds if state.rows and state.seconds else 0.0
    return {
        "what": state.what,
        "share": "" if state.share is None else f"{int(100 * state.share):3}%",
        "place": state.place,
        "name": cut_to_width(printable(state.name.rpartition("/")[2]), NAME_WIDTH),
        "rows": f"{state.rows:,} row{'' if state.rows == 1 else 's'}" if state.rows else "",
        "size": "" if not state.size else decimal(state.size),
        "rate": f"{_rounded(rate):,} rows/s" if rate else "",
        "time": _time(state),
    }


def _width(parts: dict[str, str]) -> int:
    """Return the columns that the parts take, with the gaps between them."""
    return sum(map(display_width, parts.values())) + GAP * (len(parts) - 1)


def _time(state: State) -> str:
    """Return the remaining time, such as `1:02 left`, once it can be estimated; before, the elapsed time."""
    if state.share is None or state.share < MIN_SHARE:
        return clock(state.seconds)
    return f"{clock(state.seconds * (1 - state.share) / state.share)} left"


def clock(seconds: float) -> str:
    """Return seconds as text: 1:02 for minutes and seconds, 1:02:03 from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _rounded(rate: float) -> int:
    """Return a rate as a whole number of at least 1, rounded to two significant digits; more digits would flicker."""
    return int(float(f"{rate:.2g}")) or 1


# Seconds until the line first appears, and between two drawings.
DELAY = 1.0
INTERVAL = 0.2

OPENING, READING, WORKING = "opening", "reading", "working"
# Stages that end when reading begins.
STAGES_BEFORE_READING = (OPENING, WORKING, "looking at the first file")


class StatusLine(Reporter):
    """Reporter that draws the progress of the run on the last line of the terminal, again and again.

    Other text must be printed within `erased`, so that it does not mix with the line.
    """

    def __init__(self) -> None:
        super().__init__()
        self._what = OPENING
        self._since = self._reading_since = monotonic()
        self._gauge: Gauge | None = None
        self._file = self._files = self._rows = self._done = self._parts = 0
        self._lock = RLock()
        self._open = self._shown = False

    def at_stage(self, what: str) -> None:
        if what != self._what:
            self._what, self._since = what, monotonic()

    def at_file(self, number: int, of: int) -> None:
        self._file, self._files = number, of

    def at_part(self, done: int, of: int) -> None:
        if self._parts != of:
            self.at_stage(WORKING)
        self._done, self._parts = done, of

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        self._gauge = gauge
        if further:
            return
        self._rows, self._reading_since = 0, monotonic()
        if self._what in STAGES_BEFORE_READING:
            self._what = READING

    def at_rows(self, count: int) -> None:
        self._rows += count

    def at_end(self) -> None:
        self._gauge, self._rows, self._files, self._parts = None, 0, 0, 0
        self.at_stage(WORKING)

    def state(self) -> State:
        """Return the present progress; each attribute is read once, because other threads change it meanwhile."""
        seconds, gauge = monotonic() - self._since, self._gauge
        if parts := self._parts:
            done = self._done
            return State(self._what, seconds, done / parts, self._rows, place=f"{done} of {parts} parts")
        if gauge is None:
            return State(self._what, seconds)
        seconds = monotonic() - self._reading_since
        share, size, file, files = gauge.share(), None, self._file, self._files
        if share is None:
            size = gauge.bytes_read()
        elif files > 1 and not gauge.several:  # files are read one by one, so `share` is the share of one file
            share = (file - 1 + share) / files
        place = f"file {file} of {files}" if files > 1 else ""
        return State(self._what, seconds, share, self._rows, size, place, gauge.current if files > 1 else "")

    def open(self) -> None:
        """Start the thread that draws the line, first after a second."""
        self._open = True
        with suppress(RuntimeError):  # no memory for a thread: run without a status line
            Thread(target=self._draw, daemon=True).start()

    @contextmanager
    def erased(self) -> Iterator[None]:
        """Context that erases the line, and keeps it from being drawn until the `with` block ends."""
        with self._lock:
            if self._shown and may_write():
                self._write(f"\r{ERASE}")
            self._shown = False
            yield

    def close(self) -> None:
        """Erase the line and stop drawing it."""
        with self.erased():
            self._open = False

    def _draw(self) -> None:
        """Draw the line again and again until it is closed; the body of a thread."""
        sleep(DELAY)
        with suppress(MemoryError):  # no memory for rich: run without a status line
            if not self._open:
                return
            from rich.console import Console

            console = Console(file=sys.stderr)
            while self._open:
                text = bar_line(self.state(), console, window_width())
                with self._lock:
                    if self._open and may_write():
                        self._shown = True
                        self._write(f"\r{text}{ERASE}\r")
                sleep(INTERVAL)

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError, AttributeError):  # standard error is closed or absent
            sys.stderr.write(text)
            sys.stderr.flush()
