"""What a run did: facts for machines, and the same in plain words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pcatool.linalg.signs import fix_signs
from pcatool.memory import size_text
from pcatool.methods.kept import reason_against
from pcatool.model import Model
from pcatool.readers.tally import Tally
from pcatool.render.missing import counted, missing_facts, missing_lines, triples_text
from pcatool.render.tables import render_table
from pcatool.rules.compare import Verdict, agreement
from pcatool.solvers.plan import Plan
from pcatool.stores.uri import shown

__all__ = [
    "apply_facts",
    "apply_lines",
    "both_facts",
    "both_lines",
    "combined_facts",
    "combined_lines",
    "fit_facts",
    "fit_lines",
    "folder_facts",
    "folder_lines",
    "how_fitted",
    "is_usual",
    "model_facts",
    "plan_facts",
    "plan_lines",
    "report_lines",
    "rules_report",
    "sums_facts",
    "sums_line",
    "whole",
]


# Components that are named one by one; of more the others are counted.
SHOWN = 10

# What only some models have, by its name in the file.
OF_SOME = (
    "center_rows", "whiten", "epsilon", "kernel", "landmarks",
    "labels", "label_kernel", "label_gamma", "classes", "hsic", "em",
)  # fmt: skip


def how_fitted(model: Model) -> str:
    """The choices that every number depends on."""
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


def is_usual(model: Model) -> bool:
    """Are shares what everybody takes them for: of the variance of columns?"""
    return model.centered and model.meta.get("method", "pca") == "pca"


def _of_method(meta: Mapping[str, Any]) -> list[str]:
    """The kernel and the labels, with their numbers."""
    said = []
    kernel = meta.get("kernel")
    if isinstance(kernel, Mapping):
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in kernel.items() if name != "name")
        said.append(f"kernel {kernel.get('name')}" + (f" ({numbers})" if numbers else ""))
    if "landmarks" in meta:
        said.append(f"{meta['landmarks']} landmarks")
    if "labels" in meta:
        classes = f" of {counted(meta['classes'], 'class', 'es')}" if "classes" in meta else ""
        said.append(f"label {', '.join(meta['labels'])} by {meta.get('label_kernel')} kernel{classes}")
    if "hsic" in meta:
        said.append(f"HSIC {meta['hsic']:.6g}")
    return said


def model_facts(model: Model) -> dict[str, Any]:
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
            "eigenvalues_possible": possible(model),
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
    """Of a model aligned to an older one the place by size of each component, and which are turned to be like its."""
    if "aligned" not in model.meta:
        return {}
    turned = np.any(fix_signs(model.basis) != model.basis, axis=0)
    places = model.meta["aligned"][: model.k]
    return {"aligned": places, "flipped": [int(j) + 1 for j in np.flatnonzero(turned)]}


def fit_facts(model: Model, tally: Tally, output: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"command": "fit", "output": shown(output), "rows_read": tally.rows}
    if tally.table is None:
        facts["rows_dropped"] = tally.rows - model.n_samples
    else:
        facts["triples"] = tally.table._asdict()
    if tally.incomplete:
        facts["missing"] = missing_facts(tally)
    return facts | model_facts(model) | {"settings": how_fitted(model), "sums": sums_facts(model)}


def combined_facts(command: str, model: Model, before: int, tally: Tally | None, output: str) -> dict[str, Any]:
    """What became of a model by rows that came or went, or by other settings."""
    facts: dict[str, Any] = {"command": command, "output": output, "rows_before": before}
    if tally is not None:
        facts["rows_read"] = tally.rows
    return facts | model_facts(model) | {"settings": how_fitted(model), "sums": sums_facts(model)}


def combined_lines(facts: Mapping[str, Any]) -> list[str]:
    change = facts["rows"] - facts["rows_before"]
    rows = counted(facts["rows"], "row")
    if change:
        came = f"{counted(change, 'row')} added to" if change > 0 else f"{counted(-change, 'row')} taken out of"
        rows = f"{came} {facts['rows_before']}: {rows}"
    return [
        f"{rows}; {counted(len(facts['columns']), 'column')}; {facts['settings']}",
        *kept_lines(facts),
        sums_line(facts["sums"]),
        f"model written to {'standard output' if facts['output'] == '-' else facts['output']}",
    ]


def both_facts(model: Model, tally: Tally, output: str, scored: Tally, scores: str) -> dict[str, Any]:
    """Of a fit that also scored its rows."""
    return fit_facts(model, tally, output) | {
        "scores": scores,
        "rows_scored": scored.rows,
        "rows_left_empty": scored.left_empty,
    }


def both_lines(facts: Mapping[str, Any]) -> list[str]:
    empty = f", {facts['rows_left_empty']} left empty for missing cells" if facts["rows_left_empty"] else ""
    where = "standard output" if facts["scores"] == "-" else facts["scores"]
    return [*fit_lines(facts), f"scores of {counted(facts['rows_scored'], 'row')}{empty} written to {where}"]


def sums_facts(model: Model) -> dict[str, Any]:
    """Whether rows can be added to a model and taken from it, and if not, why."""
    kept = model.statistic
    if kept is None:
        return {"kept": False, "reason": reason_against(model)}
    return {"kept": True, "bytes": kept.nbytes}


def sums_line(sums: Mapping[str, Any]) -> str:
    if not sums["kept"]:
        return f"no update, merge, subtract or refit: {sums['reason']}"
    return f"sums kept for update, merge, subtract and refit: {size_text(sums['bytes'])}"


def fit_lines(facts: Mapping[str, Any]) -> list[str]:
    dropped = f", {facts['rows_dropped']} dropped" if facts.get("rows_dropped") else ""
    used = triples_text(facts["triples"]) if "triples" in facts else f"{counted(len(facts['columns']), 'column')} used"
    return [
        f"{counted(facts['rows_read'], 'row')} read{dropped}; {used}; {facts['settings']}",
        *missing_lines(facts.get("missing")),
        *kept_lines(facts),
        sums_line(facts["sums"]),
        f"model written to {'standard output' if facts['output'] == '-' else facts['output']}",
    ]


def kept_lines(facts: Mapping[str, Any]) -> list[str]:
    """How it was solved, what is kept, and how right it is."""
    of_what = whole(facts["method"], facts["centered"])
    return [
        f"solver {facts['solver']}: {facts['reason']}; {rank_text(facts)}",
        f"{counted(facts['components'], 'component')} kept, {facts['cumulative']:.4%} of the {of_what} "
        f"({facts['choice']})",
        *aligned_lines(facts),
        *(em_lines(facts) if "em" in facts else []),
        *certificate_lines(facts["certificate"] or {}, settled="em" in facts),
    ]


def aligned_lines(facts: Mapping[str, Any]) -> list[str]:
    """What was done to be like an older model."""
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
    """How EM went."""
    em = facts["em"]
    how = "has converged" if em["converged"] else "has NOT converged"
    likelihood = "without bound" if em["log_likelihood"] is None else f"{em['log_likelihood']:.10g}"
    moves = max(error or 0.0 for error in facts["certificate"]["relative_error"])
    return [
        f"EM {how} in {counted(em['steps'], 'step')}: log-likelihood {likelihood}, noise variance "
        f"{em['noise_variance']:.6g}, eigenvalues stand to {moves:.1e} of themselves"
    ]


def possible(model: Model) -> int:
    """How many eigenvalues there are."""
    return min(model.n_samples, model.directions)


def rank_text(facts: Mapping[str, Any]) -> str:
    """Where only the leading eigenvalues are known, and all of them carry something, there may be more."""
    at_least = facts["eigenvalues_known"] == facts["rank"] < facts["eigenvalues_possible"]
    return f"rank {facts['rank']}" + (" or more" if at_least else "")


def whole(method: str | None, centered: bool) -> str:
    """What the shares are shares of."""
    if method == "supervised":
        return "dependence on the label"
    return "variance" if centered else "sum of squares about 0"


def certificate_lines(certificate: Mapping[str, Any], *, settled: bool = False) -> list[str]:
    """The certificate in words; nothing of what a model does not carry, nor of rounding where steps decide."""
    named = {"eigen_residual": "eigen-residual", "orthonormality": "|B^T B - I|", "trace_closure": "trace closes to"}
    proofs = [f"{text} {certificate[key]:.1e}" for key, text in named.items() if certificate.get(key) is not None]
    lines = [", ".join(proofs)] if proofs else []
    sure = certificate.get("vouched")
    if sure is not None and not settled:
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


def apply_facts(command: str, model: Model, tally: Tally, error: float | None, output: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "command": command,
        "output": shown(output or "-"),
        "rows_read": tally.rows,
        "rows_incomplete": tally.incomplete,
        "rows_left_empty": tally.left_empty,
        "components": model.k,
        "ddof": model.ddof,
    }
    if error is not None:
        facts["mean_squared_error"] = error
    return facts


def apply_lines(facts: Mapping[str, Any]) -> list[str]:
    incomplete = f", {facts['rows_incomplete']} of them with missing cells" if facts["rows_incomplete"] else ""
    incomplete += f", {facts['rows_left_empty']} left empty for it" if facts["rows_left_empty"] else ""
    lines = [f"{facts['rows_read']} rows read and written{incomplete}; {counted(facts['components'], 'component')}"]
    if "mean_squared_error" in facts:
        lines.append(f"mean squared error {facts['mean_squared_error']!r} in the units of the fit")
    return lines


def folder_facts(
    written: Sequence[tuple[str, str, int]], skipped: Sequence[tuple[str, str]], resumed: int
) -> dict[str, Any]:
    """Which input went where, which were left out, and how many were done before."""
    return {
        "files_read": len(written),
        "files_written": len(written),
        "files_resumed": resumed,
        "outputs": [{"file": file, "output": output, "rows": rows} for file, output, rows in written],
        "skipped": [{"file": file, "reason": reason} for file, reason in skipped],
    }


def folder_lines(facts: Mapping[str, Any]) -> list[str]:
    resumed = f", {facts['files_resumed']} were done already" if facts["files_resumed"] else ""
    return [f"{counted(facts['files_written'], 'file')} written to {facts['output']}{resumed}"]


def report_lines(model: Model) -> list[str]:
    """A model in plain words, below a report of its variances."""
    facts = model_facts(model)
    return [f"{facts['rows']} rows, {len(facts['columns'])} columns; {how_fitted(model)}", *kept_lines(facts)]


def plan_facts(plan: Plan) -> dict[str, Any]:
    return {
        "command": "fit --plan",
        "solver": plan.solver,
        "reason": plan.reason,
        "rows": plan.rows,
        "columns": plan.columns,
        "passes": plan.passes,
        "peak_bytes": plan.peak_bytes,
    }


def plan_lines(facts: Mapping[str, Any]) -> list[str]:
    rows = "unknown" if facts["rows"] is None else f"about {facts['rows']}"
    return [
        f"solver: {facts['solver']}",
        f"reason: {facts['reason']}",
        f"rows: {rows}; columns: {facts['columns']}",
        f"passes over the data: {facts['passes']}",
        f"memory at the peak: about {size_text(facts['peak_bytes'])}",
    ]


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
