"""Kernel PCA from m landmark rows: what a kernel says of a row is reduced to its values at the landmarks.

phi(x) = K(x, L) U S^-1/2, with U S U^T the kernel matrix of the landmarks L, has the inner products of the kernel on
the landmarks exactly and on other rows approximately; PCA of phi streams over any number of rows. Never n x n.
When to prefer it: more rows than an n x n matrix has room for. Cost: n m (d + m) + m^3. Memory: m^2 and some blocks.
Williams and Seeger 2001, "Using the Nystroem method to speed up kernel machines", NeurIPS 13.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner
from pcatool.errors import DataError
from pcatool.kernels.base import CELLS, FEWEST_ROWS, Kernel, Prepared, slabs
from pcatool.kernels.eigen import ROUNDINGS, center, centring, check_finite
from pcatool.kernels.functions import EPS
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.moments import Moments
from pcatool.linalg.spectrum import Spectrum, backward

__all__ = ["Draw", "LandmarkPart", "Landmarks", "gathered", "result_bytes"]


class Draw:
    """m rows, each set of m rows as likely as any other, whatever the blocks that they come in.

    Every row draws a random key in turn; those with the smallest keys stay.
    """

    def __init__(self, m: int, d: int, seed: int) -> None:
        self._m = m
        self._rng = np.random.default_rng(seed)
        self._keys = np.empty(0)
        self._numbers: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._rows = np.empty((0, d))
        self.seen = 0

    def add(self, X: Array) -> None:
        keys = np.concatenate([self._keys, self._rng.random(len(X))])
        numbers = np.concatenate([self._numbers, np.arange(self.seen, self.seen + len(X))])
        kept = np.sort(np.lexsort((numbers, keys))[: self._m])  # in the order of the rows
        old, new = kept[kept < len(self._keys)], kept[kept >= len(self._keys)] - len(self._keys)
        self._rows = np.concatenate([self._rows[old], X[new]])
        self._keys, self._numbers = keys[kept], numbers[kept]
        self.seen += len(X)

    @property
    def rows(self) -> Array:
        """The rows drawn, in their order."""
        return self._rows


class LandmarkPart(NamedTuple):
    """Some rows: the sum of their kernel values at each landmark, and the moments of their phi."""

    sums: Array  # (m,)
    moments: Moments
    doubt: float  # bound on the errors of one row's values, added up

    def merge(self, other: LandmarkPart) -> LandmarkPart:
        return LandmarkPart(self.sums + other.sums, self.moments.merge(other.moments), max(self.doubt, other.doubt))


class Landmarks:
    """The landmarks L (m, d) as prepared, and phi that follows from them."""

    def __init__(self, kernel: Kernel, rows: Prepared, run: Runner, *, centred: bool) -> None:
        self.kernel, self._rows = kernel, rows
        self.L = L = rows.Y
        K = kernel.matrix(L, run)
        self.largest = check_finite(K, kernel.settings.name)
        doubt = kernel.noise(K, rows, run)
        # Distances have inner products only about a centre; that of the landmarks will do, since phi is centred again.
        about = kernel.conditional and centred
        first = K[:1].copy()
        if about:
            center(K, run)
        with threads(factorisation_threads(len(L))):
            values, U = np.linalg.eigh(K)
        self._least = len(L) * EPS * max(float(values[-1]), 0.0)
        kept = values > self._least
        if not kept.any():
            raise DataError(
                f"kernel {kernel.settings.name} of the landmarks has no eigenvalue above 0", "give other numbers to it"
            )
        F = (U[:, kept] / np.sqrt(values[kept]))[:, ::-1]
        self._kept: Array = values[kept][::-1]
        self._doubt = doubt + (sum(centring(len(L), self.largest)) if about else 0.0)
        self._doubt += backward(len(L), max(float(values[-1]), -float(values[0])))
        self.F: Array = np.ascontiguousarray(F - F.mean(axis=0) if about else F)  # (m, r) U S^-1/2
        self.negative = int(np.count_nonzero(values < -ROUNDINGS * len(L) * EPS * self.largest))
        self.lowest = float(values[0] / values[-1])  # of the largest
        self._origin: Array = (first @ self.F)[0]

    def part(self, rows: Prepared) -> LandmarkPart:
        """What the fit needs of some rows (h, d) as prepared."""
        return gathered(map(self._slab, (rows.take(some) for some in slabs(len(rows.Y), len(self.L)))))

    def _slab(self, rows: Prepared) -> LandmarkPart:
        rows = rows._replace(Y=np.ascontiguousarray(rows.Y))
        K = self.kernel.cross(rows.Y, self.L)
        doubt = float(np.max(self.kernel.doubt(K, rows, self._rows)))
        return LandmarkPart(K.sum(axis=0), Moments.of_block(K @ self.F, self._origin), doubt if doubt >= 0 else np.inf)

    def spectrum(self, S: Array, doubt: float) -> Spectrum:
        """Of the covariance S (r, r) of phi; `doubt` bounds the errors of one row's kernel values, added up.

        A row's kernel values off by that move phi along w by |F w| times it at most, and the variance by twice that
        times the deviation. So do the roundings of their products with F, one for each landmark. An error E of the
        landmarks' own kernel moves the variance by |F w|^2 |E| of itself, as long as E is small beside the eigenvalues
        in F. Where one is not, its direction may be worth more than it seems, but no more than with the least
        eigenvalue that is kept; what w has of it tells what that does to the variance.
        """
        r, m = len(S), len(self.L)
        with threads(factorisation_threads(r)):
            values, W = np.linalg.eigh(S)
        values, W = np.maximum(values[::-1], 0.0), W[:, ::-1]
        usual = 2 * np.sqrt(values) * ROUNDINGS * EPS * self.largest * math.sqrt(m)
        rank = int(np.count_nonzero(values > usual * np.linalg.norm(self.F @ W, axis=0) + backward(r, values[0])))
        unsure = self._kept <= 8 * self._doubt
        reach = np.linalg.norm(self.F[:, ~unsure] @ W[~unsure], axis=0)
        products = EPS * m**1.5 * self.largest * (self._kept[~unsure] ** -0.5 @ np.abs(W[~unsure]))
        error = 2 * np.sqrt(values) * (doubt * reach + products) + 2 * self._doubt * reach**2 * values
        worth = 8 * self._doubt / self._least * np.square(W[unsure]).sum(axis=0)
        error += 4 * worth * values + backward(r, values[0]) + EPS * (CELLS // m + FEWEST_ROWS) * values.sum()
        error = np.where(np.isfinite(error), error, np.inf)
        values[rank:] = 0.0
        return Spectrum(values, lambda k: W[:, :k], rank, "eigh", error)


def gathered(parts: Iterable[LandmarkPart]) -> LandmarkPart:
    return reduce(LandmarkPart.merge, parts)


def result_bytes(m: int) -> int:
    """Of what becomes of one block."""
    return 8 * m * (m + 1)
