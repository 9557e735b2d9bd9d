"""The yardstick: EM for probabilistic PCA with missing cells, one row and one column at a time, from the papers alone.

Tipping and Bishop 1999, J. R. Stat. Soc. B 61(3), appendix B, with sums over observed cells as in Ilin and Raiko 2010,
JMLR 11, section 3; the density of each row is that of scipy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

__all__ = ["density", "em_step", "maximum", "summit"]

Array = NDArray[np.float64]
Model = tuple[Array, Array, float]  # W, mu, sigma^2


def density(X: Array, mean: Array, C: Array) -> float:
    """Logarithm of the density of the observed cells under a normal distribution."""
    total = 0.0
    for x in X:
        o = np.flatnonzero(~np.isnan(x))
        if len(o):
            total += float(multivariate_normal.logpdf(x[o], mean[o], C[np.ix_(o, o)]))
    return total


def em_step(X: Array, model: Model) -> Model:
    W, mu, noise = model
    d, k = W.shape
    observed = ~np.isnan(X)
    means, covariances = [], []
    for x, o in zip(X, observed, strict=True):
        M = W[o].T @ W[o] + noise * np.eye(k)
        means.append(np.linalg.solve(M, W[o].T @ (x[o] - mu[o])))
        covariances.append(noise * np.linalg.inv(M))
    new_W, new_mu = np.empty_like(W), np.empty_like(mu)
    for j in range(d):
        A, b = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
        for i in np.flatnonzero(observed[:, j]):
            z = np.append(means[i], 1.0)
            A += np.outer(z, z)
            A[:k, :k] += covariances[i]
            b += X[i, j] * z
        solved = np.linalg.solve(A, b)
        new_W[j], new_mu[j] = solved[:k], solved[k]
    squares = 0.0
    for i, j in np.argwhere(observed):
        squares += (X[i, j] - new_W[j] @ means[i] - new_mu[j]) ** 2 + new_W[j] @ covariances[i] @ new_W[j]
    return new_W, new_mu, squares / int(observed.sum())


def maximum(X: Array, k: int, steps: int, seed: int) -> Model:
    """Where so many steps lead from a start at random."""
    d = X.shape[1]
    model: Model = (np.random.default_rng(seed).normal(size=(d, k)), np.nanmean(X, axis=0), 1.0)
    for _ in range(steps):
        model = em_step(X, model)
    return model


def summit(X: Array, model: Model, center: bool) -> Model:
    """The maximum that Newton's steps lead to, with second derivatives from differences of the gradient.

    Directions that turn W and change nothing are left out, as those with hardly any curvature.
    """
    W, mu, noise = model
    d, k = W.shape
    rows = [(np.flatnonzero(~np.isnan(x)), x[~np.isnan(x)]) for x in X]
    cells = sum(len(o) for o, _ in rows)

    def parts(v: Array) -> Model:
        return v[: d * k].reshape(d, k), v[d * k : d * k + d] if center else np.zeros(d), float(np.exp(v[-1]))

    def cost(v: Array) -> tuple[float, Array]:
        """The negative log-likelihood for each cell, and its gradient."""
        W, mu, noise = parts(v)
        C = W @ W.T + noise * np.eye(d)
        value, of_C, of_mu = 0.0, np.zeros((d, d)), np.zeros(d)
        for o, x in rows:
            inverse = np.linalg.inv(C[np.ix_(o, o)])
            u = inverse @ (x - mu[o])
            value += 0.5 * float(np.linalg.slogdet(C[np.ix_(o, o)])[1] + (x - mu[o]) @ u)
            of_C[np.ix_(o, o)] += 0.5 * (inverse - np.outer(u, u))
            of_mu[o] -= u
        slope = np.concatenate([(2 * of_C @ W).ravel(), of_mu if center else [], [np.trace(of_C) * noise]])
        return value / cells, slope / cells

    v = np.concatenate([W.ravel(), mu if center else [], [np.log(noise)]])
    step = 1e-5
    for _ in range(50):
        value, slope = cost(v)
        H = np.array([(cost(v + e)[1] - cost(v - e)[1]) / (2 * step) for e in step * np.eye(len(v))])
        second_derivatives, axes = np.linalg.eigh((H + H.T) / 2)
        strong = np.abs(second_derivatives) > 1e-9 * second_derivatives.max()
        move = -axes[:, strong] @ ((axes[:, strong].T @ slope) / np.abs(second_derivatives[strong]))
        move *= min(1.0, 0.3 / max(float(np.abs(move).max()), 1e-300))
        while cost(v + move)[0] > value + 1e-15 * abs(value) and np.abs(move).max() > 1e-12:
            move = move / 2
        v = v + move
        if np.abs(move).max() < 1e-11:
            break
    return parts(v)
