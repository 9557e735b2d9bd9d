"""What a column is, by the first block of rows; and where the tool says that something is wrong."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcatool.arrays import block_rows
from pcatool.errors import BadCell, DataError
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Column
from pcatool.readers.csv_reader import split as cutter
from pcatool.readers.csv_reader import table as kinds
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.split import Chunk
from pcatool.readers.csv_reader.table import profile
from pcatool.readers.inputs import Inputs
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
    "currency": (["$5", "", "$6"], "marked number", "$5"),
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
        "left out boolean column 'flag' (first value 'True'; to use this column as 0 and 1, "
        "give -c with this column and the other features)",
    ]


def test_no_column_of_numbers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column holds numbers; the columns are: 'a', 'b'"):
        read(write(tmp_path, "a,b\nx,y\n"))
    with pytest.raises(DataError, match="no column is left as a feature"):
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
    "short": ("a,b\n1,2\n3\n", "line 3: the row has 1 field, but the header has 2"),
    "long": ("a,b\n1,2\n\n3,4,5\n", "line 4: the row has 3 fields, but the header has 2"),
    "a comma too many": ("a,b\n1,2,\n", "line 2: the row has 3 fields, but the header has 2"),
    "blanks are a field": ("a,b\n1,2\n  \n", "line 3: the row has 1 field, but the header has 2"),
    "a quote closed too late": (
        'a,b\n1,"2\n3,4\n5",6\n',
        "line 2: the row has 3 fields, .*check whether a quote in this row is closed too late",
    ),
    "after many": ("a,b\n" + "1,2\n" * 20_000 + "3\n", "line 20002: the row has 1 field, but the header has 2"),
    "a text column": ("a,b\n1,x\n3\n", "line 3: the row has 1 field, but the header has 2"),
}


@pytest.mark.parametrize("case", RAGGED)
def test_rows_of_another_width_are_refused(case: str, tmp_path: Path) -> None:
    text, message = RAGGED[case]
    with pytest.raises(DataError, match=f"t.csv, {message}"):
        read(write(tmp_path, text))


def test_rows_of_another_width_without_a_header(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: the row has 3 fields, but the first row has 2"):
        read(write(tmp_path, "1,2\n3,4,5\n"), header=False)


def test_the_first_infinite_cell_is_named_as_it_stands(tmp_path: Path) -> None:
    file = write(tmp_path, "a,b\n1,NA\n2,3\n4,1e999\n-inf,2\n")
    with pytest.raises(BadCell, match="line 4, column 'b': '1e999' is not finite"):
        read(file)
    assert len(read(file, exclude=["b"], null_value=["-inf"]).rows) == 4


def test_one_column(tmp_path: Path) -> None:
    """A blank line is a row, as an empty cell in quotes is; before the names it is none."""
    for end in ("\n", "\r\n", "\r"):
        file = write(tmp_path, '\n\na\n1\n\n""\n2\n \n"3"\n\n'.replace("\n", end))
        table = read(file, keep=["a"])
        assert same_bits(table.X, np.array([[1], [math.nan], [math.nan], [2], [math.nan], [3], [math.nan]]))
        assert table.kept == [["1", "", "", "2", " ", "3", ""]]
        commented = write(tmp_path, '# x\na\n1\n# y\n\n"\n\n"# z\n2'.replace("\n", end))
        assert same_bits(read(commented, comment="#").X, np.array([[1], [math.nan], [math.nan], [2]]))
    assert read(write(tmp_path, "a\n1\n\n2\n"), delimiter="blanks").rows == [[1], [2]]


def test_a_blank_line_of_one_column_far_into_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [str(i) for i in range(1, 30_000)]
    rows[20_000], rows[25_000] = "", '""'
    expected = np.array([[float(row) if row.isdigit() else math.nan] for row in rows])
    for end in ("\n", "\r\n", "\r"):
        file = write(tmp_path, end.join(["a", *rows, ""]))
        assert same_bits(read(file).X, expected)
        with monkeypatch.context() as patch:
            patch.setattr(cutter, "READ_BYTES", 100)
            assert same_bits(read(file).X, expected)
        with pytest.raises(BadCell, match="line 30001, column 'a': 'x' is"):
            read(write(tmp_path, end.join(["a", *rows, "x"])))


# --- the first row alone tells of most tables ---

CELLS = ["1", "-2.5", "1e3", " 7 ", "+.5", "", "NA", ".", "true", "False", "$5", "1,5", "x", "inf", "nan", "1_0", '"8"']


def random_table(rng: random.Random) -> str:
    """Columns of numbers, most of them, into which something else comes at any place."""
    width, height = rng.choice([1, 2, 4]), rng.choice([1, 2, 9, 30])
    rows = [[str(rng.randint(-9, 9)) for _ in range(width)] for _ in range(height)]
    for j in range(width):
        if rng.random() < 0.3:  # a column of something else
            for row in rows:
                row[j] = rng.choice(CELLS) if rng.random() < 0.2 else rng.choice(["x", "", "true", "$5"])
    for _ in range(rng.choice([0, 0, 1, 3])):
        rows[rng.randrange(height)][rng.randrange(width)] = rng.choice(CELLS)
    return "\n".join(";".join(row) for row in [list("abcd"[:width]), *rows]) + "\n"


@pytest.mark.parametrize("wide", [1000, 2])
def test_columns_by_the_first_row_are_those_by_the_whole_block(
    wide: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "WIDE", wide)
    first_row, told = kinds.all_numbers, 0
    settings: list[dict[str, Any]] = [{}, {}, {"strip": "$"}, {"decimal": ","}, {"null_value": ["1", "-"]}]

    def columns(file: Path, options: dict[str, Any]) -> tuple[Column, ...]:
        return Inputs([str(file)], TableOptions(delimiter=";", **options), Reporter()).first.profile()

    def watched(*given: Any) -> bool:
        nonlocal told
        found = first_row(*given)
        told += found
        return found

    for seed in range(150):
        rng = random.Random(seed)
        file, options = write(tmp_path, random_table(rng)), rng.choice(settings)
        monkeypatch.setattr(kinds, "all_numbers", watched)
        quick = columns(file, options)
        monkeypatch.setattr(kinds, "all_numbers", lambda *given: False)
        assert columns(file, options) == quick, (seed, options, file.read_text())
    assert 30 < told < 120


NOT_ALL = {
    "a hole": "1,\n",
    "a word for a hole": "NA,2\n",
    "a text": "1,x\n",
    "a boolean": "1,true\n",
    "a dressed number": "1,$5\n",
    "a field too many": "1,2,3\n",
    "a field too few": "1\n",
    "a quoted word": '1,"x\n"\n',
}


@pytest.mark.parametrize("wide", [1000, 2])
@pytest.mark.parametrize("case", NOT_ALL)
def test_what_makes_the_whole_block_be_looked_at(case: str, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "WIDE", wide)
    assert not kinds.all_numbers(Chunk(NOT_ALL[case].encode(), 1, 2), 2, Dialect(), "t.csv")
    assert kinds.all_numbers(Chunk(b"1,-2.5e3\r\n", 1, 2), 2, Dialect(), "t.csv")


def test_after_a_row_of_numbers_an_error_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rest in ("x,1", "1", "1,2,3", "inf,1", "1,true", '1,"2', "1,$5", "1_0,1"):
        file = write(tmp_path, "a,b\n" + "1,2\n" * 5 + rest + "\n")
        errors = []
        for quick in (True, False):
            with monkeypatch.context() as patch, pytest.raises(DataError) as error:
                if not quick:
                    patch.setattr(kinds, "all_numbers", lambda *given: False)
                read(file)
            errors.append(str(error.value))
        assert errors[0] == errors[1]
        assert "line 7" in errors[0]


# --- lines of long inputs ---


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_right_far_into_an_input_of_many_chunks(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stretches of plain rows, of blank lines and of quoted line ends, read in small pieces."""
    monkeypatch.setattr(cutter, "READ_BYTES", 100)
    monkeypatch.setattr("pcatool.readers.csv_reader.chunk_parser.rows_at_once", lambda d: 8)
    rng = random.Random(end)
    lines = ["a,b"]
    for _ in range(8):
        row = rng.choice(["1,2", f"{end}1,2", f'1,"2{end}"', f'"1{end}{end}",2{end}'])
        lines += [row] * rng.randint(1, 20)
        place = end.join([*lines, ""]).count(end) + 1
        for odd, what in (("3,x", "'x' is not a number"), ("1,2,3", "3 fields"), ("inf,1", "'inf' is not finite")):
            file = write(tmp_path, end.join([*lines, odd, *["4,5"] * 20, ""]))
            with pytest.raises(DataError, match=f"line {place}[,:].*{what}"):
                read(file)
