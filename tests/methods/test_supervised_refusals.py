"""What supervised PCA refuses, with the words it says, and the memory it reckons with."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from methods.supervision import case, columns_of, fit, labels_of
from pcatool.errors import DataError, PcatoolError, RefusedError, UsageError
from pcatool.methods.base import FitResources
from pcatool.methods.dependence import HELD_COPIES
from pcatool.methods.supervised import SupervisedPCA
from pcatool.options import FitOptions
from pcatool.progress import Reporter
from pcatool.solvers.estimate import PROGRAM_BYTES

ROWS = case(40, 5)
X, Y, TARGETS = ROWS.X, ROWS.y, ROWS.targets
WAVE = np.repeat([1.0, -1.0, -1.0, 1.0], 10)  # orthogonal to STEP
STEP = np.repeat([0, 1, 0, 1], 10)

Call = Callable[[], Any]

REFUSED: dict[str, tuple[Call, type[PcatoolError], str]] = {
    "one class": (
        lambda: fit(X, np.zeros(40), classes=True),
        DataError,
        "label 'y' is 'class 0' in every row: nothing can depend on it; give a label that varies",
    ),
    "one value": (lambda: fit(X, np.full(40, 2.5)), DataError, "label 'y' is '2.5' in every row"),
    "one value, rbf": (
        lambda: fit(X, np.full(40, 2.5), label_kernel="rbf"),
        DataError,
        "label 'y' is '2.5' in every row",
    ),
    "several labels of one value": (
        lambda: fit(X, np.tile([1.0, 3.0], (40, 1))),
        DataError,
        "labels 'y1', 'y2' are '1, 3' in every row: nothing can depend on them; give labels that vary",
    ),
    "no rows": (lambda: fit(X[:0], Y[:0], classes=True), DataError, "no rows to fit"),
    "no rows, rbf": (lambda: fit(X[:0], TARGETS[:0], label_kernel="rbf"), DataError, "no rows to fit"),
    "one row": (
        lambda: fit(X[:1], Y[:1], classes=True),
        DataError,
        "a centred fit needs at least 2 rows, but the data have 1 row",
    ),
    "one row, rbf": (lambda: fit(X[:1], TARGETS[:1], label_kernel="rbf"), DataError, "needs at least 2 rows"),
    "constant columns": (lambda: fit(np.ones((40, 3)), Y, classes=True), DataError, "all 3 columns are constant"),
    "constant columns, rbf": (
        lambda: fit(np.ones((40, 3)), TARGETS, label_kernel="rbf"),
        DataError,
        "all 3 columns are constant",
    ),
    "independent": (
        lambda: fit(WAVE[:, None], STEP, classes=True),
        DataError,
        "no column depends on label 'y': the products of the columns with the label are only rounding error; "
        "name another label with --label, or other columns with -c",
    ),
    "k above the bound": (
        lambda: fit(X, Y, classes=True, components=6),
        DataError,
        "-k 6 is more than the data can have: 40 rows and 5 columns give at most 5 components",
    ),
    "rows overflow": (lambda: fit(X * 1e200, Y, classes=True), RefusedError, "squares of the values of columns"),
    "rows underflow": (lambda: fit(X * 1e-170, Y, classes=True), RefusedError, "underflow a double"),
    "label overflows": (lambda: fit(X, TARGETS * 1e200), RefusedError, "squares of label 'y1' overflow a double"),
    "products overflow": (
        lambda: fit(X * 1e140, TARGETS * 1e140),
        RefusedError,
        "products of the values and the label overflow a double; rescale the columns or the label",
    ),
    "products underflow": (
        lambda: fit(X * 1e-100, TARGETS * 1e-100),
        RefusedError,
        "products of the values and the label underflow a double",
    ),
    **{
        f"rule {rule}": (
            lambda rule=rule: fit(X, Y, classes=True, components=rule),  # type: ignore[misc]
            UsageError,
            f"-k '{rule}' does not go with --method supervised: the rule needs --method pca",
        )
        for rule in ("parallel", "parallel-95", "mle", "gavish-donoho", "marchenko-pastur", "cross-validation")
    },
    "graph kernel": (
        lambda: fit(X, Y, classes=True, kernel="mds"),
        UsageError,
        "--kernel mds does not go with --method supervised; use --kernel rbf or linear",
    ),
    "k above the rows, kernel": (
        lambda: fit(X, Y, classes=True, kernel="rbf", components=41),
        DataError,
        "-k 41 is not possible: a kernel matrix of 40 rows gives at most 40 components; use -k 40",
    ),
    "one class, kernel": (
        lambda: fit(X, np.zeros(40), classes=True, kernel="rbf"),
        DataError,
        "label 'y' is 'class 0' in every row",
    ),
    "one value, kernel": (lambda: fit(X, np.ones(40), kernel="rbf"), DataError, "label 'y' is '1' in every row"),
    "kernel overflows": (
        lambda: fit(X * 1e60, Y, classes=True, kernel="polynomial"),
        RefusedError,
        "values of kernel polynomial overflow a double",
    ),
    "one row, precomputed": (
        lambda: fit(np.ones((1, 1)), Y[:1], classes=True, kernel="precomputed"),
        DataError,
        "needs at least 2 rows",
    ),
}


@pytest.mark.parametrize("what", list(REFUSED))
def test_refusal(what: str) -> None:
    call, kind, text = REFUSED[what]
    with pytest.raises(kind) as refusal:
        call()
    assert text in str(refusal.value)


def test_a_label_is_needed() -> None:
    method = SupervisedPCA(FitOptions(method="supervised", label=("y",)), Reporter())
    with pytest.raises(UsageError, match="--method supervised needs a label; give the name of the label column"):
        method.fit(iter([X]), columns_of(X))


def test_one_constant_label_among_others_is_no_matter() -> None:
    with_it = fit(X, np.column_stack([TARGETS, np.ones(40)]), components="all").model
    np.testing.assert_allclose(with_it.basis, fit(X, TARGETS, components="all").model.basis, atol=1e-12)


# --- memory ---


def resources(**more: Any) -> dict[str, Any]:
    return more


def test_too_little_memory_is_refused_beforehand() -> None:
    with pytest.raises(RefusedError) as refusal:
        fit(X, TARGETS, label_kernel="rbf", resources=resources(limit=1000))
    assert "solver label-kernel for 40 rows of 5 columns takes about" in str(refusal.value)
    assert "the limit is 1 kB (set by --memory; by default half of the free memory)" in str(refusal.value)
    holds_no_rows = "to keep no rows in memory, give --label-kernel linear (or delta for classes), without --kernel"
    assert refusal.value.remedy.startswith(f"{holds_no_rows}, or give --memory ")


def many_rows() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """More than are held on the way in."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(500_000, 9)), rng.normal(size=500_000)


