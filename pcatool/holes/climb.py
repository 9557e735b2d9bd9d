"""EM by twos and a leap (SQUAREM): where two steps seem to lead, taken only if the likelihood does not fall."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.holes.step import LEAST_NOISE, Parameters
from pcatool.model import Array

__all__ = ["Climbed", "Point", "climb"]

# The factor by which the longest leap grows when it went well, and shrinks when it did not.
LEAP = 4.0
TINY = float(np.finfo(np.float64).tiny)
LARGEST_LOG = 700.0  # of what a double holds


class Point(NamedTuple):
    """Parameters, their log-likelihood, and where EM goes from there."""

    at: Parameters
    log_likelihood: float
    doubt: Array  # (k, k) mean of Cov z
    next: Parameters


class Climbed(NamedTuple):
    """Where a climb ended and how it went."""

    end: Point
    before: Parameters  # two points earlier, or where it began
    log_likelihood: tuple[float, ...]  # of the points reached, none less than the last
    steps: int
    converged: bool


class _Path:
    """The points reached, of which only the last three are held."""

    def __init__(self, start: Point) -> None:
        self.recent = deque([start], maxlen=3)
        self.log_likelihood = [start.log_likelihood]

    def add(self, point: Point) -> None:
        self.recent.append(point)
        self.log_likelihood.append(point.log_likelihood)

    def ended(self, steps: int, converged: bool) -> Climbed:
        return Climbed(self.recent[-1], self.recent[0].at, tuple(self.log_likelihood), steps, converged)


def climb(step: Callable[[Parameters], Point], start: Parameters, most_steps: int, gain: float) -> Climbed:
    """From the start to where steps gain too little, or where one falls, which on paper none does.

    What is left to gain is rounding then.
    """
    path = _Path(step(start))
    steps, longest, idle = 1, LEAP, 0
    while steps < most_steps:
        last = path.recent[-1]
        middle = step(last.next)
        if middle.log_likelihood < last.log_likelihood:
            return path.ended(steps + 1, True)
        leap, length = _leap(last.at, last.next, middle.next, longest)
        reached = _if_possible(step, leap)
        steps += 2
        path.add(middle)
        if reached is None or reached.log_likelihood < middle.log_likelihood:
            reached, longest = step(middle.next), max(length / LEAP, LEAP)
            steps += 1
            if reached.log_likelihood < middle.log_likelihood:
                return path.ended(steps, True)
        elif length == longest:
            longest *= LEAP
        path.add(reached)
        idle = 0 if reached.log_likelihood - last.log_likelihood > gain else idle + 1
        if idle == 2:  # once may be a leap that went wrong
            return path.ended(steps, True)
    return path.ended(steps, False)


def _if_possible(step: Callable[[Parameters], Point], leap: Parameters) -> Point | None:
    """A leap may end where matrices are singular to rounding."""
    try:
        return step(leap)
    except np.linalg.LinAlgError:
        return None


def _leap(start: Parameters, once: Parameters, twice: Parameters, longest: float) -> tuple[Parameters, float]:
    """Where two steps seem to lead, and how far out: SQUAREM with its third step length, 1 for no leap.

    The noise goes by its logarithm, which keeps it above 0.
    """
    a, b, c = _vector(start), _vector(once), _vector(twice)
    step, bend = b - a, (c - b) - (b - a)
    length = float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), TINY)
    length = min(max(length, 1.0), longest)
    if length == 1.0:
        return twice, length
    leap = a + 2 * length * step + length * length * bend
    d, k = start.W.shape
    noise = max(math.exp(min(float(leap[-1]), LARGEST_LOG)), LEAST_NOISE)
    return Parameters(leap[: d * k].reshape(d, k), leap[d * k : -1], noise), length


def _vector(at: Parameters) -> Array:
    return np.concatenate([at.W.ravel(), at.mu, [math.log(at.noise)]])
