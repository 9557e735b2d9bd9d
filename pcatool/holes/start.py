"""Where EM starts: PCA of the rows with 0, their mean, in the holes, with what these did to it taken back out.

Where shares p_i and p_j of two columns are there, their covariance is p_i p_j of what it was, a variance p_i
(Lounici 2014, Bernoulli 20(3)). So few steps remain, and no seed is needed up to WHOLE columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pcatool.holes.census import Census
from pcatool.holes.step import Parameters
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.model import Array

__all__ = ["start", "start_width"]

# Columns up to which the start is had from the whole scatter, without a seed.
WHOLE = 1024

# Of wider rows it comes from a few more directions than asked for, multiplied this often.
EXTRA, POWERS = 10, 4

# A component of the start has at least this part of the noise: EM never leaves a column of zeros.
LEAST_SIGNAL = 0.1


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
    values, vectors = np.maximum(values[::-1][:k], 0.0), (V @ vectors[:, ::-1])[:, :k]
    noise = max(d - float(values.sum()), LEAST_SIGNAL) / (d - k)
    return Parameters(vectors * np.sqrt(np.maximum(values - noise, LEAST_SIGNAL * noise)), np.zeros(d), noise)


def _leading_space(covariance: Callable[[Array], Array], d: int, width: int, seed: int) -> Array:
    V = np.random.default_rng(seed).standard_normal((d, width))
    for _ in range(POWERS):
        V = covariance(np.linalg.qr(V)[0])
    return np.linalg.qr(V)[0]
