"""Settings in the `meta` of a model: their types, their limits, and immutable copies of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from sys import float_info
from typing import Any, NamedTuple, NoReturn

from pcatool.errors import ModelError, UsageError, show
from pcatool.options import ABSENT, LABEL_KERNELS, MISSING, WEIGHTS_KINDS, WHITENINGS, parse_components
from pcatool.registry import METHODS, RULES, SOLVERS

__all__ = ["Sizes", "check_json", "check_settings", "frozen", "is_number"]

# Bound of integers in either direction, so that they fit 64 bits.
MOST = 2**63

# Deepest nesting of JSON values. A certificate holds lists of lists, and nothing is nested deeper.
DEEPEST = 8


class Sizes(NamedTuple):
    """Sizes of the arrays of a model, against which its settings are checked."""

    rows: int  # rows used
    columns: tuple[str, ...]  # feature names
    possible: int  # largest possible number of eigenvalues
    directions: int  # largest possible number of components, see `Model.directions`
    kept: int  # components in the model
    known: int  # eigenvalues in the model


def check_json(value: Any, depth: int = 0) -> None:
    """Raise `ValueError` if a value is not plain JSON that pcatool can write.

    Numbers must fit a double or 64 bits, text must be encodable, and nesting must not be deep.
    """
    match value:
        case None | bool():
            return
        case int():
            sound = -MOST <= value < MOST
        case float():
            sound = is_number(value)
        case str():
            value.encode()
            return
        case list():
            sound = depth < DEEPEST
        case dict():
            sound = depth < DEEPEST and all(isinstance(key, str) for key in value)
            "".join(map(str, value)).encode()
        case _:
            sound = False
    if not sound:
        raise ValueError("a value that is no plain JSON")
    for inner in (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_json(inner, depth + 1)


def is_number(value: Any) -> bool:
    """Whether a value is a finite int or float, and not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= float_info.max


def _is_count(value: Any) -> bool:
    """Whether a value is an int from 0 that fits 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST


def _is_above(least: float) -> Callable[[Any], bool]:
    """Return a test for numbers above `least`."""
    return lambda value: is_number(value) and value > least


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_order(value: Any) -> bool:
    """Whether a value lists 1, 2, ... once each, in any order."""
    return bool(_are(_is_count)(value) and value and sorted(value) == list(range(1, len(value) + 1)))


def _is_widths(value: Any) -> bool:
    """Whether a value maps vector columns to their lengths."""
    return isinstance(value, dict) and all(_is_count(width) and width > 0 for width in value.values())


def _is_wish(value: Any) -> bool:
    """Whether a value is a number of components, a share or a rule, in the form that a fit writes."""
    if isinstance(value, str):
        return value.partition(":")[0] in RULES and _is_parsed(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and _is_parsed(value)


def _is_parsed(value: str | int | float) -> bool:
    """Whether `parse_components` accepts a value and returns the same type."""
    try:
        found = parse_components(value)
    except UsageError:
        return False
    return type(found) is type(value)


def _are(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a test for lists whose items all pass `test`."""
    return lambda value: isinstance(value, list) and all(map(test, value))


def _are_names(value: Any) -> bool:
    """Whether a value is a list of distinct texts."""
    return _are(_is_text)(value) and len(set(value)) == len(value)


def _is_one_of(names: Iterable[str]) -> tuple[Callable[[Any], bool], str]:
    """Return a test for one of `names`, and the words of its error message."""
    known = tuple(names)
    return lambda value: isinstance(value, str) and value in known, f"none of {', '.join(known)}"


# Tests with the words of their error messages.
FLAG = (_is_flag, "neither true nor false")
COUNT = (_is_count, "not a number of things")
NUMBER = (is_number, "not a number")
TEXT = (_is_text, "no text")

# Solvers that are not in the registry: a method chooses them, or the model came from scikit-learn.
OF_METHODS = ("em", "lapack", "lanczos", "nystroem", "cross-moment", "label-kernel", "kernel", "scikit-learn")

