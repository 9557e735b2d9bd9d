"""Kernel PCA from m landmark rows (Nystroem): each row is represented by its kernel values with the landmarks.

phi(x) = K(x, L) U S^-1/2, with U S U^T the kernel matrix of the landmarks L. The inner products of phi equal the kernel
on the landmarks, and approximate the kernel on other rows. PCA of phi streams over any number of rows, and no n x n
matrix is formed.
When to prefer it: more rows than an n x n matrix has room for. Cost: n m (d + m) + m^3. Memory: m^2 and some blocks.
Williams and Seeger 2001, "Using the Nystroem method to speed up kernel machines", NeurIPS 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Accumulator, Array, Block, Runner
from pcatool.kernels.base import CELLS_PER_STEP, FEWEST_ROWS, Kernel, Prepared, row_slices
from pcatool.kernels.eigen import ROUNDINGS_PER_VALUE, center, centring_error, check_finite
from pcatool.kernels.functions import EPS
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.moments import Moments
from pcatool.linalg.spectrum import Spectrum, backward_error

__all__ = ["LandmarkAccumulator", "LandmarkPart", "Landmarks", "RowSample"]


class RowSample:
    """A uniform random sample of m rows from a stream of blocks; the sample does not depend on the block sizes.

    Each row gets a random key, in the order of the stream; the sample is the rows with the m smallest keys.
    """

    def __init__(self, m: int, d: int, seed: int) -> None:
        self._m = m
        self._rng = np.random.default_rng(seed)
        self._keys = np.empty(0)
        self._numbers: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._rows = np.empty((0, d))
        self.seen = 0  # rows added so far

    def add(self, X: Array) -> None:
        """Draw keys for the next rows X (h, d) of the stream, and update the sample."""
        keys = np.concatenate([self._keys, self._rng.random(len(X))])
        numbers = np.concatenate([self._numbers, np.arange(self.seen, self.seen + len(X))])
        chosen = np.sort(np.lexsort((numbers, keys))[: self._m])  # sorted, to keep the row order
        old, new = chosen[chosen < len(self._keys)], chosen[chosen >= len(self._keys)] - len(self._keys)
        self._rows = np.concatenate([self._rows[old], X[new]])
        self._keys, self._numbers = keys[chosen], numbers[chosen]
        self.seen += len(X)

    @property
    def rows(self) -> Array:
        """The sampled rows (m, d) in the order of the stream; fewer than m if the stream has fewer."""
        return self._rows


class LandmarkPart(NamedTuple):
    """Sums of kernel values, and moments of the features phi of `Landmarks`, over a range of rows."""

    sums: Array  # (m,) sum over the rows of their kernel values with each landmark
    moments: Moments  # mean (r,) and scatter (r, r) of phi
    row_error: float  # bound, for every row, on the sum of the absolute errors of its m kernel values

    def merge(self, other: LandmarkPart) -> LandmarkPart:
        """Return the sums over these rows followed by the rows of `other`; overwrites the moments of `self`."""
        return LandmarkPart(
            self.sums + other.sums, self.moments.merge(other.moments), max(self.row_error, other.row_error)
        )


class Landmarks:
    """The prepared landmarks L (m, d), with the factor F (m, r) of the features phi(x) = K(x, L) F.

    `centred` says that the fit is centred. Raise DataError if the kernel matrix of the landmarks has no positive
    eigenvalue, and RefusedError if its values overflow or underflow.
    """

    def __init__(self, kernel: Kernel, rows: Prepared, run: Runner, *, centred: bool) -> None:
        self.kernel, self._rows = kernel, rows
        self.L = L = rows.Y
        K = kernel.matrix(L, run)
        self.largest = check_finite(K, kernel)  # largest |K| of the landmarks
        matrix_error = kernel.rounding_norm(K, rows, run)
        # Distances define inner products only about a centre. The centre of the landmarks suffices, because phi is
        # centred again.
        center_landmarks = kernel.definite_if_centred and centred
        first_values = K[:1].copy()
        if center_landmarks:
            center(K, run)
        with one_blas_thread():
            values, U = np.linalg.eigh(K)
        self._cutoff = len(L) * EPS * max(float(values[-1]), 0.0)
        above = values > self._cutoff
        if not above.any():
            raise kernel.no_eigenvalue(f"kernel {kernel.settings.name}: the kernel matrix of the landmarks")
        F = (U[:, above] / np.sqrt(values[above]))[:, ::-1]
        self._values: Array = values[above][::-1]
        self._matrix_error = matrix_error + (sum(centring_error(len(L), self.largest)) if center_landmarks else 0.0)
        self._matrix_error += backward_error(len(L), max(float(values[-1]), -float(values[0])))
        self.F: Array = np.ascontiguousarray(F - F.mean(axis=0) if center_landmarks else F)  # U S^-1/2 (m, r)
        self.negative = int(np.count_nonzero(values < -ROUNDINGS_PER_VALUE * len(L) * EPS * self.largest))
        self.lowest = float(values[0] / values[-1])  # relative to the largest eigenvalue
        self._origin: Array = (first_values @ self.F)[0]

    def part(self, rows: Prepared) -> LandmarkPart:
        """Return the sums over the prepared rows `rows` (h, d); kernel values are computed for a few rows at a time."""
        slices = row_slices(len(rows.Y), len(self.L))
        parts = map(self._slice_part, (rows.take(rows_of_slice) for rows_of_slice in slices))
        return reduce(LandmarkPart.merge, parts)

    def _slice_part(self, rows: Prepared) -> LandmarkPart:
        rows = rows._replace(Y=np.ascontiguousarray(rows.Y))
        K = self.kernel.cross(rows.Y, self.L)
        row_error = float(np.max(self.kernel.row_error_bounds(K, rows, self._rows)))
        return LandmarkPart(
            K.sum(axis=0), Moments.of_block(K @ self.F, self._origin), row_error if row_error >= 0 else np.inf
        )

    def spectrum(self, S: Array, row_error: float) -> Spectrum:
        """Return the spectrum of the covariance S (r, r) of phi.

        `row_error` is as in `LandmarkPart`. Three errors move the variance along a unit vector w:
        - Errors of a row's kernel values move phi along w by at most |F w| row_error, and the variance by twice this
          times the deviation. The roundings of the products with F, one for each landmark, act in the same way.
        - An error E of the kernel matrix of the landmarks moves the variance by the relative amount |F w|^2 |E|, if E
          is small compared with the eigenvalues in F.
        - If E is not small compared with an eigenvalue, the true variance along its direction may be larger, but not
          larger than with the smallest kept eigenvalue. The part of w along this direction gives the effect.
        """
        r, m = len(S), len(self.L)
        with one_blas_thread():
            values, W = np.linalg.eigh(S)
        values, W = np.maximum(values[::-1], 0.0), W[:, ::-1]
        typical = 2 * np.sqrt(values) * ROUNDINGS_PER_VALUE * EPS * self.largest * math.sqrt(m)
        rank = int(
            np.count_nonzero(values > typical * np.linalg.norm(self.F @ W, axis=0) + backward_error(r, values[0]))
        )
        uncertain = self._values <= 8 * self._matrix_error
        reach = np.linalg.norm(self.F[:, ~uncertain] @ W[~uncertain], axis=0)
        products = EPS * m**1.5 * self.largest * (self._values[~uncertain] ** -0.5 @ np.abs(W[~uncertain]))
        error = 2 * np.sqrt(values) * (row_error * reach + products) + 2 * self._matrix_error * reach**2 * values
        worth = 8 * self._matrix_error / self._cutoff * np.square(W[uncertain]).sum(axis=0)
        error += (
            4 * worth * values + backward_error(r, values[0]) + EPS * (CELLS_PER_STEP // m + FEWEST_ROWS) * values.sum()
        )
        error = np.where(np.isfinite(error), error, np.inf)
        values[rank:] = 0.0
        return Spectrum(values, lambda k: W[:, :k], rank, "eigh", error)


class LandmarkAccumulator(Accumulator[Block, LandmarkPart]):
    """Accumulator of the sums of a fit by landmarks; `prepare` centres and scales the rows of a block."""

    def __init__(self, landmarks: Landmarks, prepare: Callable[[Array], Prepared]) -> None:
        self.landmarks = landmarks
        self.prepare = prepare

    @property
    def part_bytes(self) -> int:
        """Bytes of one `LandmarkPart`."""
        m = len(self.landmarks.L)
        return 8 * m * (m + 1)

    def of_block(self, block: Block) -> LandmarkPart:
        """Return the sums of one block."""
        return self.landmarks.part(self.prepare(block[0]))

    def merge(self, one: LandmarkPart, other: LandmarkPart) -> LandmarkPart:
        """Return the sums over the rows of `one` followed by those of `other`; overwrites the moments of `one`."""
        return one.merge(other)
