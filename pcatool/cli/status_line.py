"""How far a run is, as a line of text that fits the window."""

from __future__ import annotations

from typing import NamedTuple

from pcatool.cli.line import cells, fitted
from pcatool.errors import printable

__all__ = ["Look", "State", "bar_line", "clock"]

# Cells of the bar: fewer tell nothing, more are hard to follow.
LEAST, MOST = 8, 30
# Of the name of a file.
NAME = 24

GAP = "  "
GREEN, DIM, PLAIN = "\x1b[32m", "\x1b[2m", "\x1b[0m"

# Share that must be done before it tells how long the rest takes.
TOLD = 0.005


class State(NamedTuple):
    """Where a run stands."""

    what: str
    seconds: float  # since that began
    share: float | None = None
    rows: int = 0
    size: int | None = None  # bytes that came through a pipe
    place: str = ""  # which of several files or parts
    name: str = ""  # of that file


class Look(NamedTuple):
    """What the terminal can show, and what its user wants to see."""

    width: int
    color: bool
    unicode: bool


def bar_line(state: State, look: Look) -> str:
    """One line, narrower than the window by a cell: in the last one some terminals wrap.

    Parts are left out from the least to the most telling until the others fit; what room is left is the bar's.
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
    """All there is to say, in the order of the line."""
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
    shown = [cells(text) for text in parts.values() if text]
    return sum(shown) + len(GAP) * (len(shown) - 1)


def _bar(share: float, width: int, look: Look) -> str:
    full, rest = ("━", "─") if look.unicode else ("#", ".")
    done = int(share * width)
    if not look.color:
        return full * done + rest * (width - done)
    return f"{GREEN}{full * done}{DIM}{rest * (width - done)}{PLAIN}"


def _time(state: State) -> str:
    """How much is left, once that can be told; else how long it has taken."""
    if state.share is None or state.share < TOLD:
        return clock(state.seconds)
    return f"{clock(state.seconds * (1 - state.share) / state.share)} left"


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _rounded(rate: float) -> int:
    """To two digits: others only flicker."""
    return int(float(f"{rate:.2g}")) or 1


def _size(size: int) -> str:
    value, unit = (size / 1e9, "GB") if size >= 1e9 else (size / 1e6, "MB")
    return f"{value:.1f} {unit}"
