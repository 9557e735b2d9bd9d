"""Describe a model or a model file as plain values, and compare two models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import DataError, UsageError
from pcatool.linalg.certificate import principal_angles
from pcatool.methods.align import best_matching, cosines
from pcatool.methods.base import rule_with_rows, why_not_updatable
from pcatool.missing.project import policy_for_rows
from pcatool.model.description import name_of_total, settings_text
from pcatool.model.model import Model
from pcatool.model.npz import contents, dumps, load_model, read_model
from pcatool.model.validate import NEAR_EQUAL
from pcatool.readers.paths import STDIN
from pcatool.registry import KERNELS, METHODS
from pcatool.render.facts import model_facts
from pcatool.stores.uri import shown
from pcatool.wording import listed

__all__ = ["diff", "inspect"]

# Decimal digits that a double holds.
MOST_DIGITS = 15

# Entries of `meta` that are no settings; the facts show them under other names.
NO_SETTINGS = (
    "format_version",
    "method",
    "choice",
    "solver",
    "reason",
    "rank",
    "certificate",
    "em",
    "hsic",
    "aligned",
    "squared_shares",
)


def inspect(model: Model | str | Path) -> dict[str, Any]:
    """Return the content of a model, or of the model file at a path, as plain values: the JSON of `pcatool inspect`."""
    if isinstance(model, Model):
        path, data = None, dumps(model)
    else:
        model, data = read_model(path := str(model))
        path = shown(path)
    meta = model.meta
    can, cannot = abilities(model)
    return {
        "model": path,
        **model_facts(model),
        "meaning": _method_summary(model),
        "settings": settings_text(model),
        "fitted_with": fitted_with(model),
        "missing": {
            "fit": meta.get("missing", "error"),
            "transform": policy_for_rows(model, None, fill=False, reconstructing=False),
        },
        "column_statistics": _columns(model),
        "variance": _variance(model),
        "can": can,
        "cannot": cannot,
        "format_version": meta.get("format_version"),
        "bytes": len(data),
        "arrays": [array._asdict() | {"shape": list(array.shape)} for array in contents(data)],
    }


def fitted_with(model: Model) -> dict[str, Any]:
    """Return the settings of the fit by name, as the model stores them."""
    return {name: value for name, value in model.meta.items() if name not in NO_SETTINGS}


def _method_summary(model: Model) -> str:
    """Return a summary of the method in words, and of the kernel if the model has one."""
    said = METHODS[str(model.meta.get("method", "pca"))].summary
    kernel = model.meta.get("kernel")
    return said if kernel is None else f"{said}; kernel {kernel['name']}: {KERNELS[kernel['name']].summary}"


def _columns(model: Model) -> list[dict[str, Any]]:
    """Return a row for each column: name, mean, divisor `std`, and the variance if the model holds variances."""
    known = {"mean": model.mean, "std": model.std}
    if model.variances is not None:
        known["variance"] = model.variances
    numbers = zip(*(values.tolist() for values in known.values()), strict=True)
    return [
        {"column": column, **dict(zip(known, row, strict=True))}
        for column, row in zip(model.columns, numbers, strict=True)
    ]


def _variance(model: Model) -> list[dict[str, Any]]:
    """Return a row for each known eigenvalue: the columns of explain-variance, and `kept`, true for the k components.

    If the model holds bounds on errors, the rows of kept components also have `relative_error` (the bound), `vouched`
    and `digits`, the number of right digits.
    """
    table = model.variance.columns()
    rows = [dict(zip(table, row, strict=True)) for row in zip(*(c.tolist() for c in table.values()), strict=True)]
    certificate = model.meta.get("certificate", {})
    errors, sure = certificate.get("relative_error", []), certificate.get("vouched", [])
    # Earlier versions stored for EM the size of its last steps, which is no bound on the error.
    bounded = "em" not in model.meta or bool(model.meta["em"].get("proved"))
    for j, row in enumerate(rows):
        row["kept"] = j < model.k
        if bounded and j < min(model.k, len(errors), len(sure)):
            row |= {"relative_error": errors[j], "vouched": sure[j], "digits": _digits(errors[j])}
    return rows


def _digits(error: float | None) -> int:
    """Return the number of right digits of an eigenvalue, 0 to 15, from the bound on its relative error; 0 for None."""
    if error is None or not error < 1:
        return 0
    return MOST_DIGITS if error == 0 else min(math.floor(-math.log10(error)), MOST_DIGITS)


# --- commands that a model supports ---

# Remarks on `transform` for models that do not take a plain table of rows.
PRECOMPUTED = "of tables of kernel values, with a column for each training row"
# Commands that need the sums over rows, and not the rows.
FROM_SUMS = ("update", "merge", "subtract", "refit")

TRIPLES = "of a table in triples (--triples), or of a table with a column for each item"


class Abilities(NamedTuple):
    """Commands that a model supports, and commands that it does not support; made by `abilities`."""

    can: dict[str, str]  # remark by command; may be empty
    cannot: dict[str, str]  # reason by command


def abilities(model: Model) -> Abilities:
    """Return the commands that a model supports, and those that it does not support, with the reasons."""
    found = Abilities({"transform": _transform_remark(model)}, {})
    _add_reconstruct(model, found)
    found.can.update({"explain-variance": "", "scree": ""})
    _add_components(model, found)
    _add_from_sums(model, found)
    return found


def _add_from_sums(model: Model, found: Abilities) -> None:
    """Add update, merge, subtract and refit to `found`: a model supports these commands if it keeps sums over rows.

    With sums, but a k chosen by a rule that needs the rows, the model supports only `refit`, with another -k.
    """
    against, rule = why_not_updatable(model), rule_with_rows(model.meta.get("components"))
    if against is None and rule:
        found.can["refit"] = "with another -k"
        found.cannot.update(
            dict.fromkeys(FROM_SUMS[:-1], f"-k {rule} needs the rows: run pcatool refit with another -k first")
        )
        return
    (found.can if against is None else found.cannot).update(dict.fromkeys(FROM_SUMS, against or ""))


def _transform_remark(model: Model) -> str:
    """Return the remark on `transform`: the kind of table that the model takes; empty for a table of rows."""
    if _is_precomputed(model):
        return PRECOMPUTED
    return TRIPLES if "absent" in model.meta else ""


def _is_precomputed(model: Model) -> bool:
    kernel = model.meta.get("kernel", {})
    return bool(kernel.get("name") == "precomputed")


def _add_reconstruct(model: Model, found: Abilities) -> None:
    """Add `reconstruct` to `found`, with a remark or with the reason why the model does not support it."""
    if "kernel" not in model.meta:
        found.can["reconstruct"] = "rows made from scores lack the mean of each row" if model.rows_centered else ""
        return
    if _is_precomputed(model):
        try:
            model.with_preimage()
        except UsageError as error:
            found.cannot["reconstruct"] = error.message.partition(": ")[2]
        return
    found.can["reconstruct"] = "only approximately, with --preimage"


def _add_components(model: Model, found: Abilities) -> None:
    """Add `components` to `found`, with a remark or with the reason why the model does not support it."""
    if "kernel" in model.meta:
        found.cannot["components"] = "the components are directions in the kernel space, not combinations of columns"
    elif model.meta.get("method") == "supervised":
        found.can["components"] = "loadings and contributions"
    else:
        found.can["components"] = ""


# --- two models ---

IN_KERNEL = "the components of kernel models lie in different spaces"
UNITS = "one model is standardised and the other is not, so their components have different units"


def diff(a: Model | str | Path, b: Model | str | Path) -> dict[str, Any]:
    """Compare two models, or model files, and return the differences as plain values: the JSON of `pcatool diff`.

    Raises `UsageError` for models of different methods, and `DataError` for models without a common column.
    """
    if str(a) == STDIN == str(b):
        raise UsageError("standard input cannot be both models", "name a file for one of the models")
    paths = [None if isinstance(model, Model) else shown(str(model)) for model in (a, b)]
    old, new = (model if isinstance(model, Model) else load_model(model) for model in (a, b))
    _check_comparable(old, new)
    columns = _changed_columns(old, new)
    in_kernel = "kernel" in old.meta or "kernel" in new.meta
    reason = IN_KERNEL if in_kernel else UNITS if old.standardized != new.standardized else None
    shifts, unknown = _shifts(old, new)
    return {
        "a": paths[0],
        "b": paths[1],
        "identical": dumps(old) == dumps(new),
        "method": old.meta.get("method", "pca"),
        "standardized": old.standardized,
        "settings": _settings(old, new),
        "columns": columns,
        "rows": _with_change(old.n_samples, new.n_samples),
        "components": _with_change(old.k, new.k),
        "share_of": {name: name_of_total(m.meta.get("method"), m.centered) for name, m in (("a", old), ("b", new))},
        "cumulative": _with_change(*(float(m.variance.cumulative[m.k - 1]) for m in (old, new))),
        "total_variance": _with_change(old.total_variance, new.total_variance),
        "angles": None if reason else _angles(old, new),
        "matched": None if reason else _matched(old, new),
        "column_shifts": shifts,
        "not_compared": {
            **({"angles": reason, "matched": reason} if reason else {}),
            **({"column_shifts": unknown} if unknown else {}),
        },
    }


def _with_change(a: float, b: float) -> dict[str, Any]:
    return {"a": a, "b": b, "change": b - a}


def _check_comparable(a: Model, b: Model) -> None:
    """Raise `UsageError` for models of different methods, and `DataError` for models without a common column."""
    methods = [str(m.meta.get("method", "pca")) for m in (a, b)]
    if methods[0] != methods[1]:
        raise UsageError(
            f"a {methods[0]} model and a {methods[1]} model cannot be compared",
            "compare models of the same method",
        )
    if set(a.columns).isdisjoint(b.columns):
        raise DataError(
            f"the models have no column in common: the first model has {listed(a.columns)}, and the second model has "
            f"{listed(b.columns)}",
            "compare models of the same columns",
        )


def _changed_columns(a: Model, b: Model) -> dict[str, Any]:
    """Return the number of columns in both models, the names in one model only, and whether the order is the same."""
    first, second = set(a.columns), set(b.columns)
    shared = [name for name in a.columns if name in second]
    return {
        "shared": len(shared),
        "only_a": [name for name in a.columns if name not in second],
        "only_b": [name for name in b.columns if name not in first],
        "in_order": shared == [name for name in b.columns if name in first],
    }


def _settings(a: Model, b: Model) -> list[dict[str, Any]]:
    """Return a row for each setting that differs; a value is None where a model does not have the setting."""
    one, other = fitted_with(a), fitted_with(b)
    return [
        {"setting": name, "a": one.get(name), "b": other.get(name)}
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]


# --- directions ---


def _angles(a: Model, b: Model) -> list[float]:
    """Return the principal angles between the subspaces of the components of `a` and of `b`, in degrees, ascending.

    Only the columns that both models have are compared.
    """
    at = {name: j for j, name in enumerate(b.columns)}
    shared = [(i, at[name]) for i, name in enumerate(a.columns) if name in at]
    here, there = ([pair[which] for pair in shared] for which in (0, 1))
    return np.degrees(principal_angles(a.basis[here], b.basis[there])).tolist()  # type: ignore[no-any-return]


def _matched(a: Model, b: Model) -> list[dict[str, Any]]:
    """Pair components of `a` with components of `b`, so that the sum of |cosine| is largest; return a row per pair.

    There are as many pairs as the smaller model has components. Components are counted from 1.
    """
    C = np.clip(cosines(a, b), -1.0, 1.0)
    shares = a.variance.share, b.variance.share
    found = []
    for i, j in zip(*best_matching(np.abs(C)), strict=True):
        row: dict[str, Any] = {"a": int(i) + 1, "b": int(j) + 1, "cosine": float(C[i, j])}
        row |= {"flipped": bool(C[i, j] < 0), "swapped": bool(i != j)}
        row |= {f"eigenvalue_{name}": float(m.eigenvalues[at]) for name, m, at in (("a", a, i), ("b", b, j))}
        row |= {"share_a": float(shares[0][i]), "share_b": float(shares[1][j])}
        row["share_change"] = row["share_b"] - row["share_a"]
        row |= {f"near_in_{name}": _near(m, at) for name, m, at in (("a", a, i), ("b", b, j))}
        row |= {f"too_close_in_{name}": _too_close(m, at) for name, m, at in (("a", a, i), ("b", b, j))}
        found.append(row)
    return found


def _near(model: Model, at: int) -> list[int]:
    """Return the numbers, from 1, of other components with nearly the same eigenvalue as the component at index `at`.

    In another sample of rows, components with nearly equal eigenvalues may swap places or rotate into each other.
    """
    values = model.eigenvalues
    larger = np.maximum(values, values[at])
    near = (np.abs(values - values[at]) <= NEAR_EQUAL * larger) & (larger > 0)
    return [int(j) + 1 for j in np.flatnonzero(near) if j != at]


def _too_close(model: Model, at: int) -> list[int]:
    """Return the numbers, from 1, of components that rounding may have mixed with the component at index `at`.

    The certificate of the model lists such pairs; without a certificate the list is empty.
    """
    pairs = model.meta.get("certificate", {}).get("close_pairs", [])
    return sorted({j for pair in pairs if at + 1 in pair for j in pair if j != at + 1})


# --- columns ---


class ColumnStatistics(NamedTuple):
    """Means (d,) and standard deviations (d,) of the columns in the units of the data; None if the model lacks them."""

    mean: Array | None
    std: Array | None


def _column_statistics(model: Model) -> ColumnStatistics:
    """Return the column means and standard deviations that a model holds."""
    std = np.sqrt(model.variances) if model.variances is not None else model.std if model.standardized else None
    if model.statistic is not None:  # the sums hold the means even with --no-center
        return ColumnStatistics(model.statistic.centre.mean, std)
    about_means = model.meta.get("method") == "pca" or model.mean.any()
    return ColumnStatistics(model.fill_values if about_means else None, std)


def _shifts(a: Model, b: Model) -> tuple[list[dict[str, Any]], str | None]:
    """Compare the mean and the standard deviation of each shared column.

    Return a row for each column, and the reason why means or standard deviations are missing; None if neither are.
    There are no rows if both are missing.
    """
    one, other = _column_statistics(a), _column_statistics(b)
    means = one.mean is not None and other.mean is not None
    stds = one.std is not None and other.std is not None
    without_means = _without("means", one.mean is None, other.mean is None)
    without_stds = _without("standard deviations", one.std is None, other.std is None)
    if without_means and without_stds:
        return [], f"{without_means}, and {without_stds}"
    at = {name: j for j, name in enumerate(b.columns)}
    rows = []
    for i, name in enumerate(a.columns):
        if name in at:
            row: dict[str, Any] = {"column": name}
            if means:
                row |= _mean_shift(one, other, i, at[name])
            if stds:
                row |= _std_shift(one, other, i, at[name])
            rows.append(row)
    return rows, without_means or without_stds or None


def _without(what: str, a: bool, b: bool) -> str:
    """Return the clause that model A, model B or both contain no `what` of the columns; empty if neither lacks them."""
    lacking = [name for name, lacks in (("model A", a), ("model B", b)) if lacks]
    return f"{' and '.join(lacking)} contain{'s' * (len(lacking) == 1)} no {what} of the columns" if lacking else ""


def _mean_shift(one: ColumnStatistics, other: ColumnStatistics, i: int, j: int) -> dict[str, Any]:
    """Return the means of column `i` of the first model and column `j` of the other, and their difference.

    The difference is in standard deviations of the first model; None if that is unknown, 0, or too small to divide by.
    """
    assert one.mean is not None
    assert other.mean is not None
    a, b = float(one.mean[i]), float(other.mean[j])
    std = float(one.std[i]) if one.std is not None else 0.0
    shift = 0.0 if a == b else (b - a) / std if std > 0 else None
    return {"mean_a": a, "mean_b": b, "shift": shift if shift is None or np.isfinite(shift) else None}


def _std_shift(one: ColumnStatistics, other: ColumnStatistics, i: int, j: int) -> dict[str, Any]:
    """Return the standard deviations of column `i` of the first model and column `j` of the other, and their ratio.

    The ratio is the standard deviation in the other model divided by that in the first; None if the first is 0, or if
    the ratio overflows.
    """
    assert one.std is not None
    assert other.std is not None
    a, b = float(one.std[i]), float(other.std[j])
    ratio = 1.0 if a == b else b / a if a > 0 else None
    return {"std_a": a, "std_b": b, "std_ratio": ratio if ratio is None or np.isfinite(ratio) else None}
