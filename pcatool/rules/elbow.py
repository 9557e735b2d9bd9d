"""Rule `elbow`: keep all components before the largest drop from one eigenvalue to the next.

When to prefer it: a few eigenvalues are far larger than the others. Where the spectrum falls smoothly, the first drop
is the largest, and the answer 1 means little. The scree chart marks this drop.
Assumes nothing. Among drops that differ only by rounding error, the first counts. Without any drop, all components are
kept.
Reference: Cattell 1966, "The scree test for the number of factors", Multivariate Behavioral Research 1(2).
"""

from __future__ import annotations

from pcatool.linalg.spectrum import largest_drop
from pcatool.rules.base import Choice, Evidence

__all__ = ["elbow"]


def elbow(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the components before the largest drop from one eigenvalue to the next; `number` is not used.

    If all eigenvalues are equal, choose the rank.
    """
    # Only eigenvalues that every solver returns, since some solvers append zeros for further columns. EM can return
    # more eigenvalues than there are rows.
    k = largest_drop(evidence.eigenvalues[: max(evidence.possible, min(evidence.n, evidence.d))])
    return (
        Choice(k, f"the largest drop is after eigenvalue {k}")
        if k
        else Choice(evidence.rank, "all eigenvalues are equal, so k is the rank of the data")
    )
