"""Leading components whose eigenvalue is above the mean eigenvalue, which is 1 for standardised data.

When to prefer it: hardly; it is asked for because it is known. Noise alone puts about half of the eigenvalues above the
mean, so it keeps too many when there are many columns. `parallel` is the same idea with the noise allowed for.
Assumes a component should carry more than one column does; constant columns do not count. Uncentred, squares about 0
stand for variances, and a mean far from 0 lifts the bound.
Reference: Kaiser 1960, "The application of electronic computers to factor analysis", Educational and Psychological
Measurement 20(1).
"""

from __future__ import annotations

from pcatool.rules.base import Choice, Evidence, above, first

__all__ = ["kaiser"]


def kaiser(evidence: Evidence, number: float | None = None) -> Choice:
    mean = evidence.total_variance / evidence.varying
    return first(above(evidence.spectrum, mean), f"eigenvalue above their mean {mean:.4g}")
