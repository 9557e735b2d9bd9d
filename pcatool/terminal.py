"""Terminals: what standard output can show, how wide a text is, and the ANSI codes for styles and erasing.

All ANSI codes that pcatool writes are defined here, for help and reports; rich draws the bar of the status line. rich
knows terminals and styles too, but importing its Console takes 22 ms and its Style 7 ms, while `--help` takes 90 ms and
a report 120 ms. Only `cli` may import the styles of Typer. Neither library can erase to the end of the screen.
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

    terminal: bool  # whether standard output is a terminal
    width: int  # columns; 80 if unknown
    color: bool  # whether styles may be used
    unicode: bool  # whether the encoding has all characters

    @classmethod
    def now(cls) -> Screen:
        """Return the capabilities at this moment; `color` only on a terminal, and not with NO_COLOR or TERM=dumb."""
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
    """Return the text in the ANSI style `code`, such as BOLD; unchanged without `color`."""
    return f"{code}{text}{PLAIN}" if color and text else text


def display_width(text: str) -> int:
    """Return the number of columns that a text takes on a terminal; rich is imported only if the text is not ASCII."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
