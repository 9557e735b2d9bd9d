"""What the tests of the rules share: data with a known number of components, and the evidence a fit would give."""

import numpy as np

from pcatool.rules.base import Evidence


def low_rank(n, d, signal, seed):
    """n rows of d columns: components of these variances in random directions, and nothing else."""
    rng = np.random.default_rng([seed, 1])
    directions = np.linalg.qr(rng.standard_normal((d, len(signal))))[0] if len(signal) else np.zeros((d, 0))
    return rng.standard_normal((n, len(signal))) * np.sqrt(signal) @ directions.T


def planted(n, d, signal, seed, *, noise=1.0):
    """The same with noise of this size in every cell."""
    return low_rank(n, d, signal, seed) + noise * np.random.default_rng([seed, 2]).standard_normal((n, d))


def evidence_of(X, *, center=True, standardize=False, ddof=0, seed=0):
    """By the textbook: singular values of the rows as fitted."""
    X = np.asarray(X, dtype=float)
    n, d = X.shape
    constant = np.ptp(X, axis=0) == 0
    Y = X - X.mean(axis=0) if center else X
    Y = np.where(constant & center, 0.0, Y)
    if standardize:
        Y = Y / np.where(constant, 1.0, X.std(axis=0, ddof=ddof))
    s = np.linalg.svd(Y, compute_uv=False)
    scale = np.sqrt((Y * Y).sum(axis=0))
    rank = np.linalg.matrix_rank(Y / np.where(scale > 0, scale, 1.0))
    eigenvalues = s**2 / (n - ddof)
    eigenvalues[rank:] = 0
    Y.setflags(write=False)
    return Evidence(
        eigenvalues,
        float(eigenvalues.sum()),
        n,
        d,
        int(rank),
        center,
        standardize,
        ddof,
        seed,
        rows=lambda: Y,
        constant=int(constant.sum()),
    )


def spectrum(eigenvalues, n=100, **more):
    """Evidence with these eigenvalues and no rows."""
    eigenvalues = np.array(eigenvalues, dtype=float)
    given = {"d": len(eigenvalues), "rank": int(np.count_nonzero(eigenvalues)), **more}
    return Evidence(eigenvalues, float(eigenvalues.sum()), n, **given)
