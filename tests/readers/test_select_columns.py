"""Terms that name columns, and the features that come of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from pcatool.errors import DataError, MissingColumns, PcatoolError, UsageError
from pcatool.options import SelectOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Column
from pcatool.readers.select_columns import choose_features, find_columns, match_columns, match_features
from readers.reading import read, write

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


TABLE = [
    Column("name", "text", "Anna"),
    Column("a"),
    Column("v", "vector", width=3),
    Column("yes", "boolean", "true"),
    Column("none", "empty"),
    Column("v[1]x"),
]


def chosen(columns: Sequence[str] = (), exclude: Sequence[str] = (), table: Sequence[Column] = TABLE) -> list[str]:
    options = SelectOptions(tuple(columns), tuple(exclude))
    return [feature.name for feature in choose_features(table, options, "t.csv", Reporter())]


def test_features() -> None:
    assert chosen() == ["a", "v[0]", "v[1]", "v[2]", "none", "v[1]x"]
    assert chosen(["yes, v[2], a"]) == ["yes", "v[2]", "a"]
    assert chosen(["2-4"]) == ["a", "v[0]", "v[1]", "v[2]", "yes"]
    assert chosen(["v[1]x"]) == ["v[1]x"]
    assert chosen([], ["v[1]", "none", "1"]) == ["a", "v[0]", "v[2]", "v[1]x"]
    assert chosen(["v"], ["v[0]"]) == ["v[1]", "v[2]"]
    assert chosen([], ["v*", "a"]) == ["none"]


def test_a_column_of_other_use_is_left_out_by_its_place() -> None:
    """Its number may be another column's name."""
    table = [Column("1"), Column("w"), Column("2"), Column("3")]
    features = choose_features(table, SelectOptions(), "t.csv", Reporter(), without={1})
    assert [feature.name for feature in features] == ["1", "2", "3"]


def test_features_that_cannot_be() -> None:
    with pytest.raises(DataError, match=r"column 'name' holds no numbers \(first value 'Anna'\)"):
        chosen(["name"])
    with pytest.raises(DataError, match="no column is left as a feature; the columns are: 'name'"):
        chosen(["a"], ["a"])
    with pytest.raises(DataError, match=r"two features are called 'v\[1\]'; leave one of the features out with -x"):
        chosen(table=[*TABLE, Column("v[1]")])
    assert chosen([], ["v[1]"], table=[*TABLE, Column("v[1]")]) == ["a", "v[0]", "v[1]", "v[2]", "none", "v[1]x"]
    with pytest.raises(DataError, match=r"columns 1 and 7 are both called 'name'; .*-x 7"):
        chosen(table=[*TABLE, Column("name", "text")])
    assert chosen(["a"], table=[*TABLE, Column("name", "text")]) == ["a"]
    with pytest.raises(
        DataError, match="column 7 has no name; give the column a name, or leave column 7 out with -x 7"
    ):
        chosen(table=[*TABLE, Column(" ")])


def test_many_columns_take_little_time() -> None:
    many = [Column(f"g{i}") for i in range(20_000)]
    assert len(chosen([], ["g5"], many)) == 19_999
    names = [column.name for column in many]
    assert len(find_columns([",".join(names)], many, "t.csv")) == 20_000
    assert len(match_features(names, frozenset(), many, "t.csv")) == 20_000
    assert len(match_columns(names, many, "t.csv")) == 20_000


def test_a_models_columns_are_found_by_name() -> None:
    features = match_features(["v[2]", "none", "a", "yes", "v[1]x"], frozenset({"yes"}), TABLE, "t.csv")
    assert [(f.column, f.element, f.boolean) for f in features] == [
        (2, 2, False), (4, None, False), (1, None, False), (3, None, True), (5, None, False),
    ]  # fmt: skip


def test_a_models_columns_that_are_not_there() -> None:
    with pytest.raises(
        MissingColumns, match=r"t.csv: no columns 'aa', 'v\[3\]' \(nearest: 'a'\); rename 'a', add the columns, or"
    ) as all:
        match_features(["aa", "v[3]", "v[2]", "yes"], frozenset({"yes"}), TABLE, "t.csv")
    assert all.value.remedy.endswith("leave the columns out with -x 'aa,v[3]'")
    with pytest.raises(
        MissingColumns, match=r"no column 'aa' \(the columns are: .*; add column 'aa', or leave the .* -x aa$"
    ):
        match_features(["aa", "a"], frozenset(), TABLE, "t.csv")  # 'a' is needed itself, so that it cannot be meant
    with pytest.raises(
        MissingColumns, match=r"; give a table with these columns, or rename the columns of this table$"
    ):
        match_features(["zzz", "qqq"], frozenset(), TABLE, "t.csv")
    for name, message in (
        ("name", "column 'name' holds text values \\(first value 'Anna'\\), but the model needs numbers"),
        ("v", "column 'v' holds vector values"),
        ("yes", "column 'yes' holds boolean values \\(first value 'true'\\)"),
    ):
        with pytest.raises(DataError, match=message):
            match_features([name], frozenset(), TABLE, "t.csv")
    with pytest.raises(DataError, match="columns 2 and 7 are both called 'a'; rename or drop one of the columns"):
        match_features(["a"], frozenset(), [*TABLE, Column("a")], "t.csv")
    assert len(match_features(["none"], frozenset(), [*TABLE, Column("a")], "t.csv")) == 1


def test_every_order_of_columns_gives_the_same(tmp_path: Path) -> None:
    for order in itertools.permutations("abc"):
        values = {"a": "1", "b": "2", "c": "3"}
        file = write(tmp_path, f"{','.join(order)},d\n{','.join(values[name] for name in order)},x\n")
        assert read(file, names=["c", "a"]).rows == [[3, 1]]
