"""Compare the answers of all rules to the same data."""

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
    """What one rule says; no k when it cannot be applied, and the reason is then why not."""

    rule: str
    k: int | None
    reason: str


class Agreement(NamedTuple):
    """The number of components that most rules name, and those rules."""

    k: int
    rules: tuple[str, ...]


def compare(evidence: Evidence, names: Iterable[str] | None = None) -> list[Verdict]:
    """The verdict of each named rule or share; of every rule and of the share kept by default when none is named."""
    return [_verdict(evidence, name) for name in ((*RULES, DEFAULT_SHARE) if names is None else names)]


def agreement(verdicts: Sequence[Verdict]) -> Agreement | None:
    """What most rules agree on, the smaller of equals; None unless two do. `all` has no vote: it leaves out nothing."""
    counts = Counter(v.k for v in verdicts if v.k is not None and v.rule != "all")
    k, votes = max(counts.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
    return Agreement(k, tuple(v.rule for v in verdicts if v.k == k and v.rule != "all")) if votes > 1 else None


def _verdict(evidence: Evidence, name: str) -> Verdict:
    try:
        choice = decide(parse_components(name), evidence)
    except (DataError, RefusedError) as error:
        return Verdict(name, None, str(error))
    return Verdict(name, choice.k, choice.reason)
