"""Flags that belong to one method are refused with another: none is passed over in silence."""

from __future__ import annotations

from typing import Any

import pytest

from pcatool.errors import UsageError
from pcatool.options import FitOptions

SUPERVISED: dict[str, Any] = {"method": "supervised", "label": ("y",)}

REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"label": ("y",)},
        "--label has no effect without --method supervised; give --method supervised, or leave out --label",
    ),
    ({"label_kernel": "rbf"}, "--label-kernel has no effect without --method supervised"),
    ({"method": "supervised"}, "--method supervised needs a label column; name the column with --label"),
    (
        {**SUPERVISED, "label_kernel": "cosine"},
        "invalid value 'cosine' for --label-kernel: choose delta, linear or rbf",
    ),
    (
        {**SUPERVISED, "label_gamma": 1},
        "--label-gamma has no effect without --label-kernel rbf; give --label-kernel rbf, or leave out --label-gamma",
    ),
    ({**SUPERVISED, "label_kernel": "rbf", "label_gamma": 0}, "--label-gamma '0' is not a finite number above 0"),
    ({**SUPERVISED, "center": False}, "--no-center does not go with --method supervised; leave out --no-center"),
    (
        {**SUPERVISED, "landmarks": 5},
        "--landmarks has no effect without --method kernel; give --method kernel, or leave out --landmarks",
    ),
    (
        {"weights_kind": "reliability"},
        "--weights-kind has no effect without --weights; give --weights, or leave",
    ),
    ({**SUPERVISED, "kernel": "isomap"}, "--kernel isomap does not go with --method supervised"),
    ({**SUPERVISED, "weights": "w"}, "--weights does not go with --method supervised"),
    ({"method": "kernel", "whiten": "pca"}, "--whiten does not go with --method kernel"),
    ({"method": "kernel", "solver": "svd"}, "--solver does not go with --method kernel"),
    ({"kernel": "rbf"}, "--kernel has no effect without --method kernel or supervised; give --method"),
    ({"gamma": 0.1}, "--gamma has no effect without --kernel rbf"),
    ({"method": "kernel", "kernel": "rfb"}, "there is no kernel called 'rfb'; did you mean 'rbf'?"),
    ({"method": "kernel", "degree": 2}, "--degree has no effect without --kernel polynomial; give --kernel"),
    (
        {"method": "kernel", "kernel": "linear", "coef0": 2},
        "--coef0 has no effect without --kernel polynomial or sigmoid",
    ),
    (
        {"method": "kernel", "neighbours": 3},
        "--neighbours has no effect without --kernel isomap, lle or laplacian-eigenmap",
    ),
    ({"method": "kernel", "gamma": "wide"}, "--gamma 'wide' is not a finite number above 0"),
    ({"method": "kernel", "gamma": "1_0"}, "--gamma '1_0' is not a finite number above 0"),
    ({"method": "kernel", "kernel": "polynomial", "coef0": "inf"}, "--coef0 'inf' is not a finite number"),
    ({"method": "kernel", "kernel": "isomap", "neighbours": 0}, "--neighbours '0' is not a whole number above 0"),
    ({"method": "kernel", "landmarks": 2.5}, "--landmarks '2.5' is not a whole number above 0"),
    ({"method": "kernel", "kernel": "lle", "landmarks": 5}, "--landmarks does not go with --kernel lle"),
    ({"method": "kernel", "kernel": "precomputed", "standardize": True}, "--standardize does not go with --kernel"),
    ({"method": "kernel", "kernel": "precomputed", "center_rows": True}, "--center-rows does not go with --kernel"),
]


@pytest.mark.parametrize(("settings", "said"), REFUSED, ids=[said[:40] for _, said in REFUSED])
def test_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        FitOptions(**settings)
    assert said in str(caught.value)


def test_numbers_are_made_of_texts() -> None:
    options = FitOptions(method="kernel", kernel="polynomial", gamma="0.5", degree="2", coef0="-1")  # type: ignore[arg-type]
    assert (options.gamma, options.degree, options.coef0) == (0.5, 2.0, -1.0)
    assert FitOptions(method="kernel").kernel == "rbf"
    assert FitOptions().kernel is None
