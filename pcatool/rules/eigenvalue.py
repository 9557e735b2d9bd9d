"""Rule `eigenvalue`: keep leading components whose eigenvalue is at least a threshold, as in `eigenvalue:1`.

When to prefer it: the variance of the noise is known, in the units of the fit; or a line is drawn across a scree plot.
Assumes nothing. The eigenvalues are those that the fit reports, so `--ddof` and `--standardize` change them.
Reference: Cattell 1966, "The scree test for the number of factors", Multivariate Behavioral Research 1(2).
"""

from __future__ import annotations

from pcatool.rules.base import Choice, Evidence, above, leading_passing

__all__ = ["eigenvalue"]


def eigenvalue(evidence: Evidence, number: float | None) -> Choice:
    """Choose the leading components with eigenvalues of at least `number`."""
    assert number is not None  # the registry has a default
    return leading_passing(above(evidence.spectrum, number, equal=True), f"eigenvalue of at least {number:g}")
