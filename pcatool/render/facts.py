"""Facts of a fitted model: as dictionaries for JSON output, and as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pcatool.linalg.certificate import fix_signs
from pcatool.methods.base import reason_against
from pcatool.model.model import Model
from pcatool.render.text import counted
from pcatool.resources import size_text

__all__ = [
    "aligned_lines",
    "certificate_lines",
    "em_lines",
    "how_fitted",
    "how_fitted_short",
    "is_usual",
    "kept_lines",
    "model_facts",
    "rank_text",
    "report_lines",
    "sums_facts",
    "sums_line",
    "whole",
]


def how_fitted(model: Model) -> str:
    """Return the settings that every number of the model depends on, in words."""
    supervised = model.meta.get("method") == "supervised"
    centred = "scores not centred" if supervised else "centred" if model.centered else "not centred"
    scaled = "standardised" if model.standardized else "not standardised"
    divisor = "n" if model.ddof == 0 else f"n - {model.ddof}"
    if "weights" in model.meta:
        lost = " - sum w^2 / sum w" if model.meta.get("weights_kind") == "reliability" else " - 1"
        divisor = f"sum of the weights {model.meta['weights']!r}" + (lost if model.ddof else "")
    said = [
        f"{centred}, {scaled}, "
        + (f"divisor {divisor} (ddof {model.ddof})" if not supervised else f"ddof {model.ddof}")
    ]
    if model.rows_centered:
        said.insert(0, "each row about its own mean")
    if not model.centered:
        said.append("shares are of the sum of squares about 0")
    if model.whitening != "none":
        said.append(f"{model.whitening.upper()} whitening, epsilon {model.epsilon:.6g}")
    return "; ".join([*said, *_of_method(model.meta)])


def how_fitted_short(model: Model) -> str:
    """Return the settings that a reader of a scores or loadings plot must know, in words; a short `how_fitted`."""
    said = ["standardised" if model.standardized else "not standardised"]
    if model.rows_centered:
        said.insert(0, "each row about its own mean")
    if not model.centered:
        said.append(f"not centred, per cent of the {whole(model.meta.get('method'), model.centered)}")
    elif not is_usual(model) and model.meta.get("method") == "supervised":
        said.append(f"per cent of the {whole('supervised', model.centered)} {', '.join(model.meta['labels'])}")
    if "weights" in model.meta:
        said.append(f"weights {model.meta['weights']!r}")
    if model.whitening != "none":
        said.append(f"{model.whitening.upper()} whitening")
    return "; ".join([", ".join(said), *_of_kernel(model.meta)])


def _of_method(meta: Mapping[str, Any]) -> list[str]:
    """Return phrases on the kernel, the label columns and the HSIC, for a model that has them."""
    said = _of_kernel(meta)
    if "labels" in meta:
        classes = f" of {counted(meta['classes'], 'class', 'es')}" if "classes" in meta else ""
        said.append(f"label {', '.join(meta['labels'])} by {meta.get('label_kernel')} kernel{classes}")
    if "hsic" in meta:
        said.append(f"HSIC {meta['hsic']:.6g}")
    return said


def _of_kernel(meta: Mapping[str, Any]) -> list[str]:
    """Return phrases on the kernel with its settings, and on the number of landmarks."""
    said = []
    kernel = meta.get("kernel")
    if isinstance(kernel, Mapping):
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in kernel.items() if name != "name")
        said.append(f"kernel {kernel.get('name')}" + (f" ({numbers})" if numbers else ""))
    if "landmarks" in meta:
        said.append(f"{meta['landmarks']} landmarks")
    return said


def is_usual(model: Model) -> bool:
    """Whether shares are shares of the variance of the columns: centred PCA."""
    return model.centered and model.meta.get("method", "pca") == "pca"


def whole(method: str | None, centered: bool) -> str:
    """Return the name of the quantity that shares refer to, such as `variance`."""
    if method == "supervised":
        return "dependence on the label"
    return "variance" if centered else "sum of squares about 0"


# Most components named one by one; further ones are counted.
SHOWN = 10

# Metadata keys that only some models have.
OF_SOME = (
    "center_rows", "whiten", "epsilon", "kernel", "landmarks",
    "labels", "label_kernel", "label_gamma", "classes", "hsic", "em",
)  # fmt: skip


def model_facts(model: Model) -> dict[str, Any]:
    """Return the facts of a model for JSON output; the functions below put these facts into words."""
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
        | {name: model.meta[name] for name in OF_SOME if name in model.meta}
        | _aligned_facts(model)
    )


def _aligned_facts(model: Model) -> dict[str, Any]:
    """Return, for a model aligned to an older one, each component's rank by size and the components with flipped sign.

    Empty for other models.
    """
    if "aligned" not in model.meta:
        return {}
    turned = np.any(fix_signs(model.basis) != model.basis, axis=0)
    places = model.meta["aligned"][: model.k]
    return {"aligned": places, "flipped": [int(j) + 1 for j in np.flatnonzero(turned)]}


def sums_facts(model: Model) -> dict[str, Any]:
    """Return whether the model keeps sums for adding and removing rows, with their size or the reason against."""
    kept = model.statistic
    if kept is None:
        return {"kept": False, "reason": reason_against(model)}
    return {"kept": True, "bytes": kept.nbytes}


def report_lines(model: Model) -> list[str]:
    """Return the lines that describe a model below a table of its variances."""
    facts = model_facts(model)
    return [f"{facts['rows']} rows, {len(facts['columns'])} columns; {how_fitted(model)}", *kept_lines(facts)]


def kept_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the lines on the solver, the kept components, the alignment, EM and the certificate."""
    of_what = whole(facts["method"], facts["centered"])
    return [
        f"solver {facts['solver']}: {facts['reason']}; {rank_text(facts)}",
        f"{counted(facts['components'], 'component')} kept, {facts['cumulative']:.4%} of the {of_what} "
        f"({facts['choice']})",
        *aligned_lines(facts),
        *(em_lines(facts) if "em" in facts else []),
        *certificate_lines(facts["certificate"] or {}, of_em="em" in facts),
    ]


