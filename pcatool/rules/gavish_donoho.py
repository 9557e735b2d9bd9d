"""Rule `gavish-donoho`: keep leading components above the best threshold on singular values to remove noise.

When to prefer it: noise removal, many rows and columns. This rule keeps components that make the reconstruction better,
and leaves out those that exist but are too weak to help; `marchenko-pastur` keeps what exists.
Assumes a low-rank signal plus independent noise of equal variance in every cell, fewer than half of the p possible
components being signal: the threshold is omega(beta) times their median singular value, zeros past the rank included.
beta is the smaller over the larger of columns and rows, one row less if centred. omega is computed, not the published
cubic fit. Uncentred, the mean is part of the signal.
Reference: Gavish and Donoho 2014, "The optimal hard threshold for singular values is 4/sqrt(3)", IEEE Transactions on
Information Theory 60(8).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from pcatool.rules.base import Choice, Evidence, above, leading_passing
from pcatool.rules.marchenko_pastur import aspect, median

__all__ = ["gavish_donoho", "omega"]


def gavish_donoho(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the leading components with singular values above the optimal hard threshold of Gavish and Donoho.

    If more than half of the singular values are 0, choose the rank. `number` is not used.
    """
    singular = np.sqrt(evidence.spectrum)
    median_singular = float(np.median(singular))
    if median_singular == 0:
        return Choice(
            evidence.rank,
            "more than half of the singular values are 0, so there is no noise, and k is the rank of the data",
        )
    factor = omega(aspect(evidence))
    return leading_passing(
        above(singular, factor * median_singular), f"singular value above {factor:.4g} x the median singular value"
    )


def omega(beta: float) -> float:
    """Return lambda(beta) / sqrt(mu_beta), 0 < beta <= 1: the optimal threshold over the median singular value."""
    known_noise = sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + sqrt(beta * beta + 14 * beta + 1)))
    return known_noise / sqrt(median(beta))
