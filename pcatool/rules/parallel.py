"""Rules `parallel` and `parallel-95`: keep leading components with larger shares than in noise of the same size.

`parallel` compares with the mean over simulated noise, as Horn did. `parallel-95` compares with the 95th percentile of
the noise, so it seldom keeps a component that is noise.
When to prefer it: the usual advice for standardised data, with any n and d. After one dominant component the shares of
the others are small, and weak components may be missed; `marchenko-pastur` does not miss them.
Assumes normal noise, independent in every cell, of equal variance. Standardised data are compared with correlation
matrices of noise, others with covariance matrices, as shares of the total, so that the scale plays no part. Columns of
unequal variance then count as structure. The first component that fails ends the count. Uncentred, the noise has mean
0, and a mean other than 0 is a component.
Reference: Horn 1965, "A rationale and test for the number of factors in factor analysis", Psychometrika 30(2); the
percentile: Glorfeld 1995, Educational and Psychological Measurement 55(3).
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.blas import load_scipy_linalg, one_blas_thread
from pcatool.rules.base import Choice, Evidence, above, leading_passing

__all__ = ["noise_shares", "parallel", "parallel_95"]

# Number of simulated data sets: SAMPLED_EIGENVALUES / p, between MIN_SAMPLES and MAX_SAMPLES. Eigenvalues of large
# matrices hardly vary, so fewer samples are enough.
MAX_SAMPLES, MIN_SAMPLES, SAMPLED_EIGENVALUES = 200, 20, 20_000

# Largest p d for which correlation matrices are simulated exactly. Eigenvalues of larger ones behave like those of
# covariance matrices (Bao, Pan and Zhou 2012, Electronic Journal of Probability 17).
MAX_CORRELATION_CELLS = 250_000


def parallel(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the leading components with shares above the mean in simulated noise; `number` is not used."""
    noise = noise_shares(evidence)
    return leading_passing(
        above(evidence.shares, noise.mean(axis=0)), f"share above the mean share in {len(noise)} samples of noise"
    )


def parallel_95(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the leading components with shares above the 95th percentile in simulated noise; `number` is not used."""
    noise = noise_shares(evidence)
    bound = np.quantile(noise, 0.95, axis=0)
    return leading_passing(
        above(evidence.shares, bound), f"share above the 95th percentile of the shares in {len(noise)} samples of noise"
    )


def noise_shares(evidence: Evidence) -> Array:
    """Return the shares of the p possible components in simulated noise, (samples, p), each row descending.

    For standardised data, the shares are those of correlation matrices, unless these are too large to simulate.
    """
    rng = np.random.default_rng(evidence.seed)
    n, d, p = evidence.degrees, evidence.varying, evidence.possible
    correlated = evidence.standardized and p * d <= MAX_CORRELATION_CELLS
    draw = correlation_eigenvalues if correlated else covariance_eigenvalues
    with one_blas_thread():
        samples = np.array(
            [draw(rng, n, d) for _ in range(max(MIN_SAMPLES, min(MAX_SAMPLES, SAMPLED_EIGENVALUES // p)))]
        )
    shares: Array = samples / samples.sum(axis=1, keepdims=True)
    return shares


def covariance_eigenvalues(rng: np.random.Generator, n: int, d: int) -> Array:
    """Draw the min(n, d) eigenvalues, descending, of the scatter of n rows of d columns of normal noise.

    No rows are drawn: the eigenvalues are distributed like those of B B^T, where B is bidiagonal with independent chi
    entries (Silverstein 1985, Annals of Probability 13(4)).
    """
    p, q = min(n, d), max(n, d)
    diagonal, below = rng.chisquare(q - np.arange(p)), rng.chisquare(np.arange(p - 1, 0, -1))
    solve = load_scipy_linalg().eigvalsh_tridiagonal
    values: Array = solve(diagonal + np.append(0.0, below), np.sqrt(diagonal[:-1] * below))
    return _descending(values)


def correlation_eigenvalues(rng: np.random.Generator, n: int, d: int) -> Array:
    """Draw the min(n, d) leading eigenvalues, descending, of the correlations in n rows of d columns of normal noise.

    The rows of the triangular factor of a Wishart matrix (Bartlett 1933, Proc. Royal Society of Edinburgh 53) have the
    lengths and angles of the columns of the data.
    """
    if n < d:
        columns = rng.standard_normal((d, n))
    else:
        columns = np.tril(rng.standard_normal((d, d)), -1)
        columns[np.diag_indices(d)] = np.sqrt(rng.chisquare(n - np.arange(d)))
    columns /= np.sqrt(np.einsum("ij,ij->i", columns, columns))[:, None]
    gram = columns.T @ columns if n < d else columns @ columns.T
    return _descending(np.asarray(np.linalg.eigvalsh(gram), dtype=np.float64))


def _descending(values: Array) -> Array:
    """Return ascending eigenvalues in descending order, with 0 for those below 0 by rounding."""
    return np.asarray(np.maximum(values[::-1], 0.0))
