"""Checks that every model must pass, fitted or read: shapes, order, orthonormality, settings, sums over rows.

`pcatool.options` declares the settings that keep an option of the fit, with their checks; `FOUND_SETTINGS` lists the
settings that the fit computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pcatool.arrays import orthonormality
from pcatool.errors import ModelError
from pcatool.linalg.certificate import PROOFS
from pcatool.options import FitOptions
from pcatool.options.fields import Setting, are_names, checks_of, is_count, is_flag, is_number, is_object, is_text
from pcatool.registry import METHODS, SOLVERS
from pcatool.wording import counted, show

if TYPE_CHECKING:
    from pcatool.arrays import Array
    from pcatool.linalg.row_sums import Statistic
    from pcatool.model.model import Model

__all__ = ["NEAR_EQUAL", "OPTIONAL", "check_model", "check_orthonormal"]

# Largest |B^T B - I|, and relative error of the other checks. A computed basis is off by a few d * eps; beyond this
# bound, a file was edited or damaged.
TOLERANCE = 1e-6

# Variances below this, or above its inverse, have too few digits to be compared with a standard deviation.
MIN_CHECKED_VARIANCE = 1e-280

# Number of leading components that are checked against the sums over rows.
CHECKED_COMPONENTS = 8

UNSORTED = "the eigenvalues are not in descending order, or an eigenvalue is below 0"

# Components may be reordered to match an older model if their eigenvalues are nearly equal: the difference is at most
# this share of the eigenvalue that belongs to the place.
NEAR_EQUAL = 0.1

# Arrays that a model may lack.
OPTIONAL = ("variances", "column_means")


def check_model(model: Model) -> None:
    """Raise `ModelError` if shapes, values and settings of a model do not fit together."""
    d = len(model.columns)
    if model.basis.ndim != 2:
        raise ModelError(f"array 'basis' has {model.basis.ndim} dimensions, not 2")
    shapes = {"mean": (d,), "std": (d,), "basis": (d, model.basis.shape[1])}
    shapes |= {name: (d,) for name in OPTIONAL if getattr(model, name) is not None}
    for name, shape in shapes.items():
        found = getattr(model, name).shape
        if found != shape:
            raise ModelError(f"array {show(name)} has shape {found}, but {d} columns need {shape}")
    if model.eigenvalues.ndim != 1 or model.eigenvalues.size < model.k:
        raise ModelError(
            f"array 'eigenvalues' has shape {model.eigenvalues.shape}, but the model has {model.k} components"
        )
    if d < 1 or model.k < 1 or model.n_samples < 1:
        raise ModelError(
            f"it has {d} columns, {model.k} components, {model.n_samples} rows: each number must be at least 1"
        )
    for name in ("mean", "std", "basis", "eigenvalues", "total_variance", *shapes):
        if not np.all(np.isfinite(getattr(model, name))):
            raise ModelError(f"array {show(name)} has a value that is not finite")
    if np.any(model.std <= 0):
        raise ModelError("array 'std' has a value that is not above 0")
    if not model.centered and model.mean.any():
        raise ModelError("array 'mean' is not 0, but the model is not centred")
    if np.any(model.eigenvalues < 0) or ("aligned" not in model.meta and np.any(np.diff(model.eigenvalues) > 0)):
        raise ModelError(UNSORTED)
    if model.total_variance <= 0:
        raise ModelError(f"array 'total_variance' is {model.total_variance}, not above 0")
    if not float(np.sum(model.eigenvalues)) <= model.total_variance * (1 + 1e-6):
        raise ModelError("the eigenvalues add up to more than array 'total_variance'")
    if len(set(model.columns)) < d:
        raise ModelError("two columns have the same name")
    try:
        "".join(model.columns).encode("utf-8")
    except (UnicodeError, SystemError):  # SystemError: code points beyond Unicode, in a damaged file
        raise ModelError("a name in array 'columns' is not valid text") from None
    if model.variances is not None and np.any(model.variances < 0):
        raise ModelError("array 'variances' has a value below 0")
    model.check_basis()
    _check_settings(model)
    _check_aligned(model)
    _check_statistic(model)


def _check_statistic(model: Model) -> None:
    """Raise `ModelError` if the model keeps sums over rows that contradict its means, variances or components."""
    if model.statistic is None:
        return
    if model.variances is None:
        raise ModelError("the model has sums over rows, but not the variances of the columns")
    centre = model.statistic.centre
    divisor = centre.divisor(model.ddof, reliability=model.meta.get("weights_kind") == "reliability")
    about_zero = not model.centered or model.meta.get("method") == "supervised"
    model.statistic.check(centre.mean if about_zero else model.mean, model.variances, divisor)
    _check_sums(model, model.statistic, divisor)


def _check_sums(model: Model, statistic: Statistic, divisor: float) -> None:
    """Raise `ModelError` if the sums `statistic` are not of the model's method, or do not give its leading components.

    `divisor` turns the sums of squares into variances, such as n - ddof.
    """
    supervised = model.meta.get("method") == "supervised"
    classes = model.meta.get("label_kernel") == "delta"
    if ("cross" in statistic.arrays(), bool(statistic.classes)) != (supervised, supervised and classes):
        raise ModelError("the sums over rows belong to another method")
    B, values = model.basis[:, :CHECKED_COMPONENTS], model.eigenvalues[:CHECKED_COMPONENTS]
    # Divide by the root before the product and again after it: sums and means may each be far from 1.
    root = 1.0 if supervised else np.sqrt(divisor)
    V = B / model.std[:, None] / root
    product = statistic.product(V) / root
    if not supervised and not model.centered:
        mu = statistic.centre.mean * np.sqrt(statistic.centre.weight)
        product = product + np.outer(mu / root, mu @ V)
    residual = np.abs(product / model.std[:, None] - B * values[: B.shape[1]])
    if not np.all(residual <= TOLERANCE * model.eigenvalues.max()):
        raise ModelError("the sums over rows do not match the components and eigenvalues")


def _check_settings(model: Model) -> None:
    """Raise `ModelError` if settings, standard deviations or whitening of a model are invalid."""
    check_settings(
        model.meta,
        Sizes(model.n_samples, model.columns, model.possible, model.directions, model.k, model.eigenvalues.size),
    )
    _check_scale(model)
    if model.whitening == "none":
        return
    if "epsilon" not in model.meta:
        raise ModelError("the model whitens, but the setting 'epsilon' is missing")
    if not np.all(model.whitening_divisors() > 0):
        raise ModelError("whitening would divide by an eigenvalue of 0")


def _check_scale(model: Model) -> None:
    """Raise `ModelError` unless `std` is 1 or, in a standardised model, the standard deviations of the columns."""
    if not model.standardized:
        if np.any(model.std != 1):
            raise ModelError("array 'std' is not 1, but the model is not standardised")
    elif model.variances is not None:
        checked = (model.variances > MIN_CHECKED_VARIANCE) & (model.variances < 1 / MIN_CHECKED_VARIANCE)
        if not np.allclose(np.square(model.std[checked]), model.variances[checked], rtol=TOLERANCE, atol=0):
            raise ModelError("the model is standardised, but array 'std' does not match the column variances")


def _check_aligned(model: Model) -> None:
    """Raise `ModelError` if the model has a setting `aligned` that does not explain the order of its eigenvalues.

    `aligned` lists the place that each component has in descending order. Only components with nearly equal eigenvalues
    may leave that place, to match an older model.
    """
    places = np.array(model.meta.get("aligned", []), dtype=np.intp) - 1
    if not len(places):
        return
    if "kernel" in model.meta:
        raise ModelError("the file has the setting 'aligned', but a kernel model cannot have this setting")
    if not model.k <= len(places) <= len(model.eigenvalues):
        listed = counted(len(places), "component")
        raise ModelError(f"the setting 'aligned' lists {listed}, but must list {model.k} to {len(model.eigenvalues)}")
    values, by_size = model.eigenvalues, model.eigenvalues.copy()
    by_size[places] = values[: len(places)]
    if np.any(np.diff(by_size) > 0):
        raise ModelError(UNSORTED)
    moved = np.flatnonzero(places != np.arange(len(places)))
    too_different = np.abs(values[moved] - by_size[moved]) > NEAR_EQUAL * by_size[moved]
    if np.any(too_different) or np.any(values[moved] == 0):
        raise ModelError("the setting 'aligned' swaps components whose eigenvalues are not nearly equal")


def check_orthonormal(B: Array, name: str) -> None:
    """Raise `ModelError` if the columns of B (d, k) are not orthonormal; `name` is the name of B in the message."""
    residual = orthonormality(B)
    if not residual <= TOLERANCE:
        raise ModelError(
            f"array {show(name)} is not orthonormal: |B^T B - I| is {residual:.1e}, the bound is {TOLERANCE:.0e}"
        )


# --- settings ---


class Sizes(NamedTuple):
    """Sizes of the arrays of a model, against which its settings are checked."""

    rows: int  # rows used
    columns: tuple[str, ...]  # feature names
    possible: int  # largest possible number of eigenvalues
    directions: int  # largest possible number of components, see `Model.directions`
    kept: int  # components in the model
    known: int  # eigenvalues in the model


def _are(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a function that says whether a value is a list whose items all pass `test`."""
    return lambda value: isinstance(value, list) and all(map(test, value))


