"""Facts of a fitted model: as dictionaries for JSON output, and as sentences.

The argument `facts` of all functions is the result of `model_facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pcatool.linalg.eigen import fix_signs
from pcatool.methods.base import why_not_updatable
from pcatool.model.description import name_of_total, settings_text
from pcatool.model.model import Model, component_name
from pcatool.resources import size_text
from pcatool.wording import counted, grouped, percent

__all__ = [
    "FEW_DIGITS",
    "aligned_lines",
    "certificate_lines",
    "em_lines",
    "kept_lines",
    "model_facts",
    "rank_text",
    "report_lines",
    "sums_facts",
    "sums_line",
]


# Components named one by one; further ones are counted.
MAX_NAMED = 10

# Metadata keys that only some models have.
OPTIONAL_KEYS = (
    "center_rows", "whiten", "epsilon", "kernel", "landmarks",
    "labels", "label_kernel", "label_gamma", "classes", "hsic", "em", "squared_shares",
)  # fmt: skip


def model_facts(model: Model) -> dict[str, Any]:
    """Return a summary of a model for JSON output.

    The summary has the method and the basic settings, the numbers of rows and components, the columns, the rank and the
    number of known eigenvalues, the solver, the total, kept and lost variance, and the certificate. Facts on EM,
    alignment and other options are added for models that have such facts.
    """
    table = model.variance
    return (
        {
            "method": model.meta.get("method"),
            "rows": model.n_samples,
            "columns": list(model.columns),
            "components": model.k,
            "choice": model.meta.get("choice", "asked for"),
            "rank": model.meta.get("rank"),
            "eigenvalues_known": len(model.eigenvalues),
            "eigenvalues_possible": model.possible,
            "centered": model.centered,
            "standardized": model.standardized,
            "ddof": model.ddof,
            "solver": model.meta.get("solver"),
            "reason": model.meta.get("reason"),
            "total_variance": model.total_variance,
            "cumulative": float(table.cumulative[model.k - 1]),
            "lost": float(table.lost[model.k - 1]),
            "certificate": model.meta.get("certificate"),
        }
        | {name: model.meta[name] for name in OPTIONAL_KEYS if name in model.meta}
        | _aligned_facts(model)
    )


def _aligned_facts(model: Model) -> dict[str, Any]:
    """Return the facts of a model whose components were aligned to those of an older model; empty for other models.

    `aligned` has each component's position by eigenvalue; `flipped` the components whose sign is opposite to that of
    `fix_signs`, the rule for models that are not aligned. Both count from 1.
    """
    if "aligned" not in model.meta:
        return {}
    flipped = np.any(fix_signs(model.basis) != model.basis, axis=0)
    ranks = model.meta["aligned"][: model.k]
    return {"aligned": ranks, "flipped": [int(j) + 1 for j in np.flatnonzero(flipped)]}


def sums_facts(model: Model) -> dict[str, Any]:
    """Return, for JSON output, whether the model keeps the sums that adding and removing rows needs.

    `kept` is True with the size in `bytes`, or False with the `reason` why the model has no sums.
    """
    statistic = model.statistic
    if statistic is None:
        return {"kept": False, "reason": why_not_updatable(model)}
    return {"kept": True, "bytes": statistic.nbytes}


def report_lines(model: Model) -> list[str]:
    """Return lines that describe a model below a table of its variances: size, settings, and `kept_lines`."""
    facts = model_facts(model)
    return [
        f"{counted(facts['rows'], 'row')}, {counted(len(facts['columns']), 'column')}; {settings_text(model)}",
        *kept_lines(facts),
    ]


def kept_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the lines on the solver, the kept components, the alignment, EM and the certificate."""
    total_name = name_of_total(facts["method"], facts["centered"])
    return [
        f"solver {facts['solver']}: {facts['reason']}; {rank_text(facts)}",
        f"{counted(facts['components'], 'component')} kept, {percent(facts['cumulative'])} of the {total_name} "
        f"({facts['choice']})",
        *aligned_lines(facts),
        *(em_lines(facts) if "em" in facts else []),
        *certificate_lines(facts["certificate"] or {}, of_em="em" in facts),
    ]


