"""Every component that carries variance: the rank.

When to prefer it: nothing may be lost, or the choice is made later. Assumes nothing.
"""

from __future__ import annotations

from pcatool.rules.base import Choice, Evidence

__all__ = ["everything"]


def everything(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the rank."""
    return Choice(evidence.rank, "the rank of the data")
