"""Fits of rows with missing cells: what is said of doubtful results, and tables with one line for each cell."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.arrays import Array, recut
from pcatool.errors import DataError, PcatoolNote, PcatoolWarning, UsageError
from pcatool.methods.base import FitResources
from pcatool.methods.missing_data import IncompletePCA, warn_mostly_missing
from pcatool.model.model import Model
from pcatool.options import FitOptions
from pcatool.progress import Reporter

TRIPLES = {"triples": ("user", "item", "rating")}


def fitted(data: Any, **settings: Any) -> tuple[Model, list[str]]:
    """A model, and the warnings of its fit."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = pcatool.fit(data, **settings)
    return model, [str(warning.message) for warning in said if issubclass(warning.category, PcatoolWarning)]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# --- warnings ---


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([0.4, 0.9], "PC1 is unreliable: at most 40.00% of its cells; leave out x"),
        ([0.9, 0.4, 0.3], "PC2, PC3 are unreliable: at most 40.00% of their cells; use -k 1, or leave out x"),
    ],
)
def test_fewer_components_are_advised_only_where_some_are_reliable(shares: list[float], said: str) -> None:
    reporter = Reporter()
    warn_mostly_missing(reporter, np.array(shares), "cells", "leave out x")
    assert reporter.warnings == [said]


def test_the_remedy_for_triples_names_the_column_of_items(rng: np.random.Generator) -> None:
    lines = pd.DataFrame({"user": range(40), "item": [f"i{j % 4}" for j in range(40)], "rating": rng.normal(size=40)})
    said = fitted(lines, **TRIPLES, missing="mean", components=1)[1]
    assert any(
        text.endswith("remove the lines of items (values of column 'item') that have few lines") for text in said
    )


@pytest.mark.parametrize("how", ["mean", "em"])
def test_groups_of_columns_that_no_row_links_are_named(how: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 6))
    X[:20, :3] = X[20:, 3:] = np.nan
    _, said = fitted(X, components=1, missing=how)
    assert said[0] == (
        "no row has values in more than one of these 2 groups of columns: ('c1', 'c2', 'c3'), ('c4', 'c5', 'c6'); "
        "the data do not show how columns of different groups vary together, so fit each group by itself"
    )
    X[20, 5] = 1.0  # a row with cells of both
    assert "groups of columns" not in "".join(fitted(X, components=1, missing=how)[1])


@pytest.mark.parametrize(("k", "remedy"), [(1, ""), (2, "; use a smaller value of components")])
def test_components_that_leave_no_noise(k: int, remedy: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, k)) @ rng.normal(size=(k, 5)) + 1
    X[::4, 1] = np.nan
    assert fitted(X, components=k, missing="em")[1] == [
        f"the components explain every observed cell and leave no noise{remedy}"
    ]


def test_variances_too_different_for_the_noise_of_em(rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, 1)) * [1.0, 2e6, 3.0]
    X[0, 0] = np.nan
    _, said = fitted(X, components=1, missing="em")
    assert (
        "column variances differ so much that EM cannot estimate noise in the columns of small variance; "
        "use standardize=True" in said
    )


def test_a_column_with_more_variance_in_the_fit_than_in_its_cells_is_named(rng: np.random.Generator) -> None:
    a = rng.normal(size=1000)
    b = np.where(np.abs(a) < 0.3, a, np.nan) + 0.01 * rng.normal(size=1000)
    _, said = fitted(pd.DataFrame({"a": a, "b": b, "c": a + 0.1 * rng.normal(size=1000)}), components=1, missing="em")
    assert any("is more than 3 times their observed variance: 'b'; use" in text for text in said)


def test_a_share_past_the_noise_says_how_many_components_are_kept(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 12)) * 3 + rng.normal(size=(300, 12))
    X[rng.random(X.shape) < 0.1] = np.nan
    with pytest.warns(
        PcatoolNote, match=r"0\.999 would need components as weak as the noise, so the model keeps only \d"
    ):
        pcatool.fit(X, components=0.999, missing="em")


