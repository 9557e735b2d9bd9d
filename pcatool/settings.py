"""What the settings that a model carries must be, so that every later use of them is sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import float_info
from typing import Any, NamedTuple

from pcatool.errors import ModelError, show
from pcatool.options import ABSENT, MISSING, WHITENINGS
from pcatool.registry import METHODS

__all__ = ["Sizes", "check_json", "check_settings", "is_number"]

# Whole numbers up to here, in either direction.
MOST = 2**63

# A certificate holds lists of lists, and nothing is nested deeper.
DEEPEST = 8


class Sizes(NamedTuple):
    """What the arrays of a model say, against which its settings are held."""

    rows: int
    columns: tuple[str, ...]
    possible: int  # how many eigenvalues there are


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


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_order(value: Any) -> bool:
    """1, 2, ... each once, in any order."""
    return bool(_are(_is_count)(value) and value and sorted(value) == list(range(1, len(value) + 1)))


def _is_widths(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_count(width) for width in value.values())


def _are(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(test, value))


FLAG = (_is_flag, "neither true nor false")
COUNT = (_is_count, "not a number of things")
NUMBER = (is_number, "not a number")
TEXT = (_is_text, "no text")

# What each setting must be, if it is there, and how to say that it is not.
KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "ddof": (lambda value: _is_count(value) and value < 2, "neither 0 nor 1"),
    "center": FLAG,
    "standardize": FLAG,
    "center_rows": FLAG,
    "whiten": (lambda value: value in WHITENINGS, f"none of {', '.join(WHITENINGS)}"),
    "epsilon": (lambda value: is_number(value) and value >= 0, "not a number from 0"),
    "missing": (lambda value: value in MISSING, f"none of {', '.join(MISSING)}"),
    "absent": (lambda value: value in ABSENT, f"none of {', '.join(ABSENT)}"),
    "aligned": (_is_order, "not an order of components"),
    "booleans": (_are(_is_text), "not a list of columns"),
    "vectors": (_is_widths, "not the lengths of vector columns"),
    "labels": (_are(_is_text), "not a list of names"),
    "label_numbers": (_are(_is_text), "not a list of names"),
    "choice": TEXT,
    "solver": TEXT,
    "reason": TEXT,
    "weights": TEXT,
    "weights_kind": TEXT,
    "label_kernel": TEXT,
    "label_gamma": NUMBER,
    "hsic": NUMBER,
    "classes": COUNT,
    "landmarks": COUNT,
    "constant_columns": COUNT,
    "rank": COUNT,
    "seed": COUNT,
}

# What is told of how EM went.
OF_EM: Mapping[str, Callable[[Any], bool]] = {
    "steps": _is_count,
    "converged": _is_flag,
    "proved": _is_flag,
    "noise_variance": is_number,
    "log_likelihood": lambda value: value is None or is_number(value),
}

# What earlier versions did not tell.
NOT_OF_OLD = {"proved"}

# What a certificate may hold. The lists have an entry for each component.
OF_CERTIFICATE: Mapping[str, Callable[[Any], bool]] = {
    "eigen_residual": is_number,
    "orthonormality": is_number,
    "trace_closure": is_number,
    "relative_error": _are(lambda value: value is None or (is_number(value) and value >= 0)),
    "vouched": _are(_is_flag),
    "close_pairs": _are(lambda pair: isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair))),
}


def check_settings(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Refuse a model whose settings are not what they must be, whoever made it."""
    method = meta.get("method", "pca")
    if not isinstance(method, str) or method not in METHODS:
        raise ModelError(f"method {show(method)} is none that this pcatool knows", "update pcatool")
    for name, (test, why) in KINDS.items():
        if name in meta and not test(meta[name]):
            raise ModelError(f"{name} is {show(meta[name])}, {why}")
    if not set(meta.get("booleans", ())) <= set(sizes.columns):
        raise ModelError(f"booleans are {show(meta['booleans'])}, not a list of columns")
    if not set(meta.get("label_numbers", ())) <= set(meta.get("labels", ())):
        raise ModelError(f"label_numbers are {show(meta['label_numbers'])}, not a list of labels")
    _check_sizes(meta, sizes)
    _check_certificate(meta)


def _check_sizes(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Rows, rank and constant columns leave something to vary."""
    rank = meta.get("rank", sizes.possible)
    if not 1 <= rank <= sizes.possible:
        raise ModelError(f"rank is {show(rank)}, not from 1 to {sizes.possible}")
    constant = meta.get("constant_columns", 0)
    if constant > len(sizes.columns) - meta.get("center", True):
        raise ModelError(f"constant_columns are {constant} of {len(sizes.columns)}")
    if sizes.rows <= meta.get("ddof", 0):
        raise ModelError(f"ddof is {meta['ddof']}, of {sizes.rows} rows")


def _check_certificate(meta: Mapping[str, Any]) -> None:
    certificate = meta.get("certificate", {})
    if not _is_record(certificate, OF_CERTIFICATE):
        raise ModelError(f"certificate is {show(certificate)}, not a record of numbers")
    errors, vouched = certificate.get("relative_error", []), certificate.get("vouched", [])
    if len(errors) < len(vouched) or any(good and error is None for error, good in zip(errors, vouched, strict=False)):
        raise ModelError("certificate vouches for components without a bound")
    if "vouched" in certificate and len(errors) != len(vouched):
        raise ModelError("certificate has bounds of components and does not say for which it vouches")
    em: Any = meta.get("em")
    if "em" in meta and not (_is_record(em, OF_EM) and em.keys() >= OF_EM.keys() - NOT_OF_OLD and errors):
        raise ModelError(f"em is {show(em)}, not a record of its steps")


def _is_record(value: Any, tests: Mapping[str, Callable[[Any], bool]]) -> bool:
    return isinstance(value, dict) and all(test(value[name]) for name, test in tests.items() if name in value)
