"""What kernel PCA refuses, and what it says beside its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kernels.helpers import GRAPHS, Array, cloud, fit, names, whole_fit
from pcatool.arrays import recut
from pcatool.errors import DataError, RefusedError, UsageError
from pcatool.methods.base import FitResources
from pcatool.methods.kernel import KernelPCA
from pcatool.options import FitOptions
from pcatool.progress import Reporter
from pcatool.registry import RULES

X = cloud(40, 3)


def method(**asked: Any) -> KernelPCA:
    return KernelPCA(FitOptions(**{"method": "kernel", **asked}), Reporter())


def warned(rows: Array = X, **asked: Any) -> list[str]:
    reporter = Reporter()
    whole_fit(rows, reporter=reporter, **asked)
    return reporter.warnings


# --- numbers of components ---


@pytest.mark.parametrize("rule", [name for name in RULES if not RULES[name].any_method])
def test_rules_that_do_not_suit_any_method_are_refused(rule: str) -> None:
    with pytest.raises(UsageError, match=f"-k '{rule}' does not go with --method kernel: the rule needs --method pca"):
        method(components=rule)


@pytest.mark.parametrize(
    "rule", [*(name for name in RULES if RULES[name].any_method), "ratio:0.1", "eigenvalue:0.01", 0.9]
)
def test_rules_that_look_at_eigenvalues_work(rule: str | float) -> None:
    assert 1 <= fit(X, components=rule).k <= 39


def test_more_components_than_rows_are_refused() -> None:
    with pytest.raises(
        DataError, match=r"-k 41 is not possible: a kernel matrix of 40 rows gives at most 40.*use -k 40 or less"
    ):
        fit(X, components=41)
    with pytest.raises(DataError, match=r"-k 11 is not possible: a kernel .* of 10 landmarks .*, or more --landmarks$"):
        fit(X, components=11, landmarks=10)


def test_components_past_the_rank_carry_nothing() -> None:
    model = whole_fit(X, kernel="linear", components=40).model
    assert warned(kernel="linear", components=40)[0] == (
        "PC4 to PC40 explain no variance: their eigenvalues and scores are 0, "
        "because the kernel matrix has rank 3 (-k all keeps 3)"
    )
    assert warned(kernel="linear", components=4)[0].startswith(
        "PC4 explains no variance: its eigenvalue and scores are 0, because"
    )
    assert not model.eigenvalues[3:].any()
    assert not model.project(X)[:, 3:].any()
    assert fit(X, kernel="linear", components="all").k == 3


# --- rows ---


@pytest.mark.parametrize("landmarks", [None, 5])
def test_too_few_rows(landmarks: int | None) -> None:
    with pytest.raises(DataError, match="no rows to fit"):
        fit(X[:0], landmarks=landmarks)
    with pytest.raises(
        DataError, match="a centred fit needs at least 2 rows, but the data have 1 row; give more rows, or fit with"
    ):
        fit(X[:1], landmarks=landmarks)
    with pytest.raises(DataError, match="--ddof 1 leaves a divisor of 0 for 1 row; use --ddof 0"):
        fit(X[:1], center=False, ddof=1, landmarks=landmarks)


def test_one_row_not_centred() -> None:
    model = fit(X[:1], center=False)
    assert model.project(X[:1]) == [[1.0]]


@pytest.mark.parametrize("kernel", ["rbf", "cosine", "isomap"])
def test_equal_rows_alone_are_refused(kernel: str) -> None:
    with pytest.raises(DataError, match="all 3 columns are constant: there is no variance to explain; add a column"):
        fit(np.ones((20, 3)), kernel=kernel)
    with pytest.raises(DataError, match="column 'c1' is constant"):
        fit(np.ones((20, 1)), kernel=kernel)


@pytest.mark.parametrize("asked", [{"kernel": "cosine"}, {"kernel": "cosine", "landmarks": 5}], ids=str)
def test_a_kernel_that_sees_no_difference_is_refused(asked: dict[str, Any]) -> None:
    rows = np.outer(np.arange(1.0, 21.0), [1.0, 2.0])  # all in one direction
    with pytest.raises(DataError, match="the centred kernel matrix has no eigenvalue that is larger than rounding"):
        fit(rows, **asked)


@pytest.mark.parametrize("landmarks", [3, 5])
def test_landmarks_that_tell_rows_apart_by_rounding_only_are_refused(landmarks: int) -> None:
    rows = 1 + 1e-8 * np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(DataError, match="the centred kernel matrix has no eigenvalue that is larger than rounding"):
        fit(rows, kernel="cosine", landmarks=landmarks, components=1)


def test_a_row_far_from_all_landmarks_whose_values_overflow_is_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 2))
    rows[7] = 1e12
    for seed in range(3):  # it is a landmark of the last
        with pytest.raises(RefusedError, match="values of kernel polynomial overflow a double; rescale the columns"):
            fit(rows, kernel="polynomial", degree=30.0, gamma=1.0, landmarks=5, components=1, seed=seed)


def test_nothing_but_zeros_is_refused() -> None:
    for landmarks in (None, 5):
        with pytest.raises(DataError, match="no eigenvalue that is"):
            fit(np.zeros((20, 2)), kernel="linear", center=False, landmarks=landmarks)


def test_a_constant_column_is_named() -> None:
    reporter = Reporter()
    whole_fit(np.column_stack([X, np.ones(40)]), reporter=reporter, components=2)
    assert reporter.notes == ["kept constant column 'c4', which adds nothing to the kernel"]
    reporter = Reporter()
    whole_fit(np.column_stack([np.zeros(40), X, np.ones(40)]), reporter=reporter, components=2)
    assert reporter.notes == ["kept constant columns 'c1', 'c5', which add nothing to the kernel"]


@pytest.mark.parametrize(
    ("asked", "scale"),
    [
        ({"kernel": "polynomial"}, 1e80),
        ({"kernel": "linear"}, 1e160),
        ({"kernel": "polynomial", "landmarks": 5}, 1e80),
        ({"kernel": "mds"}, 1e160),
    ],
    ids=str,
)
def test_overflow_is_refused(asked: dict[str, Any], scale: float) -> None:
    with pytest.raises(RefusedError, match="overflow a double; rescale the columns"):
        fit(X * scale, **asked)


@pytest.mark.parametrize("kernel", ["linear", "mds", "isomap"])
def test_values_that_underflow_are_refused(kernel: str) -> None:
    with pytest.raises(RefusedError, match=f"values of kernel {kernel} underflow a double; rescale the columns"):
        fit(X * 1e-160, kernel=kernel)


@pytest.mark.parametrize("kernel", ["cosine", "sigmoid", *GRAPHS])
def test_variances_that_overflow_are_refused(kernel: str) -> None:
    with pytest.raises(RefusedError, match=r"squares of the values of columns 'c1', .* overflow a double; rescale"):
        fit(X * 1e160, kernel=kernel)


def test_standard_deviations_that_underflow_are_refused() -> None:
    with pytest.raises(RefusedError, match="squares of the values of column 'c2' underflow a double; rescale"):
        fit(X * [1.0, 1e-200, 1.0], standardize=True)


@pytest.mark.parametrize("kernel", GRAPHS)
def test_distances_that_overflow_are_refused(kernel: str) -> None:
    rows = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]) * 0.9e154  # their variances are still in range
    with pytest.raises(RefusedError, match="distances between rows overflow a double; rescale the columns"):
        fit(rows, kernel=kernel, neighbours=2)


def test_a_share_of_nearly_equal_eigenvalues_is_remarked() -> None:
    reporter = Reporter()
    whole_fit(X, kernel="lle", neighbours=6, reporter=reporter)
    assert "so -k 0.99 needs 38 components; give a number of components with -k" in reporter.notes[0]


# --- kernels that are no inner products ---


def test_negative_eigenvalues_are_left_out_and_named() -> None:
    [text] = warned(np.diag([3.0, 2.0, 1.0, -0.5]), kernel="precomputed", components=2, center=False)
    assert text == (
        "kernel precomputed is not positive semidefinite for these data: 1 of 4 eigenvalues is negative "
        "(the lowest eigenvalue is -0.17 times the largest); negative eigenvalues give no components"
    )
    model = fit(np.diag([3.0, 2.0, 1.0, -0.5]), kernel="precomputed", components="all", center=False)
    assert model.k == 3
    assert model.total_variance == pytest.approx(6 / 4)
    assert np.isfinite(model.project(np.eye(4))).all()


def test_a_kernel_with_nothing_above_zero_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"no eigenvalue that is larger than rounding error; give another kernel matrix$"
    ):
        fit(-np.eye(6), kernel="precomputed")


def test_remedies_name_only_parameters_that_the_kernel_has() -> None:
    rows = np.outer(np.arange(1.0, 21.0), [1.0, 2.0])  # all in one direction
    with pytest.raises(DataError, match=r"no eigenvalue that is larger than rounding error; use another --kernel$"):
        fit(rows, kernel="cosine")
    with pytest.raises(DataError, match=r"; use another --kernel, or another value for --gamma$"):
        fit(rows, kernel="rbf", gamma=1e-30)
    with pytest.raises(RefusedError, match=r"overflow a double; divide all values of the table by the same number$"):
        fit(np.full((3, 3), 1.7e308), kernel="precomputed")
    with pytest.raises(RefusedError, match=r"underflow a double; multiply all values of the table by the same number$"):
        fit(np.eye(3) * 1e-305, kernel="precomputed")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rows_whose_squares_underflow_are_not_called_equal(kernel: str) -> None:
    with pytest.raises(RefusedError, match=r"squares of the values of the columns underflow a double; rescale the col"):
        fit(X * 1e-170, kernel=kernel)


def test_eigenvalues_that_rounding_made_are_named() -> None:
    texts = warned(cloud(60, 2), components="all")
    assert any("accurate to fewer than 8 digits; give a smaller -k" in text for text in texts)


def test_rough_components_of_a_graph_are_named() -> None:
    texts = warned(kernel="laplacian-eigenmap", neighbours=6, components="all")
    assert any(
        "and later components are unreliable, because" in text and "scores on these components; use -k" in text
        for text in texts
    )


# --- tables ---


def test_a_table_that_is_not_square_is_refused() -> None:
    with pytest.raises(
        DataError, match="--kernel precomputed: the table has 40 rows and 3 columns, but a kernel matrix is square"
    ):
        fit(X, kernel="precomputed")


def test_a_table_that_is_not_symmetric_is_refused() -> None:
    K = np.eye(5)
    K[1, 3] = 0.25
    with pytest.raises(
        DataError, match=r"not symmetric: row 2, column 4 is 0.25, but row 4, column 2 is 0; give a symmetric table"
    ):
        fit(K, kernel="precomputed")


# --- landmarks ---


@pytest.mark.parametrize("kernel", ["precomputed", *GRAPHS])
def test_kernels_that_need_every_row_take_no_landmarks(kernel: str) -> None:
    with pytest.raises(UsageError, match=f"--landmarks does not go with --kernel {kernel}"):
        fit(X, kernel=kernel, landmarks=5)


# --- memory ---


def test_a_table_too_long_is_refused_before_the_work() -> None:
    """100,000 rows are announced; none but the first block is looked at."""
    resources = FitResources(limit=1 << 30, expected=lambda: 100_000)
    endless = recut((cloud(8192, 20, seed=s) for s in range(1000)), 20)
    with pytest.raises(
        RefusedError, match=r"kernel PCA of .* rows .* needs .* GB for matrices.*; give --landmarks 1000"
    ):
        method(components=3).fit(endless, names(20), resources=resources)


def test_rows_of_a_pipe_are_counted_as_they_come() -> None:
    taken = 0

    def pipe() -> Iterator[Array]:
        nonlocal taken
        while True:
            taken += 1
            yield cloud(1024, 3)

    with pytest.raises(RefusedError, match=r"kernel PCA of [\d,]+ rows \(read so far\).*; the limit is 300 MB"):
        method(components=3).fit(pipe(), names(3), resources=FitResources(limit=300_000_000))
    assert taken < 8


def test_kernels_of_a_graph_have_no_other_way() -> None:
    with pytest.raises(RefusedError, match="give fewer rows"):
        method(kernel="lle", components=3).fit(
            iter([cloud(4096, 3)]), names(3), resources=FitResources(limit=200_000_000)
        )


def test_too_many_landmarks_are_refused() -> None:
    resources = FitResources(limit=300_000_000)
    with pytest.raises(RefusedError, match=r"--landmarks 4000 needs about .* GB; the limit is 300 MB.*fewer landmarks"):
        method(components=3, landmarks=4000).fit(iter([cloud(5000, 3)]), names(3), resources=resources)


def test_the_plan() -> None:
    def planned(n: int, **asked: Any) -> tuple[str, str, int | None]:
        plan = method(**asked).plan(recut([cloud(n, 3)], 3), names(3), resources=FitResources(limit=1))
        return plan.solver, plan.passes, plan.rows

    assert planned(100) == ("lapack", "1", 100)
    assert planned(2000, components=3) == ("lanczos", "1", 2000)
    assert planned(2000, components=3, landmarks=100) == ("nystroem", "2", 2000)
    assert planned(100, landmarks=100) == ("lapack", "1", 100)


def test_reading_is_over_when_the_rows_are_compared_with_landmarks() -> None:
    """The second of two passes takes kept rows; with 80 columns 246 MB were planned, and 170 taken."""

    def planned(reading: int, **more: Any) -> int:
        resources = FitResources(reading=lambda threads: reading, **more)
        asked = method(landmarks=1000, components=3)
        return asked.plan(recut([cloud(4000, 30)], 30), names(30), resources=resources).peak_bytes

    least, size = planned(0), 40 << 20
    assert least < planned(size) < least + 0.3 * size
    assert planned(1 << 30) > 1 << 30
    assert planned(size, reread=lambda: iter(())) > least + size  # a table in memory is read again in each pass


def test_memory_of_a_plan_grows_with_the_square_of_the_rows() -> None:
    def peak(n: int, **asked: Any) -> int:
        return method(components=3, **asked).plan(recut([cloud(n, 3)], 3), names(3)).peak_bytes

    assert 3 < (peak(8000) - peak(0)) / (peak(4000) - peak(0)) < 5
    assert peak(8000, landmarks=100) - peak(4000, landmarks=100) < 1 << 20


def test_the_inverse_of_a_graph_is_reckoned_with() -> None:
    with pytest.raises(RefusedError, match=r"kernel PCA of 4,000 rows \(read so far\) needs .* the limit is 400 MB"):
        method(kernel="laplacian-eigenmap", components=3).fit(
            recut([cloud(4000, 3)], 3), names(3), resources=FitResources(limit=400_000_000)
        )


def test_lanczos_without_an_end_may_not_take_more_than_was_allowed() -> None:
    """A narrow kernel has no leading components; what LAPACK needs instead is asked for anew."""
    X = cloud(1500, 5)
    asked: dict[str, Any] = {"gamma": 50.0, "components": 80}
    needs = method(**asked).plan(recut([X], 5), names(5), resources=FitResources()).peak_bytes
    resources = FitResources(limit=needs + 1, expected=lambda: len(X))
    with pytest.raises(RefusedError, match="Lanczos did not converge"):
        method(**asked).fit(recut([X], 5), names(5), resources=resources)
