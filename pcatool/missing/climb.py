"""The way up the likelihood: quasi-Newton steps from what EM knows of its curvature, else EM itself.

L-BFGS with the curvature of the expected log-likelihood, one small matrix for each row of W, as its first guess. Where
components are as weak as the noise it needs a tenth of the steps of EM. Each costs as much, since the sums that EM
takes hold the gradient; one that leads down, or where nothing can be worked out, is taken back, and EM goes on.
Jamshidian and Jennrich 1997, J. R. Stat. Soc. B 59(3); Nocedal 1980, Math. Comp. 35(151).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.missing.em_step import Parameters, Slope

__all__ = ["MEMORY", "Climbed", "Point", "climb"]

# Moves whose effect on the gradient is remembered.
MEMORY = 10

# The last move tells by how much EM takes the curvature to be too large; believed up to this. Without a bound, steps
# fail again and again where the noise tends to 0.
LONGEST = 16.0

# Points over which the likelihood has to gain, and how often in a row it may fail to: once may be a bad step.
SPAN, IDLE = 3, 2


class Point(NamedTuple):
    """Parameters, their log-likelihood, and where EM goes from there."""

    at: Parameters
    log_likelihood: float
    doubt: Array  # (k, k) mean of Cov z
    slope: Slope
    next: Parameters


class Climbed(NamedTuple):
    """Where a climb ended and how it went."""

    end: Point
    before: Parameters  # SPAN points earlier, or where it began
    log_likelihood: tuple[float, ...]  # of the points reached, none less than the last
    steps: int
    converged: bool


def climb(step: Callable[[Parameters], Point], start: Parameters, most_steps: int, gain: float) -> Climbed:
    """From the start to where steps gain too little, or where one of EM falls, which on paper none does.

    What is left to gain is rounding then.
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
            reached, steps = step(last.next), steps + 1
            if reached.log_likelihood < last.log_likelihood:
                return Climbed(last, recent[0], tuple(path), steps, True)
        secants.add(last.slope, reached.slope)
        last = reached
        recent.append(last.at)
        path.append(last.log_likelihood)
        idle = 0 if len(path) <= SPAN or path[-1] - path[-1 - SPAN] > gain else idle + 1
    return Climbed(last, recent[0], tuple(path), steps, idle == IDLE)


def _if_possible(step: Callable[[Parameters], Point], at: Parameters) -> Point | None:
    """A long step may end where matrices are singular to rounding."""
    try:
        return step(at)
    except np.linalg.LinAlgError:
        return None


class _Secants(deque[tuple[Array, Array]]):
    """Moves, and by how much the gradient fell along each."""

    def __init__(self) -> None:
        super().__init__(maxlen=MEMORY)

    def add(self, old: Slope, new: Slope) -> None:
        s, y = new.at.vector - old.at.vector, old.gradient - new.gradient
        if s @ y > 0:  # else it bends upwards, and there is no top
            self.append((s, y))

    def move(self, slope: Slope) -> Array:
        """To where the gradient would be 0 (the two loops of L-BFGS)."""
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
