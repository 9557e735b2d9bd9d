"""Rule `all`: keep every component that has variance, which is the rank.

When to prefer it: nothing may be lost, or the choice is made later. Assumes nothing.
"""

from __future__ import annotations

from pcatool.rules.base import Choice, Evidence

__all__ = ["everything"]


def everything(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose all components up to the rank; `number` is not used."""
    return Choice(evidence.rank, "the rank of the data")
