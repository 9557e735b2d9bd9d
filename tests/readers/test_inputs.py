"""Several inputs as one table: matched by name, whatever their order and format."""

from __future__ import annotations

import math
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.errors import BadCell, DataError, FileError, MissingColumns, PcatoolWarning
from pcatool.readers.paths import resolve
from readers.reading import read, same_bits, write

NAN = math.nan


def test_columns_are_matched_by_name(tmp_path: Path) -> None:
    one = write(tmp_path, "a,b\n1,2\n", "1.csv")
    two = write(tmp_path, "b\textra\ta\n4\tx\t3\n", "2.tsv")
    parquet.write_table(pa.table({"z": ["q"], "b": [6], "a": [5.0]}), tmp_path / "3.parquet")
    three = tmp_path / "3.parquet"
    for files in ((one, two, three), (one, three, two)):
        table = read(*files)
        assert (table.names, sorted(table.rows)) == (("a", "b"), [[1, 2], [3, 4], [5, 6]])
    table = read(three, one, two)
    assert (table.names, sorted(table.rows)) == (("b", "a"), [[2, 1], [4, 3], [6, 5]])


def test_what_the_second_lacks_is_named_with_it(tmp_path: Path) -> None:
    one = write(tmp_path, "alpha,beta\n1,2\n", "1.csv")
    for header, message in (
        ("alpha,Beta", "2.csv: no column 'beta' \\(nearest: 'Beta'\\)"),
        ("x,y", "2.csv: no columns 'alpha', 'beta'"),
        ("1.5,2.5", "2.csv, line 1: the first line looks like data"),
        ("alpha;beta", "2.csv, line 1: the only field"),
        ("alpha,beta,beta", "2.csv: columns 2 and 3 are both called 'beta'"),
        ("", "2.csv is empty"),
    ):
        rows = "\n" + ",".join("3" for _ in header.split(",")) + "\n" if header else ""
        with pytest.raises(DataError, match=message):
            read(one, write(tmp_path, header + rows, "2.csv"))


def test_a_bad_cell_is_named_with_its_file(tmp_path: Path) -> None:
    one = write(tmp_path, "a,b\n1,2\n", "1.csv")
    with pytest.raises(BadCell, match=r"2.csv, line 3, column 'a': 'x' is not a number"):
        read(one, write(tmp_path, "b,a\n1,2\n3,x\n", "2.csv"))
    with pytest.raises(DataError, match=r"2.csv, line 3: the row has 3 fields, but the header has 2"):
        read(one, write(tmp_path, "b,a\n1,2\n3,4,5\n", "2.csv"))
    parquet.write_table(pa.table({"a": ["x"], "b": [1]}), tmp_path / "3.parquet")
    with pytest.raises(DataError, match=r"3.parquet: column 'a' holds text values \(first value 'x'\)"):
        read(one, tmp_path / "3.parquet")


def test_a_part_without_rows_or_values(tmp_path: Path) -> None:
    one = write(tmp_path, "a,b\n1,2\n", "1.csv")
    two = write(tmp_path, "a,b\n", "2.csv")
    assert read(one, two, one).rows == [[1, 2], [1, 2]]
    parquet.write_table(pa.table({"a": pa.nulls(1), "b": [1]}), tmp_path / "3.parquet")
    assert same_bits(read(one, tmp_path / "3.parquet").X, np.array([[1, 2], [NAN, 1]]))
    assert read(two, one).rows == [[1, 2]]


def test_vectors_in_parts(tmp_path: Path) -> None:
    kind = pa.list_(pa.float32())
    for name, rows in (("1", [[1, 2], [3, 4]]), ("2", []), ("3", [None]), ("4", [[5, 6]]), ("5", [[7, 8, 9]])):
        parquet.write_table(pa.table({"v": pa.array(rows, kind)}), tmp_path / f"{name}.parquet")
    table = read(*(tmp_path / f"{name}.parquet" for name in "1234"))
    assert same_bits(table.X, np.array([[1, 2], [3, 4], [NAN, NAN], [5, 6]]))
    with pytest.raises(
        DataError,
        match=r"5.parquet, column 'v': the vectors have length 3, but the vectors in .*1.parquet have length 2",
    ):
        read(tmp_path / "1.parquet", tmp_path / "5.parquet")
    csv = write(tmp_path, "v[1],v[0]\n1,2\n", "6.csv")
    assert read(tmp_path / "4.parquet", csv).rows == [[5, 6], [2, 1]]
    assert sorted(read(csv, tmp_path / "4.parquet").rows) == [[1, 2], [6, 5]]