def aligned_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the line on signs and order taken from an older model; empty if the model was not aligned."""
    if "aligned" not in facts:
        return []
    moved = [f"PC{i} (by size PC{place})" for i, place in enumerate(facts["aligned"], 1) if i != place]
    done = [
        f"{what} {', '.join(names[:SHOWN])}{f' and {len(names) - SHOWN} more' if len(names) > SHOWN else ''}"
        for what, names in (("flipped", [f"PC{j}" for j in facts["flipped"]]), ("in its order", moved))
        if names
    ]
    return [f"aligned to an older model: {'; '.join(done) or 'nothing to change'}"]


def em_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the line on the convergence of EM, for the facts of a model fitted by EM."""
    em = facts["em"]
    how = "has converged" if em["converged"] else "has NOT converged"
    likelihood = "without bound" if em["log_likelihood"] is None else f"{em['log_likelihood']:.10g}"
    known = "how far eigenvalues are from those at the maximum is not known"
    if em.get("proved"):  # models of earlier versions hold the size of the last steps instead of a proof
        off = max(error or 0.0 for error in facts["certificate"]["relative_error"])
        known = f"eigenvalues differ from those at the maximum by {off:.1e} of themselves at most"
    return [
        f"EM {how} in {counted(em['steps'], 'step')}: log-likelihood {likelihood}, noise variance "
        f"{em['noise_variance']:.6g}; {known}"
    ]


def rank_text(facts: Mapping[str, Any]) -> str:
    """Return the rank in words; `or more` if only leading eigenvalues are known and none of them is 0."""
    at_least = facts["eigenvalues_known"] == facts["rank"] < facts["eigenvalues_possible"]
    return f"rank {facts['rank']}" + (" or more" if at_least else "")


def certificate_lines(certificate: Mapping[str, Any], *, of_em: bool = False) -> list[str]:
    """Return the lines on the certificate; entries that the model lacks are omitted.

    `of_em` omits the bounds on rounding, because for EM the number of steps limits the accuracy.
    """
    named = {"eigen_residual": "eigen-residual", "orthonormality": "|B^T B - I|", "trace_closure": "trace closes to"}
    proofs = [f"{text} {certificate[key]:.1e}" for key, text in named.items() if certificate.get(key) is not None]
    lines = [", ".join(proofs)] if proofs else []
    sure = certificate.get("vouched")
    if sure is not None and not of_em:
        bounds = [e for e, good in zip(certificate["relative_error"], sure, strict=True) if good]
        unsure = [f"PC{j}" for j, good in enumerate(sure, 1) if not good]
        if bounds:
            lines.append(
                f"{counted(len(bounds), 'eigenvalue')} vouched for, the least certain to {max(bounds):.1e} of itself"
            )
        if unsure:
            lines.append(f"not told from rounding: {', '.join(unsure[:10])}{' ...' if len(unsure) > 10 else ''}")
    pairs = certificate.get("close_pairs") or []
    if pairs:
        shown = ", ".join(f"PC{i} and PC{j}" for i, j in pairs[:5])
        more = " ..." if len(pairs) > 5 else ""
        lines.append(f"eigenvalues too close for their directions to mean anything: {shown}{more}")
    return lines


def sums_line(sums: Mapping[str, Any]) -> str:
    """Return the line on the sums kept in the model, from the result of `sums_facts`."""
    if not sums["kept"]:
        return f"no update, merge, subtract or refit: {sums['reason']}"
    return f"sums kept for update, merge, subtract and refit: {size_text(sums['bytes'])}"