def test_centred_rows_are_filled_in_two_passes(rng: np.random.Generator) -> None:
    """As the table with means in its missing cells."""
    X = rng.normal(size=(50, 4)) + 1e6
    X[::7, 2] = X[3, 0] = np.nan
    whole = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    assert fitted(X, missing="mean", center_rows=True, components=2)[0].k == 2
    model, said = fitted(X, missing="mean", solver="svd", components=2)
    expected, _ = fitted(whole, solver="svd", components=2)
    np.testing.assert_allclose(model.eigenvalues, expected.eigenvalues, rtol=1e-9)
    assert said == []


# --- one line for each cell ---


def lines_of(X: Array) -> pd.DataFrame:
    rows, columns = np.nonzero(~np.isnan(X))
    return pd.DataFrame({"user": rows, "item": [f"i{j}" for j in columns], "rating": X[rows, columns]})


def frame_of(X: Array) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"i{j}" for j in range(X.shape[1])])


def test_lines_of_all_cells_are_the_table(rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, 4))
    lines, _ = fitted(lines_of(X), **TRIPLES, components=2)
    table, _ = fitted(frame_of(X), components=2)
    for name in ("eigenvalues", "basis", "mean"):
        assert getattr(lines, name).tobytes() == getattr(table, name).tobytes()
    assert lines.columns == table.columns


@pytest.mark.parametrize("how", [{"missing": "mean"}, {"missing": "em"}, {"absent": "zero"}])
def test_lines_of_some_cells_are_the_table_with_holes(how: dict[str, str], rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(60, 6))
    X[rng.random(X.shape) < 0.3] = np.nan
    X = X[~np.isnan(X).all(axis=1)]  # who has no cell has no line
    lines, said = fitted(lines_of(X), **TRIPLES, **how, components=2)
    zeros = np.nan_to_num(X) if "absent" in how else X
    table, _ = fitted(frame_of(zeros), components=2, **({} if "absent" in how else how))
    close = 1e-6 if how.get("missing") == "em" else 1e-10  # EM climbs by sums of another order
    np.testing.assert_allclose(lines.eigenvalues[:2], table.eigenvalues[:2], rtol=close)
    np.testing.assert_allclose(np.abs((lines.basis * table.basis).sum(axis=0)), 1, rtol=close)
    assert said == []


@pytest.mark.parametrize("how", [{}, {"missing": "em"}, {"missing": "mean"}, {"absent": "zero"}])
def test_the_plan_of_lines_is_the_way_that_the_fit_takes(how: dict[str, str], rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 6))
    X[rng.random(X.shape) < 0.3] = np.nan
    lines = lines_of(X)
    plan = pcatool.plan(lines, **TRIPLES, **how, components=2)
    model, _ = fitted(lines, **TRIPLES, **how, components=2)
    assert plan["solver"] == model.meta["solver"]
    assert model.meta["reason"].startswith(plan["reason"])
    assert (plan["rows"], plan["columns"]) == (60, 6)


def test_lines_that_em_cannot_fit_are_refused_by_plan_and_fit(rng: np.random.Generator) -> None:
    X = rng.normal(size=(4, 3))
    X[range(4), [0, 1, 2, 0]] = np.nan
    for work in (pcatool.plan, pcatool.fit):
        with pytest.raises(
            DataError, match="with 3 columns needs more than 9 observed cells, but the data have 8 observed cells"
        ):
            work(lines_of(X), **TRIPLES, missing="em", components=3)
        with pytest.raises(
            UsageError, match=r"=0\.9 is not possible with triples: cells are missing, and EM needs a number"
        ):
            work(lines_of(X), **TRIPLES, missing="em", components=0.9)


# --- plans ---


def test_reading_is_over_when_rows_are_filled_with_means() -> None:
    """The first of several passes takes the means; with 675 columns 376 MB were planned, and 270 taken."""
    d, n = 700, 3000

    def planned(reading: int, **more: Any) -> int:
        resources = FitResources(
            reading=lambda threads: reading, expected=lambda: 20_000, threads=2, small=1 << 20, **more
        )
        method = IncompletePCA(FitOptions(missing="mean", solver="tsqr", components=3), Reporter())
        blocks = recut([np.ones((n, d))], d)
        return method.plan(blocks, tuple(f"c{j}" for j in range(d)), resources=resources).peak_bytes

    least, size = planned(0), 40 << 20
    assert least < planned(size) < least + 0.3 * size
    assert planned(1 << 30) > 1 << 30
    again = {"reread": lambda: iter(())}
    assert planned(size, **again) > planned(0, **again) + size  # a table in memory is read again in each pass
