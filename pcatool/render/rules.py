"""What the rules for the number of components say, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from pcatool.render.text import render_table
from pcatool.rules.compare import Verdict, agreement

__all__ = ["rules_report"]


def rules_report(verdicts: Sequence[Verdict], form: str, width: int | None) -> str:
    """What each rule says, and where they agree."""
    agreed = agreement(verdicts)
    if form == "json":
        rules = [{"rule": v.rule, "k": v.k, "reason": v.reason} for v in verdicts]
        both = {"rules": rules, "agreed": None if agreed is None else {"k": agreed.k, "rules": list(agreed.rules)}}
        return json.dumps(both, indent=1, ensure_ascii=False) + "\n"
    columns = {
        "rule": np.array([v.rule for v in verdicts]),
        "k": np.array(["" if v.k is None else str(v.k) for v in verdicts]),
        "reason": np.array([v.reason for v in verdicts]),
    }
    where = f"most agree on k = {agreed.k}: {', '.join(agreed.rules)}" if agreed else "no two rules agree"
    return render_table(columns, form, caption=where, width=width)