def _is_order(value: Any) -> bool:
    """Whether a value is a list of 1, 2, ..., n, once each, in any order."""
    return bool(_are(is_count)(value) and value and sorted(value) == list(range(1, len(value) + 1)))


def _is_widths(value: Any) -> bool:
    """Whether a value is a dict from names of vector columns to their lengths, all at least 1."""
    return isinstance(value, dict) and all(is_count(width) and width > 0 for width in value.values())


# Solvers that are not in the registry: a method chooses them, or the model came from scikit-learn.
METHOD_SOLVERS = ("em", "lapack", "lanczos", "nystroem", "cross-moment", "label-kernel", "kernel", "scikit-learn")
KNOWN_SOLVERS = (*SOLVERS, *METHOD_SOLVERS)

COUNT = Setting(is_count, "not a whole number of at least 0")
TEXT = Setting(is_text, "not text")


# Settings that a fit computes, in addition to the options of the fit that a model keeps.
FOUND_SETTINGS = {
    "format_version": Setting(lambda value: is_count(value) and value > 0, "not a whole number of at least 1"),
    "aligned": Setting(_is_order, "not the numbers 1, 2, 3 and so on in any order"),
    "booleans": Setting(are_names, "not a list of column names"),
    "vectors": Setting(_is_widths, "not names of vector columns with lengths of at least 1"),
    "label_numbers": Setting(are_names, "not a list of names", ("supervised",), "labels"),
    "choice": TEXT,
    "solver": Setting(
        lambda value: is_text(value) and value in KNOWN_SOLVERS, f"not one of {', '.join(KNOWN_SOLVERS)}"
    ),
    "reason": TEXT,
    "hsic": Setting(is_number, "not a number", ("supervised",)),
    "classes": Setting(
        lambda value: is_count(value) and value > 0, "not a whole number of at least 1", ("supervised",)
    ),
    "constant_columns": COUNT,
    "rank": COUNT,
    "squared_shares": Setting(lambda value: is_number(value) and value > 0, "not a number above 0", ("pca",)),
    "certificate": Setting(is_object, "not a valid certificate"),
    "em": Setting(is_object, "not a valid record of an EM fit", ("pca",)),
}

