"""What is no table is refused for what it is, whatever its name; what only looks like it is read."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import pytest

from pcatool.errors import BadCell, DataError
from pcatool.registry import READERS, Entry
from readers.reading import read, write

ROWS = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
JSON = [
    "\n".join(json.dumps(row) for row in ROWS), json.dumps(ROWS), json.dumps(ROWS, indent=2),
    json.dumps(ROWS[0], indent=1), "[[1, 2], [3, 4]]", "[1, 2]", '["a", 1]', ' {"a":1}', "[\n",
]  # fmt: skip
OTHERS: dict[bytes, str] = {
    b"<!DOCTYPE html>\n<html>": "HTML", b"<html lang='en'>\n": "HTML", b"  <?xml version='1.0'?>\n": "XML",
    b"<svg width='1'>\n": "XML", b"{\\rtf1 hi}\n": "a document",
    b"version https://git-lfs.github.com/spec/v1\n": "Git LFS",
    b"sep=;\na;b\n1;2\n": "--skip-lines 1", b"\x89PNG\r\n\x1a\n": "a picture", b"\xff\xd8\xff\xe0": "a picture",
    b"\x7fELF\x02": "a program", b"7z\xbc\xaf'": "a 7z archive", b"PK\x05\x06": "an empty zip archive",
    b"\xff\xff\xff\xff\x10\x01": "an Arrow stream", b"Obj\x01": "an Avro file", b"PK\x03\x04": "a zip archive",
    b"a.csv" + bytes(100) + b"1,2\n": "NUL bytes; name the encoding, such as --encoding utf-16-le",
    b"GIF89a\x01\0\x01\0\n": "NUL bytes; check that the file is a text table", b"\0a\0,\0b\0\n": "--encoding utf-16-be",
}  # fmt: skip


@pytest.mark.parametrize("text", JSON)
def test_json(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: the text is JSON, .*convert the file to CSV or Parquet"):
        read(write(tmp_path, text))


def test_json_that_a_reader_could_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe has no name that tells the format."""
    table = "pcatool.readers.csv_reader.table:TsvTable"
    monkeypatch.setitem(READERS.entries, "jsonl", Entry(table, "", (".jsonl", ".ndjson")))
    with pytest.raises(DataError, match="is JSON, but is read as CSV; name the format with --input-format jsonl, or"):
        read(write(tmp_path, JSON[0], "pipe"))
    monkeypatch.setitem(READERS.entries, "ltsv", Entry(table, "", (".ltsv",)))
    with pytest.raises(DataError, match=r"with -d tab, or, if .* name the format with --input-format jsonl or ltsv"):
        read(write(tmp_path, "a:1\tb:2\n", "pipe"))


@pytest.mark.parametrize("data", OTHERS, ids=lambda data: repr(data[:12]))
def test_other_kinds(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.csv") as caught:
        read(write(tmp_path, data))
    assert OTHERS[data] in str(caught.value)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("value", [[1], {"a": [1]}, (1, 2)])
def test_pickles(protocol: int, value: object, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a Python pickle"):
        read(write(tmp_path, pickle.dumps(value, protocol)))


@pytest.mark.parametrize("header", ["[a],b", "{x},b", "<5mg,b", "[1],b", "sepal,b", "version,b", 'a{",b'])
def test_names_may_look_a_little_like_it(header: str, tmp_path: Path) -> None:
    assert read(write(tmp_path, f"{header}\n1,2\n")).names == tuple(header.split(","))


def test_insisted_names_may_be_any(tmp_path: Path) -> None:
    assert read(write(tmp_path, "[1,2]\n3,4\n"), header=True).names == ("[1", "2]")


def test_gzip_goes_on_and_is_padded(tmp_path: Path) -> None:
    first, second = gzip.compress(b"a,b\n1,2\n3"), gzip.compress(b",4\n")
    for between in (b"", b"\0" * 5):
        for after in (b"", b"\0" * 70_000):
            assert read(write(tmp_path, first + between + second + after)).rows == [[1, 2], [3, 4]]
    for after in (b"\0\0x", b"more", b"\0\0" + first[:20]):
        with pytest.raises(DataError, match="damaged or cut off"):
            read(write(tmp_path, first + second + after))
    with pytest.raises(DataError, match="is compressed twice; decompress the file once"):
        read(write(tmp_path, gzip.compress(gzip.compress(b"a,b\n1,2\n"))))


FOREIGN = [
    "\u22125",
    "\u20135",
    "\uff11\uff12",
    "\u0661\u066b\u0662",
    "\u200b5",
    "\ufeff5",
    "'5'",
    "\u201c5\u201d",
    "5\u2060",
    "\u0967",
]
TEXTS = ["x5", "\u2212", "\u2212x", "\u00bd", "\u4e94", "''", "5\u22123", "0x1A", "\uff21"]


@pytest.mark.parametrize("cell", FOREIGN)
def test_numbers_in_other_letters(cell: str, tmp_path: Path) -> None:
    """They are no text to be left out, even where the whole column is written so."""
    with pytest.raises(DataError, match=r"column 'b': .* is not a plain number; write numbers with ASCII digits.*-x b"):
        read(write(tmp_path, f"a,b\n1,{cell}\n2,{cell}\n"))
    with pytest.raises(
        BadCell,
        match=r"line 3, column 'b': .* is not a number; write numbers with ASCII digits and signs only, as in -1.5e3$",
    ):
        read(write(tmp_path, f"a,b\n1,2\n2,{cell}\n"))


@pytest.mark.parametrize("cell", TEXTS)
def test_other_texts_are_left_out(cell: str, tmp_path: Path) -> None:
    assert read(write(tmp_path, f"a,b\n1,{cell}\n2,{cell}\n")).names == ("a",)


def test_hints(tmp_path: Path) -> None:
    for text, hint in {
        "a,b\n1,2\na,b\n3,4\n": "line 3, column 'a': 'a' is not a number; this line seems to repeat the header",
        "a,b\n1,2\n\ufeffa,b\n3,4\n": "this line seems to repeat the header",
        "a,b\n1,2\n# x\n": "line 3: the row has 1 field, but the header has 2; if the line is a comment, "
        "add --comment '#'",
        "Report\na,b\n1,2\n": "line 2: the row has 2 fields, but the header has 1; if the first line is a title, "
        "add --skip-lines 1; if the first line begins with '#', add --comment '#'",
    }.items():
        with pytest.raises(DataError) as caught:
            read(write(tmp_path, text))
        assert hint in str(caught.value)
