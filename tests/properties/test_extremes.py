"""Numbers at the ends of what a double holds, by every method: the right answer, or a refusal, and never a warning.

Powers of two change no digit, so what a fit makes of scaled rows is known from what it makes of the rows themselves.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pcatool
from pcatool.arrays import Array
from pcatool.errors import DataError, PcatoolError, PcatoolWarning, RefusedError
from pcatool.registry import KERNELS, SOLVERS

X: Array = np.random.default_rng(7).standard_normal((12, 4)) * [1, 2, 3, 4]
HOLES = np.where(np.eye(12, 4, dtype=bool), np.nan, X)
TINY, MOST = np.finfo(np.float64).tiny, np.finfo(np.float64).max

# Settings, the rows, and what scaling the rows by s does to eigenvalues and scores: times s to this power.
METHODS: dict[str, tuple[dict[str, Any], Array, int, int]] = {
    **{f"solver {solver}": ({"solver": solver}, X, 2, 1) for solver in SOLVERS},
    "standardised": ({"standardize": True}, X, 0, 0),
    "not centred": ({"center": False}, X, 2, 1),
    "standardised, not centred": ({"standardize": True, "center": False}, X, 0, 0),
    "rows centred": ({"center_rows": True, "components": 2}, X, 2, 1),
    "whitened": ({"whiten": "pca", "components": 2}, X, 2, 0),
    "zca": ({"whiten": "zca"}, X, 2, 0),
    "means for holes": ({"missing": "mean", "components": 2}, HOLES, 2, 1),
    "em": ({"missing": "em", "components": 2}, HOLES, 2, 1),
    "supervised": ({"method": "supervised", "label": "label", "components": 1}, X, 2, 1),
    **{
        f"kernel {kernel}": ({"method": "kernel", "kernel": kernel, "components": 2}, X, *powers)
        for kernel, powers in {"linear": (2, 1), "mds": (2, 1), "isomap": (2, 1), "cosine": (0, 0)}.items()
    },
}
SCALES = [2.0**power for power in (-1030, -1000, -530, -460, 460, 495, 512, 1000)]
FITS = 2.0**460  # where squares neither overflow nor underflow, nothing is refused


def table(rows: Array) -> Any:
    import pandas as pd

    return pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])


def fit(rows: Array, settings: dict[str, Any]) -> tuple[Array, Array]:
    """Eigenvalues and scores."""
    frame = table(rows)
    if "label" in settings:
        frame["label"] = ["x", "y", "z"] * (len(rows) // 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PcatoolWarning)
        model = pcatool.fit(frame, **settings)
        if np.isnan(rows).any():
            return model.eigenvalues, np.zeros((0, model.k))
        return model.eigenvalues, np.asarray(pcatool.transform(model, frame))


@pytest.mark.parametrize("name", METHODS)
def test_rows_times_a_power_of_two(name: str) -> None:
    settings, rows, of_eigenvalues, of_scores = METHODS[name]
    values, scores = fit(rows, settings)
    for scale in SCALES:
        try:
            found, found_scores = fit(rows * scale, settings)
        except RefusedError as error:
            assert "overflow" in str(error) or "underflow" in str(error), scale
            assert not 1 / FITS <= scale <= FITS, (scale, error)
            continue
        except DataError as error:
            assert "no eigenvalue that is larger" in str(error) and scale < 2.0**-512, (scale, error)
            continue
        # Scaled back one factor at a time, which neither overflows nor underflows.
        for _ in range(of_eigenvalues):
            found = found / scale
        assert np.allclose(found, values, rtol=1e-9, atol=1e-12 * values[0]), scale
        assert np.allclose(found_scores / scale**of_scores, scores, rtol=1e-6, atol=1e-9), scale


WILD: dict[str, Array] = {
    "largest and smallest": np.where(X > 0, MOST, TINY),
    "largest, of both signs": np.sign(X) * MOST,
    "one row of the largest": np.vstack([X, [MOST, -MOST, MOST, -MOST]]),
    "columns far apart": X * [1e-300, 1, 1, 1e300],
    "columns far apart, all small": X * [1e-300, 1e-300, 1e-150, 1],
    "columns as far apart as squares allow": X * [1e-130, 1e-40, 1e40, 1e130],
    "subnormal": np.round(X * 3) * 5e-324,
    "constant, largest": np.full((6, 3), MOST),
    "constant, subnormal": np.full((6, 3), 5e-324),
    "zeros": np.zeros((6, 3)),
    "a rounding apart": 1 + np.finfo(np.float64).eps * np.round(X),
    "around the largest": 1.7e308 + np.round(X) * 2.0**971,
    "one row": X[:1],
    "one row of the largest only": np.full((1, 3), MOST),
    "two rows": X[:2],
    "the same row": np.repeat(X[:1], 6, axis=0),
    "one column": X[:, :1],
    "more columns than rows": X.T * 1e100,
    "infinite": np.where(X > 4, np.inf, X),
}
SETTINGS = [settings for name, (settings, rows, _, _) in METHODS.items() if name != "supervised"] + [
    {"method": "kernel", "kernel": kernel} for kernel in KERNELS if kernel not in ("precomputed", "linear")
]


@pytest.mark.parametrize("name", WILD)
def test_what_nobody_should_fit(name: str) -> None:
    """Finite numbers, or a refusal with an exit code of its own."""
    for settings in [*SETTINGS, {"components": 2}, {"components": "all"}, {"ddof": 1}, {"components": "parallel"}]:
        try:
            values, scores = fit(WILD[name], settings)
        except PcatoolError as error:
            assert error.exit_code in (3, 6), (settings, error)
            continue
        assert np.isfinite(values).all() and np.isfinite(scores).all(), settings
        assert (values >= 0).all() and values[0] > 0, settings


@pytest.mark.parametrize("solver", list(SOLVERS))
@pytest.mark.parametrize(
    ("scales", "named"),
    [
        ((1, 1e200, 1), "column 'c2'"),
        ((1e200, 1, 1e170), "columns 'c1', 'c3'"),
        ((0.8e154, 0.81e154, 0.8e154), "column 'c2'"),  # only the sum of all overflows
    ],
)
def test_columns_that_overflow_are_named(scales: tuple[float, ...], named: str, solver: str) -> None:
    rows = np.array([[1.0, 1, 1], [-1, -1, -1]]) * scales
    with pytest.raises(RefusedError, match=f"^squares of the values of {named} overflow a double; rescale the column"):
        pcatool.fit(rows, solver=solver, components=1)


@pytest.mark.filterwarnings("ignore::pcatool.PcatoolWarning")
@pytest.mark.parametrize("settings", [{}, {"center": False}, {"standardize": True}, {"solver": "tsqr"}])
def test_sums_near_the_largest_double_are_those_of_their_model(settings: dict[str, Any]) -> None:
    """Products of the sums overflow where those of the covariance do not."""
    rows = np.array([[9e153, 8e153, 2], [-9e153, -6e153, 3], [1, 2, 4]])
    model = pcatool.fit(rows, components=1, **settings)
    assert model.statistic is not None
    if not settings:
        expected = np.linalg.eigvalsh(np.cov(rows.T / 1e153, ddof=0))[-1] * 1e306
        assert model.eigenvalues[0] == pytest.approx(expected, rel=1e-12)
