"""Numbers that mean missing, and options of text, where a table holds no text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.inputs import Inputs

TABLE = pa.table({"a": [1.0, -999.0, 3.0, 4.0], "b": [3, 1, -999, 2]})
TEXT = "a,b\n1,3\n-999,1\n3,-999\n4,2\n"


@pytest.mark.parametrize("null", ["-999", "-999.0", "-9.99e2"])
def test_they_are_missing_in_every_kind_of_table(null: str, tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    frame = TABLE.to_pandas()
    for data in (tmp_path / "t.parquet", TABLE, frame, frame.to_numpy()):
        model = pcatool.fit(data, missing="mean", null_value=[null], components=1)
        np.testing.assert_allclose(model.mean, [8 / 3, 2.0], rtol=1e-15)
    (tmp_path / "t.csv").write_text(TEXT)
    as_text = pcatool.fit(tmp_path / "t.csv", missing="mean", null_value=["-999"], components=1)
    assert np.array_equal(as_text.basis, pcatool.fit(TABLE, missing="mean", null_value=["-999"], components=1).basis)


def test_an_infinity_may_mean_missing() -> None:
    table = pa.table({"a": [1.0, np.inf, 3.0], "b": [1.0, 2.0, 4.0]})
    assert pcatool.fit(table, null_value=["inf"], missing="mean", components=1).mean[0] == 2.0
    with pytest.raises(pcatool.DataError, match="is not finite"):
        pcatool.fit(table, missing="mean", components=1)


def test_the_callers_array_is_as_it_was() -> None:
    X = np.array([[1.0, -999.0], [2.0, 3.0], [4.0, 1.0]], order="F")
    X.setflags(write=False)
    pcatool.fit(X, missing="mean", null_value=["-999"], components=1)
    assert X[0, 1] == -999


def test_options_of_text_that_change_nothing_are_noted(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    reporter = Reporter()
    Inputs([str(tmp_path / "t.parquet")], TableOptions(header=False, delimiter=";"), reporter)
    file = tmp_path / "t.parquet"
    assert reporter.notes == [f"--delimiter, --no-header have no effect on {file}, which is a Parquet file"]


def test_a_name_with_a_nul_byte_is_refused() -> None:
    with pytest.raises(pcatool.DataError, match="a column name has a NUL byte"):
        pcatool.fit(pa.table({"a\0": [1, 2, 3], "b": [1, 3, 2]}))


CELL = "t.csv, line 3, column 'a': 'x' is not a number; correct the cell, "


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("a", f'{CELL}or give null_value="x" and missing="drop" if the value stands for a missing cell'),
        (
            "a,b",
            f'{CELL}give null_value="x" and missing="drop" if the value stands for a missing cell, '
            'or leave the column out with exclude="a"',
        ),
    ],
)
def test_the_only_feature_cannot_be_left_out(columns: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\nx,3\n4,5\n")
    with pytest.raises(pcatool.DataError) as caught:
        pcatool.fit(tmp_path / "t.csv", columns=columns)
    assert str(caught.value).endswith(said)
    table = pa.table({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 4.0]})
    with pytest.raises(pcatool.DataError) as caught:
        pcatool.fit(table, columns=columns)
    assert ("exclude to leave out a column" in str(caught.value)) == (columns == "a,b")


def remedy_of(function: Callable[..., object], *given: object, **settings: Any) -> str:
    with pytest.raises(pcatool.DataError) as caught:
        function(*given, **settings)
    return caught.value.remedy


def test_a_value_for_a_missing_cell_comes_with_what_to_do_about_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,1\nx,2\n3,4\ny,5\n")
    (tmp_path / "v.csv").write_text("a,b\n1,1\nx,2\n3,4\n")
    both = 'give null_value="x" null_value="y" and missing="drop" if the texts stand for missing cells'
    assert both in remedy_of(pcatool.fit, tmp_path / "t.csv")
    model = pcatool.fit(tmp_path / "t.csv", null_value=["x", "y"], missing="mean", components=1)
    assert "and missing=" not in remedy_of(pcatool.fit, tmp_path / "v.csv", missing="em")
    assert "and missing=" not in remedy_of(pcatool.transform, model, tmp_path / "v.csv")
    model = pcatool.fit(pa.table({"a": [1.0, 2.0], "b": [3.0, 1.0]}), components=1)
    assert 'null_value="x" and missing="keep" if the value' in remedy_of(pcatool.transform, model, tmp_path / "v.csv")


def test_a_line_of_totals_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,1\n3,4\nTotal,5\n")
    assert remedy_of(pcatool.fit, tmp_path / "t.csv").startswith("if the line holds totals, delete the line; else ")


def test_the_first_incomplete_rows_are_listed_by_file(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,b\n1,2\n3,\n4,5\n")
    (tmp_path / "2.csv").write_text("a,b\n,2\n,\n4,\n")
    for names, places in (("1", "1.csv, line 3;"), ("2", "2.csv, lines 2, 3 and 4;")):
        with pytest.raises(pcatool.DataError, match=f"in .*{places}"):
            pcatool.fit(tmp_path / f"{names}.csv")
    with pytest.raises(pcatool.DataError, match=r"in .*1\.csv, line 3, and .*2\.csv, lines 2 and 3;"):
        pcatool.fit([str(tmp_path / "1.csv"), str(tmp_path / "2.csv")])
