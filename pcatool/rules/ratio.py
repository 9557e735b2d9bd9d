"""Rule `ratio`: keep leading components whose share of the variance is at least a threshold, as in `ratio:0.05`.

When to prefer it: a component with a smaller share is useless for the purpose, whatever its cause.
Assumes nothing. Uncentred, a mean far from 0 takes most of the total, and thus lowers every other share.
Reference: Abdi and Williams 2010, "Principal component analysis", WIREs Computational Statistics 2(4).
"""

from __future__ import annotations

from pcatool.rules.base import Choice, Evidence, above, leading_passing

__all__ = ["ratio"]


def ratio(evidence: Evidence, number: float | None) -> Choice:
    """Choose the leading components with shares of at least `number`."""
    assert number is not None  # the registry has a default
    return leading_passing(above(evidence.shares, number, equal=True), f"share of at least {number:g}")
