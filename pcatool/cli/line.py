"""The last line of a terminal, which is written over and over, and gone when there is something else to say.

The cursor stays visible and in the first column: whatever ends the run, even a signal that nobody can answer, the
prompt that follows is where it should be, and what is typed meanwhile, as ^C, does not break the line.
"""

from __future__ import annotations

import os
import sys
import termios
from contextlib import suppress
from threading import RLock
from unicodedata import combining, east_asian_width

__all__ = ["LINE", "cells", "fitted", "window"]

STDERR = 2

# To the end of the screen, not of the line: in a window made narrower the line has become several.
ERASE = "\x1b[J"

USUAL = 80
WIDE = ("W", "F")


def window() -> int:
    """Columns of the terminal, asked anew each time: people resize windows."""
    with suppress(OSError):
        return os.get_terminal_size(STDERR).columns or USUAL
    return USUAL


def cells(text: str) -> int:
    """Columns that a text takes: two for most letters of East Asia, none for accents that join the letter before."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in WIDE else 1 for c in text)


def fitted(text: str, most: int) -> str:
    """As much of a name as fits, its end where it does not: that tells most."""
    if cells(text) <= most:
        return text
    kept = ""
    for c in reversed(text):
        if cells(c + kept) > most - 1:
            break
        kept = c + kept
    return f"~{kept}"


def is_ours() -> bool:
    """May we write there? Not from the background, nor while a pager or an editor has the terminal for itself."""
    try:
        return bool(termios.tcgetattr(STDERR)[3] & termios.ICANON) and os.tcgetpgrp(STDERR) == os.getpgrp()
    except (OSError, termios.error):
        return True  # it is not the terminal of a shell: nobody shares it


class Line:
    """What stands there. One thread draws it, others take it off."""

    def __init__(self) -> None:
        self.lock = RLock()
        self._shown = False
        self._open = False

    def open(self) -> None:
        self._open = True

    def draw(self, text: str) -> bool:
        """One line of text, narrower than the window; False when nothing is drawn any more."""
        with self.lock:
            if self._open and is_ours():
                self._shown = True
                self._write(f"\r{text}{ERASE}\r")
            return self._open

    def erase(self) -> None:
        with self.lock:
            if self._shown and is_ours():
                self._write(f"\r{ERASE}")
            self._shown = False

    def close(self) -> None:
        """For good: what comes now stays."""
        with self.lock:
            self._open = False
            self.erase()

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError, AttributeError):  # nobody to tell
            sys.stderr.write(text)
            sys.stderr.flush()


# There is one terminal: whoever writes there takes the line off first, and holds the lock while it writes.
LINE = Line()