def aligned_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line that names the components whose sign or order was changed to match an older model.

    Empty if the model was not aligned to an older model.
    """
    if "aligned" not in facts:
        return []
    total_name = name_of_total(facts["method"], facts["centered"])
    moved = [
        f"{component_name(i)} is number {place} by {total_name}"
        for i, place in enumerate(facts["aligned"], 1)
        if i != place
    ]
    changes = [
        f"{what} {', '.join(names[:MAX_NAMED])}"
        + (f" and {len(names) - MAX_NAMED} more components" if len(names) > MAX_NAMED else "")
        for what, names in (
            ("sign changed:", [component_name(j) for j in facts["flipped"]]),
            ("order of the older model kept:", moved),
        )
        if names
    ]
    return [f"aligned to an older model; {'; '.join(changes) or 'no sign and no order changed'}"]


def em_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line on the steps of EM, the likelihood and the error of the eigenvalues; the model must be from EM."""
    em = facts["em"]
    how = "has converged" if em["converged"] else "has NOT converged"
    likelihood = "without upper bound" if em["log_likelihood"] is None else f"{em['log_likelihood']:.10g}"
    accuracy = "the error of the eigenvalues is unknown"
    if em.get("proved"):  # models of earlier versions hold the size of the last steps instead of a proof
        largest_error = max(error or 0.0 for error in facts["certificate"]["relative_error"])
        accuracy = f"the eigenvalues have a relative error of at most {largest_error:.1e}"
    return [
        f"EM {how} in {counted(em['steps'], 'step')}: log-likelihood {likelihood}, noise variance "
        f"{em['noise_variance']:.6g}; {accuracy}"
    ]


def rank_text(facts: Mapping[str, Any]) -> str:
    """Return a text such as `rank 4`, or `rank 4 or more` if only leading eigenvalues are known and none is 0.

    `rank unknown` if the model does not hold its rank.
    """
    if facts["rank"] is None:  # a model built from arrays alone
        return "rank unknown"
    at_least = facts["eigenvalues_known"] == facts["rank"] < facts["eigenvalues_possible"]
    return f"rank {grouped(facts['rank'])}" + (" or more" if at_least else "")


FEW_DIGITS = "eigenvalues accurate to fewer than 8 digits"

# Entry `proof` of a certificate -> text.
MISSED_NONE = {
    "cholesky": "a Cholesky factorisation proves that no larger eigenvalue was missed",
    "lapack": "LAPACK counted the eigenvalues, so no larger eigenvalue was missed",
}


def certificate_lines(certificate: Mapping[str, Any], *, of_em: bool = False) -> list[str]:
    """Return lines on missed eigenvalues, residuals, the accuracy of eigenvalues, and eigenvalues close to each other.

    Entries that the certificate lacks are omitted. `of_em` omits the accuracy of eigenvalues: these bounds are on
    rounding, but the number of steps limits the accuracy of EM.
    """
    titles = {"eigen_residual": "eigen-residual", "orthonormality": "|B^T B - I|", "trace_closure": "trace closure"}
    proofs = [f"{text} {certificate[key]:.1e}" for key, text in titles.items() if certificate.get(key) is not None]
    lines = [MISSED_NONE[certificate["proof"]]] if "proof" in certificate else []
    lines += [", ".join(proofs)] if proofs else []
    vouched = certificate.get("vouched")
    if vouched is not None and not of_em:
        bounds = [e for e, is_vouched in zip(certificate["relative_error"], vouched, strict=True) if is_vouched]
        errors = enumerate(zip(certificate["relative_error"], vouched, strict=True), 1)
        uncertain = [(component_name(j), error) for j, (error, is_vouched) in errors if not is_vouched]
        if bounds:
            are = "is" if len(bounds) == 1 else "are"
            lines.append(
                f"{counted(len(bounds), 'eigenvalue')} {are} accurate to a relative error of at most {max(bounds):.1e}"
            )
        for what, names in (
            (FEW_DIGITS, [name for name, error in uncertain if error is not None]),
            ("eigenvalues indistinguishable from rounding error", [name for name, error in uncertain if error is None]),
        ):
            if names:
                more = " ..." if len(names) > 10 else ""
                lines.append(f"{what}: {', '.join(names[:10])}{more}")
    pairs = certificate.get("close_pairs") or []
    if pairs:
        shown = ", ".join(f"{component_name(i)} and {component_name(j)}" for i, j in pairs[:5])
        more = " ..." if len(pairs) > 5 else ""
        lines.append(
            f"some eigenvalues are too close to each other to determine the directions of the components: {shown}{more}"
        )
    return lines


def sums_line(sums: Mapping[str, Any]) -> str:
    """Return a line on the size of the sums kept in the model, or on why update, merge, subtract and refit cannot work.

    `sums` is the result of `sums_facts`.
    """
    if not sums["kept"]:
        return f"update, merge, subtract and refit are not possible: {sums['reason']}"
    return f"the model keeps sums for update, merge, subtract and refit: {size_text(sums['bytes'])}"
