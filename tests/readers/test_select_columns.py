"""The features that come of columns, and the columns of a model in another table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from pcatool.errors import DataError, MissingColumns
from pcatool.options import SelectOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Column
from pcatool.readers.match_features import match_features
from pcatool.readers.select_columns import choose_features, find_columns, match_columns
from readers.reading import read, write

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


TEXTS, STORED = [Column("n", "text", "p"), Column("m", "text", "q")], [Column("n", "text", "p", arrow_type="string")]
NO_FEATURE = {
    "-x leaves out all columns of -c: remove -c or -x": (["a"], ["a"], TABLE),
    "name fewer columns with -x": ([], ["*"], TABLE),
    "check -d and --skip-lines, if the names do not look right": ([], [], TEXTS),
    "the only column name contains ',': give -d ','": ([], [], [Column("n,m", "text", "p,q")]),
    "the only column name contains '\\t': give -d tab": ([], [], [Column("n\tm", "text", "p\tq")]),
    "store the values as numbers": ([], [], STORED),
}


@pytest.mark.parametrize("remedy", NO_FEATURE)
def test_without_features_the_likely_cause_is_named(remedy: str) -> None:
    columns, exclude, table = NO_FEATURE[remedy]
    with pytest.raises(DataError, match="the columns are: ") as caught:
        chosen(columns, exclude, table)
    assert caught.value.remedy.endswith(f"; {remedy}")


@pytest.mark.parametrize(
    ("cell", "option"),
    [("10.070 mm", "--strip ' mm'"), ("-5kg", "--strip kg"), ("1,5 µm", "--strip ' µm'"), ("1e", ""), ("x5", "")],
)
def test_numbers_with_a_unit(cell: str, option: str, tmp_path: Path) -> None:
    remedy = "name only columns of numbers" + (option and f", or give {option} to remove the unit")
    with pytest.raises(DataError, match="holds no numbers") as caught:
        chosen(["n"], table=[Column("n", "text", cell)])
    assert caught.value.remedy == remedy
    with pytest.raises(DataError, match=r"name only columns of numbers$"):
        chosen(["n"], table=[Column("n", "text", cell, arrow_type="string")])


def test_a_unit_is_removed_as_the_error_says(tmp_path: Path) -> None:
    file = write(tmp_path, "n,b\n10.07 mm,1\n9 mm,2\n")
    assert read(file, columns=["n"], strip=" mm").X[:, 0].tolist() == [10.07, 9]


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
