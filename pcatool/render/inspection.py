"""The text of the command `inspect`: the contents of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pcatool.model.description import name_of_total
from pcatool.model.model import component_name
from pcatool.render.facts import FEW_DIGITS, aligned_lines, certificate_lines, em_lines, rank_text
from pcatool.render.text import Line, labelled, render_table
from pcatool.resources import size_text
from pcatool.wording import counted, grouped, listed, percent, show

__all__ = ["fact_lines", "inspection_text", "proof_lines"]

# Columns named, and components shown, without -v.
COLUMNS_NAMED = 8
COMPONENTS_SHOWN = 10

# Value of --missing -> treatment of missing cells, in the fit and in transform.
MISSING_IN_FIT = {
    "error": "no missing cells in the fit",
    "drop": "rows with missing cells were dropped from the fit",
    "mean": "the fit filled missing cells with column means",
    "em": "the fit used the observed cells of each row",
}
MISSING_IN_TRANSFORM = {
    "error": "refuses rows with missing cells",
    "keep": "leaves the scores of rows with missing cells empty",
    "mean": "fills missing cells with column means",
    "project": "uses the observed cells of each row",
}

# Array of a model file -> its meaning.
ARRAY_MEANINGS = {
    "mean": "value subtracted from each column",
    "std": "divisor of each column",
    "basis": "loadings, in one column for each component",
    "eigenvalues": "all known eigenvalues",
    "total_variance": "sum of all eigenvalues",
    "n_samples": "rows of the fit",
    "columns": "names of the columns, in the order of the rows of basis",
    "variances": "variances of the columns before standardising",
    "column_means": "values that fill missing cells",
    "training_rows": "rows of the fit, or the landmarks, as read",
    "dual_vectors": "weight of each training row in each component",
    "kernel_means": "means of the rows of the kernel matrix, or 0 without centring",
    "means": "means of the columns, each stored as a sum of two doubles",
    "means_error": "bounds on the errors of means",
    "rounding": "bounds on the rounding error of each column in scatter, factor or cross",
    "weights": "sum of the weights w_i, and sum of w_i w_j over all rows i and j with i != j",
    "weights_error": "bounds on the errors of weights",
    "scatter": "sums of products of two columns about their means",
    "factor": "triangular factor R of the scatter matrix R^T R",
    "cross": "sums of products of a label and a column about their means",
    "squares": "sums of squares of the columns about their means",
    "label_means": "means of the labels, each stored as a sum of two doubles",
    "label_squares": "sums of squares of the labels about their means",
    "class_names": "names of the classes, in the order in which they first appear",
    "meta": "settings, solver and certificate as JSON",
}

WEIGHT_MEANINGS = {"frequency": "how often each row occurs", "reliability": "how reliable each row is"}
ABSENT_MEANINGS = {"missing": "missing", "zero": "0"}


def inspection_text(
    facts: Mapping[str, Any], *, everything: bool, width: int | None, color: bool = False, unicode: bool = True
) -> str:
    """Return the result of `pcatool.inspect` as labelled lines and tables, folded to `width` unless None.

    `everything` shows all components, not only the first COMPONENTS_SHOWN, and a table of the columns.
    """

    def table(columns: dict[str, Any]) -> str:
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        return render_table(arrays, "table", width=width, color=color, unicode=unicode)

    parts = [
        labelled(fact_lines(facts), width, color),
        table(_components(facts, everything)),
        labelled([*_omitted_line(facts, everything), *proof_lines(facts)], width, color),
        labelled(_abilities(facts), width, color),
        table(_arrays(facts)),
    ]
    if everything:
        parts.insert(-1, table(_columns(facts)))
    return "\n".join(part for part in parts if part)


def fact_lines(facts: Mapping[str, Any]) -> list[Line]:
    """Return the labelled lines of `inspect` on the file, settings, size of the table, components and solver.

    Lines on missing cells are always included, lines on further settings and on aligned components where there are any.
    """
    total_name = name_of_total(facts["method"], facts["centered"])
    kept = f"{grouped(facts['components'])} of {grouped(facts['eigenvalues_possible'])} kept"
    components = f"{kept}, {percent(facts['cumulative'])} of the {total_name}"
    missing = facts["missing"]
    size = f"{size_text(facts['bytes'])}, format {facts['format_version']}"
    return [
        ("file", size if facts["model"] in (None, "-") else f"{facts['model']}, {size}"),
        ("method", facts["meaning"]),
        ("settings", facts["settings"]),
        ("missing", f"{MISSING_IN_FIT[missing['fit']]}; transform {MISSING_IN_TRANSFORM[missing['transform']]}"),
        *_optional_lines(facts["fitted_with"]),
        ("rows", grouped(facts["rows"])),
        ("columns", f"{grouped(len(facts['columns']))}: {listed(facts['columns'], COLUMNS_NAMED)}"),
        ("components", f"{components} ({facts['choice']})"),
        *(("aligned", line.removeprefix("aligned ")) for line in aligned_lines(facts)),
        ("rank", rank_text(facts).removeprefix("rank ")),
        ("solver", f"{facts['solver']}: {facts['reason']}"),
    ]


def _optional_lines(fitted_with: Mapping[str, Any]) -> list[Line]:
    """Return the lines on settings that only some models have: weights, boolean columns, triples, seed."""
    lines = []
    if "weights" in fitted_with:
        kind = fitted_with.get("weights_kind", "frequency")
        lines.append(("weights", f"column {show(fitted_with['weights'])}: {WEIGHT_MEANINGS[kind]}"))
    if "booleans" in fitted_with:
        lines.append(("booleans", f"{listed(fitted_with['booleans'], COLUMNS_NAMED)}: true is 1, false is 0"))
    if "absent" in fitted_with:
        lines.append(
            ("triples", f"one line for each cell; cells without a line are {ABSENT_MEANINGS[fitted_with['absent']]}")
        )
    if "seed" in fitted_with:
        lines.append(("seed", str(fitted_with["seed"])))
    return lines


def _components(facts: Mapping[str, Any], everything: bool) -> dict[str, Any]:
    """Return the table of kept components as a dict of columns; only the first COMPONENTS_SHOWN unless `everything`.

    The column `digits` is left out if the model holds no bounds on the errors of the eigenvalues.
    """
    rows = [row for row in facts["variance"] if row["kept"]]
    rows = rows if everything else rows[:COMPONENTS_SHOWN]
    table = {
        "component": [component_name(row["component"]) for row in rows],
        **{name: [row[name] for row in rows] for name in ("eigenvalue", "share", "cumulative")},
    }
    if all("digits" in row for row in rows):
        table["digits"] = [row["digits"] for row in rows]
    return table


def _omitted_line(facts: Mapping[str, Any], everything: bool) -> list[Line]:
    """Return a line that counts the components not shown; empty if all are shown."""
    omitted = facts["components"] - COMPONENTS_SHOWN
    return (
        []
        if everything or omitted <= 0
        else [("shown", f"the first {COMPONENTS_SHOWN} components; -v shows {counted(omitted, 'more component')}")]
    )


def proof_lines(facts: Mapping[str, Any]) -> list[Line]:
    """Return the lines labelled `certificate`, on the accuracy of the kept eigenvalues.

    In this order, as far as the model has them: accurate digits, or that the accuracy is unknown; eigenvalues of 0;
    eigenvalues lost in rounding; EM; missed eigenvalues; residuals; eigenvalues too close to each other.
    """
    certificate = facts["certificate"] or {}
    by_em = "em" in facts
    rows = [row for row in facts["variance"] if row["kept"] and "vouched" in row]
    texts = []
    by_digits: dict[int, list[int]] = {}
    for row in rows:
        if row["vouched"] or (by_em and row["digits"]):
            by_digits.setdefault(row["digits"], []).append(row["component"])
    if by_digits:
        verb = "agree with the eigenvalues at the maximum of the likelihood" if by_em else "are accurate"
        spans = "; ".join(
            f"{_spans(components)} to {counted(n, 'digit')}" for n, components in sorted(by_digits.items())[::-1]
        )
        texts.append(f"eigenvalues {verb}: {spans}")
    if not rows and not by_em:
        texts.append("none, so the accuracy of the eigenvalues is unknown")
    past_rank = [row["component"] for row in rows if row["eigenvalue"] == 0]
    if past_rank:
        texts.append(f"components beyond the rank, with eigenvalue 0: {_spans(past_rank)}")
    not_vouched = [row["component"] for row in rows if not row["vouched"] and row["eigenvalue"] > 0]
    if not_vouched and not by_em:
        texts.append(f"{FEW_DIGITS}: {_spans(not_vouched)}")
    texts += em_lines(facts) if by_em else []
    proofs = {name: value for name, value in certificate.items() if name != "vouched"}
    return [("certificate", text) for text in [*texts, *certificate_lines(proofs)]]


def _spans(components: Sequence[int]) -> str:
    """Return component numbers as ranges, such as `PC1-PC4, PC7`."""
    runs: list[list[int]] = []
    for j in components:
        if runs and runs[-1][-1] == j - 1:
            runs[-1].append(j)
        else:
            runs.append([j])
    return ", ".join(
        component_name(run[0]) if len(run) == 1 else f"{component_name(run[0])}-{component_name(run[-1])}"
        for run in runs
    )


def _abilities(facts: Mapping[str, Any]) -> list[Line]:
    """Return the lines on commands that the model supports (`can`), and refused commands with the reason (`cannot`).

    Commands without a note share a line, and so do refused commands with the same reason.
    """
    plain = [name for name, note in facts["can"].items() if not note]
    noted = [("can", f"{name} ({note})") for name, note in facts["can"].items() if note]
    reasons: dict[str, list[str]] = {}
    for name, reason in facts["cannot"].items():
        reasons.setdefault(reason, []).append(name)
    cannot = [("cannot", f"{', '.join(names)}: {reason}") for reason, names in reasons.items()]
    return [("can", ", ".join(plain)), *noted, *cannot]


def _columns(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of the model's columns, with means and variances, as a dict of the table's columns.

    Its column `std` is left out if the model is not standardised, since all divisors are 1 then.
    """
    rows = facts["column_statistics"]
    return {name: [row[name] for row in rows] for name in rows[0] if name != "std" or facts["standardized"]}


def _arrays(facts: Mapping[str, Any]) -> dict[str, Any]:
    arrays = facts["arrays"]
    return {
        "array": [array["name"] for array in arrays],
        "type": [array["type"] for array in arrays],
        "shape": [" x ".join(map(str, array["shape"])) or "scalar" for array in arrays],
        "bytes": [array["bytes"] for array in arrays],
        "content": [ARRAY_MEANINGS.get(array["name"], "") for array in arrays],
    }
