"""Summaries of a run: `*_facts` give dictionaries for JSON output, `*_lines` put these facts into sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pcatool.model.description import name_of_total, settings_text
from pcatool.model.model import Model
from pcatool.progress import FitCounts, KeptRows
from pcatool.readers.row_counts import RowCounts
from pcatool.render.facts import kept_lines, model_facts, sums_facts, sums_line
from pcatool.resources import need_text, size_text
from pcatool.solvers.plan import Plan
from pcatool.solvers.rows import HELD_BYTES
from pcatool.stores.uri import shown
from pcatool.wording import counted, grouped, listed, percent, show

__all__ = [
    "apply_facts",
    "apply_lines",
    "combined_facts",
    "combined_lines",
    "fit_and_scores_facts",
    "fit_and_scores_lines",
    "fit_facts",
    "fit_lines",
    "folder_facts",
    "folder_lines",
    "page_facts",
    "page_lines",
    "parts_facts",
    "parts_lines",
    "plan_facts",
    "plan_lines",
    "row_counts_facts",
    "row_counts_lines",
]

# Most columns and patterns of missing cells that are named; further ones are counted.
MAX_NAMED = 5


def triples_text(table: Mapping[str, Any]) -> str:
    """Return a text on the size of a table of (user, item, value): cells, users, items, cells per user and item.

    `table` has the fields of `RowCounts.table`.
    """
    share = table["cells"] / (table["users"] * table["items"])
    users, items = counted(table["users"], "user"), counted(table["items"], "item")
    spread = "; ".join(
        f"a{'n' if what == 'item' else ''} {what} has {grouped(least)} to {grouped(most)} cells, median {median:g}"
        for what in ("user", "item")
        for least, median, most in [table[f"cells_per_{what}"]]
    )
    return f"{counted(table['cells'], 'cell')} of {users} and {items}, {percent(share)} of the table ({spread})"


def missing_facts(row_counts: RowCounts) -> dict[str, Any]:
    """Return the counts of missing cells and incomplete rows, and missing cells by column, by spelling and by pattern.

    A pattern is the set of columns that are missing in the same row; only the commonest MAX_NAMED patterns are listed.
    """
    return {
        "cells": row_counts.missing,
        "share": row_counts.missing / (row_counts.rows * row_counts.features),
        "rows": row_counts.incomplete,
        "columns": {name: {"cells": n, "share": n / row_counts.rows} for name, n in row_counts.cells.most_common()},
        "spellings": dict(row_counts.spellings.most_common()),
        "patterns": len(row_counts.patterns),
        "more_patterns": row_counts.more_patterns,
        "commonest_patterns": [
            {"columns": names, "rows": rows} for names, rows in row_counts.commonest_patterns(MAX_NAMED)
        ],
    }


def missing_lines(facts: Mapping[str, Any] | None) -> list[str]:
    """Return the result of `missing_facts` as lines of text; no lines if `facts` is None."""
    if facts is None:
        return []
    spelled = ", ".join(
        f"{grouped(n)} {show(text)}" if text else counted(n, "empty cell") for text, n in facts["spellings"].items()
    )
    by_column = facts["columns"].items()
    columns = ", ".join(f"{show(name)} {percent(n['share'])}" for name, n in list(by_column)[:MAX_NAMED])
    more = f", and {counted(len(by_column) - MAX_NAMED, 'more column')}" if len(by_column) > MAX_NAMED else ""
    all_named = facts["patterns"] <= MAX_NAMED
    more_than, at_least = ("more than ", "at least ") if facts["more_patterns"] else ("", "")
    shared = [p for p in facts["commonest_patterns"] if all_named or p["rows"] > 1]
    patterns = "; ".join(f"{listed(p['columns'], MAX_NAMED)} in {at_least}{counted(p['rows'], 'row')}" for p in shared)
    patterns = patterns or ("no pattern is in many rows" if at_least else "each pattern is in one row")
    cells, rows = counted(facts["cells"], "cell"), counted(facts["rows"], "row")
    first = "" if all_named or not shared else " the most frequent are"
    return [
        f"{cells} missing ({percent(facts['share'])}) in {rows}: {spelled}",
        f"missing by column: {columns}{more}",
        f"{more_than}{counted(facts['patterns'], 'pattern')} of missing cells:{first} {patterns}",
    ]


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Return the facts of `fit --plan`: solver with reason, rows, columns, passes over the rows, and peak memory.

    If the plan has them, also `rows_kept` (where rows are kept), `parts` (tasks of workers), `peak_grows` (whether the
    memory grows with the rows) and `refusal` (why the fit would be refused).
    """
    return {
        "command": "fit --plan",
        "solver": plan.solver,
        "reason": plan.reason,
        "rows": plan.rows,
        "columns": plan.columns,
        "passes": plan.passes,
        "peak_bytes": plan.peak_bytes,
    } | {
        name: value
        for name, value in (
            ("rows_kept", plan.kept and plan.kept._asdict()),
            ("parts", plan.parts),
            ("peak_grows", plan.grows),
            ("refusal", plan.refusal),
        )
        if value
    }


