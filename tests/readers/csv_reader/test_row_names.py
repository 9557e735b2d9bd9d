"""Tables whose rows have names, as R and pandas write them: told as that, and read with --row-names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from often import often
from pcatool.errors import DataError, UsageError
from pcatool.readers.memory_tables import ArrowTable
from readers.reading import follow, read, write

# As each program writes it: header, rows, and what reads them.
WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "write.table": ('"a" "b"\n"r1" 1.5 2\n"r2" 3 4.5\n', {"delimiter": " "}),
    "write.table, blanks": ("  a   b\nr1 1.5 2\nr2 3   4.5\n", {"delimiter": "blanks"}),
    "write.table, tab": ('"a"\t"b"\n"1"\t1.5\t2\n"2"\t3\t4.5\n', {"delimiter": "\t"}),
    "write.table, comma, no quotes": ("a,b\nr1,1.5,2\nr2,3,4.5\n", {}),
    "write.csv": ('"","a","b"\n"r1",1.5,2\n"r2",3,4.5\n', {}),
    "pandas": (",a,b\n0,1.5,2\n1,3,4.5\n", {}),
    "a name in the header": ("id,a,b\n0,1.5,2\n1,3,4.5\n", {}),
    "no header": ("r1,1.5,2\nr2,3,4.5\n", {"header": False}),
}


@pytest.mark.parametrize("program", WRITTEN)
def test_names_of_rows_are_no_feature(program: str, tmp_path: Path) -> None:
    text, given = WRITTEN[program]
    named = {"a name in the header": "id"}.get(program, "row_name")
    table = read(write(tmp_path, text), row_names=True, keep=[named], **given)
    assert table.names == (("c1", "c2") if program == "no header" else ("a", "b"))
    assert table.rows == [[1.5, 2], [3, 4.5]]
    names = [["0", "1"], ["1", "2"], ["r1", "r2"]]
    assert table.kept[0] in names


@pytest.mark.parametrize("program", [name for name in WRITTEN if name.startswith("write.table")])
def test_rows_of_one_field_more_are_told_and_read(program: str, tmp_path: Path) -> None:
    text, given = WRITTEN[program]
    file = write(tmp_path, text)
    with pytest.raises(
        DataError, match="line 2: the row has 3 fields, but the header has 2; every row has one field more"
    ) as caught:
        read(file, **given)
    assert "--row-names" in caught.value.remedy
    with pytest.raises(DataError, match="every row has one field more"):
        read(file, names=["b"], eager=True, **given)
    assert read(file, names=["b"], eager=True, row_names=True, **given).rows == [[2], [4.5]]


# As R's write.table writes them unless told otherwise, and what reads them.
BY_BLANKS = {
    WRITTEN["write.table"][0]: "-d blanks --row-names",
    '"x"\n"1" 2.5\n"2" 3\n': "-d blanks --row-names",
    '"mpg" "cyl"\n"Mazda RX4" 21 6\n"Datsun 710" 22.8 4\n': "-d blanks --row-names",
    '"a" "on" "kind"\n"1" NA TRUE "x y"\n"2" 2.5 FALSE "z"\n': "-d blanks --row-names",
    '"a b" "c"\n"Mazda RX4" 2,5 1\n"Fiat, 128" 3 2\n': "-d blanks --row-names",
    '"a" "kind"\n1.5 "x"\n2.5 "y z"\n': "-d blanks",
    '"x" 1.5 "a"\n"y z" 2.5 "b"\n': "-d blanks",
    "a b\n1 2\n3 5\n": "-d blanks",
}


@pytest.mark.parametrize("text", BY_BLANKS)
def test_without_a_separator_all_is_told_at_once(text: str, tmp_path: Path) -> None:
    file, remedy = write(tmp_path, text), BY_BLANKS[text]
    with pytest.raises(
        DataError, match=f"blanks separate numbers in the only column, .*; read the table with {remedy}$"
    ):
        read(file)
    header = False if text.startswith('"x" 1.5') else None
    decimal = "," if "2,5" in text else "."
    assert len(read(file, delimiter="blanks", row_names="row" in remedy, header=header, decimal=decimal).rows) == 2


@pytest.mark.parametrize("text", ["note\nwent home\ncame back\n", "a\nto x 1\nto y\n", "day\n2024-01-01 10:00\n"])
def test_blanks_of_a_text_separate_no_numbers(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column holds numbers; the columns are: "):
        read(write(tmp_path, text))


def test_numbers_without_a_name_may_name_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"column 1 has no name; .*give --row-names"):
        read(write(tmp_path, WRITTEN["pandas"][0]))


@pytest.mark.parametrize("seed", range(often(100)))
def test_only_rows_that_are_all_longer_have_names(seed: int, tmp_path: Path) -> None:
    """Rows past the first block, too."""
    rng = np.random.default_rng(seed)
    n, longer = int(rng.integers(2, 3000)), 0.0
    rows = ["1,2"] * n
    for i in rng.choice(n, size=int(rng.integers(1, max(2, n // 2))), replace=False):
        rows[i] = "1,2,3"
        longer += 1
    with pytest.raises(DataError) as caught:
        read(write(tmp_path, "\n".join(["a,b", *rows]) + "\n"))
    assert ("row-names" in caught.value.remedy) == (longer == n)
    assert "3 fields, but the header has 2" in caught.value.message


def test_a_separator_at_the_end_of_rows_is_no_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="every row ends with a separator, but the header does not"):
        read(write(tmp_path, "a,b\n1,2,\n3,4,\n"))


def test_a_title_is_no_header_of_named_rows(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="if the first line is a title, add --skip-lines 1; if the first line begins with '#', add"
    ):
        read(write(tmp_path, "Sales\na,b\n1,2\n3,4\n"))


def test_a_name_that_is_in_use(tmp_path: Path) -> None:
    table = read(write(tmp_path, "row_name,b\nx,1,2\ny,3,5\n"), row_names=True, keep=["row_name_"])
    assert (table.names, table.kept) == (("row_name", "b"), [["x", "y"]])


def test_names_cannot_be_features(tmp_path: Path) -> None:
    file = write(tmp_path, "id,a,b\n1,2,3\n2,5,7\n")
    assert read(file, row_names=True, columns=["1-3"]).names == ("a", "b")
    assert read(file, row_names=True, columns=["*"], exclude=["b"]).names == ("a",)
    with pytest.raises(
        DataError, match=r"column 'id' holds the names of the rows \(--row-names\) and cannot be a feature"
    ):
        read(file, row_names=True, columns=["id", "a"])
    with pytest.raises(
        DataError, match=r"column 'id' holds the names of the rows \(--row-names\), but the model needs"
    ):
        read(file, row_names=True, names=["id", "a"])


def test_no_rows(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a,b\n"), row_names=True).names == ("a", "b")
    assert read(write(tmp_path, '"","a","b"\n'), row_names=True).names == ("a", "b")


def test_a_row_of_another_length_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3: the row has 2 fields, but the header has 3"):
        read(write(tmp_path, "a,b\nx,1,2\ny,3\n"), row_names=True)


def test_files_that_name_rows_each_in_its_way(tmp_path: Path) -> None:
    one = write(tmp_path, "a,b\nx,1,2\ny,3,5\n", "1.csv")
    other = write(tmp_path, ",b,a\nz,1,2\n", "2.csv")
    table = read(one, other, row_names=True, keep=["row_name"])
    assert (table.rows, table.kept, table.notes) == ([[1, 2], [3, 5], [2, 1]], [["x", "y", "z"]], [])


def test_what_is_no_text_has_none(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    import pcatool

    parquet.write_table(pa.table({"a": [1.0, 2, 5], "b": [1.0, 4, 2]}), tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet", row_names=True)
    assert (table.names, table.notes) == (
        ("a", "b"),
        [f"--row-names has no effect on {tmp_path}/t.parquet, which is a Parquet file"],
    )
    with pytest.raises(UsageError, match="row_names=True applies to text files, not to a table in memory"):
        pcatool.fit([[1.0, 2.0], [3.0, 1.0]], row_names=True)
    assert ArrowTable(pa.table({"a": [1.0]})).columns[0].row_name is False


def test_the_api_reads_them(tmp_path: Path) -> None:
    import pcatool

    file = write(tmp_path, WRITTEN["write.csv"][0])
    model = pcatool.fit(str(file), row_names=True, components=1)
    assert model.columns == ("a", "b")
    scores = pcatool.transform(model, str(file), row_names=True, keep_all=True)
    assert list(scores.columns) == ["row_name", "a", "b", "PC1"]
    with pytest.raises(DataError) as caught:
        pcatool.fit(str(write(tmp_path, WRITTEN["write.table"][0])), delimiter=" ")
    assert "row_names=True" in caught.value.remedy
    assert "row_names" in follow(DataError("", "read the table with --row-names"))
