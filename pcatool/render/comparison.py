"""The text and tables of the command `diff`: the changes from one model to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.model.model import component_name
from pcatool.render.text import Line, labelled, render_table
from pcatool.wording import counted, grouped, listed, percent, show

__all__ = ["comparison_table", "comparison_text"]

# Columns and components shown without -v.
COLUMNS_SHOWN = 5
COMPONENTS_SHOWN = 10

# Keys of `not_compared` -> words; other keys are words themselves.
NOT_COMPARED = {"matched": "matched components", "column_shifts": "column shifts"}

# Relative changes, and differences between a cosine and 1, up to this value count as rounding errors.
ROUNDING = 1e-7


def comparison_text(
    facts: Mapping[str, Any], *, everything: bool, width: int | None, color: bool = False, unicode: bool = True
) -> str:
    """Return the result of `pcatool.diff` as labelled lines and tables, folded to `width` unless None.

    Without `everything`, the tables have the first COMPONENTS_SHOWN components and the COLUMNS_SHOWN columns that
    changed most. For identical models, return a single line that says so.
    """

    def table(columns: Mapping[str, Any]) -> str:
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        return render_table(arrays, "table", width=width, color=color, unicode=unicode)

    if facts["identical"]:
        return labelled([("identical", f"{_names(facts)} are the same model, to the last bit")], width, color)
    parts = [labelled(_lines(facts), width, color)]
    if facts["matched"]:
        shown = facts["matched"] if everything else facts["matched"][:COMPONENTS_SHOWN]
        parts += [table(_components(shown)), labelled(_lines_below_components(facts, len(shown)), width, color)]
    columns = _most_changed(facts["column_shifts"], everything)
    if columns:
        parts.append(table(_column_table(columns)))
    parts.append(labelled(_omitted_columns(facts["column_shifts"], len(columns)), width, color))
    return "\n".join(part for part in parts if part)


def _names(facts: Mapping[str, Any]) -> str:
    names = [facts[which] for which in ("a", "b")]
    return " and ".join(show(name) for name in names) if all(names) else "both"


def _lines(facts: Mapping[str, Any]) -> list[Line]:
    """Return the labelled lines on models, settings, columns, rows, components, subspaces and omitted comparisons."""
    columns = facts["columns"]
    order = "" if columns["in_order"] else ", in another order"
    lines = [
        *((f"model {which.upper()}", facts[which]) for which in ("a", "b") if facts[which]),
        *(("setting", f"{s['setting']}: {_value(s['a'])} in A, {_value(s['b'])} in B") for s in facts["settings"]),
        *([] if facts["settings"] else [("settings", "the same")]),
        ("columns", f"{grouped(columns['shared'])} in both{order}"),
        *(("columns", f"only in {which.upper()}: {listed(columns[f'only_{which}'])}")
          for which in ("a", "b") if columns[f"only_{which}"]),
        ("rows", _from_to(facts["rows"])),
        ("components", _from_to(facts["components"])),
        ("kept", _kept(facts)),
        (_total_name(facts), f"{_from_to(facts['total_variance'])}{_relative_change(facts['total_variance'])}"),
    ]  # fmt: skip
    if facts["angles"] is not None:
        lines.append(("subspaces", _angles(facts)))
    reasons: dict[str, list[str]] = {}
    for what, reason in facts["not_compared"].items():
        reasons.setdefault(reason, []).append(NOT_COMPARED.get(what, what))
    return [*lines, *(("not compared", f"{' and '.join(what)}, because {reason}") for reason, what in reasons.items())]


def _kept(facts: Mapping[str, Any]) -> str:
    a, b = (percent(facts["cumulative"][which]) for which in ("a", "b"))
    name_a, name_b = facts["share_of"]["a"], facts["share_of"]["b"]
    return f"{a} of the {name_a} in A, {b}{'' if name_a == name_b else f' of the {name_b}'} in B"


def _total_name(facts: Mapping[str, Any]) -> str:
    """Return the label of the sum of all eigenvalues, such as `total variance`; `total` if A and B need two labels."""
    names = set(facts["share_of"].values())
    return f"total {names.pop()}" if len(names) == 1 else "total"


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return listed(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return "none" if value is None else show(value) if isinstance(value, str) else str(value)


def _from_to(change: Mapping[str, Any]) -> str:
    a, b = (f"{value:.6g}" if isinstance(value, float) else grouped(value) for value in (change["a"], change["b"]))
    return f"{a} in both" if change["a"] == change["b"] else f"{a} in A, {b} in B"


def _relative_change(change: Mapping[str, Any]) -> str:
    part = change["change"] / change["a"]
    return f" ({'+' if part > 0 else '-'}{percent(abs(part))})" if abs(part) > ROUNDING else ""


def _angles(facts: Mapping[str, Any]) -> str:
    """Return a text on the largest and smallest principal angle, in degrees, between the subspaces of A and B.

    Each subspace is spanned by all components of its model.
    """
    angles = facts["angles"]
    if not angles:
        return "no angles, because all loadings of the common columns are 0"
    units = "columns standardised" if facts["standardized"] else "columns not standardised"
    columns = facts["columns"]
    where = "; only columns in both models are compared" if columns["only_a"] or columns["only_b"] else ""
    k = facts["components"]
    scope = "" if k["a"] == k["b"] else f" between {counted(k['a'], 'component')} of A and {grouped(k['b'])} of B"
    smallest = "" if len(angles) == 1 else f", smallest angle {angles[0]:.3g} degrees"
    return f"largest angle {angles[-1]:.3g} degrees{smallest}{scope} ({units}{where})"


def _components(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "A": [component_name(row["a"]) for row in rows],
        "B": [component_name(row["b"]) for row in rows],
        "cosine": [row["cosine"] for row in rows],
        "share in A": [row["share_a"] for row in rows],
        "share in B": [row["share_b"] for row in rows],
        "remark": [_remark(row) for row in rows],
    }


def _remark(row: Mapping[str, Any]) -> str:
    """Return the remarks on a pair of components, joined by semicolons; empty for most pairs.

    The remarks say that components are swapped or flipped, why the cosine has no meaning, which eigenvalues are near.
    """
    remarks = [word for word, given in (("swapped", row["swapped"]), ("flipped", row["flipped"])) if given]
    for which in ("a", "b"):
        model = which.upper()
        if row[f"eigenvalue_{which}"] == 0:
            remarks.append(f"cosine has no meaning: the component has eigenvalue 0 in {model}")
        elif row[f"too_close_in_{which}"]:
            others = _component_list(row[f"too_close_in_{which}"])
            remarks.append(f"cosine has no meaning: rounding may mix the component with {others} in {model}")
        elif row[f"near_in_{which}"] and abs(row["cosine"]) < 1 - ROUNDING:
            near = row[f"near_in_{which}"]
            those = "that" if len(near) == 1 else "those"
            remarks.append(f"eigenvalue near {those} of {_component_list(near)} in {model}")
    return "; ".join(remarks)


def _component_list(components: Iterable[int]) -> str:
    names = [component_name(j) for j in components]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more components" if len(names) > 3 else "")


def _lines_below_components(facts: Mapping[str, Any], shown: int) -> list[Line]:
    """Return the lines below the table of components, which has `shown` rows.

    The lines count the rows not shown, and name swapped and flipped components, with a hint on --align-to.
    """
    omitted = len(facts["matched"]) - shown
    more = counted(omitted, "more component")
    lines = [("shown", f"the first {counted(shown, 'component')}; -v shows {more}")] if omitted else []
    hint: list[Line] = []
    for what in ("swapped", "flipped"):
        components = [row["a"] for row in facts["matched"] if row[what]]
        if components:
            lines.append((what, f"{_component_list(components)} of A"))
            name = show(facts["a"]) if facts["a"] else "A"
            kept = "the signs of A, and the order of components with nearly equal eigenvalues"
            hint = [("hint", f"a fit with --align-to {name} keeps {kept}")]
    return [*lines, *hint]


def _most_changed(rows: Sequence[Mapping[str, Any]], everything: bool) -> list[Mapping[str, Any]]:
    ordered = sorted(rows, key=_change, reverse=True)
    return ordered if everything else [row for row in ordered[:COLUMNS_SHOWN] if _change(row) > ROUNDING]


def _omitted_columns(rows: Sequence[Mapping[str, Any]], shown: int) -> list[Line]:
    """Return a line on the columns that the table of `shown` rows omits: their number, or that no column changed.

    Empty if the table has all columns.
    """
    if not rows or shown == len(rows):
        return []
    if not any(_change(row) > ROUNDING for row in rows):
        return [("shown", "no columns, because nothing that was compared has changed; -v shows all columns")]
    changed = sum(_change(row) > ROUNDING for row in rows)
    which_columns = "the columns that changed" if changed == shown else f"the {shown} columns that changed most"
    return [("shown", f"{which_columns}; -v shows {counted(len(rows) - shown, 'more column')}")]


def _change(row: Mapping[str, Any]) -> float:
    """Return the size of the change of a column, as a sort key; values that are not compared count as unchanged.

    The larger of |difference of the means| / standard deviation in A and |log(ratio of the standard deviations)|.
    Infinite if one of these is None, mostly because the column is constant in one model, or if the ratio is 0.
    """
    shift, ratio = row.get("shift", 0.0), row.get("std_ratio", 1.0)
    if shift is None or not ratio:  # constant in A, or in B
        return float("inf")
    return float(max(abs(shift), abs(np.log(ratio))))


def _column_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = {"column": "column", "mean_a": "mean in A", "mean_b": "mean in B", "shift": "shift / std in A"}
    names |= {"std_a": "std in A", "std_b": "std in B", "std_ratio": "std B / A"}
    return {
        title: [np.nan if row[name] is None else row[name] for row in rows]
        for name, title in names.items()
        if name in rows[0]
    }


# --- one row for each compared value ---


def comparison_table(facts: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return a table with one row for each compared value, and the columns `what`, `name`, `a`, `b` and `change`.

    Only settings that differ have a row. All cells are text; a cell without a value is empty.
    """
    rows = [*_rows_of_models(facts), *_rows_of_components(facts), *_rows_of_columns(facts)]
    names = ("what", "name", "a", "b", "change")
    return {name: np.array([_cell(row[i]) for row in rows] + [""], dtype=object)[:-1] for i, name in enumerate(names)}


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)


