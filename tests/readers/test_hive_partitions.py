"""Columns that the folders of a file tell."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.errors import DataError, MissingColumns
from pcatool.readers.hive_partitions import MISSING, partitions_of
from readers.reading import read, same_bits, write

ROWS = "a,b\n1,2\n3,5\n"


def part(folder: Path, name: str, data: str = ROWS) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path.parent, data, path.name)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data.csv", {}),
        ("a=b.csv", {}),
        ("x/year=2024/region=eu/part.csv", {"year": "2024", "region": "eu"}),
        ("year=2023/year=2024/p.csv", {"year": "2024"}),
        ("k=/p.csv", {"k": ""}),
        ("=v/p.csv", {}),
        ("k=a=b/p.csv", {"k": "a=b"}),
        ("a%20b=x%2Fy/p.csv", {"a b": "x/y"}),
        ("y=%FF/z%FF=%C3%BC/p.csv", {"y": "%FF", "z%FF": "ü"}),
        (f"k={MISSING}/p.csv", {"k": None}),
        ("s3://bucket/day=1/p.csv", {"day": "1"}),
        ("http://host/day=1/p.csv?a=/b=c/d", {"day": "1"}),
    ],
)
def test_what_a_path_tells(path: str, found: dict[str, str | None]) -> None:
    assert partitions_of(path) == found


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (("2023", "-5"), [2023, 2023, -5, -5]),
        (("0", MISSING), [0, 0, None, None]),
        (("01", "2"), ["01", "01", "2", "2"]),
        (("2.5", "7"), ["2.5", "2.5", "7", "7"]),
        (("eu", "1"), ["1", "1", "eu", "eu"]),
        (("9" * 18, "9" * 19), ["9" * 18, "9" * 18, "9" * 19, "9" * 19]),
    ],
)
def test_kept_as_whole_numbers_or_as_text(values: tuple[str, str], kept: list[object], tmp_path: Path) -> None:
    for value in values:
        part(tmp_path, f"k={value}/p.csv")
    assert sorted(map(str, read(tmp_path, keep=["k"], columns=["a"]).kept[0])) == sorted(map(str, kept))
    assert {type(cell) for cell in read(tmp_path, keep=["k"], columns=["a"]).kept[0]} == {type(cell) for cell in kept}


def test_a_feature_only_by_name(tmp_path: Path) -> None:
    plain = part(tmp_path, "p.csv")
    inside = part(tmp_path, "year=7/region=eu/p.csv")
    assert read(inside).names == read(plain).names == ("a", "b")
    hint = "to use this column, give -c with this column and the other features"
    assert f"left out partition column 'year' (first value '7'; {hint})" in read(inside).notes
    for terms in ("*", "1-", "a,b", "1,2"):
        assert read(inside, columns=[terms]).names == ("a", "b")
    table = read(inside, columns=["b", "year", "a"])
    assert (table.names, table.rows) == (("b", "year", "a"), [[2, 7, 1], [5, 7, 3]])
    assert read(inside, columns=["year"]).rows == [[7], [7]]
    with pytest.raises(DataError, match="'region' holds no numbers"):
        read(inside, columns=["a,region"])


def test_a_missing_value_is_a_hole(tmp_path: Path) -> None:
    part(tmp_path, f"k={MISSING}/p.csv")
    part(tmp_path, "k=1/p.csv")
    assert same_bits(read(tmp_path, columns=["a,k"]).X[:, 1], np.array([1, 1, math.nan, math.nan]))
    with pytest.raises(DataError, match="2 of 4 rows have missing cells: 2 in column 'k'"):
        pcatool.fit(tmp_path, columns="a,k")


def test_a_feature_that_folders_give_as_words(tmp_path: Path) -> None:
    for name in (MISSING, "north"):
        (tmp_path / f"region={name}").mkdir()
        write(tmp_path / f"region={name}", "a\n1\n2\n")
    with pytest.raises(DataError, match=r"partition column 'region' holds no numbers \(first value 'north'\)"):
        read(tmp_path, columns=["a", "region"])


def test_the_files_own_column_wins(tmp_path: Path) -> None:
    own = part(tmp_path, "k=1/own.csv", "a,k\n5,9\n")
    other = part(tmp_path, "k=1/other.csv", "a\n6\n")
    assert read(own, other, columns=["a,k"]).rows == [[5, 9], [6, 1]]
    assert read(other, own, columns=["a,k"]).rows == [[6, 1], [5, 9]]


def test_a_file_without_the_key_is_named(tmp_path: Path) -> None:
    part(tmp_path, "a/k=1/p.csv")
    part(tmp_path, "b/q.csv")
    with pytest.raises(MissingColumns, match=r"q.csv: no column 'k' .*give --skip-bad to leave out bad files"):
        read(tmp_path, columns=["a,k"])
    with pytest.raises(MissingColumns, match=r"q.csv: no column 'k'"):
        read(tmp_path, columns=["a"], keep=["k"])


def test_of_parquet_vectors_and_a_table_without_names(tmp_path: Path) -> None:
    folder = tmp_path / "k=3"
    folder.mkdir()
    parquet.write_table(pa.table({"v": [[1.0, 2.0], [3.0, 4.0]], "s": ["x", "y"]}), folder / "p.parquet")
    table = read(folder / "p.parquet", columns=["k", "v"], keep=["k", "s"])
    assert (table.rows, table.kept) == ([[3, 1, 2], [3, 3, 4]], [[3, 3], ["x", "y"]])
    bare = part(tmp_path, "k=4/n.csv", "1,2\n3,4\n")
    assert read(bare, header=False).rows == [[1, 2], [3, 4]]


def test_models_know_their_partition_columns(tmp_path: Path) -> None:
    for year, shift in ((1, 0), (2, 3), (4, 1)):
        rows = "".join(f"{i},{i * i % 7 + shift}\n" for i in range(9))
        part(tmp_path, f"year={year}/region={'eu' if year < 3 else 'us'}/p.csv", "a,b\n" + rows)
    model = pcatool.fit(tmp_path, columns="a,b,year", components="all")
    assert model.columns == ("a", "b", "year")
    scores = pcatool.transform(model, tmp_path, keep_all=True)
    assert list(scores.columns) == ["a", "b", "year", "region", "PC1", "PC2", "PC3"]
    assert list(scores["year"]) == [1] * 9 + [2] * 9 + [4] * 9
    flat = pcatool.transform(model, scores[["a", "b", "year"]].astype(float))
    assert same_bits(scores[["PC1", "PC2", "PC3"]].to_numpy(), flat.to_numpy())
    labelled = pcatool.fit(tmp_path, method="supervised", label="region")
    assert (labelled.columns, labelled.meta["classes"]) == (("a", "b"), 2)
    by_year = pcatool.fit(tmp_path, method="supervised", label="year")
    assert by_year.meta["label_kernel"] == "linear"
    weighted = pcatool.fit(tmp_path, weights="year")
    assert weighted.columns == ("a", "b")
    assert weighted.meta["weights"] == "year"


def test_a_glob_that_only_folders_match(tmp_path: Path) -> None:
    part(tmp_path, "year=1/p.csv")
    part(tmp_path, "year=2/p.csv", "a,b\n7,8\n")
    assert read(f"{tmp_path}/year=*", keep=["year"], columns=["a"]).kept == [[1, 1, 2]]


def test_a_link_to_the_latest_takes_no_column_away(tmp_path: Path) -> None:
    part(tmp_path, "year=1/p.csv")
    part(tmp_path, "year=2/p.csv", "a,b\n7,8\n")
    (tmp_path / "latest").symlink_to("year=2")
    for given in (f"{tmp_path}/**/*.csv", f"{tmp_path}/**/", str(tmp_path)):
        assert read(given, columns=["a", "year"]).rows == [[1, 1], [3, 1], [7, 2]]


def test_values_that_are_no_text_stay_apart(tmp_path: Path) -> None:
    part(tmp_path, "y=%FE/p.csv")
    part(tmp_path, "y=%FF/p.csv")
    assert read(tmp_path, keep=["y"], columns=["a"]).kept == [["%FE", "%FE", "%FF", "%FF"]]
