"""What rows with missing cells get where a model is applied."""

from __future__ import annotations

from pcatool.errors import UsageError
from pcatool.model.model import Model

__all__ = ["policy_for_rows", "policy_for_scores"]

# What a model's fit did about missing cells, and what becomes of them in new rows unless something else is asked for.
AS_FITTED = {"drop": "keep", "mean": "mean", "em": "project"}

# Those that need the directions of a linear model to be where its rows lie.
LINEAR = ("mean", "project", "em")


def policy_for_rows(model: Model, given: str | None, *, fill: bool, back: bool) -> str:
    """One of APPLY_MISSING, for rows that are projected, and brought `back`, or only their holes filled."""
    fitted = model.meta.get("missing")
    policy = given or ("em" if back and fitted == "em" else AS_FITTED.get(str(fitted), "error"))
    if fill and given is None and policy not in LINEAR:
        policy = "project"
    if fill and policy not in LINEAR:
        raise UsageError(f"--fill and --missing {policy} exclude each other", f"give one of {', '.join(LINEAR)}")
    method = model.meta.get("method", "pca")
    if policy in LINEAR and method != "pca":
        what = "--fill" if fill and given is None else f"--missing {policy}"
        raise UsageError(f"{what} is for linear PCA, this is a {method} model", "--missing keep leaves such rows empty")
    if policy == "mean" and model.stand_in is None:
        raise UsageError(
            "--missing mean: the model was fitted without centring and holds no column means",
            "give --missing project, or fit with --missing mean",
        )
    return policy


def policy_for_scores(model: Model, given: str | None) -> str:
    """The same for scores, where an empty one leaves nothing to go by."""
    if given in LINEAR:
        raise UsageError(f"--missing {given} is for rows, the input holds scores", "give --missing keep")
    return given or ("keep" if model.meta.get("missing") in ("drop", "em") else "error")