Row = tuple[Any, Any, Any, Any, Any]


def _rows_of_models(facts: Mapping[str, Any]) -> Iterable[Row]:
    for setting in facts["settings"]:
        yield "setting", setting["setting"], setting["a"], setting["b"], None
    for which in ("a", "b"):
        for name in facts["columns"][f"only_{which}"]:
            yield f"column only in {which}", name, None, None, None
    for what in ("rows", "components", "cumulative", "total_variance"):
        yield what, None, *facts[what].values()


def _rows_of_components(facts: Mapping[str, Any]) -> Iterable[Row]:
    for j, angle in enumerate(facts["angles"] or [], 1):
        yield "angle in degrees", str(j), None, None, angle
    for row in facts["matched"] or []:
        pair = component_name(row["a"]), component_name(row["b"])
        yield "matched, cosine", pair[0], *pair, row["cosine"]
        yield "share", pair[0], row["share_a"], row["share_b"], row["share_change"]


def _rows_of_columns(facts: Mapping[str, Any]) -> Iterable[Row]:
    for row in facts["column_shifts"]:
        if "mean_a" in row:
            yield "mean, shift in std of a", row["column"], row["mean_a"], row["mean_b"], row["shift"]
        if "std_a" in row:
            yield "std, ratio b / a", row["column"], row["std_a"], row["std_b"], row["std_ratio"]
