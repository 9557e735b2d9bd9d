"""Protocol of a rule; `decide`, which turns any value of `-k` into a number; `compare`, which asks all rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError
from pcatool.model.model import VarianceTable
from pcatool.options import parse_components
from pcatool.progress import doing
from pcatool.registry import RULES
from pcatool.wording import counted, grouped

__all__ = [
    "ALL_EIGENVALUES",
    "Choice",
    "Evidence",
    "Rule",
    "Verdict",
    "above",
    "agreement",
    "compare",
    "decide",
    "leading_passing",
    "rules_for_any_method",
    "split_rule",
]

# Options with which a fit finds every eigenvalue.
ALL_EIGENVALUES = "--solver covariance and --eigenvalues all"


class Evidence(NamedTuple):
    """Facts from a fit or from a model that a rule may use to choose k."""

    eigenvalues: Array  # every known eigenvalue, descending, 0 past the rank
    total_variance: float
    n: int  # number of rows, or of observations with frequency weights
    d: int  # number of columns
    rank: int  # number of eigenvalues above rounding error
    centered: bool = True
    standardized: bool = False
    ddof: int = 0
    seed: int = 0
    # Returns the rows (n, d), centred, scaled and multiplied by the roots of their weights; None when not in memory.
    rows: Callable[[], Array] | None = None
    weights: Callable[[], Array] | None = None  # returns the weights (n,) of the rows; None without weights
    constant: int = 0  # number of columns whose values are all equal
    whole: str = "variance"  # name of the sum of the eigenvalues, for reasons
    method: str = "pca"  # method that computed the eigenvalues

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the rows: one less if centred."""
        return self.n - self.centered

    @property
    def varying(self) -> int:
        """Number of columns that can have variance; without centring, constant columns count, too."""
        return self.d - (self.constant if self.centered else 0)

    @property
    def possible(self) -> int:
        """Largest number of components that the rows and columns allow; only columns count for probabilistic PCA."""
        return self.varying if self.method == "probabilistic" else min(self.degrees, self.varying)

    @property
    def spectrum(self) -> Array:
        """The eigenvalues that may be above 0, (possible,); those past the rank are 0."""
        return self.eigenvalues[: self.possible]

    @property
    def shares(self) -> Array:
        """Share of the total variance of each eigenvalue, (possible,)."""
        return self.spectrum / self.total_variance


class Choice(NamedTuple):
    """A number of components k, and the reason for it in one line."""

    k: int
    reason: str


# The second argument is the number after the colon, as in `ratio:0.05`; most rules take none.
Rule = Callable[[Evidence, float | None], Choice]


def above(values: Array, bound: Array | float, *, equal: bool = False) -> NDArray[np.bool_]:
    """Return a mask of the values above a bound; with `equal`, of those above or equal to the bound.

    A value that differs from its bound only by rounding error counts as equal to the bound.
    """
    slack = 8 * max(len(values), 1) * np.finfo(float).eps
    return values >= bound * (1 - slack) if equal else values > bound * (1 + slack)


def leading_passing(passed: NDArray[np.bool_], test: str) -> Choice:
    """Choose the components before the first that fails a test, but at least 1.

    `passed` is the result of the test for each component, `test` describes the test in the reason.
    """
    k = int(np.argmin(np.append(passed, False)))
    return Choice(k, f"{test}: the first {k}") if k else Choice(1, f"{test}: none, so 1 is kept")


def split_rule(name: str) -> tuple[str, float | None]:
    """Split `ratio:0.05` into name and number; without a number, return the default of the rule, or None."""
    rule, _, number = name.partition(":")
    return rule, float(number) if number else RULES[rule].default


def rules_for_any_method() -> str:
    """Return the names of the rules that suit every method, joined by commas, for remedies."""
    return ", ".join(name for name in RULES if RULES[name].any_method)


