"""What a column is, by the first block of rows; and where the tool says that something is wrong."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from pcatool.blocks import block_rows
from pcatool.errors import BadCell, DataError
from pcatool.readers.cutter import Chunk
from pcatool.readers.dialect import Dialect
from pcatool.readers.kinds import profile
from readers.reading import read, same_bits, write

COLUMNS = {
    "numbers": (["1", "-2.5", " 3e1 "], "number", ""),
    "numbers and holes": (["NA", "", "5"], "number", ""),
    "one number": (["x", "y", "5"], "number", ""),
    "whole numbers of any length": (["1" * 30, "2", "3"], "number", ""),
    "infinite": (["inf", "-inf", "1e400"], "number", ""),
    "holes only": (["NA", "", " . "], "empty", ""),
    "odd holes only": (["nA", "  NA  ", "-nan"], "empty", ""),
    "text": (["x", "y", "z"], "text", "x"),
    "text after holes": (["", " NA", "z"], "text", "z"),
    "dates": (["2024-01-05", "2024-01-06", ""], "text", "2024-01-05"),
    "times": (["12:30:00", "12:31:00", ""], "text", "12:30:00"),
    "times of a day": (["2024-01-05 12:30:00", "2024-01-05T12:30:00Z", ""], "text", "2024-01-05 12:30:00"),
    "other digits": (["\u0661", "1_000_", "0x10"], "text", "\u0661"),
    "yes and no": (["true", " FALSE", ""], "boolean", "true"),
    "yes and text": (["true", "maybe", ""], "text", "true"),
    "currency": (["$5", "", "$6"], "dressed", "$5"),
}


@pytest.mark.parametrize("case", COLUMNS)
@pytest.mark.parametrize("odd_chunk", [False, True])
def test_kinds(case: str, odd_chunk: bool) -> None:
    cells, kind, example = COLUMNS[case]
    text = "".join(f'{i},"{cell}"\n' for i, cell in enumerate(cells))
    if odd_chunk:  # that Arrow does not take
        text = "\ufeff" + text
    column = profile(Chunk(text.encode(), 3, 2), ["id", "c"], Dialect(), "t.csv", True)[1]
    assert (column.name, column.kind, column.example) == ("c", kind, example)


def test_columns_left_out_are_named_with_their_first_value(tmp_path: Path) -> None:
    table = read(write(tmp_path, "name,flag,a\n,,1\nAnna,True,2\nBert,false,3\n"))
    assert table.names == ("a",)
    assert table.notes == [
        "left out text column 'name' (first value 'Anna')",
        "left out boolean column 'flag' (first value 'True'; name it with -c to use it as 0 and 1)",
    ]


def test_no_column_of_numbers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column holds numbers; there are: 'a', 'b'"):
        read(write(tmp_path, "a,b\nx,y\n"))
    with pytest.raises(DataError, match="no column is left"):
        read(write(tmp_path, "a,b\n1,2\n"), columns=["a"], exclude=["a"])


def test_booleans_count_when_named(tmp_path: Path) -> None:
    file = write(tmp_path, "a,b\n1,true\n2,False\n3,\n4, TRUE \n5,fAlse\n")
    table = read(file, columns=["b", "a"])
    assert table.names == ("b", "a")
    assert same_bits(table.X[:, 0], np.array([1, 0, math.nan, 1, 0]))
    with pytest.raises(BadCell, match=f"line {block_rows(2) + 2}, column 'b': 'yes' is neither true nor false"):
        read(write(tmp_path, "a,b\n" + "1,true\n" * block_rows(2) + "6,yes\n"), columns=["a", "b"])


def test_a_named_column_must_hold_numbers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"column 'b' holds no numbers \(first value 'x'\)"):
        read(write(tmp_path, "a,b\n1,x\n"), columns=["a", "b"])


def test_only_the_first_block_is_judged(tmp_path: Path) -> None:
    block = block_rows(2)
    head = "a,b\n" + "1,\n" * block
    assert np.isnan(read(write(tmp_path, head)).X[:, 1]).all()
    with pytest.raises(BadCell, match=f"t.csv, line {block + 2}, column 'b': 'x' is not a number"):
        read(write(tmp_path, head + "1,x\n"))
    assert read(write(tmp_path, "a,b\n" + "1,x\n" * block + "1,2\n")).names == ("a",)


PLACES = {
    "lines": ("a,b\n1,2\n3,x\n", 3),
    "CRLF": ("a,b\r\n1,2\r\n3,x\r\n", 3),
    "CR": ("a,b\r1,2\r3,x\r", 3),
    "mixed": ("a,b\r1,2\n\r\n3,x\r\n", 4),
    "blank lines": ("\n\na,b\n\n1,2\n\n\n3,x\n", 8),
    "quoted line ends": ('"a\n",b\n1,"2\r\n"\n3,"x\n\n"\n', 5),
    "within one row": ('a,b\n1,2\n"1\n\n",x\n', 3),
    "no line end": ("a,b\n1,2\n3,x", 3),
    "after many": ("a,b\n" + "1,2\n" * 30_000 + "3,x\n", 30_002),
    "after many of every sort": ("a,b\n" + '1,2\r\n\n"3\n",4\r' * 10_000 + "3,x\n", 40_002),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_bad_cell_is_named_by_the_line_an_editor_shows(case: str, tmp_path: Path) -> None:
    text, line = PLACES[case]
    with pytest.raises(BadCell, match=f"t.csv, line {line}, column 'b': 'x[^']*' is not a number"):
        read(write(tmp_path, text))
    with pytest.raises(BadCell, match=f"t.csv, line {line + 3}, column 'b': 'x[^']*' is not a number"):
        read(write(tmp_path, 'title "\n\r\n\n' + text), skip_lines=3)


RAGGED = {
    "short": ("a,b\n1,2\n3\n", "line 3: 1 field, the header has 2"),
    "long": ("a,b\n1,2\n\n3,4,5\n", "line 4: 3 fields, the header has 2"),
    "a comma too many": ("a,b\n1,2,\n", "line 2: 3 fields, the header has 2"),
    "blanks are a field": ("a,b\n1,2\n  \n", "line 3: 1 field, the header has 2"),
    "a quote closed too late": ('a,b\n1,"2\n3,4\n5",6\n', "line 2: 3 fields, .*is a quote left open there?"),
    "after many": ("a,b\n" + "1,2\n" * 20_000 + "3\n", "line 20002: 1 field, the header has 2"),
    "a text column": ("a,b\n1,x\n3\n", "line 3: 1 field, the header has 2"),
}


@pytest.mark.parametrize("case", RAGGED)
def test_rows_of_another_width_are_refused(case: str, tmp_path: Path) -> None:
    text, message = RAGGED[case]
    with pytest.raises(DataError, match=f"t.csv, {message}"):
        read(write(tmp_path, text))


def test_rows_of_another_width_without_a_header(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: 3 fields, the first row has 2"):
        read(write(tmp_path, "1,2\n3,4,5\n"), header=False)


def test_the_first_infinite_cell_is_named_as_it_stands(tmp_path: Path) -> None:
    file = write(tmp_path, "a,b\n1,NA\n2,3\n4,1e999\n-inf,2\n")
    with pytest.raises(BadCell, match="line 4, column 'b': '1e999' is not finite"):
        read(file)
    assert len(read(file, exclude=["b"], null_value=["-inf"]).rows) == 4


def test_one_column(tmp_path: Path) -> None:
    """A blank line is no row; an empty cell in quotes is one."""
    X = read(write(tmp_path, 'a\n1\n\n""\n2\n \n"3"\n\n')).X
    assert same_bits(X, np.array([[1], [math.nan], [2], [math.nan], [3]]))