def plan_lines(facts: Mapping[str, Any]) -> list[str]:
    rows = "unknown" if facts["rows"] is None else f"about {grouped(facts['rows'])}"
    return [
        f"solver: {facts['solver']}",
        f"reason: {facts['reason']}",
        f"rows: {rows}; columns: {grouped(facts['columns'])}",
        f"passes over the rows: {facts['passes']}",
        *([kept_rows_line(facts["rows_kept"])] if "rows_kept" in facts else []),
        *([f"tasks for the workers: {grouped(facts['parts'])}"] if "parts" in facts else []),
        f"memory at the peak: {_peak(facts)}",
        *([f"the fit would be refused: {facts['refusal']}"] if "refusal" in facts else []),
    ]


KEPT = "rows kept for later passes"


def kept_rows_line(kept: Mapping[str, Any]) -> str:
    """Return a line that says where the rows are kept for several passes; `kept` has the fields of `KeptRows`."""
    memory, file, folder = kept["memory_bytes"], kept["file_bytes"], kept["folder"]
    if folder is None:
        return f"{KEPT}: in memory, about {size_text(memory)}"
    if memory <= HELD_BYTES:
        size = "" if file is None else f" of about {size_text(file)}"
        return f"{KEPT}: in a temporary file{size} in {show(folder)}"
    most, further = ("up to", "further rows") if file is None else ("about", f"about {size_text(file)}")
    return f"{KEPT}: in memory, {most} {size_text(memory)}; {further} in a temporary file in {show(folder)}"


def _peak(facts: Mapping[str, Any]) -> str:
    size = need_text(facts["peak_bytes"])  # rounded up: a fit with this limit is admitted
    return f"more than {size}, growing with the number of rows" if facts.get("peak_grows") else f"about {size}"


def fit_facts(model: Model, row_counts: RowCounts, output: str) -> dict[str, Any]:
    """Return the facts of a fit: output, row counts, missing cells, `model_facts`, settings and sums."""
    facts: dict[str, Any] = {"command": "fit", "output": shown(output), "rows_read": row_counts.rows}
    if row_counts.table is None:
        facts["rows_dropped"] = row_counts.rows - model.n_samples
    else:
        facts["triples"] = row_counts.table._asdict()
    if row_counts.incomplete:
        facts["missing"] = missing_facts(row_counts)
    return facts | model_facts(model) | {"settings": settings_text(model), "sums": sums_facts(model)}


