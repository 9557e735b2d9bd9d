"""A quoted field that goes on after its closing quote is text, never the number that the two parts would make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pcatool.errors import BadCell
from pcatool.readers.csv_reader.chunk_parser import ChunkParser
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.normalize import has_text_after_quote, requoted
from readers.reading import read, write

JOINED = {'"2"3': '2"3', '""5': '"5', '"1""2"3': '1"2"3', '"1"2"3"': '1"2"3"', '"1"."5"': '1"."5"', '"1\n"2': '1\n"2'}
WHOLE = ['"2"', '"2" ', '"2"\t', '"2\n"', '"2 "']


@pytest.mark.parametrize("cell", JOINED)
@pytest.mark.parametrize("others", [["1", "2"], ['"1"', '"x,y"'], ["", '5" x']])
@pytest.mark.parametrize("rows", [0, 20_000])
def test_a_number_cut_by_quotes_is_refused(cell: str, others: list[str], rows: int, tmp_path: Path) -> None:
    text = "a,b,c\n1,2,x\n" + "3,4,y\n" * rows + f"{others[0]},{cell},{others[1]}\n"
    with pytest.raises(BadCell, match=f"line {rows + 3}, column 'b': ") as caught:
        read(write(tmp_path, text), columns=["b"])
    assert f"{JOINED[cell]!r} is not a number" in str(caught.value).replace("\\\\", "\\")


def test_among_comments_and_blank_lines_of_one_column(tmp_path: Path) -> None:
    file = write(tmp_path, 'a\n1\n# x\n\n"2"3 # y\n# z\n')
    with pytest.raises(BadCell, match="line 5, column 'a': '2\"3' is not a number"):
        read(file, comment="#")


@pytest.mark.parametrize("cell", WHOLE)
def test_blanks_may_follow_a_quote(cell: str, tmp_path: Path) -> None:
    assert read(write(tmp_path, f"a,b\n{cell},{cell}\n1,{cell}")).rows == [[2, 2], [1, 2]]


def test_texts_are_kept_as_csv_readers_have_them(tmp_path: Path) -> None:
    table = read(write(tmp_path, 'a,t\n"1","x"y\n2,"z\\"\n'), keep=["t"])
    assert (table.rows, table.kept) == ([[1], [2]], [["xy", "z\\"]])


@pytest.mark.parametrize("data", ['1,5" x\n', '"a""b",1\n', '"",""', '"a,"\r\n"b"\r', 'x"",1\n', '"a\n"\n', '1,"2" \n'])
def test_other_quotes_are_no_such_fields(data: str) -> None:
    assert not has_text_after_quote(data.encode(), Dialect())
    assert requoted(data.encode(), Dialect()) == data.encode()


def test_texts_that_run_on_do_not_need_the_slow_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in exports that escape a quote with a backslash."""
    file = write(tmp_path, "a,t,b\n" + '1,"x \\"y\\"",\n"2",5" z,3\n' * 20_000)
    monkeypatch.setattr(ChunkParser, "_parse_exactly", None)
    table = read(file)
    assert table.names == ("a", "b")
    assert np.array_equal(table.X, [[1, np.nan], [2, 3]] * 20_000, equal_nan=True)