# Setting -> (test of its value, words of the error message). Any setting may be absent; pcatool writes no others.
KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "format_version": (lambda value: _is_count(value) and value > 0, "not a number from 1"),
    "method": (lambda value: isinstance(value, str), "no text"),
    "components": (_is_wish, "neither a number of components, nor a share, nor a rule"),
    "ddof": (lambda value: _is_count(value) and value < 2, "neither 0 nor 1"),
    "center": FLAG,
    "standardize": FLAG,
    "center_rows": FLAG,
    "whiten": _is_one_of(WHITENINGS),
    "epsilon": (lambda value: is_number(value) and value >= 0, "not a number from 0"),
    "missing": _is_one_of(MISSING),
    "absent": _is_one_of(ABSENT),
    "aligned": (_is_order, "not an order of components"),
    "booleans": (_are_names, "not a list of columns"),
    "vectors": (_is_widths, "not the lengths of vector columns"),
    "labels": (lambda value: bool(value) and _are_names(value), "not a list of names"),
    "label_numbers": (_are_names, "not a list of names"),
    "choice": TEXT,
    "solver": _is_one_of([*SOLVERS, *OF_METHODS]),
    "reason": TEXT,
    "weights": TEXT,
    "weights_kind": _is_one_of(WEIGHTS_KINDS),
    "label_kernel": _is_one_of(LABEL_KERNELS),
    "label_gamma": (_is_above(0.0), "not a number above 0"),
    "hsic": NUMBER,
    "kernel": (lambda value: isinstance(value, dict), "not a kernel with its numbers"),  # checked by KernelModel
    "classes": (lambda value: _is_count(value) and value > 0, "not a number of classes"),
    "landmarks": (lambda value: _is_count(value) and value > 0, "not a number of rows"),
    "constant_columns": COUNT,
    "rank": COUNT,
    "seed": COUNT,
    "certificate": (lambda value: isinstance(value, dict), "not a record of numbers"),
    "em": (lambda value: isinstance(value, dict), "not a record of its steps"),
}

# Setting -> methods that have it, for settings that not all methods have.
ONLY: Mapping[str, tuple[str, ...]] = {
    "weights": ("pca",),
    "weights_kind": ("pca",),
    "absent": ("pca",),
    "em": ("pca",),
    "labels": ("supervised",),
    "label_kernel": ("supervised",),
    "label_gamma": ("supervised",),
    "label_numbers": ("supervised",),
    "classes": ("supervised",),
    "hsic": ("supervised",),
    "kernel": ("kernel", "supervised"),
    "landmarks": ("kernel",),
}

# Setting -> another setting without which it has no meaning.
BESIDE = {"weights_kind": "weights", "label_numbers": "labels", "label_gamma": "label_kernel", "epsilon": "whiten"}

# Entries of the record of an EM fit -> test of the value.
OF_EM: Mapping[str, Callable[[Any], bool]] = {
    "steps": _is_count,
    "converged": _is_flag,
    "proved": _is_flag,
    "noise_variance": lambda value: is_number(value) and value >= 0,
    "log_likelihood": lambda value: value is None or is_number(value),
    "climb": _are(lambda value: value is None or is_number(value)),
}
# Entries that are always there.
ALWAYS_OF_EM = {"steps", "converged", "noise_variance", "log_likelihood"}

# Entries of a certificate -> test of the value. `relative_error` and `vouched` have one item per component.
OF_CERTIFICATE: Mapping[str, Callable[[Any], bool]] = {
    "eigen_residual": lambda value: is_number(value) and value >= 0,
    "orthonormality": lambda value: is_number(value) and value >= 0,
    "trace_closure": lambda value: is_number(value) and value >= 0,
    "relative_error": _are(lambda value: value is None or (is_number(value) and value >= 0)),
    "vouched": _are(_is_flag),
    "close_pairs": _are(lambda pair: isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair))),
}


# --- settings that nobody can change ---


def _no_change(self: object, *given: object, **named: object) -> NoReturn:
    """Raise `TypeError`; takes the place of every method that would change a record or a list."""
    raise TypeError("the settings of a model cannot be changed; copy.deepcopy gives a copy that can")


class Record(dict[str, Any]):
    """Immutable JSON object. Its copies and pickles are plain dictionaries."""

    __setitem__ = __delitem__ = __ior__ = _no_change
    clear = pop = popitem = setdefault = update = _no_change

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return {key: deepcopy(value) for key, value in self.items()}


class FrozenList(list[Any]):
    """Immutable JSON array. Its copies and pickles are plain lists."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _no_change
    append = clear = extend = insert = pop = remove = reverse = sort = _no_change

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [deepcopy(value) for value in self]


def frozen(value: Any) -> Any:
    """Return a copy of a JSON value that is immutable at every depth."""
    if isinstance(value, (Record, FrozenList)):
        return value
    if isinstance(value, Mapping):
        return Record({key: frozen(inner) for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList(map(frozen, value))
    return value


# --- checks ---


def check_settings(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Raise `ModelError` if a setting is invalid, or does not fit other settings or the sizes of the arrays."""
    method = meta.get("method", "pca")
    if not isinstance(method, str) or method not in METHODS:
        raise ModelError(f"method {show(method)} is none that this pcatool knows", "update pcatool")
    for name, (test, why) in KINDS.items():
        if name in meta and not test(meta[name]):
            raise ModelError(f"{name} is {show(meta[name])}, {why}")
    _check_method(meta, method)
    if not set(meta.get("booleans", ())) <= set(sizes.columns):
        raise ModelError(f"booleans are {show(meta['booleans'])}, not a list of columns")
    if not set(meta.get("label_numbers", ())) <= set(meta.get("labels", ())):
        raise ModelError(f"label_numbers are {show(meta['label_numbers'])}, not a list of labels")
    _check_sizes(meta, sizes)
    _check_vectors(meta.get("vectors", {}), sizes.columns)
    _check_certificate(meta, sizes)
    _check_em(meta)


