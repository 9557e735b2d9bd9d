"""Settings that a model carries: their types, their limits, and frozen copies of them."""

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

# Whole numbers up to here, in either direction.
MOST = 2**63

# A certificate holds lists of lists, and nothing is nested deeper.
DEEPEST = 8


class Sizes(NamedTuple):
    """What the arrays of a model say, against which its settings are held."""

    rows: int
    columns: tuple[str, ...]
    possible: int  # how many eigenvalues there are
    directions: int  # how many components there can be, for all that the rows say
    kept: int  # components
    known: int  # eigenvalues


def check_json(value: Any, depth: int = 0) -> None:
    """Numbers that a double or 64 bits can hold, text that can be written, no deep nesting; else a ValueError."""
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
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= float_info.max


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST


def _is_above(least: float) -> Callable[[Any], bool]:
    return lambda value: is_number(value) and value > least


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_order(value: Any) -> bool:
    """1, 2, ... each once, in any order."""
    return bool(_are(_is_count)(value) and value and sorted(value) == list(range(1, len(value) + 1)))


def _is_widths(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_count(width) and width > 0 for width in value.values())


def _is_wish(value: Any) -> bool:
    """A number of components, a share, or the name of a rule, as a fit writes it."""
    if isinstance(value, str):
        return value.partition(":")[0] in RULES and _is_parsed(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and _is_parsed(value)


def _is_parsed(value: str | int | float) -> bool:
    try:
        found = parse_components(value)
    except UsageError:
        return False
    return type(found) is type(value)


def _are(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(test, value))


def _are_names(value: Any) -> bool:
    """Texts, none of them twice."""
    return _are(_is_text)(value) and len(set(value)) == len(value)


def _is_one_of(names: Iterable[str]) -> tuple[Callable[[Any], bool], str]:
    known = tuple(names)
    return lambda value: isinstance(value, str) and value in known, f"none of {', '.join(known)}"


FLAG = (_is_flag, "neither true nor false")
COUNT = (_is_count, "not a number of things")
NUMBER = (is_number, "not a number")
TEXT = (_is_text, "no text")

# Solvers that a method has for itself; the others are registered.
OF_METHODS = ("em", "lapack", "lanczos", "nystroem", "cross-moment", "label-kernel", "kernel", "scikit-learn")

# What each setting must be, if it is there, and how to say that it is not. A model file holds no others.
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
    "kernel": (lambda value: isinstance(value, dict), "not a kernel with its numbers"),  # which the model looks at
    "classes": (lambda value: _is_count(value) and value > 0, "not a number of classes"),
    "landmarks": (lambda value: _is_count(value) and value > 0, "not a number of rows"),
    "constant_columns": COUNT,
    "rank": COUNT,
    "seed": COUNT,
    "certificate": (lambda value: isinstance(value, dict), "not a record of numbers"),
    "em": (lambda value: isinstance(value, dict), "not a record of its steps"),
}

# Settings that only some methods have.
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

# Settings that mean something only beside another.
BESIDE = {"weights_kind": "weights", "label_numbers": "labels", "label_gamma": "label_kernel", "epsilon": "whiten"}

# What is told of how EM went.
OF_EM: Mapping[str, Callable[[Any], bool]] = {
    "steps": _is_count,
    "converged": _is_flag,
    "proved": _is_flag,
    "noise_variance": lambda value: is_number(value) and value >= 0,
    "log_likelihood": lambda value: value is None or is_number(value),
    "climb": _are(lambda value: value is None or is_number(value)),
}
ALWAYS_OF_EM = {"steps", "converged", "noise_variance", "log_likelihood"}

# What a certificate may hold. The lists have an entry for each component.
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
    raise TypeError("the settings of a model cannot be changed; copy.deepcopy gives a copy that can")


class Record(dict[str, Any]):
    """A JSON object that stays as it is. Its copies and pickles are plain dictionaries."""

    __setitem__ = __delitem__ = __ior__ = _no_change
    clear = pop = popitem = setdefault = update = _no_change

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return {key: deepcopy(value) for key, value in self.items()}


