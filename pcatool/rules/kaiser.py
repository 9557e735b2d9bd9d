"""Rule `kaiser`: keep leading components whose eigenvalue is above the mean, which is 1 for standardised data.

When to prefer it: hardly ever; offered because it is well known. Noise alone puts about half of the eigenvalues above
the mean, so this rule keeps too many when there are many columns. `parallel` is the same idea, corrected for noise.
Assumes that a component should have more variance than one column; constant columns do not count. Uncentred, squares
about 0 are used instead of variances, and a mean far from 0 raises the bound.
Reference: Kaiser 1960, "The application of electronic computers to factor analysis", Educational and Psychological
Measurement 20(1).
"""

from __future__ import annotations

from pcatool.rules.base import Choice, Evidence, above, leading_passing

__all__ = ["kaiser"]


def kaiser(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the leading components with eigenvalues above the mean eigenvalue; `number` is not used."""
    mean = evidence.total_variance / evidence.varying
    return leading_passing(above(evidence.spectrum, mean), f"eigenvalue above the mean {mean:.4g}")
