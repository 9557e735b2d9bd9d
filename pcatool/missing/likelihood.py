"""Maximize the likelihood of probabilistic PCA by L-BFGS, and bound the distance of the result from the maximum.

The maximization takes quasi-Newton steps. Their first guess of the curvature is that of the expected log-likelihood,
one small matrix for each row of W, which EM computes anyway. Where components are as weak as the noise, this takes a
tenth of the steps of EM. Each step costs as much as an EM step, since the sums of EM contain the gradient. A step that
lowers the likelihood, or that cannot be computed, is taken back, and an EM step follows.
Jamshidian and Jennrich 1997, J. R. Stat. Soc. B 59(3); Nocedal 1980, Math. Comp. 35(151).

The steps end where they gain little. That alone does not bound the distance to the maximum; the second derivatives
at the end do. Where the likelihood is concave in every direction, Newton steps lead to the maximum, and each step is
a fraction of the one before. The bound on the error of an eigenvalue is twice the change that these steps make. There
is no bound where the likelihood is not concave, where steps do not shrink, or where the likelihood falls: no maximum
may be near. The maximum is the local maximum to which the steps lead; a table may have other maxima.
Cost: n (d k)^2 for second derivatives, mostly once, and three to five passes, each as long as a step of EM.
Memory: (d k)^2.
Second derivatives of a normal likelihood: Magnus and Neudecker 2019, Matrix Differential Calculus, chapter 15.
Newton steps: Deuflhard 2011, Newton Methods for Nonlinear Problems, section 2.1.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.spectrum import EPS, backward_error
from pcatool.missing.census import group_by_pattern, order_by_group
from pcatool.missing.em_step import Parameters, Slope

__all__ = [
    "MEMORY",
    "Likelihood",
    "Optimum",
    "Point",
    "affordable",
    "bytes_needed",
    "distance",
    "maximize",
    "parameter_count",
    "second_derivatives",
]

# Number of moves whose effect on the gradient is kept (the memory of L-BFGS).
MEMORY = 10

# Bound on the factor by which EM overestimates the curvature, as estimated from the last move. Without a bound, steps
# fail again and again where the noise tends to 0.
LONGEST = 16.0

# The maximization ends when the likelihood gains too little over the last SPAN points, IDLE times in a row: a single
# failure may be a bad step.
SPAN, IDLE = 3, 2


class Point(NamedTuple):
    """Parameters with their log-likelihood and its gradient, and the parameters after an EM step."""

    at: Parameters
    log_likelihood: float
    score_covariance: Array  # (k, k) mean posterior covariance of the scores z over the rows
    slope: Slope  # gradient and expected curvature at `at`
    em_step: Parameters  # the parameters after one EM step from `at`


class Optimum(NamedTuple):
    """Result of `maximize`: the last accepted point, and the path to it."""

    end: Point  # the last accepted point
    earlier: Parameters  # parameters SPAN accepted points before the end, or the start
    log_likelihood: tuple[float, ...]  # of the start and of each accepted point, never falling
    steps: int  # number of points that were computed, accepted or not
    converged: bool  # False if the number of steps ran out


def maximize(step: Callable[[Parameters], Point], start: Parameters, most_steps: int, gain: float) -> Optimum:
    """Maximize the log-likelihood from `start`; return the last accepted point and the path to it.

    `step` computes the point at given parameters. Each step is one of L-BFGS; if it fails or lowers the likelihood, an
    EM step replaces it. The search has converged when the last SPAN points together gain at most `gain`, IDLE times in
    a row, or when an EM step lowers the likelihood, which happens only by rounding error. The search is given up after
    `most_steps` calls of `step`. Raise `LinAlgError` if `step` does so at `start` or at the point of an EM step.
    """
    last = step(start)
    secants = _Secants()
    recent, path, steps, idle = deque([start], maxlen=SPAN + 1), [last.log_likelihood], 1, 0
    while steps < most_steps and idle < IDLE:
        reached = None
        if secants:
            reached, steps = _if_possible(step, last.at.moved(secants.move(last.slope))), steps + 1
        if reached is None or not reached.log_likelihood >= last.log_likelihood:
            secants.clear()
            reached, steps = step(last.em_step), steps + 1
            if reached.log_likelihood < last.log_likelihood:
                return Optimum(last, recent[0], tuple(path), steps, True)
        secants.add(last.slope, reached.slope)
        last = reached
        recent.append(last.at)
        path.append(last.log_likelihood)
        idle = 0 if len(path) <= SPAN or path[-1] - path[-1 - SPAN] > gain else idle + 1
    return Optimum(last, recent[0], tuple(path), steps, idle == IDLE)


def _if_possible(step: Callable[[Parameters], Point], at: Parameters) -> Point | None:
    """Return `step(at)`, or None if matrices are singular at these parameters, as may happen after a long step."""
    try:
        return step(at)
    except np.linalg.LinAlgError:
        return None


class _Secants(deque[tuple[Array, Array]]):
    """The last moves of the parameters, at most MEMORY, each with the decrease of the gradient along the move.

    Moves and decreases are vectors in the order of `Parameters.vector`.
    """

    def __init__(self) -> None:
        super().__init__(maxlen=MEMORY)

    def add(self, old: Slope, new: Slope) -> None:
        """Append the move from `old` to `new`, unless the likelihood is convex along the move."""
        s, y = new.at.vector - old.at.vector, old.gradient - new.gradient
        if s @ y > 0:  # else the likelihood is convex here, and has no maximum along the move
            self.append((s, y))

    def move(self, slope: Slope) -> Array:
        """Return the move from `slope.at` to where the gradient is expected to be 0 (two-loop recursion of L-BFGS).

        There must be at least one earlier move.
        """
        q = slope.gradient
        taken = []
        for s, y in reversed(self):
            taken.append(float(s @ q) / float(s @ y))
            q = q - taken[-1] * y
        s, y = self[-1]
        move = slope.scaled(q) * min(float(s @ y) / float(y @ slope.scaled(y)), LONGEST)
        for (s, y), a in zip(self, reversed(taken), strict=True):
            move = move + (a - float(y @ move) / float(s @ y)) * s
        return move


# Largest number of parameters for second derivatives, whose matrix then takes 8 MB; and largest number of
# multiplications, which take a second or two.
MOST_PARAMETERS = 1000
MOST_WORK = 3 * 10**9

# From WIDE columns on, second derivatives take several times as long as the maximization: (d k)^2 per row against
# d k^2 for each of some tens of steps. MOST_WORK_WIDE multiplications take half a second.
WIDE, MOST_WORK_WIDE = 128, 10**8

# Numbers worked on at a time, in cache.
SLAB = 1 << 17

# Least curvature in every direction, as a share of the curvature that EM assumes. The rounding error of second
# derivatives is smaller, as long as the noise is at least LEAST_NOISE_SHARE of the largest eigenvalue: that error is
# EPS divided by the share of the noise.
LEAST_CURVATURE = 1e-6
LEAST_NOISE_SHARE = 1e-9

# Rotations of W do not change the likelihood and are taken out. If their directions are linearly dependent within this
# share, a component is 0, and the likelihood may be flat there.
DEPENDENT = 1e-6

# Each Newton step must be at most half as long as the one before: all later steps are then no longer than the last
# together. A step that shrinks to a tenth needs no new second derivatives.
SHRINK_RATIO, FAST_SHRINK_RATIO = 0.5, 0.1

# A step below this length that does not shrink is rounding error. The unit is the standard error that a parameter would
# have if no cell were missing.
SMALL = 1e-6

# Factor on the change by the Newton steps: second derivatives are taken near the maximum, not at it.
MARGIN = 2

# Relative rounding of the sums in a gradient; multiplied by the inverse of the curvature.
ROUNDING = 100 * EPS

# Most Newton steps. The number of right digits doubles with each step from new second derivatives, so that a few steps
# are enough.
MOST_STEPS = 12

# The steps end when the next one would change each eigenvalue by less than REMAINS of the change so far, or by less
# than ROUNDED of the eigenvalue.
REMAINS, ROUNDED = 0.1, 1e-11


class Likelihood(NamedTuple):
    """The log-likelihood of a table, and its derivatives, as functions of the parameters."""

    value: Callable[[Parameters], tuple[float, Slope]]  # log-likelihood, and its gradient
    second_derivatives: Callable[[Parameters], Array]  # (p, p), see `second_derivatives`


def parameter_count(d: int, k: int, center: bool) -> int:
    """Number of parameters, p: the entries of W, the mean if `center`, and the noise."""
    return d * (k + center) + 1


def affordable(n: int, d: int, k: int, center: bool) -> bool:
    """Whether second derivatives for n rows take at most a second or two, and not much longer than the maximization."""
    p = parameter_count(d, k, center)
    return p <= MOST_PARAMETERS and n * p * p <= (MOST_WORK if d < WIDE else MOST_WORK_WIDE)


def second_derivatives(Y: Array, w: Array | None, at: Parameters, center: bool) -> Array:
    """Return the second derivatives (p, p) of the log-likelihood of rows Y (n, d) with NaN in the missing cells.

    `w` (n,) are weights, None for 1; p is `parameter_count`. The parameters are, for each column, its row of W followed
    by its entry of mu if `center`; the logarithm of the noise is last.
    """
    w = np.ones(len(Y)) if w is None else w
    d, k = at.W.shape
    m, height = k + center, max(SLAB // (d * d), 1)
    sums = _of_slab(Y[:height], w[:height], at, center)
    for i in range(height, len(Y), height):
        for total, more in zip(sums, _of_slab(Y[i : i + height], w[i : i + height], at, center), strict=True):
            total += more
    plain, crossed, both, of_noise, twice = sums
    H = plain.reshape(d, d, m, m).transpose(0, 2, 1, 3).copy()
    H += (crossed + crossed.T).reshape(d, m, d, m).transpose(0, 3, 2, 1)
    for i in range(k):
        H[:, i, :, i] += both
    return np.block([[H.reshape(d * m, d * m), of_noise.reshape(-1, 1)], [of_noise.reshape(1, -1), twice]])


def bytes_needed(d: int, k: int) -> tuple[int, int]:
    """Bytes to compute second derivatives, and bytes of their result; (0, 0) above MOST_PARAMETERS parameters."""
    p = parameter_count(d, k, True)
    return (7 * 8 * p * p + 6 * 8 * max(SLAB, d * d), 8 * p * p) if p <= MOST_PARAMETERS else (0, 0)


def _of_slab(Y: Array, w: Array, at: Parameters, center: bool) -> tuple[Array, ...]:
    """Return five sums over a few rows Y (h, d), from which `second_derivatives` composes its result.

    For each row, C = W W^T + sigma^2 I of its observed cells, P is the inverse of C, u = P (x - mu), z = W^T u, and
    d^2 L = tr(P dC P dC) / 2 - v^T P v + tr((u u^T - P) d^2 C) / 2, where v = dC u + dmu. Rows with the same pattern of
    missing cells have the same P; only the sums of u u^T, u z^T and z z^T over these rows are needed.
    """
    W, mu, noise = at
    d, k = W.shape
    m = k + center
    observed = ~np.isnan(Y)
    first, group = group_by_pattern(observed)
    D = observed[first].astype(np.float64)

    inverse = np.linalg.inv(np.einsum("ua,ai,aj->uij", D, W, W, optimize=True) + noise * np.eye(k))
    Wo = D[:, :, None] * W
    Q = np.zeros((len(D), d, m))  # P W, and 0 for the mean
    Q[:, :, :k] = Wo @ inverse
    P = Q[:, :, :k] @ (Wo.transpose(0, 2, 1) / -noise)
    P[:, np.arange(d), np.arange(d)] += D / noise
    T = np.zeros((len(D), m, m))  # W^T P W
    T[:, :k, :k] = np.eye(k) - noise * inverse

    X = np.where(observed, Y - mu, 0.0)
    Z = np.ones((len(Y), m))
    Z[:, :k] = np.einsum("hij,hj->hi", inverse[group], X @ W)
    U = np.where(observed, X - Z[:, :k] @ W.T, 0.0) / noise

    together, begins = order_by_group(group)
    U, Z, wU, wZ = U[together], Z[together], (w[:, None] * U)[together], (w[:, None] * Z)[together]

    def summed(A: Array, B: Array) -> Array:
        products = A[:, :, None] * B[:, None, :]
        return products if len(begins) == len(A) else np.asarray(np.add.reduceat(products, begins, axis=0))

    UU, UZ, ZZ = summed(wU, U), summed(wU, Z), summed(wZ, Z)
    rows = np.bincount(group, w)
    weight = rows[:, None, None]

    def across(A: Array, B: Array) -> Array:
        """Return the sums over u patterns of the products of each entry of A (u, ...) with each entry of B (u, ...)."""
        return np.asarray(A.reshape(len(A), -1).T @ B.reshape(len(B), -1))

    plain = across(P, weight * T - ZZ)
    plain -= across(UU, T)
    crossed = across(Q, weight / 2 * Q - UZ)
    both = UU.sum(axis=0) - (rows @ P.reshape(len(P), -1)).reshape(d, d)
    of_noise = noise * (P @ (weight * Q - UZ) - UU @ Q).sum(axis=0)
    squares, products = np.einsum("uab,uab->u", P, P), np.einsum("uab,uab->u", P, UU)
    twice = noise * noise * float(rows @ squares / 2 - products.sum()) + noise / 2 * float(np.trace(both))
    return plain, crossed, both, of_noise, np.array([[twice]])


def distance(likelihood: Likelihood, end: Parameters) -> Array | None:
    """Return bounds (d,) on how far each eigenvalue of W W^T + sigma^2 I at `end` is from its value at the maximum.

    Return None if there are no bounds.
    """
    try:
        return _distance(likelihood, end)
    except np.linalg.LinAlgError:
        return None


def _distance(likelihood: Likelihood, end: Parameters) -> Array | None:
    """Return what `distance` returns, but raise `LinAlgError` if a matrix is singular or the likelihood not concave."""
    values = end.eigenvalues
    if not end.noise > LEAST_NOISE_SHARE * values[0]:
        return None
    height, slope = likelihood.value(end)
    least = height - ROUNDED * max(abs(height), slope.cells)
    frame = _Frame.of(slope)
    inverse = frame.inverse_curvature(likelihood.second_derivatives(end))
    at, move = end, inverse @ frame.gradient(slope)
    length = float(np.linalg.norm(move))
    for _ in range(MOST_STEPS):
        at = frame.moved(at, move)
        height, slope = likelihood.value(at)
        if not height >= least:
            return None
        move, before = inverse @ frame.gradient(slope), length
        if np.linalg.norm(move) > FAST_SHRINK_RATIO * before:
            inverse = frame.inverse_curvature(likelihood.second_derivatives(at))
            move = inverse @ frame.gradient(slope)
        length = float(np.linalg.norm(move))
        change, ahead = np.abs(at.eigenvalues - values), _largest_change(at, frame.moved(at, move))
        if length > SHRINK_RATIO * before and length > SMALL:
            return None
        if length > SHRINK_RATIO * before or np.all(ahead <= np.maximum(REMAINS * change, ROUNDED * values)):
            rounding = ROUNDING * float(np.linalg.norm(inverse)) * values + backward_error(len(values), values[0])
            return MARGIN * (change + ahead) + rounding
    return None


class _Frame(NamedTuple):
    """Coordinates of the parameters in which the curvature of the expected log-likelihood is the identity.

    Rotations of W, which do not change the likelihood, are projected out.
    """

    root: Array  # (d, m, m) lower triangles L; L L^T is the curvature of each row of W with its entry of mu
    of_noise: float  # square root of the curvature of the logarithm of the noise
    rotations: Array  # (p, k (k - 1) / 2) orthonormal directions of the rotations of W

    @classmethod
    def of(cls, slope: Slope) -> _Frame:
        """Compute the coordinates at the parameters of `slope`. Raise `LinAlgError` if a component is nearly 0."""
        W = slope.at.W
        d, k = W.shape
        root = np.linalg.cholesky(slope.A / slope.at.noise)
        m = root.shape[1]
        i, j = np.triu_indices(k, 1)
        rotations = np.zeros((d, m, len(i)))
        pair = np.arange(len(i))
        rotations[:, i, pair], rotations[:, j, pair] = -W[:, j], W[:, i]
        flat = np.vstack([(root.transpose(0, 2, 1) @ rotations).reshape(d * m, len(i)), np.zeros((1, len(i)))])
        Q, R = np.linalg.qr(flat)
        size = np.abs(np.diagonal(R))
        if len(i) and size.min() <= DEPENDENT * size.max():
            raise np.linalg.LinAlgError("a component is 0")
        return cls(np.asarray(root), math.sqrt(slope.cells / 2), np.asarray(Q))

    def inverse_curvature(self, H: Array) -> Array:
        """Return the inverse of -H in these coordinates, (p, p), for second derivatives H (p, p).

        Raise `LinAlgError` unless -H is positive definite.
        """
        d, m, _ = self.root.shape
        K = -H
        for _ in range(2):  # from the left, then from the right
            K[:-1] = np.linalg.solve(self.root, K[:-1].reshape(d, m, -1)).reshape(d * m, -1)
            K[-1] /= self.of_noise
            K = np.ascontiguousarray(K.T)
        Q = self.rotations
        KQ = K @ Q
        K += Q @ (Q.T @ KQ + np.eye(Q.shape[1])) @ Q.T - KQ @ Q.T - Q @ KQ.T
        K = (K + K.T) / 2
        np.linalg.cholesky(K - LEAST_CURVATURE * np.eye(len(K)))
        return np.asarray(np.linalg.inv(K))

    def gradient(self, slope: Slope) -> Array:
        """Return the gradient (p,) of the log-likelihood in these coordinates, from the `slope` at some parameters."""
        rows = np.linalg.solve(self.root, slope.rest[:, :, None] / slope.at.noise).ravel()
        return self._without_rotations(
            np.append(rows, (slope.squares / slope.at.noise - slope.cells) / 2 / self.of_noise)
        )

    def moved(self, at: Parameters, move: Array) -> Parameters:
        """Return the parameters `at` moved by `move` (p,), which is in these coordinates."""
        d, m, _ = self.root.shape
        k = at.W.shape[1]
        move = self._without_rotations(move)
        rows = np.linalg.solve(self.root.transpose(0, 2, 1), move[:-1].reshape(d, m, 1))[:, :, 0]
        of_mean = rows[:, k] if m > k else np.zeros(d)
        return at.moved(np.concatenate([rows[:, :k].ravel(), of_mean, [move[-1] / self.of_noise]]))

    def _without_rotations(self, move: Array) -> Array:
        return np.asarray(move - self.rotations @ (self.rotations.T @ move))


def _largest_change(one: Parameters, other: Parameters) -> Array:
    """Return bounds (d,) on how much each eigenvalue of W W^T + sigma^2 I differs between two sets of parameters.

    A singular value s of W changes by at most |dW| (Weyl), its square by at most 2 s |dW| + |dW|^2.
    """
    k = one.W.shape[1]
    apart = float(np.linalg.norm(other.W - one.W))
    of_signal = np.sqrt(one.eigenvalues[:k] - one.noise)
    reach = np.full(len(one.W), abs(other.noise - one.noise))
    reach[:k] += 2 * of_signal * apart + apart * apart
    return reach