# Name in `meta` -> setting. Every setting may be absent; pcatool writes no other settings.
SETTINGS = checks_of(FitOptions) | FOUND_SETTINGS

# Entries of the record of an EM fit -> test of the value.
EM_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "steps": is_count,
    "converged": is_flag,
    "proved": is_flag,
    "noise_variance": lambda value: is_number(value) and value >= 0,
    "log_likelihood": lambda value: value is None or is_number(value),
    "climb": _are(lambda value: value is None or is_number(value)),
}
# Entries that are always there.
REQUIRED_IN_EM = {"steps", "converged", "noise_variance", "log_likelihood"}

# Entries of a certificate -> test of the value. `relative_error` and `vouched` have one item per component.
CERTIFICATE_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "eigen_residual": lambda value: is_number(value) and value >= 0,
    "orthonormality": lambda value: is_number(value) and value >= 0,
    "trace_closure": lambda value: is_number(value) and value >= 0,
    "relative_error": _are(lambda value: value is None or (is_number(value) and value >= 0)),
    "vouched": _are(is_flag),
    "proof": lambda value: value in PROOFS.values(),
    "close_pairs": _are(lambda pair: isinstance(pair, list) and len(pair) == 2 and all(map(is_count, pair))),
}


def check_settings(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Raise `ModelError` if a setting in `meta` is invalid, or contradicts other settings or sizes of the arrays."""
    method = meta.get("method", "pca")
    if not isinstance(method, str) or method not in METHODS:
        raise ModelError(
            f"the setting 'method' is {show(method)}, which this version of pcatool does not know",
            "install a newer pcatool",
        )
    for name, setting in SETTINGS.items():
        if name in meta and setting.test is not None and not setting.test(meta[name]):
            raise ModelError(f"the setting {show(name)} is {show(meta[name])}, {setting.why}")
    _check_method(meta, method)
    if not set(meta.get("booleans", ())) <= set(sizes.columns):
        raise ModelError(
            f"the setting 'booleans' is {show(meta['booleans'])}, but not all of these are columns of the model"
        )
    if not set(meta.get("label_numbers", ())) <= set(meta.get("labels", ())):
        raise ModelError(
            f"the setting 'label_numbers' is {show(meta['label_numbers'])}, but not all of these are labels of the "
            "model"
        )
    _check_sizes(meta, sizes)
    _check_vectors(meta.get("vectors", {}), sizes.columns)
    _check_certificate(meta, sizes)
    _check_em(meta)


def _check_method(meta: Mapping[str, Any], method: str) -> None:
    """Raise `ModelError` for settings that the method does not have, and for settings that exclude or need others."""
    for name, setting in SETTINGS.items():
        if name in meta and setting.methods and method not in setting.methods:
            raise ModelError(f"the setting {show(name)} is {show(meta[name])}, which a {method} model cannot have")
    for name, setting in SETTINGS.items():
        if name in meta and setting.needs and setting.needs not in meta:
            raise ModelError(
                f"the setting {show(name)} is {show(meta[name])}, but the setting {show(setting.needs)} is missing"
            )
    missing = meta.get("missing", "error")
    if method != "pca" and missing in ("mean", "em"):
        raise ModelError(f"the setting 'missing' is {show(missing)}, which a {method} model cannot have")
    if method != "pca" and meta.get("whiten", "none") != "none":
        raise ModelError(f"the setting 'whiten' is {show(meta['whiten'])}, which a {method} model cannot have")
    if method == "supervised" and not meta.get("center", True):
        raise ModelError(f"the setting 'center' is {show(meta['center'])}, but a supervised model is always centred")
    if method == "supervised" and not {"labels", "label_kernel"} <= meta.keys():
        raise ModelError("a supervised model needs the settings 'labels' and 'label_kernel'")
    if "label_gamma" in meta and meta["label_kernel"] != "rbf":
        raise ModelError(
            f"the setting 'label_gamma' is {show(meta['label_gamma'])}, but the setting 'label_kernel' is not rbf"
        )
    if meta.get("whiten", "none") == "none" and "epsilon" in meta:
        raise ModelError(f"the setting 'epsilon' is {show(meta['epsilon'])}, but the model does not whiten")


def _check_sizes(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Raise `ModelError` if rank, number of constant columns, ddof or number of components contradicts the sizes."""
    rank = meta.get("rank", sizes.possible)
    if not 1 <= rank <= sizes.possible:
        raise ModelError(f"the setting 'rank' is {show(rank)}, but must be from 1 to {sizes.possible}")
    constant = meta.get("constant_columns", 0)
    most = len(sizes.columns) - meta.get("center", True)
    if constant > most:
        raise ModelError(f"the setting 'constant_columns' is {constant}, but must be at most {most}")
    # A frequency weight counts a row several times, so a single row can have a divisor above 0.
    if sizes.rows <= meta.get("ddof", 0) and meta.get("weights_kind") != "frequency":
        raise ModelError(f"the setting 'ddof' is {meta['ddof']}, but must be below the number of rows, {sizes.rows}")
    components = meta.get("components", sizes.kept)
    if isinstance(components, int) and not sizes.kept <= components <= sizes.directions:
        raise ModelError(
            f"the setting 'components' is {show(components)}, but must be from {sizes.kept} to {sizes.directions}"
        )


def _check_vectors(widths: Mapping[str, int], columns: Sequence[str]) -> None:
    """Raise `ModelError` if a feature `name[i]` has an index beyond the length of its vector column, in `widths`."""
    for column in columns:
        found = re.fullmatch(r"(.*)\[([0-9]+)\]", column, re.ASCII | re.DOTALL) if widths else None
        if found and int(found[2]) >= widths.get(found[1], int(found[2]) + 1):
            raise ModelError(
                f"it has a column {show(column)}, but the vectors of {show(found[1])} end at "
                f"{show(f'{found[1]}[{widths[found[1]] - 1}]')}"
            )


def _check_certificate(meta: Mapping[str, Any], sizes: Sizes) -> None:
    """Raise `ModelError` if the certificate is malformed or contradicts the numbers of components and eigenvalues."""
    certificate = meta.get("certificate", {})
    if not _is_record(certificate, CERTIFICATE_TESTS):
        raise ModelError(f"the setting 'certificate' is {show(certificate)}, not a valid certificate")
    errors, vouched = certificate.get("relative_error", []), certificate.get("vouched", [])
    if len(errors) < len(vouched) or any(good and error is None for error, good in zip(errors, vouched, strict=False)):
        raise ModelError(
            "in the certificate, list 'vouched' includes a component without an error in list 'relative_error'"
        )
    if "vouched" in certificate and len(errors) != len(vouched):
        raise ModelError("lists 'relative_error' and 'vouched' in the certificate differ in length")
    minimum = min(sizes.kept, meta.get("rank", sizes.kept))  # components beyond the rank have no bound
    if "vouched" in certificate and not minimum <= len(vouched) <= sizes.known:
        raise ModelError(
            f"the certificate lists {counted(len(vouched), 'component')}, but must list {minimum} to {sizes.known}"
        )
    for pair in certificate.get("close_pairs", []):
        if not 1 <= min(pair) < max(pair) <= sizes.known:
            raise ModelError(
                f"'close_pairs' in the certificate names components {min(pair)} and {max(pair)}, but the model has "
                f"{counted(sizes.known, 'eigenvalue')}"
            )


def _check_em(meta: Mapping[str, Any]) -> None:
    """Raise `ModelError` for a malformed record of an EM fit, or a record in a model whose `missing` is not em."""
    em = meta.get("em")
    if em is None:
        return
    bounds = meta.get("certificate", {}).get("relative_error")
    if not (em.keys() >= REQUIRED_IN_EM and _is_record(em, EM_TESTS) and bounds):
        raise ModelError(f"the setting 'em' is {show(em)}, not a valid record of an EM fit")
    if meta.get("missing") != "em":
        raise ModelError(
            f"the setting 'missing' is {show(meta.get('missing', 'error'))}, but the model was fitted by EM"
        )


def _is_record(value: Any, tests: Mapping[str, Callable[[Any], bool]]) -> bool:
    """Whether a value is a dict whose entries pass their tests; entries may be absent."""
    return isinstance(value, dict) and all(test(value[name]) for name, test in tests.items() if name in value)
