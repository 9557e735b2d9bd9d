"""What a rule sees, and the one place where a wish for k becomes a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pcatool.errors import DataError
from pcatool.model import Array, VarianceTable
from pcatool.registry import RULES

__all__ = ["Evidence", "Rule", "decide"]


@dataclass(frozen=True)
class Evidence:
    """All a rule may look at."""

    eigenvalues: Array  # descending, 0 past the rank
    total_variance: float
    n: int
    d: int
    rank: int


Rule = Callable[[Evidence], int]


def decide(wish: int | float | str, evidence: Evidence) -> int:
    """k for a number, a share of the variance, or the name of a rule."""
    if isinstance(wish, int):
        bound = min(evidence.n, evidence.d)
        if wish > bound:
            raise DataError(
                f"-k {wish} is more than the data can have: {evidence.n} rows and {evidence.d} columns "
                f"give at most {bound} components",
                f"use -k {bound} or less, or -k all",
            )
        return wish
    if isinstance(wish, float):
        table = VarianceTable.of(evidence.eigenvalues, evidence.total_variance)
        return min(table.smallest_k(wish) or evidence.rank, evidence.rank)
    rule: Rule = RULES.load(wish)
    return rule(evidence)