def test_names_made_by_position(tmp_path: Path) -> None:
    one, two = write(tmp_path, "1,2\n3,4\n", "1.csv"), write(tmp_path, "5,6,7\n", "2.csv")
    assert read(one, two, header=False).rows == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(MissingColumns, match="no column 'c3'"):
        read(two, one, header=False)
    with pytest.raises(MissingColumns, match=r"if the names c1, c2, \.\.\. come from --no-header or an array, give"):
        read(one, names=["c1", "c2"], header=True)


def test_kept_columns_take_the_type_of_the_first(tmp_path: Path) -> None:
    one = write(tmp_path, "id,a\n007,1\n", "1.csv")
    parquet.write_table(pa.table({"id": [8], "a": [2]}), tmp_path / "2.parquet")
    parquet.write_table(pa.table({"a": [3], "id": pa.array([9], pa.int8())}), tmp_path / "3.parquet")
    numbers = tmp_path / "2.parquet", tmp_path / "3.parquet"
    assert read(one, *numbers, keep=["id"], columns=["a"]).kept == [["007", "8", "9"]]
    spelled = write(tmp_path, "id,a\n7,1\n", "7.csv")
    assert read(*numbers, spelled, keep=["id"], columns=["a"]).kept == [[8, 9, 7]]
    text = write(tmp_path, "id,a\nx,1\n", "4.csv")
    with pytest.raises(
        DataError, match=r"4.csv: column 'id' has type string, but in the first input the column has type int64"
    ):
        read(*numbers, text, keep=["id"], columns=["a"])