HOLDING = pytest.mark.parametrize(
    "options", [{"label_kernel": "rbf"}, {"kernel": "rbf"}], ids=["label kernel", "kernel"]
)


@HOLDING
def test_expected_rows_are_refused_before_they_are_read(options: dict[str, Any]) -> None:
    rows, y = many_rows()
    with pytest.raises(RefusedError, match="for about 500,000 rows of 9 columns"):
        fit(rows, y, resources=resources(limit=160 << 20, expected=lambda: 500_000), **options)


@HOLDING
def test_rows_that_nobody_counted_are_weighed_as_they_come(options: dict[str, Any]) -> None:
    rows, y = many_rows()
    limit = 130 << 20
    with pytest.raises(RefusedError, match=r"holding the first [0-9,]+ rows takes about") as refusal:
        fit(rows, y, resources=resources(limit=limit), **options)
    count = int(refusal.value.message.split("the first ")[1].split()[0].replace(",", ""))
    assert 8 * HELD_COPIES * count * 10 < limit / 2  # the program takes most of it


def test_classes_are_weighed_as_they_come() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(RefusedError) as refusal:
        fit(rng.normal(size=(9000, 500)), np.arange(9000), classes=True, resources=resources(limit=160 << 20))
    assert re.search("a table of 500 columns by [0-9,]+ classes of label 'y' takes about", str(refusal.value))
    assert "--label-kernel linear" in refusal.value.remedy


def test_a_plan_says_what_would_be_done() -> None:
    table = np.hstack([X, TARGETS])
    for options, solver in (
        ({}, "cross-moment"),
        ({"label_kernel": "rbf"}, "label-kernel"),
        ({"kernel": "rbf"}, "kernel"),
    ):
        method = SupervisedPCA(FitOptions(method="supervised", label=("y",), **options), Reporter())
        plan = method.plan(iter([table]), columns_of(X), resources=FitResources(labels=labels_of(TARGETS), threads=2))
        assert (plan.solver, plan.rows, plan.columns, plan.passes, plan.threads) == (solver, 40, 5, "1", 2)
        assert plan.peak_bytes > PROGRAM_BYTES


def test_the_dimensions_of_a_label_are_reckoned_with_in_kernel_form() -> None:
    rows = np.random.default_rng(0).normal(size=(2000, 3))
    with pytest.raises(RefusedError, match=r"takes about 3\d\d MB; the limit is 200 MB"):
        fit(rows, np.arange(2000), classes=True, kernel="rbf", resources=resources(limit=200_000_000))
