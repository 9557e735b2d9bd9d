"""Protocol of a rule, and `decide`: the one place where a wish for k becomes a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError, show
from pcatool.model.model import VarianceTable
from pcatool.progress import doing
from pcatool.registry import RULES

__all__ = ["SPECTRAL_RULES", "Choice", "Evidence", "Rule", "above", "decide", "first", "split_rule"]

# Rules that look at eigenvalues alone, so that they make sense of any method's; the others reckon with rows of columns.
SPECTRAL_RULES = ("all", "ratio", "eigenvalue", "kaiser", "broken-stick", "elbow")


class Evidence(NamedTuple):
    """All a rule may look at."""

    eigenvalues: Array  # every eigenvalue known, descending, 0 past the rank
    total_variance: float
    n: int
    d: int
    rank: int
    centered: bool = True
    standardized: bool = False
    ddof: int = 0
    seed: int = 0
    rows: Callable[[], Array] | None = None  # the rows as fitted, (n, d) centred and scaled; None when not held
    weights: Callable[[], Array] | None = None  # (n,) of the rows, which come times their roots; None when all are 1
    constant: int = 0  # columns with one value only
    whole: str = "variance"  # what the eigenvalues add up to
    method: str = "pca"  # whose eigenvalues they are

    @property
    def degrees(self) -> int:
        """Rows that are free to vary: the mean takes one."""
        return self.n - self.centered

    @property
    def varying(self) -> int:
        """Columns that can carry variance; about 0, a constant one does too."""
        return self.d - (self.constant if self.centered else 0)

    @property
    def possible(self) -> int:
        """The most components that such rows and columns can carry variance on; EM's noise has every direction."""
        return self.varying if self.method == "probabilistic" else min(self.degrees, self.varying)

    @property
    def spectrum(self) -> Array:
        """The eigenvalues that may be above 0, (possible,); those past the rank are 0."""
        return self.eigenvalues[: self.possible]

    @property
    def shares(self) -> Array:
        """What each eigenvalue has of the total variance, (possible,)."""
        return self.spectrum / self.total_variance


class Choice(NamedTuple):
    """A number of components and the one line that says why."""

    k: int
    reason: str


Rule = Callable[[Evidence, float | None], Choice]


def above(values: Array, bound: Array | float, *, equal: bool = False) -> NDArray[np.bool_]:
    """Which values are above a bound, or at it; a few roundings neither lift a value over it nor hold one under."""
    slack = 8 * max(len(values), 1) * np.finfo(float).eps
    return values >= bound * (1 - slack) if equal else values > bound * (1 + slack)


def first(passed: NDArray[np.bool_], test: str) -> Choice:
    """The leading components that pass a test, as far as the first that does not; one is the least."""
    k = int(np.argmin(np.append(passed, False)))
    return Choice(k, f"{test}: the first {k}") if k else Choice(1, f"{test}: none, so 1 is kept")


def split_rule(name: str) -> tuple[str, float | None]:
    """`ratio:0.05` as its name and its number, the registered number when none is given."""
    rule, _, number = name.partition(":")
    return rule, float(number) if number else RULES[rule].default


def decide(wish: int | float | str, evidence: Evidence) -> Choice:
    """k for a number, a share of the variance, or the name of a rule."""
    if isinstance(wish, int):
        return Choice(_within_bound(wish, evidence), "asked for")
    if isinstance(wish, float):
        table = VarianceTable.of(evidence.eigenvalues, evidence.total_variance)
        k = min(table.smallest_k(wish) or evidence.rank, evidence.rank)
        return Choice(k, f"the smallest that keeps {wish:g} of the {evidence.whole}")
    name, number = split_rule(wish)
    if evidence.method != "pca" and name not in SPECTRAL_RULES:
        raise RefusedError(
            f"{name} reckons with the covariance of rows, not with what {evidence.method} PCA takes apart",
            f"try {', '.join(SPECTRAL_RULES)}",
        )
    if len(evidence.eigenvalues) < evidence.possible:
        raise RefusedError(
            f"-k {show(wish)} needs every eigenvalue, this solver computes the leading ones", "give a number with -k"
        )
    doing(f"choosing k: {name}")
    rule: Rule = RULES.load(name)
    choice = rule(evidence, number)
    return Choice(max(1, min(choice.k, evidence.rank)), choice.reason)


def _within_bound(k: int, evidence: Evidence) -> int:
    bound = min(evidence.n, evidence.d)
    if k > bound:
        raise DataError(
            f"-k {k} is more than the data can have: {evidence.n} rows and {evidence.d} columns "
            f"give at most {bound} components",
            f"use -k {bound} or less, or -k all",
        )
    return k
