"""Rule `marchenko-pastur`: keep leading eigenvalues above the largest of noise alone, sigma^2 (1 + sqrt(beta))^2.

When to prefer it: many rows and many columns of about equal noise, and the question is which components exist, however
weak. Noise alone exceeds this edge slightly about one time in six. Unequal noise, which standardising strong components
can cause, exceeds it often; `parallel-95` is the rule that is safer against one component too many.
Assumes independent noise of equal variance in every cell, and signal in less than half of the p possible components:
sigma^2 is their median eigenvalue, zeros past the rank included, over the median of the Marchenko-Pastur law. beta is
the smaller over the larger of columns and rows, one row less if centred. Uncentred, the noise has mean 0, and a mean
other than 0 shows as a component.
Reference: Marchenko and Pastur 1967, Mathematics of the USSR-Sbornik 1(4); Johnstone 2001, Annals of Statistics 29(2).
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np

from pcatool.rules.base import Choice, Evidence, above, leading_passing

__all__ = ["aspect", "marchenko_pastur", "median"]


def marchenko_pastur(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the leading components with eigenvalues above the edge of noise, the largest that noise alone gives.

    If more than half of the eigenvalues are 0, choose the rank. `number` is not used.
    """
    median_eigenvalue = float(np.median(evidence.spectrum))
    if median_eigenvalue == 0:
        return Choice(
            evidence.rank,
            "more than half of the eigenvalues are 0, so there is no noise, and k is the rank of the data",
        )
    beta = aspect(evidence)
    factor = (1 + sqrt(beta)) ** 2 / median(beta)
    return leading_passing(
        above(evidence.spectrum, factor * median_eigenvalue),
        f"eigenvalue above the bound of noise, {factor:.4g} x the median",
    )


def aspect(evidence: Evidence) -> float:
    """Return beta: the smaller over the larger of the columns that vary and the degrees of freedom of the rows."""
    return evidence.possible / max(evidence.degrees, evidence.varying)


def median(beta: float) -> float:
    """Return the median of the Marchenko-Pastur law of variance 1, 0 < beta <= 1, by Newton's method.

    With x = 1 + beta + 2 sqrt(beta) cos t, the share of the law above x is 2/pi int_0^t sin^2 / x. The integrand is
    smooth up to the median for every beta, so that few nodes integrate it to rounding error.
    """
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t = pi / 2
    for _ in range(12):  # six steps reach rounding error
        angles = t * (nodes + 1) / 2
        upper = t / pi * float(weights @ (np.sin(angles) ** 2 / (1 + beta + 2 * sqrt(beta) * np.cos(angles))))
        t -= (upper - 0.5) * pi / 2 * (1 + beta + 2 * sqrt(beta) * cos(t)) / sin(t) ** 2
    return 1 + beta + 2 * sqrt(beta) * cos(t)