def _check_method(meta: Mapping[str, Any], method: str) -> None:
    """Refuse settings that the method does not have, and settings that exclude or need each other."""
    for name, methods in ONLY.items():
        if name in meta and method not in methods:
            raise ModelError(f"{name} is {show(meta[name])}, which a {method} model has not")
    for name, other in BESIDE.items():
        if name in meta and other not in meta:
            raise ModelError(f"{name} is {show(meta[name])}, and there is no {other}")
    missing = meta.get("missing", "error")
    if method != "pca" and missing in ("mean", "em"):
        raise ModelError(f"missing is {show(missing)}, which a {method} model has not")
    if method != "pca" and meta.get("whiten", "none") != "none":
        raise ModelError(f"whiten is {show(meta['whiten'])}, which a {method} model has not")
    if method == "supervised" and not meta.get("center", True):
        raise ModelError(f"center is {show(meta['center'])}, and a supervised model is centred")
    if method == "supervised" and not {"labels", "label_kernel"} <= meta.keys():
        raise ModelError("a supervised model without labels and label_kernel")
    if "label_gamma" in meta and meta["label_kernel"] != "rbf":
        raise ModelError(f"label_gamma is {show(meta['label_gamma'])}, and the label_kernel is not rbf")
    if meta.get("whiten", "none") == "none" and "epsilon" in meta:
        raise ModelError(f"epsilon is {show(meta['epsilon'])}, and nothing is whitened")


def _check_sizes(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Refuse a rank, number of constant columns, ddof or number of components that the sizes rule out."""
    rank = meta.get("rank", sizes.possible)
    if not 1 <= rank <= sizes.possible:
        raise ModelError(f"rank is {show(rank)}, not from 1 to {sizes.possible}")
    constant = meta.get("constant_columns", 0)
    if constant > len(sizes.columns) - meta.get("center", True):
        raise ModelError(f"constant_columns are {constant} of {len(sizes.columns)}")
    # A frequency weight counts a row several times, so a single row can have a divisor above 0.
    if sizes.rows <= meta.get("ddof", 0) and meta.get("weights_kind") != "frequency":
        raise ModelError(f"ddof is {meta['ddof']}, of {sizes.rows} rows")
    wish = meta.get("components", sizes.kept)
    if isinstance(wish, int) and not sizes.kept <= wish <= sizes.directions:
        raise ModelError(f"components is {show(wish)}, not from {sizes.kept} to {sizes.directions}")


def _check_vectors(widths: Mapping[str, int], columns: Sequence[str]) -> None:
    """Refuse a feature `name[i]` whose index is beyond the length of its vector column."""
    for column in columns:
        found = re.fullmatch(r"(.*)\[([0-9]+)\]", column, re.ASCII | re.DOTALL) if widths else None
        if found and int(found[2]) >= widths.get(found[1], int(found[2]) + 1):
            raise ModelError(f"vectors are {show(widths)}, and there is a column {show(column)}")


def _check_certificate(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Refuse a malformed certificate, or one that does not fit the numbers of components and eigenvalues."""
    certificate = meta.get("certificate", {})
    if not _is_record(certificate, OF_CERTIFICATE):
        raise ModelError(f"certificate is {show(certificate)}, not a record of numbers")
    errors, vouched = certificate.get("relative_error", []), certificate.get("vouched", [])
    if len(errors) < len(vouched) or any(good and error is None for error, good in zip(errors, vouched, strict=False)):
        raise ModelError("certificate vouches for components without a bound")
    if "vouched" in certificate and len(errors) != len(vouched):
        raise ModelError("certificate has bounds of components and does not say for which it vouches")
    least = min(sizes.kept, meta.get("rank", sizes.kept))  # components beyond the rank have no bound
    if "vouched" in certificate and not least <= len(vouched) <= sizes.known:
        raise ModelError(f"certificate has bounds of {len(vouched)} components, there are {least}")
    for pair in certificate.get("close_pairs", []):
        if not 1 <= min(pair) < max(pair) <= sizes.known:
            raise ModelError(f"certificate's close_pairs hold {show(pair)}, there are {sizes.known} eigenvalues")


def _check_em(meta: Mapping[str, Any]) -> None:
    """Refuse a malformed record of an EM fit, or one in a model whose setting `missing` is not em."""
    em = meta.get("em")
    if em is None:
        return
    bounds = meta.get("certificate", {}).get("relative_error")
    if not (em.keys() >= ALWAYS_OF_EM and _is_record(em, OF_EM) and bounds):
        raise ModelError(f"em is {show(em)}, not a record of its steps")
    if meta.get("missing") != "em":
        raise ModelError(f"missing is {show(meta.get('missing', 'error'))}, and the model was fitted by EM")


def _is_record(value: Any, tests: Mapping[str, Callable[[Any], bool]]) -> bool:
    """Whether a value is a dict whose entries pass their tests; entries may be absent."""
    return isinstance(value, dict) and all(test(value[name]) for name, test in tests.items() if name in value)
