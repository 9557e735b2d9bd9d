"""Apply all rules to the same evidence and compare their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pcatool.errors import DataError, RefusedError
from pcatool.options import parse_components
from pcatool.registry import RULES
from pcatool.rules.base import Evidence, decide

__all__ = ["DEFAULT_SHARE", "Agreement", "Verdict", "agreement", "compare"]

DEFAULT_SHARE = "0.99"


class Verdict(NamedTuple):
    """The answer of one rule; without k if the rule cannot be applied, and `reason` says why."""

    rule: str
    k: int | None
    reason: str


class Agreement(NamedTuple):
    """The number of components that most rules choose, and those rules."""

    k: int
    rules: tuple[str, ...]


def compare(evidence: Evidence, names: Iterable[str] | None = None) -> list[Verdict]:
    """Return the verdict of each named rule or share; by default of every rule and of the default share."""
    return [_verdict(evidence, name) for name in ((*RULES, DEFAULT_SHARE) if names is None else names)]


def agreement(verdicts: Sequence[Verdict]) -> Agreement | None:
    """Return the number that most rules choose, the smaller one of equals; None unless two rules agree.

    `all` has no vote, since it leaves out nothing.
    """
    counts = Counter(v.k for v in verdicts if v.k is not None and v.rule != "all")
    k, votes = max(counts.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    return Agreement(k, tuple(v.rule for v in verdicts if v.k == k and v.rule != "all")) if votes > 1 else None


def _verdict(evidence: Evidence, name: str) -> Verdict:
    try:
        choice = decide(parse_components(name), evidence)
    except (DataError, RefusedError) as error:
        return Verdict(name, None, str(error))
    return Verdict(name, choice.k, choice.reason)
