"""Terms that name columns, and near names for terms that name none."""

from __future__ import annotations

import pytest

from pcatool.errors import DataError, MissingColumns, PcatoolError, UsageError
from pcatool.readers.base import Column
from pcatool.readers.select_columns import find_columns

NAMES = ["a", "b", "c", "x-y", "p,q", "3", "temp_in", "temp_out", "temp[1]", " s ", "a-c"]
COLUMNS = [Column(name) for name in NAMES]


def found(*terms: str) -> list[str]:
    return [NAMES[i] for i in find_columns(terms, COLUMNS, "t.csv")]


TERMS = {
    "a": ["a"],
    "c,a": ["c", "a"],
    "c, a": ["c", "a"],
    "a,a": ["a"],
    "p,q": ["p,q"],
    "2": ["b"],
    "3": ["3"],  # the name, not the number
    "11,1": ["a-c", "a"],
    "a-c": ["a-c"],  # the name, not the range
    "b-c": ["b", "c"],
    "1-2": ["a", "b"],
    "1-b": ["a", "b"],
    "b-4": ["b", "c", "x-y"],
    "b-x-y": ["b", "c", "x-y"],
    "x-y-6": ["x-y", "p,q", "3"],
    "x-y-x-y": ["x-y"],
    "9-": ["temp[1]", " s ", "a-c"],
    " s -": [" s ", "a-c"],
    "-2": ["a", "b"],
    "-x-y": ["a", "b", "c", "x-y"],
    "x-y-": NAMES[3:],
    "temp_*": ["temp_in", "temp_out"],
    "temp[1]": ["temp[1]"],
    "temp_[io]*": ["temp_in", "temp_out"],
    "?": ["a", "b", "c", "3"],
    " s ": [" s "],
}


@pytest.mark.parametrize("term", TERMS)
def test_terms(term: str) -> None:
    assert found(term) == TERMS[term]


def test_terms_repeat_and_keep_their_order() -> None:
    assert found("c", "temp_*", "p,q", "1-2", "b") == ["c", "temp_in", "temp_out", "p,q", "a", "b"]


REFUSED: dict[str, tuple[type[PcatoolError], str]] = {
    "temp_inn": (MissingColumns, "t.csv: no column 'temp_inn' \\(nearest: 'temp_in'\\)"),
    "A": (MissingColumns, "no column 'A' \\(nearest: 'a'\\)"),
    "zz*": (MissingColumns, "no column 'zz\\*'"),
    "A-C": (MissingColumns, "no column 'A-C' \\(nearest: 'a-c'\\)"),
    "A -3": (MissingColumns, "nearest: 'a-3'\\); correct the name, or name another column$"),
    "B-Temp_In": (MissingColumns, "nearest: 'b-temp_in'\\)"),
    "TEMP_IN-": (MissingColumns, "nearest: 'temp_in-'\\)"),
    "s": (MissingColumns, "nearest: ' s '\\); the name ' s ' begins with a space: correct the name, or name another"),
    "9-S": (MissingColumns, "nearest: '9- s '\\); the name ' s ' begins with a space"),
    "a-zz": (MissingColumns, "no column 'a-zz'"),
    "12": (DataError, "there is no column 12, because the table has 11 columns; count columns from 1"),
    "0": (DataError, "there is no column 0, because"),
    "5-99": (DataError, "there is no column 99, because"),
    "c-a": (UsageError, "column range 'c-a' runs backwards; write a-c"),
    "-": (MissingColumns, "no column '-'"),
    "": (UsageError, "a column name is empty"),
    "a,,b": (UsageError, "a column name is empty"),
    "\u0663": (MissingColumns, "no column"),
}


@pytest.mark.parametrize("term", REFUSED)
def test_refused_terms(term: str) -> None:
    error, message = REFUSED[term]
    with pytest.raises(error, match=message):
        found(term)


def test_a_name_that_ends_with_a_space() -> None:
    with pytest.raises(MissingColumns, match="the name 'area ' ends with a space: correct the name"):
        find_columns(["area"], [Column("area "), Column("rooms")], "t.csv")
