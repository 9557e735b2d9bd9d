"""A column that looks like an identifier is told; columns of data never are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool

RNG = np.random.default_rng(5)
N = 120


def notes_of(columns: dict[str, Any], **settings: Any) -> list[str]:
    """Return the notes of a fit to these columns beside two of measurements."""
    n = len(next(iter(columns.values())))
    frame = pd.DataFrame({**columns, "x": RNG.normal(size=n), "y": RNG.normal(size=n)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pcatool.fit(frame, components=1, **settings)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", np.arange(1, 9)),
        ("ID", RNG.permutation(np.arange(50_000, 50_040))),
        ("customer_id", RNG.integers(1000, 2000, 60)),
        ("customerId", RNG.integers(1000, 2000, 60)),
        ("shop.id", np.append(RNG.integers(1, 30, 60).astype(float), 3.0)),
        ("index", np.arange(7)),
        ("Unnamed: 0", np.arange(9)),
    ],
)
@pytest.mark.parametrize("settings", [{}, {"standardize": True}, {"missing": "mean"}, {"ddof": 1}])
def test_an_identifier_by_name(name: str, values: Any, settings: dict[str, Any]) -> None:
    [note] = notes_of({name: values}, **settings)
    is_named = f"'{name}' is used as a feature, but holds whole numbers and is named like an identifier"
    assert note.startswith(f"{is_named}; leave the column out with exclude=")


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("settings", [{}, {"standardize": True}, {"ddof": 1}, {"solver": "svd"}, {"solver": "tsqr"}])
def test_numbers_of_the_rows(first: int, settings: dict[str, Any]) -> None:
    [note] = notes_of({"n": RNG.permutation(np.arange(first, first + N))}, **settings)
    is_used = "'n' is used as a feature, but its values look like row numbers"
    assert note == f'{is_used}; leave the column out with exclude="n"'


def test_several_identifiers_are_told_at_once() -> None:
    [note] = notes_of({"id": np.arange(5), "shop_id": [7, 7, 3, 2, 9]})
    assert note == (
        "'id', 'shop_id' are used as features, but hold whole numbers and are named like identifiers; "
        'leave the columns out with exclude="id,shop_id"'
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("count", RNG.poisson(3, N)),
        ("large", RNG.poisson(30, N)),
        ("year", np.arange(1900, 1900 + N)),
        ("year", np.arange(1, N + 1)),
        ("founded", np.arange(1900, 1900 + N)),
        ("day_of_stay", np.arange(1, N + 1)),
        ("t", np.arange(N)),
        ("dose", np.arange(1, 31)),  # as many values as rows, of an experiment
        ("has_id", RNG.integers(0, 2, N)),
        ("yes", RNG.integers(0, 2, N)),
        ("grid", RNG.integers(0, 9, N)),
        ("acid", np.arange(1, 31)),
        ("paid", RNG.integers(0, 90, N)),
        ("id", RNG.normal(size=N) * 9),
        ("index", RNG.integers(80, 120, N)),
        ("key", RNG.integers(1, 12, N)),
        ("n", np.append(np.arange(1, N), 500)),
        ("n", np.arange(1, N + 1) / 2),
    ],
)
def test_data_are_no_identifiers(name: str, values: Any) -> None:
    assert not [note for note in notes_of({name: values}) if "identifier" in note]


def test_several_columns_of_ranks_are_data() -> None:
    ranks = {name: RNG.permutation(np.arange(1, N + 1)) for name in ("one", "two")}
    assert not [note for note in notes_of(ranks) if "identifier" in note]


def test_an_identifier_that_dominates_is_not_to_be_standardized() -> None:
    assert not [note for note in notes_of({"id": np.arange(N) * 1000}) if "standardize" in note]
    both = notes_of({"id": np.arange(N), "money": RNG.normal(size=N) * 1e6})
    assert [("identifier" in note, "standardize" in note) for note in both] == [(True, False), (False, True)]


def test_only_a_fit_tells_it() -> None:
    frame = pd.DataFrame({"id": np.arange(9), "x": RNG.normal(size=9)})
    with pytest.warns(pcatool.PcatoolNote, match="identifier"):
        model = pcatool.fit(frame)
    pcatool.transform(model, frame)
    pcatool.reconstruct(model, frame)