NOON = datetime(2020, 1, 1, 12)
MANY = pa.list_(pa.float32())
HOUSE = pa.struct([("city", pa.string()), ("zip", pa.int64())])
MAP = pa.map_(pa.string(), pa.float32())


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        (pa.int64(), pa.array([7, 1]), None),
        (pa.int64(), pa.array([1.0, None]), None),
        (pa.int64(), pa.nulls(2), None),
        (pa.int64(), pa.array(["7", "007"]), "row 2, column 'v': '007' would change if read as int64"),
        (pa.int64(), pa.array([NOON]), "has type timestamp"),
        (pa.float32(), pa.array([0.5, math.nan]), None),
        (pa.float32(), pa.array([0.5, 0.1]), "row 2, column 'v': '0.1' would change if read as float"),
        (pa.float32(), pa.array([1e300]), "row 1, column 'v': '1e+300' would change"),
        (pa.float64(), pa.array(["1.50", "-inf"]), None),
        (pa.float64(), pa.array(["2", "1e400"]), "row 2, column 'v': '1e400' would change"),
        (pa.float64(), pa.array(["0.5", "00.5"]), "row 2, column 'v': '00.5' would change"),
        (pa.float64(), pa.array([Decimal("0.1")]), None),
        (pa.float64(), pa.array([Decimal("0.1234567890123456789")]), "row 1, column 'v': '0.1234567890123456789'"),
        (pa.float64(), pa.array([Decimal("0.100000000000000000"), Decimal("12345678.9")]), None),
        (pa.float64(), pa.array(np.array([0.5, math.nan], np.float16)), None),
        (pa.float16(), pa.array([0.5, math.nan]), None),
        (pa.float16(), pa.array([0.1]), "row 1, column 'v': '0.1' would change"),
        (pa.float64(), pa.array(["2.5", "0.10000000000000001", "1e300", "nan"]), None),
        (pa.float64(), pa.array(["9007199254740992", "9007199254740993"]), "row 2, column 'v': '9007199254740993'"),
        (pa.float64(), pa.array(["0.1234567890123456789"]), "row 1, column 'v'"),
        (pa.float64(), pa.array(["1e-400"]), "row 1, column 'v': '1e-400' would change"),
        (pa.float32(), pa.array(["0.1", "16777216"]), None),
        (pa.float32(), pa.array(["16777217"]), "row 1, column 'v': '16777217' would change"),
        (pa.int64(), pa.array([Decimal("7"), None]), None),
        (pa.int64(), pa.array([Decimal("7.00")]), None),
        (pa.decimal128(10, 2), pa.array(["1.5", "2"]), None),
        (pa.bool_(), pa.array(["True", "false"]), None),
        (pa.bool_(), pa.array(["1"]), "row 1, column 'v': '1' would change if read as bool"),
        (pa.bool_(), pa.array([None], pa.float64()), None),
        (pa.timestamp("us"), pa.array(["2020-01-02 12:00:00", "2020-01-02", "2020-01-02T12:00:00.123"]), None),
        (pa.timestamp("ns", "UTC"), pa.array(["2020-01-02 12:00:00Z"]), None),
        (pa.date32(), pa.array(["2020-01-02"]), None),
        (MANY, pa.array([[None]], pa.list_(pa.null())), None),
        (MANY, pa.array([["0.5"]]), "has type list"),
        (HOUSE, pa.array([{"city": "y", "zip": 8}], pa.struct([("city", pa.string()), ("zip", pa.int8())])), None),
        (HOUSE, pa.array([{"city": "y", "plz": 8}]), "has type struct"),
        (HOUSE, pa.array([{"city": "y"}]), "has type struct"),
        (HOUSE, pa.array([{"city": "y", "zip": 0.5}]), "has type struct"),
        (MAP, pa.array([[("a", 0.1)]], pa.map_(pa.string(), pa.float64())), "row 1, column 'v'"),
        (MAP, pa.array([[("a", 0.5)]], pa.map_(pa.string(), pa.float64())), None),
        (MANY, pa.array([[("a", 0.5)]], pa.map_(pa.string(), pa.float64())), "has type map"),
        (pa.float64(), pa.array([True]), "has type bool"),
        (pa.bool_(), pa.array([1.0]), "has type double"),
        (pa.date32(), pa.array([NOON]), "row 1, column 'v': '2020-01-01 12:00:00' would change"),
        (pa.timestamp("us"), pa.array([NOON.date()]), None),
        (pa.timestamp("us"), pa.array([NOON], pa.timestamp("us", "Asia/Tokyo")), "has type timestamp"),
        (pa.timestamp("us"), pa.array([5]), "has type int64"),
        (pa.time32("s"), pa.array([NOON.time()]), None),
        (pa.time32("s"), pa.array([NOON]), "has type timestamp"),
        (MANY, pa.array([[0.5, math.nan]]), None),
        (MANY, pa.array([[0.5], [0.1]]), "row 2, column 'v'"),
        (pa.string(), pa.array([NOON]), None),
        (pa.float64(), pa.array([0.5, 0.25]).dictionary_encode(), None),
    ],
)  # fmt: skip
def test_a_kept_value_is_not_changed_by_the_type_of_the_first(
    tmp_path: Path, first: pa.DataType, then: pa.Array, said: str | None
) -> None:
    parquet.write_table(pa.table({"v": pa.nulls(1, first), "a": [1]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"v": then, "a": range(len(then))}), tmp_path / "2.parquet")
    files = tmp_path / "1.parquet", tmp_path / "2.parquet"
    if said is None:
        assert len(read(*files, keep=["v"], columns=["a"]).kept[0]) == 1 + len(then)
        return
    with pytest.raises(DataError, match=re.escape("2.parquet") + ".*" + re.escape(said)) as error:
        read(*files, keep=["v"], columns=["a"])
    assert "store the column with one type in all inputs" in error.value.remedy
    first_is_text = ", or give " in error.value.remedy
    assert first_is_text == pa.types.is_string(then.type)
    if first_is_text:  # the remedy works
        read(*reversed(files), keep=["v"], columns=["a"])


