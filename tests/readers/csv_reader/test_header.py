"""The first line: names, and how fields are separated; encodings and byte-order marks."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pytest

from pcatool.errors import DataError, UsageError
from readers.reading import follow, read, write


def test_the_first_line_holds_names(tmp_path: Path) -> None:
    table = read(write(tmp_path, 'a, b ,"c, d","e\nf"\n1,2,3,4\n'))
    assert table.names == ("a", " b ", "c, d", "e\nf")
    assert table.rows == [[1, 2, 3, 4]]


def test_without_a_header_columns_are_counted(tmp_path: Path) -> None:
    table = read(write(tmp_path, "1.5,2\n3,4\n"), header=False)
    assert table.names == ("c1", "c2")
    assert table.rows == [[1.5, 2], [3, 4]]


@pytest.mark.parametrize("first", ["1,2", " 1 ,-2", "2020,2021", "1,"])
def test_whole_numbers_are_taken_as_names_with_a_note(first: str, tmp_path: Path) -> None:
    table = read(write(tmp_path, f"{first}\n3,4\n5,6\n"), columns=["1-2"] if first != "1," else ["1"])
    assert len(table.rows) == 2
    assert any(
        "line 1: the whole numbers are read as column names; --no-header reads them" in note for note in table.notes
    )


@pytest.mark.parametrize("first", ["1.5,2", "1e3,x", "-.5,+2", "1,2.0", "id,1.5,2.5", "5.1,NA", "1e400,2"])
def test_numbers_with_a_point_or_exponent_look_like_data(first: str, tmp_path: Path) -> None:
    file = write(tmp_path, f"{first}\n" + ",".join("3" for _ in first.split(",")) + "\n")
    with pytest.raises(DataError, match=r"t.csv, line 1: the first line looks like data .*--no-header") as caught:
        read(file)
    assert read(file, header=True).names[-1] == first.split(",")[-1]
    if not set(first) & set("xidNA") and "400" not in first:
        assert len(read(file, **follow(caught.value)).rows) == 2


@pytest.mark.parametrize("first", ["a,b,1.5", "400.5nm,x", "1.2.3,4.5.6", "v1.0,v2.0"])
def test_names_may_hold_numbers(first: str, tmp_path: Path) -> None:
    assert read(write(tmp_path, f"{first}\n" + ",".join("3" for _ in first.split(",")))).names == tuple(
        first.split(",")
    )


def test_an_insisted_header_needs_no_note(tmp_path: Path) -> None:
    table = read(write(tmp_path, "1,2\n3,4\n"), header=True)
    assert (table.names, table.notes) == (("1", "2"), [])


@pytest.mark.parametrize(("separator", "named"), [(";", "';'"), ("\t", "tab"), ("|", "'|'")])
@pytest.mark.parametrize("header", [None, False])
def test_another_separator_is_named(separator: str, named: str, header: bool | None, tmp_path: Path) -> None:
    first = "a{}b" if header is None else "1{}2"
    file = write(tmp_path, f"\n{first}\n3{{}}4\n".replace("{}", separator))
    with pytest.raises(DataError, match=r"line 2: the only field, .*, contains ") as caught:
        read(file, header=header)
    assert f"read the table with -d {named}" in str(caught.value)
    assert read(file, header=header, **follow(caught.value)).rows[-1] == [3, 4]


def test_tab_separated_by_name_or_by_format(tmp_path: Path) -> None:
    for name, options in (("t.tsv", {}), ("t.tab", {}), ("T.TSV", {}), ("t.csv", {"input_format": "tsv"})):
        assert read(write(tmp_path, "a\tb\n1\t2\n", name), **options).rows == [[1, 2]]
    commas = write(tmp_path, "a,b\n1,2\n", "t.tsv")
    with pytest.raises(DataError, match="read the table with -d ','") as caught:
        read(commas)
    assert read(commas, **follow(caught.value)).rows == [[1, 2]]
    assert read(commas, input_format="csv").rows == [[1, 2]]


def test_one_column_needs_no_separator(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a b\n1\n2\n")).names == ("a b",)
    assert read(write(tmp_path, "a;b\n1\n2\n"), delimiter=",").names == ("a;b",)


SEPARATORS = {"tab": "\t", "semicolon": ";", "pipe": "|", "space": " ", ":": ":", "comma": ","}


@pytest.mark.parametrize("name", SEPARATORS)
def test_separators(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, 'a,"b,;|: ,"\n1,\n,2\n'.replace(",", SEPARATORS[name]))
    table = read(file, delimiter=name)
    assert table.names == ("a", "b,;|: ,".replace(",", SEPARATORS[name]))
    assert [[cell if cell == cell else None for cell in row] for row in table.rows] == [[1, None], [None, 2]]


def test_runs_of_blanks(tmp_path: Path) -> None:
    text = '  a \t b   "c d"\n\n 1   2\t3  \n \t \n"4" -5e1 ""\n'
    for number_of_rows in (0, 20_000):
        table = read(write(tmp_path, text + "6  7  8\n" * number_of_rows), delimiter="blanks")
        assert table.names == ("a", "b", "c d")
        assert table.rows[:1] == [[1, 2, 3]]
        assert table.rows[1][:2] == [4, -50]
        assert len(table.rows) == 2 + number_of_rows
    with pytest.raises(DataError, match="line 5: the row has 2 fields, but the header has 3"):
        read(write(tmp_path, text.replace('""', "")), delimiter="blanks")


def test_two_names_alike(tmp_path: Path) -> None:
    file = write(tmp_path, "a,b,a,a\n1,2,3,4\n5,6,7,9\n")
    with pytest.raises(DataError, match=r"columns 1 and 3 are both called 'a'; .*-x 3") as caught:
        read(file)
    with pytest.raises(DataError, match=r"columns 1 and 4 are both called 'a'; .*-x 4"):
        read(file, exclude=["3"])
    assert read(file, exclude=["3", "4"]).rows == [[1, 2], [5, 6]]
    assert follow(caught.value) == {"exclude": ("3",)}
    with pytest.raises(DataError, match=r"columns 1 and 3 are both called 'a'; rename one of the columns$"):
        read(write(tmp_path, "a,3,a\n1,2,3\n"), header=True)  # 3 is a name


def test_a_column_without_a_name(tmp_path: Path) -> None:
    file = write(tmp_path, ",a\n1,2\n3,4\n")
    with pytest.raises(DataError, match=r"column 1 has no name; .*-x 1") as caught:
        read(file)
    assert read(file, **follow(caught.value)).names == ("a",)
    assert read(write(tmp_path, ",a,\nx,2,\ny,4,\n")).names == ("a",)


def test_a_comma_at_the_end_of_each_line_makes_no_column(tmp_path: Path) -> None:
    table = read(write(tmp_path, "a,b,\n1,2,\n3,4,\n"))
    assert table.rows == [[1, 2], [3, 4]]
    assert table.notes == ["left out column 3, which has neither a name nor a value"]


MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
TEXT = "größe,b\n1,2\n3,4\n"


@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("named", ["utf-8", "latin-1", None])
def test_a_byte_order_mark_is_no_part_of_a_name(encoding: str, named: str | None, tmp_path: Path) -> None:
    file = write(tmp_path, MARKS[encoding] + TEXT.encode(encoding))
    table = read(file, encoding=named or encoding)
    assert (table.names, table.rows) == (("größe", "b"), [[1, 2], [3, 4]])


def test_a_mark_and_nothing_else(tmp_path: Path) -> None:
    for mark in MARKS.values():
        with pytest.raises(DataError, match="is empty"):
            read(write(tmp_path, mark))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "t.csv is empty; give a table that begins with a line of column names"),
        ({"header": False}, "t.csv is empty; give a table that has rows"),
        (
            {"skip_lines": 2, "comment": "#"},
            "t.csv is empty, except for lines left out by --skip-lines 2 and --comment '#'; correct --skip-lines 2 and "
            "--comment '#', or give a table that begins with a line of column names",
        ),
    ],
    ids=str,
)
def test_a_table_whose_lines_are_all_left_out(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(write(tmp_path, "a,b\n1,2\n# end\n" if "comment" in options else ""), **options)
    assert str(caught.value).endswith(said)


def test_a_mark_before_a_quoted_name(tmp_path: Path) -> None:
    assert read(write(tmp_path, codecs.BOM_UTF8 + b'"a,b",c\n1,2\n')).names == ("a,b", "c")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "cp037", "shift_jis", "utf-8-sig"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    text = TEXT if encoding != "shift_jis" else "\u5927\u304d\u3055,b\n1,2\n3,4\n"
    table = read(write(tmp_path, text.encode(encoding)), encoding=encoding)
    assert (table.names[0], table.rows) == (text.split(",")[0], [[1, 2], [3, 4]])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-be", "cp1252"])
def test_a_long_text_that_is_longer_in_utf8(encoding: str, tmp_path: Path) -> None:
    """More than is read at a time: each piece is longer than what was asked for."""
    rows = [f"{i},{i % 7},ééé" for i in range(40_000)]
    table = read(write(tmp_path, "\n".join(["a,b,t", *rows]).encode(encoding)), encoding=encoding, keep=["t"])
    assert table.X[:, 0].tolist() == list(range(40_000))
    assert set(table.kept[0]) == {"ééé"}


def test_text_in_another_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="line 1: the text is not valid UTF-8; name the encoding, such as --encoding latin-1"
    ):
        read(write(tmp_path, TEXT.encode("latin-1")))
    with pytest.raises(DataError, match="line 3: the text is not valid cp1252"):
        read(write(tmp_path, b"a,b\n1,2\n3,\x81\n"), encoding="cp1252")
    for codec, mark in (("utf-16", "UTF-16"), ("utf-32", "UTF-32")):
        said = rf"the text is not valid {codec} \({mark} stream does not start with a byte order mark\); give another"
        with pytest.raises(DataError, match=said):
            read(write(tmp_path, "a,b\n1,2\n3,4\n".encode(f"{codec}-le")), encoding=codec)
    with pytest.raises(DataError, match="line 3: the text is not valid utf-16"):
        read(write(tmp_path, "a,b\n1,2\n3,4".encode("utf-16") + b"x"))
    with pytest.raises(
        DataError, match="line 1: the line has NUL bytes; name the encoding, such as --encoding utf-16-le"
    ):
        read(write(tmp_path, TEXT.encode("utf-16-le").replace(b"\xf6\x00\xdf\x00", b"")))
    with pytest.raises(
        UsageError, match="'hex' is not a text encoding; give a text encoding, such as --encoding latin-1"
    ):
        read(write(tmp_path, b"00"), encoding="hex")


def test_comments_and_skipped_lines(tmp_path: Path) -> None:
    text = 'made by "us\n\n# names follow\na,b # two\n  # , "\n1,2\n"3#", 4#5\n#\n'
    table = read(write(tmp_path, text), skip_lines=2, comment="#", columns=["b"])
    assert (table.names, table.rows) == (("b",), [[2], [4]])
    with pytest.raises(DataError, match="line 7, column 'a': '3#' is not a number"):
        read(write(tmp_path, text), skip_lines=2, comment="#")
    with pytest.raises(DataError, match="is empty"):
        read(write(tmp_path, text), skip_lines=20)


@pytest.mark.parametrize("text", ["", "\n", "\r\n\r\n", "# only\n"])
def test_an_empty_table(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t.csv is empty"):
        read(write(tmp_path, text), comment="#")


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\r", "\na,b\n\n\n"])
def test_names_and_no_rows(text: str, tmp_path: Path) -> None:
    table = read(write(tmp_path, text))
    assert (table.names, table.rows) == (("a", "b"), [])
