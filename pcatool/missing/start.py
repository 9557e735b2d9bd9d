"""Where EM starts: PCA of the rows with 0, their mean, in the holes, with what these did to it taken back out.

Where shares p_i and p_j of two columns are there, their covariance is p_i p_j of what it was, a variance p_i
(Lounici 2014, Bernoulli 20(3)). So few steps remain, and no seed is needed up to WHOLE columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.missing.census import Census
from pcatool.missing.em_step import Parameters

__all__ = ["start", "start_width"]

# Columns up to which the start is had from the whole scatter, without a seed.
WHOLE = 1024

# Of wider rows it comes from a few more directions than asked for, multiplied this often.
EXTRA, POWERS = 10, 4

# A component of the start has at least this part of the noise: EM never leaves a column of zeros.
LEAST_SIGNAL = 0.1

# What is left to the noise at the start, of a sum of variances d: steps from too small a noise go far astray.
LEAST_LEFT = 1e-9


def start_width(d: int, k: int) -> int:
    """Directions that are multiplied at once."""
    return d if d <= WHOLE else min(k + EXTRA, d)


def start(product: Callable[[Array], Array], census: Census, variances: Array, k: int, seed: int) -> Parameters:
    """From `product`, V -> Y^T Y V for the filled rows Y, and the variances (d,) of their observed cells."""
    d = len(variances)
    there = (census.weights / census.weight)[:, None]
    variances = variances[:, None]

    def covariance(V: Array) -> Array:
        return (product(V / there) / census.weight - variances * V) / there + variances * V

    width = start_width(d, k)
    V = np.eye(d) if width == d else _leading_space(covariance, d, width, seed)
    with threads(factorisation_threads(width)):
        T = V.T @ covariance(V)
        values, vectors = np.linalg.eigh((T + T.T) / 2)
    values, vectors = values[::-1], (V @ vectors[:, ::-1])[:, :k]
    # Of the whole scatter the smallest tell the noise, however much larger the others; holes may make some negative.
    left = float(np.abs(values[k:]).sum()) if width == d else d - float(values[:k].sum())
    noise = max(left, LEAST_LEFT) / (d - k)
    W = vectors * np.sqrt(np.maximum(values[:k] - noise, LEAST_SIGNAL * noise))
    return Parameters(W, np.zeros(d), noise)


def _leading_space(covariance: Callable[[Array], Array], d: int, width: int, seed: int) -> Array:
    V = np.random.default_rng(seed).standard_normal((d, width))
    for _ in range(POWERS):
        V = covariance(np.linalg.qr(V)[0])
    return np.linalg.qr(V)[0]
