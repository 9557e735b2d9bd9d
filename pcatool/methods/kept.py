"""Whether a model keeps the sums over its rows, so that it can be fitted again without them."""

from __future__ import annotations

from pcatool.model.from_sklearn import SCIKIT_LEARN
from pcatool.model.model import Model
from pcatool.options import MOST_KEPT
from pcatool.registry import RULES
from pcatool.rules.base import split_rule

__all__ = ["reason_against", "rule_with_rows"]


def rule_with_rows(wish: object) -> str | None:
    """The rule for k that cannot be asked of sums, if the wish is one."""
    rule = split_rule(wish)[0] if isinstance(wish, str) else ""
    return rule if rule and not RULES[rule].alone else None


def reason_against(model: Model) -> str | None:
    """Why rows cannot be added to a model, nor taken from it, nor its settings changed; None where they can."""
    if model.statistic is not None:
        return None
    meta = model.meta
    reasons = {
        "kernel PCA keeps rows, not sums over them": meta.get("method") == "kernel",
        "with --kernel the labels are compared with all rows at once": "kernel" in meta,
        "the label kernel rbf compares all rows with all": meta.get("label_kernel") == "rbf",
        "single cells were fitted, not whole rows": "absent" in meta,
        "what stands in for missing cells depends on all rows": meta.get("missing") in ("mean", "em"),
        "solver randomized forms no sums that add up": meta.get("solver") == "randomized",
        "it was taken from scikit-learn, which has none": meta.get("solver") == SCIKIT_LEARN,
        f"it has more than {MOST_KEPT} columns, and --updatable was not given": model.d > MOST_KEPT,
    }
    other = "it was fitted with --no-updatable, or by a pcatool that kept no sums"
    return next((reason for reason, true in reasons.items() if true), other)
