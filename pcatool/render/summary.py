"""What a run did: facts for machines, and the same in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcatool.model import Model
from pcatool.readers.rows import Tally

__all__ = ["apply_facts", "apply_lines", "fit_facts", "fit_lines", "how_fitted", "model_facts", "report_lines"]


def how_fitted(model: Model) -> str:
    """The choices that every number depends on."""
    centred = "centred" if model.centered else "not centred"
    scaled = "standardised" if model.standardized else "not standardised"
    divisor = "n" if model.ddof == 0 else f"n - {model.ddof}"
    return f"{centred}, {scaled}, divisor {divisor} (ddof {model.ddof})"


def model_facts(model: Model) -> dict[str, Any]:
    table = model.variance
    return {
        "method": model.meta.get("method"),
        "rows": model.n_samples,
        "columns": list(model.columns),
        "components": model.k,
        "rank": model.meta.get("rank"),
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


def fit_facts(model: Model, tally: Tally, output: str) -> dict[str, Any]:
    facts = {"command": "fit", "output": output, "rows_read": tally.rows, "rows_dropped": tally.rows - model.n_samples}
    return facts | model_facts(model) | {"settings": how_fitted(model)}


def fit_lines(facts: Mapping[str, Any]) -> list[str]:
    dropped = f", {facts['rows_dropped']} dropped" if facts["rows_dropped"] else ""
    return [
        f"{counted(facts['rows_read'], 'row')} read{dropped}; {counted(len(facts['columns']), 'column')} used; "
        f"{facts['settings']}",
        *kept_lines(facts),
        f"model written to {'standard output' if facts['output'] == '-' else facts['output']}",
    ]


def kept_lines(facts: Mapping[str, Any]) -> list[str]:
    """How it was solved, what is kept, and how right it is."""
    certificate = facts["certificate"] or {}
    return [
        f"solver {facts['solver']}: {facts['reason']}; rank {facts['rank']}",
        f"{counted(facts['components'], 'component')} kept, {facts['cumulative']:.4%} of the variance; "
        + ", ".join(f"{name.replace('_', ' ')} {value:.1e}" for name, value in certificate.items()),
    ]


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def apply_facts(command: str, model: Model, tally: Tally, error: float | None, output: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "command": command,
        "output": output or "-",
        "rows_read": tally.rows,
        "rows_incomplete": tally.incomplete,
        "components": model.k,
        "ddof": model.ddof,
    }
    if error is not None:
        facts["mean_squared_error"] = error
    return facts


def apply_lines(facts: Mapping[str, Any]) -> list[str]:
    incomplete = f", {facts['rows_incomplete']} of them left empty for missing cells" if facts["rows_incomplete"] else ""
    lines = [f"{facts['rows_read']} rows read and written{incomplete}; {counted(facts['components'], 'component')}"]
    if "mean_squared_error" in facts:
        lines.append(f"mean squared error {facts['mean_squared_error']!r} in the units of the fit")
    return lines


def report_lines(model: Model) -> list[str]:
    """A model in plain words, below a report of its variances."""
    facts = model_facts(model)
    return [f"{facts['rows']} rows, {len(facts['columns'])} columns; {how_fitted(model)}", *kept_lines(facts)]
