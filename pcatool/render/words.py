"""Counts in words."""

from __future__ import annotations

__all__ = ["counted", "grouped"]


def counted(count: int, noun: str, ending: str = "s") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{ending}"


def grouped(count: int) -> str:
    """A number of rows that is read at a glance."""
    return f"{count:,}".replace(",", " ") if count >= 10_000 else str(count)