def fit_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the result of `fit_facts` as lines of text."""
    dropped = ""
    if facts.get("rows_dropped"):
        dropped = f", {grouped(facts['rows'])} used, {grouped(facts['rows_dropped'])} dropped"
    used = triples_text(facts["triples"]) if "triples" in facts else f"{counted(len(facts['columns']), 'column')} used"
    return [
        f"{counted(facts['rows_read'], 'row')} read{dropped}; {used}; {facts['settings']}",
        *missing_lines(facts.get("missing")),
        *kept_lines(facts),
        sums_line(facts["sums"]),
        f"model written to {'standard output' if facts['output'] == '-' else facts['output']}",
    ]


def fit_and_scores_facts(
    model: Model, row_counts: RowCounts, output: str, scored: RowCounts, scores: str
) -> dict[str, Any]:
    """Return the facts of a fit that also wrote the scores of its rows to `scores`; `scored` counts these rows."""
    return fit_facts(model, row_counts, output) | {
        "scores": scores,
        "rows_scored": scored.rows,
        "rows_left_empty": scored.left_empty,
    }


def fit_and_scores_lines(facts: Mapping[str, Any]) -> list[str]:
    empty = (
        f"; {counted(facts['rows_left_empty'], 'row')} without scores because of missing cells"
        if facts["rows_left_empty"]
        else ""
    )
    where = "standard output" if facts["scores"] == "-" else facts["scores"]
    return [*fit_lines(facts), f"scores of {counted(facts['rows_scored'], 'row')} written to {where}{empty}"]


def combined_facts(
    command: str, model: Model, before: int, row_counts: RowCounts | None, output: str
) -> dict[str, Any]:
    """Return the facts of a model made by update, merge, subtract or refit, from the sums of other models.

    `before` is the number of rows of the older model, of the first model for a merge. `row_counts` are the counts of
    the data that were read, None if none were.
    """
    facts: dict[str, Any] = {"command": command, "output": shown(output), "rows_before": before}
    if row_counts is not None:
        facts["rows_read"] = row_counts.rows
    return facts | model_facts(model) | {"settings": settings_text(model), "sums": sums_facts(model)}


def combined_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the result of `combined_facts` as lines of text."""
    change = facts["rows"] - facts["rows_before"]
    rows = counted(facts["rows"], "row")
    if change:
        before = grouped(facts["rows_before"])
        added = f"{counted(change, 'row')} added to {before}, which gives {rows}"
        rows = added if change > 0 else f"{counted(-change, 'row')} removed from {before}, which leaves {rows}"
    return [
        f"{rows}; {counted(len(facts['columns']), 'column')}; {facts['settings']}",
        *kept_lines(facts),
        sums_line(facts["sums"]),
        f"model written to {'standard output' if facts['output'] == '-' else facts['output']}",
    ]


def row_counts_facts(counts: FitCounts, kept: KeptRows | None) -> dict[str, Any]:
    """Return the counts of rows read and dropped, the names of columns left out, and `rows_kept`, for JSON output."""
    facts = {**counts._asdict(), "columns_left_out": list(counts.columns_left_out)}
    return facts | ({"rows_kept": kept._asdict()} if kept else {})


def row_counts_lines(counts: FitCounts, kept: KeptRows | None, command: str) -> list[str]:
    """Return lines on dropped rows, on columns left out, and on rows kept for several passes if over HELD_BYTES.

    The command `fit` gets no line on dropped rows, because `fit_lines` reports them.
    """
    read, dropped, left_out = counts
    lines = [f"{counted(read, 'row')} read, {grouped(dropped)} dropped"] if dropped and command != "fit" else []
    lines += [f"{counted(len(left_out), 'column')} left out: {listed(left_out)}"] if left_out else []
    worth_a_line = kept is not None and kept.memory_bytes + (kept.file_bytes or 0) > HELD_BYTES
    return lines + ([kept_rows_line(kept._asdict())] if kept and worth_a_line else [])


def apply_facts(
    command: str, model: Model, row_counts: RowCounts, error: float | None, output: str | None
) -> dict[str, Any]:
    """Return the facts of transform or reconstruct; `error` is the mean squared error, None if not computed.

    `output` is None or "-" for standard output.
    """
    facts: dict[str, Any] = {
        "command": command,
        "output": shown(output or "-"),
        "rows_read": row_counts.rows,
        "rows_incomplete": row_counts.incomplete,
        "rows_left_empty": row_counts.left_empty,
        "method": model.meta.get("method"),
        "columns": list(model.columns),
        "centered": model.centered,
        "components": model.k,
        "cumulative": float(model.variance.cumulative[model.k - 1]),
        "ddof": model.ddof,
    }
    if error is not None:
        facts["mean_squared_error"] = error
    return facts


