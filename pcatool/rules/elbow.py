"""All components before the largest drop from one eigenvalue to the next, which the scree chart marks.

When to prefer it: a few components stand far above the rest. Where the spectrum falls smoothly the first drop is the
largest, and the answer 1 means little.
Assumes nothing. Of drops that differ only by rounding error the first counts. Without any drop, all components stay.
Reference: Cattell 1966, "The scree test for the number of factors", Multivariate Behavioral Research 1(2).
"""

from __future__ import annotations

from pcatool.linalg.spectrum import largest_drop
from pcatool.rules.base import Choice, Evidence

__all__ = ["elbow"]


def elbow(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the components before the largest drop."""
    # The eigenvalues that every solver knows: some solvers append zeros for further columns. EM has more eigenvalues
    # than there are rows.
    k = largest_drop(evidence.eigenvalues[: max(evidence.possible, min(evidence.n, evidence.d))])
    return (
        Choice(k, f"the largest drop is after {k}") if k else Choice(evidence.rank, "no eigenvalue drops below another")
    )
