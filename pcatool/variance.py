"""What the first components keep of the variance, and what they lose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["VarianceTable"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class VarianceTable:
    """What the first M components keep and lose, one row per known eigenvalue."""

    component: NDArray[np.int64]
    eigenvalue: Array
    share: Array  # lambda_j / tr S
    cumulative: Array  # V_M / V_D
    captured: Array  # V_M
    lost: Array  # J_M
    lost_share: Array  # 1 - V_M / V_D

    @classmethod
    def of(cls, eigenvalues: Array, total: float) -> VarianceTable:
        m = len(eigenvalues)
        # What lies past the known eigenvalues; a remainder within the rounding of the sum is none.
        unknown = total - float(np.sum(eigenvalues))
        unknown = unknown if unknown > 8 * m * np.finfo(float).eps * total else 0.0
        # J_M is summed from the small end, so a small loss keeps its digits.
        tail = np.concatenate([[0.0], np.cumsum(eigenvalues[:0:-1])])[::-1] if m else np.zeros(0)
        lost = tail + unknown
        captured = np.cumsum(eigenvalues)
        lost_share = np.minimum(lost / total, 1.0)
        return cls(
            component=np.arange(1, m + 1),
            eigenvalue=np.array(eigenvalues),
            share=np.minimum(eigenvalues / total, 1.0),
            cumulative=1.0 - lost_share,
            captured=captured,
            lost=lost,
            lost_share=lost_share,
        )

    @property
    def slack(self) -> float:
        """A few roundings of the sum: with it 0.95 is reached by eigenvalues that add up to it on paper."""
        return 8 * max(len(self.lost_share), 1) * float(np.finfo(float).eps)

    def smallest_k(self, share: float) -> int | None:
        """The smallest k that keeps the share; None when the known eigenvalues do not reach it."""
        reached = np.flatnonzero(self.lost_share <= (1.0 - share) + self.slack)
        return int(reached[0]) + 1 if len(reached) else None

    def first(self, count: int) -> VarianceTable:
        """The leading rows."""
        return VarianceTable(**{name: column[:count] for name, column in self.columns().items()})

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by the names every report uses, in order."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
