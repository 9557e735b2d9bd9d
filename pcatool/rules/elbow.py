"""All components before the largest drop from one eigenvalue to the next, which the scree chart marks.

When to prefer it: a few components tower over the rest. Where the spectrum falls off smoothly the first drop is the
largest, and the answer 1 means little.
Assumes nothing. Drops that are equal but for rounding: the first. Without any drop, all stay.
Reference: Cattell 1966, "The scree test for the number of factors", Multivariate Behavioral Research 1(2).
"""

from __future__ import annotations

from pcatool.linalg.spectrum import largest_drop
from pcatool.rules.base import Choice, Evidence

__all__ = ["elbow"]


def elbow(evidence: Evidence, number: float | None = None) -> Choice:
    # As many as every solver knows: some add zeros for further columns. EM knows more of them than there are rows.
    k = largest_drop(evidence.eigenvalues[: max(evidence.possible, min(evidence.n, evidence.d))])
    return (
        Choice(k, f"the largest drop is after {k}") if k else Choice(evidence.rank, "no eigenvalue drops below another")
    )