def apply_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the result of `apply_facts` as lines of text."""
    incomplete = f", {grouped(facts['rows_incomplete'])} of them with missing cells" if facts["rows_incomplete"] else ""
    incomplete += f", {counted(facts['rows_left_empty'], 'row')} with empty results" if facts["rows_left_empty"] else ""
    rows, columns = counted(facts["rows_read"], "row"), counted(len(facts["columns"]), "column")
    total = f"{name_of_total(facts['method'], facts['centered'])} in the rows of the fit"
    components = f"{counted(facts['components'], 'component')}, {percent(facts['cumulative'])} of the {total}"
    lines = [f"{rows} read and written{incomplete}; {columns}, {components}"]
    if "mean_squared_error" in facts:
        in_kernel = facts["method"] == "kernel" and facts["command"] == "transform"
        unit = (
            "in the feature space of the kernel"
            if in_kernel
            else "summed over the columns, which are scaled as in the fit"
        )
        lines.append(f"mean squared error {facts['mean_squared_error']!r}: averaged over the rows, {unit}")
    return lines


def folder_facts(
    written: Sequence[tuple[str, str, int]], skipped: Sequence[tuple[str, str]], resumed: int
) -> dict[str, Any]:
    """Return the facts of a folder of outputs, one for each input file.

    written: (input file, output file, rows). skipped: (input file, reason). resumed: number of input files whose output
    an earlier run had finished.
    """
    return {
        "files_read": len(written),
        "files_written": len(written),
        "files_resumed": resumed,
        "outputs": _outputs(written),
        "skipped": [{"file": file, "reason": reason} for file, reason in skipped],
    }


def folder_lines(facts: Mapping[str, Any]) -> list[str]:
    resumed = (
        f"; {counted(facts['files_resumed'], 'file')} already done by an earlier run" if facts["files_resumed"] else ""
    )
    return [f"{counted(facts['files_written'], 'file')} written to {facts['output']}{resumed}"]


def parts_facts(written: Sequence[tuple[str, str, int]]) -> dict[str, Any]:
    """Return the facts of a result that was written in several files; `written` has (input file, output file, rows)."""
    return {"parts_written": len(written), "outputs": _outputs(written)}


def _outputs(written: Sequence[tuple[str, str, int]]) -> list[dict[str, Any]]:
    """Return an entry for each output that was written: input file, output file and number of rows."""
    return [{"file": shown(file), "output": shown(output), "rows": rows} for file, output, rows in written]


def parts_lines(facts: Mapping[str, Any]) -> list[str]:
    return [f"{counted(facts['parts_written'], 'part')} written to {facts['output']}"]


def page_facts(
    model: Model, name: str, output: str, html: str, read: int | None, rows_shown: int | None
) -> dict[str, Any]:
    """Return the facts of the report page `html`; `read` and `rows_shown` count the rows read, and those in the page.

    Both are None for a page without rows. `name` is the file of the model.
    """
    facts = {"command": "report", "model": shown(name), "output": shown(output), "bytes": len(html.encode())}
    if read is not None:
        facts |= {"rows_read": read, "rows_shown": rows_shown}
    return facts | model_facts(model)


def page_lines(facts: Mapping[str, Any]) -> list[str]:
    where = "standard output" if facts["output"] == "-" else facts["output"]
    rows = f", {grouped(facts['rows_shown'])} of {counted(facts['rows_read'], 'row')}" if "rows_read" in facts else ""
    components = counted(facts["components"], "component")
    return [f"page of {size_text(facts['bytes'])} written to {where}: {components}{rows}"]