def test_a_kept_column_in_which_nothing_is_takes_the_type_of_the_next(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"id": pa.nulls(1), "a": [1]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"id": ["x"], "a": [2]}), tmp_path / "2.parquet")
    parts = [tmp_path / "1.parquet", tmp_path / "1.parquet", tmp_path / "2.parquet"]
    assert read(*parts, keep=["id"], columns=["a"]).kept == [[None, None, "x"]]
    assert read(parts[0], keep=["id"], columns=["a"]).kept == [[None]]


def test_the_same_file_twice_is_read_twice(tmp_path: Path) -> None:
    one = write(tmp_path, "a\n1\n2\n")
    assert read(one, one).rows == [[1], [2], [1], [2]]


# --- links ---


@pytest.fixture
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of parts, and links in it: to a folder elsewhere, to one beside them, round, and back up."""
    monkeypatch.chdir(tmp_path)
    for folder in ("data/2024", "elsewhere/deep"):
        Path(folder).mkdir(parents=True)
    for number, name in enumerate(("data/2024/b.csv", "elsewhere/c.csv", "elsewhere/deep/d.csv"), 1):
        Path(name).write_text(f"a,b\n{number},{number}\n")
    for name, target in (
        ("latest", "2024"),
        ("more", "../elsewhere"),
        ("round", "."),
        ("2024/round", ".."),
        ("2024/e.csv", "../../elsewhere/c.csv"),
        (".hidden", "../elsewhere"),
    ):
        Path("data", name).symlink_to(target)
    return tmp_path


def test_linked_folders_are_read_and_each_once(linked: Path) -> None:
    names = ["data/2024/b.csv", "data/2024/e.csv", "data/more/c.csv", "data/more/deep/d.csv"]
    assert [found.path for found in resolve(["data"])] == names
    assert [found.path for found in resolve(["data/more"])] == names[2:]
    assert [found.path for found in resolve(["data/mor*"])] == names[2:]
    (linked / "data/up").symlink_to("..")
    assert [found.path for found in resolve(["data"])] == names


@pytest.mark.parametrize("link", ["data/gone.csv", "data/more/gone.csv.gz", "data/year=3"])
def test_a_link_to_nothing_is_an_input_that_cannot_be_read(linked: Path, link: str) -> None:
    (linked / link).symlink_to("nowhere")
    (linked / "data/README").symlink_to("nowhere")
    assert [found.path for found in resolve([f"{link[:-1]}*"])] == [link]
    said = f"cannot read '{link}': it is a link to 'nowhere', which does not exist; repair or remove the link"
    with pytest.raises(FileError, match=said):
        pcatool.fit("data")
    with pytest.warns(PcatoolWarning, match=f"left out 1 of . files:\n.*{link}"):
        pcatool.fit("data", skip_bad=True, components=1)


def test_a_link_in_a_circle_reads_no_file_twice(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/1.csv").write_text("a\n1\n")
    (tmp_path / "round").symlink_to(".")
    assert [item.path for item in resolve([f"{tmp_path}/**/1.csv"])] == [f"{tmp_path}/sub/1.csv"]


def test_a_pattern_of_all_folders_finds_what_the_folder_holds(linked: Path) -> None:
    """A file by a link of its own, too, and none by a link to its folder where that is found itself."""
    for name in ("round", "2024/round"):
        (linked / "data" / name).unlink()
    (linked / "data/a").symlink_to("more")  # which comes before it
    (linked / "data/b").symlink_to("../elsewhere/deep")
    (linked / "data/gone.csv").symlink_to("nowhere")
    whole = [found.path for found in resolve(["data"])]
    assert whole == ["data/2024/b.csv", "data/2024/e.csv", "data/a/c.csv", "data/a/deep/d.csv", "data/gone.csv"]
    for pattern in ("data/**/*.csv", "data/**", "data/**/", "dat*/**/*.csv"):
        assert [found.path for found in resolve([pattern])] == whole
