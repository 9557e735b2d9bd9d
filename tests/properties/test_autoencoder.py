"""A linear autoencoder with tied weights, trained by gradient descent, finds the subspace of PCA."""

from __future__ import annotations

import numpy as np
from scipy.linalg import subspace_angles

import pcatool


def test_gradient_descent_finds_the_same_subspace() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(120, 6)) * [3, 2, 1.5, 0.6, 0.4, 0.2] @ np.linalg.qr(rng.normal(size=(6, 6)))[0] + 5
    Y = X - X.mean(axis=0)
    S = Y.T @ Y / len(Y)
    W = 0.1 * rng.normal(size=(6, 3))
    for _ in range(20_000):  # of |Y - Y W W^T|^2 / n
        W += 0.01 * (2 * S @ W - W @ (W.T @ S @ W) - S @ W @ (W.T @ W))
    model = pcatool.fit(X, components=3)
    assert subspace_angles(W, model.basis).max() < 1e-6
    loss = np.sum((Y - Y @ W @ W.T) ** 2) / len(Y)
    assert abs(loss - model.variance.lost[2]) < 1e-10
    assert abs(np.trace((np.eye(6) - model.basis @ model.basis.T) @ S) - model.variance.lost[2]) < 1e-12
