"""Shares as they are read on a terminal and in pictures."""

from __future__ import annotations

__all__ = ["percent"]


def percent(share: float, places: int = 2) -> str:
    """A share in per cent; what is not zero and what is not all never look as if they were."""
    text, least = f"{100 * share:.{places}f}", 10.0**-places
    if float(text) == 0 and share > 0:
        return f"<{least:.{places}f} %"
    if float(text) == 100 and share < 1:
        return f">{100 - least:.{places}f} %"
    return f"{text} %"
