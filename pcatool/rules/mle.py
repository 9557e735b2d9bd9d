"""Rule `mle`: keep the most probable number of components, by Minka's evidence of probabilistic PCA.

When to prefer it: about equal noise in all columns. The evidence weighs fit against the number of parameters and needs
no threshold. Unequal noise, which standardising strong components can cause, counts as more components.
Assumes normal data: k directions with variances of their own, and one common variance for all others, the noise, which
is the mean of the remaining eigenvalues. So k stays below d: k = d - 1 already describes any covariance. With n <= d,
k cannot be the rank either: the remaining eigenvalues are then 0 whatever the data are. But when columns depend on each
other and the rank is less than rows and columns allow, the noise is exactly 0, the evidence is unbounded, and the
answer is the rank. Constant columns are left out. Uncentred, the mean is taken as 0.
The formula is that of the paper, so the choice equals that of scikit-learn, which needs at least as many rows as
columns. The paper does not cover equal eigenvalues, whose directions are arbitrary: here an angle ranges over pi at
most.
Reference: Minka 2000, "Automatic choice of dimensionality for PCA", Advances in Neural Information Processing Systems
13, the approximation of p(D|k) by Laplace's method.
"""

from __future__ import annotations

from math import lgamma, log, pi

import numpy as np

from pcatool.arrays import Array
from pcatool.rules.base import Choice, Evidence

__all__ = ["log_evidence", "mle"]

# Laplace's method gives each pair of directions a width sqrt(2 pi / a) in the angle between them, infinite for equal
# eigenvalues. But an angle ranges over pi at most, so log a is at least LEAST_LOG_CURVATURE. All angles of
# a direction together range over half a sphere, whose area the prior divides by, so the logarithm of prior times width
# is at most LOG_HALF_SPHERE.
LEAST_LOG_CURVATURE, LOG_HALF_SPHERE = log(2 / pi), -log(2)

# Eigenvalues that agree to this relative difference count as equal: no more of their digits are known.
EQUAL_EIGENVALUES = 1e-10

# Finite stand-in for the logarithm of 0, below any bound.
LOG_OF_ZERO = -1e6


def mle(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the number of components that is most probable by Minka's evidence; `number` is not used.

    If the rank is less than rows and columns allow, choose the rank.
    """
    # Rounding may have left an eigenvalue of 0 within the rank.
    rank = min(evidence.rank, int(np.count_nonzero(evidence.spectrum)))
    if rank < 2:
        return Choice(1, "the data have rank 1, so there is no other choice")
    if rank < evidence.possible:
        return Choice(rank, f"the data have only rank {rank}, so there is no noise, and k is this rank")
    k = int(np.argmax(log_evidence(evidence.spectrum, evidence.n, evidence.varying))) + 1
    return Choice(k, f"the most probable number from 1 to {rank - 1}")


def log_evidence(eigenvalues: Array, n: int, d: int) -> Array:
    """Return log p(D | k) up to a constant, (r - 1,) for k = 1 to r - 1, from the r eigenvalues, all above 0.

    D are the data, n rows of d columns. All terms are in logarithms of eigenvalues, so that no scale overflows.
    """
    logs = np.log(eigenvalues) - np.log(eigenvalues[0])
    k = np.arange(1, len(logs))
    rest = np.logaddexp.accumulate(logs[::-1])[::-1]
    noise = rest[1:] - np.log(d - k)  # log v_k
    likelihood = -n / 2 * (np.cumsum(logs[:-1]) + (d - k) * noise)
    return np.asarray(likelihood + k / 2 * log(2 * pi / n) + log_directions(logs, noise, n, d))


def log_directions(logs: Array, noise: Array, n: int, d: int) -> Array:
    """Return log of p(U) (2 pi)^(m/2) |A_k|^(-1/2), Minka's term for the k directions U, for k = 1 to r - 1.

    m is the number of parameters of U. |A_k| is the product over i <= k and i < j <= d of
    a_ij = n (1/h_j - 1/l_i) (l_i - l_j), with eigenvalues l and h_j = l_j for j <= k, else the noise v_k. `logs` (r,)
    are log l, `noise` (r - 1,) log v_k. The sum runs over directions i, each in O(r). The term is infinite for equal
    eigenvalues, so it is bounded: where l_i and l_j agree to EQUAL_EIGENVALUES, a_ij counts as 2 / pi.
    """
    r = len(logs)
    total = np.zeros(r - 1)
    for i in range(r - 1):
        gaps = log_one_minus(logs[i] - logs)  # log(1 - l_j / l_i), growing with j > i
        unequal = int(np.searchsorted(gaps[i + 1 :], log(EQUAL_EIGENVALUES), side="right")) + i + 1
        pairs = logs[i] - logs[i + 1 : -1] + 2 * gaps[i + 1 : -1] + log(n)
        pairs[: unequal - i - 1] = LEAST_LOG_CURVATURE
        curvature = _noise_curvature(gaps, _log_exp_minus_one(logs[i] - noise[i:]) + log(n), unequal, i + 1, d)
        curvature[1:] += np.cumsum(pairs)
        prior = lgamma((d - i) / 2) - (d - i) / 2 * log(pi) - log(2)
        width = prior + (d - 1 - i) / 2 * log(2 * pi) - curvature / 2
        total[i:] += width if unequal == i + 1 else np.minimum(width, LOG_HALF_SPHERE)
    return total


def _noise_curvature(gaps: Array, factor: Array, unequal: int, first_k: int, d: int) -> Array:
    """Return, for each k from `first_k` to r - 1, the sum over k < j <= d of log a_ij of one direction i.

    log a_ij is factor_k + gap_j. `gaps` (r,) end at the rank; later gaps are 0. Eigenvalues before the index `unequal`
    equal that of direction i, and add LEAST_LOG_CURVATURE each instead.
    """
    r = len(gaps)
    k = np.arange(first_k, r)
    start = np.maximum(k, unequal)
    sums = np.append(np.cumsum(gaps[: first_k - 1 : -1])[::-1], 0.0)
    return np.asarray((start - k) * LEAST_LOG_CURVATURE + (d - start) * factor + sums[start - first_k])


def log_one_minus(gap: Array) -> Array:
    """Return log(1 - exp(-gap)); LOG_OF_ZERO for gaps that are not above 0."""
    positive = gap > 0
    return np.where(positive, np.log(-np.expm1(-np.where(positive, gap, 1.0))), LOG_OF_ZERO)


def _log_exp_minus_one(gap: Array) -> Array:
    """Return log(exp(gap) - 1); about LOG_OF_ZERO for gaps that are not above 0."""
    return gap + log_one_minus(gap)
