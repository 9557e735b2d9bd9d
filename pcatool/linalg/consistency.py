"""What sums over rows must satisfy, whoever wrote the file that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import ModelError
from pcatool.linalg.moments import Moments

if TYPE_CHECKING:
    from pcatool.arrays import Array
    from pcatool.linalg.row_sums import Sums

__all__ = ["AGREES", "KINDS", "check_shapes", "check_sums"]

# Arrays of a model file, and their numpy kinds.
KINDS = {
    "means": "f",
    "means_error": "f",
    "rounding": "f",
    "weights": "f",
    "weights_error": "f",
    "scatter": "f",
    "factor": "f",
    "cross": "f",
    "squares": "f",
    "label_means": "f",
    "label_squares": "f",
    "class_names": "U",
}

# Sums agree with the columns' variances to rounding; past this a file was edited or damaged.
AGREES = 1e-6

# Rows of a scatter that are looked at together: of a thousand columns they stay near the core.
AT_ONCE = 32


def check_sums(sums: Sums, rounding: Array, mean: Array, variances: Array, divisor: float) -> None:
    """Refuse sums that are not those of columns with such means and variances (d,)."""
    squares = sums.squares
    noise = rounding[: len(squares)]
    if len(squares) != len(variances):
        raise ModelError(f"sums are of {len(squares)} columns, there are {len(variances)}")
    if not np.all(rounding >= 0):
        raise ModelError("rounding holds a value below 0")
    with np.errstate(all="ignore"):
        if not np.all(np.abs(squares - variances * divisor) <= (AGREES + 2 * noise) * squares):
            raise ModelError("the sums of squares are not those of the column variances")
        if not np.all(np.abs(sums.centre.mean - mean) <= AGREES * (np.abs(mean) + np.sqrt(variances))):
            raise ModelError("means are not those of the columns")
        if isinstance(sums, Moments):
            _check_products(sums.scatter, np.sqrt(squares * (1 + 4 * noise)))


def _check_products(S: Array, length: Array) -> None:
    """Each about that on the other side of the diagonal, and no larger than its two lengths; some rows at a time."""
    for first in range(0, len(S), AT_ONCE):
        rows, others = slice(first, first + AT_ONCE), slice(first, None)
        products, bound = S[rows, others], np.outer(length[rows], length[others])
        if not np.all(np.abs(products - S[others, rows].T) <= AGREES * bound):
            raise ModelError("scatter is not symmetric")
        if not np.all(np.abs(products) <= (1 + AGREES) * bound):
            raise ModelError("scatter holds products that are larger than squares allow")


def check_shapes(arrays: Mapping[str, NDArray[Any]], kind: str) -> None:
    """Shapes that fit together, and finite values."""
    d = arrays["rounding"].size - (kind == "cross")
    shapes = {
        "means": (2, d),
        "means_error": (2, d),
        "rounding": (d + (kind == "cross"),),
        "weights": (2,),
        "weights_error": (2,),
        "scatter": (d, d),
        "squares": (d,),
    }
    if kind == "factor":
        shapes["factor"] = (min((*arrays["factor"].shape[:1], d)), d)
    if kind == "cross":
        t = arrays["label_squares"].size
        shapes |= {"cross": (t, d), "label_means": (2, t), "label_squares": (t,), "class_names": (t,)}
    for name, shape in shapes.items():
        if name in arrays and arrays[name].shape != shape:
            raise ModelError(f"{name} has shape {arrays[name].shape}, not {shape}")
        if name in arrays and KINDS[name] == "f" and not np.all(np.isfinite(arrays[name])):
            raise ModelError(f"{name} holds a value that is not finite")
    if "weights" in arrays:
        weight, pairs = arrays["weights"]
        if not (weight > 0 and pairs >= 0):
            raise ModelError("weights hold a value that is not above 0")
        if not pairs / weight <= weight:
            raise ModelError("weights hold products that add up to more than the square of their sum")
    if "weights_error" in arrays and not ("weights" in arrays and np.all(arrays["weights_error"] >= 0)):
        raise ModelError("weights_error is of no weights, or holds a value below 0")
    if "means_error" in arrays and np.any(arrays["means_error"] < 0):
        raise ModelError("means_error holds a value below 0")
    if kind == "cross":
        _check_labels(arrays["label_means"].sum(axis=0), arrays["label_squares"], "class_names" in arrays)
    if "class_names" in arrays and len(set(arrays["class_names"].tolist())) < arrays["class_names"].size:
        raise ModelError("class_names hold a name twice")


def _check_labels(means: Array, squares: Array, classes: bool) -> None:
    if not (len(squares) and np.all(squares >= 0)):
        raise ModelError("label_squares are none, or hold a value below 0")
    if classes and not (np.all(means > 0) and abs(float(means.sum()) - 1) <= AGREES):
        raise ModelError("label_means are not the shares of classes")
