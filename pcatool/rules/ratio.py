"""Leading components whose own share of the variance is at least a threshold, as in `ratio:0.05`.

When to prefer it: what explains less than so much of the whole is of no use, whatever its cause.
Assumes nothing. Uncentred, a mean far from 0 takes most of the total, and so of every share.
Reference: Abdi and Williams 2010, "Principal component analysis", WIREs Computational Statistics 2(4).
"""

from __future__ import annotations

from pcatool.rules.base import Choice, Evidence, above, first

__all__ = ["ratio"]


def ratio(evidence: Evidence, number: float | None) -> Choice:
    assert number is not None  # the registry has one
    return first(above(evidence.shares, number, equal=True), f"share of at least {number:g}")