class FrozenList(list[Any]):
    """A JSON array that stays as it is. Its copies and pickles are plain lists."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _no_change
    append = clear = extend = insert = pop = remove = reverse = sort = _no_change

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [deepcopy(value) for value in self]


def frozen(value: Any) -> Any:
    """A copy of a JSON value that nobody can change, at any depth."""
    if isinstance(value, (Record, FrozenList)):
        return value
    if isinstance(value, Mapping):
        return Record({key: frozen(inner) for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList(map(frozen, value))
    return value


# --- checks ---


def check_settings(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Refuse a model whose settings are not what they must be, whoever made it."""
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
    """What a method has, and what goes with what."""
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
    """Rows, rank and constant columns leave something to vary."""
    rank = meta.get("rank", sizes.possible)
    if not 1 <= rank <= sizes.possible:
        raise ModelError(f"rank is {show(rank)}, not from 1 to {sizes.possible}")
    constant = meta.get("constant_columns", 0)
    if constant > len(sizes.columns) - meta.get("center", True):
        raise ModelError(f"constant_columns are {constant} of {len(sizes.columns)}")
    if sizes.rows <= meta.get("ddof", 0) and meta.get("weights_kind") != "frequency":  # which count a row several times
        raise ModelError(f"ddof is {meta['ddof']}, of {sizes.rows} rows")
    wish = meta.get("components", sizes.kept)
    if isinstance(wish, int) and not sizes.kept <= wish <= sizes.directions:
        raise ModelError(f"components is {show(wish)}, not from {sizes.kept} to {sizes.directions}")


def _check_vectors(widths: Mapping[str, int], columns: Sequence[str]) -> None:
    """A feature is an element of its vector."""
    for column in columns:
        found = re.fullmatch(r"(.*)\[([0-9]+)\]", column, re.ASCII | re.DOTALL) if widths else None
        if found and int(found[2]) >= widths.get(found[1], int(found[2]) + 1):
            raise ModelError(f"vectors are {show(widths)}, and there is a column {show(column)}")


def _check_certificate(meta: Mapping[str, Any], sizes: Sizes) -> None:
    certificate = meta.get("certificate", {})
    if not _is_record(certificate, OF_CERTIFICATE):
        raise ModelError(f"certificate is {show(certificate)}, not a record of numbers")
    errors, vouched = certificate.get("relative_error", []), certificate.get("vouched", [])
    if len(errors) < len(vouched) or any(good and error is None for error, good in zip(errors, vouched, strict=False)):
        raise ModelError("certificate vouches for components without a bound")
    if "vouched" in certificate and len(errors) != len(vouched):
        raise ModelError("certificate has bounds of components and does not say for which it vouches")
    least = min(sizes.kept, meta.get("rank", sizes.kept))  # past the rank there is nothing to vouch for
    if "vouched" in certificate and not least <= len(vouched) <= sizes.known:
        raise ModelError(f"certificate has bounds of {len(vouched)} components, there are {least}")
    for pair in certificate.get("close_pairs", []):
        if not 1 <= min(pair) < max(pair) <= sizes.known:
            raise ModelError(f"certificate's close_pairs hold {show(pair)}, there are {sizes.known} eigenvalues")


def _check_em(meta: Mapping[str, Any]) -> None:
    em = meta.get("em")
    if em is None:
        return
    bounds = meta.get("certificate", {}).get("relative_error")
    if not (em.keys() >= ALWAYS_OF_EM and _is_record(em, OF_EM) and bounds):
        raise ModelError(f"em is {show(em)}, not a record of its steps")
    if meta.get("missing") != "em":
        raise ModelError(f"missing is {show(meta.get('missing', 'error'))}, and the model was fitted by EM")


def _is_record(value: Any, tests: Mapping[str, Callable[[Any], bool]]) -> bool:
    return isinstance(value, dict) and all(test(value[name]) for name, test in tests.items() if name in value)
