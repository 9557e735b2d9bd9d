"""Commands that a model supports, reasons against the others, and the policy for rows with missing cells."""

from __future__ import annotations

from typing import NamedTuple

from pcatool.errors import UsageError
from pcatool.methods.base import rule_with_rows, why_not_updatable
from pcatool.model.model import Model

__all__ = ["abilities", "policy_for_rows", "policy_for_scores"]

# Default policy for missing cells in new rows, by the policy of the fit; any other fit gives "error".
DEFAULT_POLICY = {"drop": "keep", "mean": "mean", "em": "project"}

# Policies that fill or project a row with missing cells. They need the components of linear PCA (--method pca).
LINEAR_POLICIES = ("mean", "project", "em")


def policy_for_rows(model: Model, given: str | None, *, fill: bool, reconstructing: bool) -> str:
    """Return the policy for rows with missing cells, one of APPLY_MISSING.

    `given` is the policy that the user asked for; None takes the default, which depends on the fit of the model.
    `reconstructing`: the rows are reconstructed. `fill`: only their missing cells are replaced.

    Raises `UsageError` for a policy that the model or `fill` does not allow.
    """
    fitted = model.meta.get("missing")
    policy = given or ("em" if reconstructing and fitted == "em" else DEFAULT_POLICY.get(str(fitted), "error"))
    if fill and given is None and policy not in LINEAR_POLICIES:
        policy = "project"
    if fill and policy not in LINEAR_POLICIES:
        raise UsageError(f"--fill cannot be combined with --missing {policy}", "give --missing mean, project or em")
    method = model.meta.get("method", "pca")
    if policy in LINEAR_POLICIES and method != "pca":
        what = "--fill" if fill and given is None else f"--missing {policy}"
        raise UsageError(
            f"{what} needs a model of --method pca, this is a {method} model",
            f"give --missing keep{', without --fill' if fill else ''}: such rows stay empty",
        )
    if policy == "mean" and model.fill_values is None:
        raise UsageError(
            "--missing mean: the model was fitted without centring and holds no column means",
            "give --missing project, or fit with --missing mean",
        )
    return policy


def policy_for_scores(model: Model, given: str | None) -> str:
    """Return the policy for rows of scores with missing cells, "error" or "keep".

    `given` is the policy that the user asked for, or None. Raises `UsageError` for LINEAR_POLICIES: a missing
    score cannot be estimated from the other scores of its row.
    """
    if given in LINEAR_POLICIES:
        raise UsageError(f"--missing {given} applies to rows, but the input holds scores", "give --missing keep")
    return given or ("keep" if model.meta.get("missing") in ("drop", "em") else "error")


# Remarks on `transform` for models that do not take a plain table of rows.
PRECOMPUTED = "of tables of kernel values, with a column for each training row"
# Commands that need the sums over rows, and not the rows.
FROM_SUMS = ("update", "merge", "subtract", "refit")

TRIPLES = "of --triples, or of a table with a column for each item"


class Abilities(NamedTuple):
    """Commands that a model supports, each with a remark (may be empty), and refused commands, each with the reason.

    Made by `abilities`; `inspect` and the report page show it.
    """

    can: dict[str, str]
    cannot: dict[str, str]


def abilities(model: Model) -> Abilities:
    """Return the commands that a model supports, and the reasons against the others."""
    found = Abilities({"transform": _transform(model)}, {})
    _add_reconstruct(model, found)
    found.can.update({"explain-variance": "", "scree": ""})
    _add_components(model, found)
    _add_from_sums(model, found)
    return found


def _add_from_sums(model: Model, found: Abilities) -> None:
    """Add update, merge, subtract and refit, which need only the sums over rows that a model keeps.

    A rule for k that needs the rows leaves `refit` alone, with another -k.
    """
    against, rule = why_not_updatable(model), rule_with_rows(model.meta.get("components"))
    if against is None and rule:
        found.can["refit"] = "with another -k"
        found.cannot.update(
            dict.fromkeys(FROM_SUMS[:-1], f"-k {rule} needs the rows: run pcatool refit with another -k first")
        )
        return
    (found.can if against is None else found.cannot).update(dict.fromkeys(FROM_SUMS, against or ""))


def _transform(model: Model) -> str:
    """Return the remark on `transform`: the kind of table that the model takes, empty for rows as usual."""
    if _is_precomputed(model):
        return PRECOMPUTED
    return TRIPLES if "absent" in model.meta else ""


def _is_precomputed(model: Model) -> bool:
    kernel = model.meta.get("kernel", {})
    return bool(kernel.get("name") == "precomputed")


def _add_reconstruct(model: Model, found: Abilities) -> None:
    """Add `reconstruct` with its remark, or the reason against it."""
    if "kernel" not in model.meta:
        found.can["reconstruct"] = "from scores, without the means of the rows" if model.rows_centered else ""
        return
    if _is_precomputed(model):
        try:
            model.with_preimage()
        except UsageError as error:
            found.cannot["reconstruct"] = error.message.partition(": ")[2]
        return
    found.can["reconstruct"] = "only approximately, with --preimage"


def _add_components(model: Model, found: Abilities) -> None:
    """Add `components` with its remark, or the reason against it."""
    if "kernel" in model.meta:
        found.cannot["components"] = "the components are directions in the kernel space, not combinations of columns"
    elif model.meta.get("method") == "supervised":
        found.can["components"] = "loadings and contributions"
    else:
        found.can["components"] = ""
