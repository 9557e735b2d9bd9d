"""Warnings of `update` about the new rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pcatool

RNG = np.random.default_rng(1)
X = RNG.normal(5, 1, size=(400, 4))
CONSTANT = "column 'c2' has the value 0 in all 50 new rows, but varied in the model"


def new_rows(value: float, *columns: int, n: int = 50) -> Any:
    rows = RNG.normal(5, 1, size=(n, 4))
    rows[:, columns] = value
    return rows


@pytest.mark.parametrize(
    "settings",
    [{}, {"solver": "tsqr"}, {"standardize": True}, {"center": False}],
    ids=["covariance", "tsqr", "standardized", "not centred"],
)
def test_a_column_that_is_constant_in_the_new_rows(settings: dict[str, Any]) -> None:
    model = pcatool.fit(X, components=2, **settings)
    with pytest.warns(pcatool.PcatoolWarning, match=CONSTANT):
        pcatool.update(model, new_rows(0, 1))
    with pytest.warns(pcatool.PcatoolWarning, match="columns 'c2', 'c4' each have a single value in all 50 new rows"):
        pcatool.update(model, new_rows(0, 1, 3))


def test_with_labels() -> None:
    rows, label = new_rows(0, 1), RNG.normal(size=(450, 1))
    columns: dict[str, Any] = {"method": "supervised", "label": "c5", "components": 1}
    model = pcatool.fit(np.hstack([X, label[:400]]), **columns)
    with pytest.warns(pcatool.PcatoolWarning, match=CONSTANT):
        pcatool.update(model, np.hstack([rows, label[400:]]))


def test_what_may_be_chance_is_not_warned_of() -> None:
    model = pcatool.fit(X, components=2)
    rare = X.copy()
    rare[:, 1] = np.arange(400) < 4  # in 1% of the rows
    constant = X.copy()
    constant[:, 1] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", pcatool.PcatoolWarning)
        pcatool.update(model, new_rows(0, 1, n=9))  # few rows
        pcatool.update(pcatool.fit(rare, components=2), new_rows(0, 1))  # a rare value
        warnings.simplefilter("ignore", pcatool.PcatoolNote)
        pcatool.update(pcatool.fit(constant, components=2), new_rows(0, 1))  # constant in the model, too
        pcatool.subtract(pcatool.fit(np.vstack([X, rows := new_rows(0, 1)]), components=2), rows)