def decide(wish: int | float | str, evidence: Evidence) -> Choice:
    """Return k and the reason for a number, a share of the variance, or the name of a rule.

    A share or a rule gives at least 1 and at most the rank. Raise `DataError` if the number is more than the rows or
    the columns, and `RefusedError` if a share or a rule needs eigenvalues or rows that the evidence lacks.
    """
    if isinstance(wish, int):
        return Choice(_within_bound(wish, evidence), "asked for")
    if isinstance(wish, float):
        table = VarianceTable.of(evidence.eigenvalues, evidence.total_variance)
        k = table.smallest_k(wish)
        known = len(evidence.eigenvalues)
        if k is None and evidence.method == "pca" and known < evidence.possible:
            keep = f"the {counted(known, 'known eigenvalue')} {'keeps' if known == 1 else 'keep'}"
            share = f"{table.cumulative[-1]:.6g} of the {evidence.whole}"
            raise RefusedError(f"{keep} {share}, not {wish:g}", f"fit with a larger -k, or with {ALL_EIGENVALUES}")
        k = min(k or evidence.rank, evidence.rank)
        return Choice(k, f"the smallest number that keeps {wish:g} of the {evidence.whole}")
    name, number = split_rule(wish)
    if evidence.method != "pca" and not RULES[name].any_method:
        raise RefusedError(
            f"rule {name} is made for linear PCA of complete tables, not for {evidence.method} PCA",
            f"try {rules_for_any_method()}",
        )
    if len(evidence.eigenvalues) < evidence.possible:
        raise RefusedError(
            f"rule {wish} needs all eigenvalues, but only the largest {grouped(len(evidence.eigenvalues))} are known",
            f"fit with {ALL_EIGENVALUES}",
        )
    doing(f"choosing k: {name}")
    rule: Rule = RULES.load(name)
    choice = rule(evidence, number)
    return Choice(max(1, min(choice.k, evidence.rank)), choice.reason)


def _within_bound(k: int, evidence: Evidence) -> int:
    """Return k; raise `DataError` if k is more than the rows or the columns."""
    bound = min(evidence.n, evidence.d)
    if k > bound:
        raise DataError(
            f"-k {k} is more than the data can have: {counted(evidence.n, 'row')} and {counted(evidence.d, 'column')} "
            f"give at most {counted(bound, 'component')}",
            f"use -k {bound} or less, or -k all",
        )
    return k


# --- the answers of all rules ---

DEFAULT_SHARE = "0.99"


class Verdict(NamedTuple):
    """The answer of one rule or share. If there is none, k is None and `reason` is the message of the error."""

    rule: str
    k: int | None
    reason: str


class Agreement(NamedTuple):
    """The number of components k that most rules choose, and the names of these rules."""

    k: int
    rules: tuple[str, ...]


def compare(evidence: Evidence, names: Iterable[str] | None = None) -> list[Verdict]:
    """Return the verdict of each rule or share in `names`; by default of all rules and of DEFAULT_SHARE."""
    return [_verdict(evidence, name) for name in ((*RULES, DEFAULT_SHARE) if names is None else names)]


def agreement(verdicts: Sequence[Verdict]) -> Agreement | None:
    """Return the number of components that most rules choose, with the rules; None unless at least two rules agree.

    If several numbers are chosen equally often, the smallest is returned. The rule `all` is not counted, since it
    leaves out no component.
    """
    counts = Counter(v.k for v in verdicts if v.k is not None and v.rule != "all")
    k, votes = max(counts.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    return Agreement(k, tuple(v.rule for v in verdicts if v.k == k and v.rule != "all")) if votes > 1 else None


def _verdict(evidence: Evidence, name: str) -> Verdict:
    """Return the verdict of the rule or share `name`."""
    try:
        choice = decide(parse_components(name), evidence)
    except (DataError, RefusedError) as error:
        return Verdict(name, None, str(error))
    return Verdict(name, choice.k, choice.reason)
