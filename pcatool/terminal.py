"""Terminals: what standard output can show, how wide a text is, and the ANSI codes for styles and erasing.

All ANSI codes that pcatool writes stand here, for help and reports; the bar of the status line is drawn by rich. rich
knows terminals and styles too, but its Console takes 22 ms to import and its Style 7 ms, of a `--help` of 90 ms and
reports of 120 ms; and the styles of Typer can be used in `cli` alone. Erasing to the end of the screen is in neither.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

__all__ = ["BOLD", "CYAN", "DIM", "ERASE", "MAGENTA", "PLAIN", "Screen", "display_width", "styled"]

BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
MAGENTA, CYAN = "\x1b[35m", "\x1b[36m"

# Erases to the end of the screen, not of the line: in a window made narrower the status line takes several lines.
ERASE = "\x1b[J"


class Screen(NamedTuple):
    """Capabilities of standard output."""

    terminal: bool
    width: int  # columns
    color: bool
    unicode: bool

    @classmethod
    def now(cls) -> Screen:
        """Return the capabilities at this moment; colour only on a terminal, without NO_COLOR or TERM=dumb."""
        from shutil import get_terminal_size

        encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
        terminal = sys.stdout is not None and sys.stdout.isatty()
        return cls(
            terminal=terminal,
            width=get_terminal_size((80, 24)).columns,
            color=terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
            unicode=encoding.startswith("utf"),
        )


def styled(text: str, code: str, color: bool) -> str:
    """Wrap the text in an ANSI style, if `color`."""
    return f"{code}{text}{PLAIN}" if color and text else text


def display_width(text: str) -> int:
    """Return the number of terminal columns of a text; rich is imported only if the text is not ASCII."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
