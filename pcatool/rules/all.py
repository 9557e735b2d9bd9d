"""Every component that carries variance: the rank."""

from __future__ import annotations

from pcatool.rules.base import Evidence

__all__ = ["everything"]


def everything(evidence: Evidence) -> int:
    return evidence.rank
