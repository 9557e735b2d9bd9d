"""Very wide tables are read folded, and say what they say when read column by column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pcatool.errors import DataError
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Feature
from pcatool.readers.csv_reader import chunk_parser as chunks
from pcatool.readers.csv_reader import chunk_parser as wide
from pcatool.readers.csv_reader import table as kinds
from pcatool.readers.csv_reader.chunk_parser import ChunkParser
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.split import Chunk
from pcatool.readers.inputs import Inputs

PLAIN = Dialect(",")
WIDTH = wide.WIDE + 7


def text_of(rows: list[list[str]], end: str = "\n") -> bytes:
    return end.join(",".join(row) for row in rows).encode() + end.encode()


def cells(rows: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, WIDTH)) * 10.0 ** rng.integers(-9, 9, (rows, WIDTH))
    words = [[repr(x) for x in row] for row in X.tolist()]
    for i, j in zip(rng.integers(0, rows, 40), rng.integers(0, WIDTH, 40), strict=True):
        words[i][j] = str(rng.choice(["", "NA", "nan", "1e5", "+3", " 7", "-0"]))
    return words


def parse(data: bytes, rows: int, dialect: Dialect = PLAIN) -> np.ndarray:
    features = tuple(Feature(f"c{j}", j) for j in range(WIDTH))
    return ChunkParser("wide.csv", dialect, WIDTH, features, (), True)(Chunk(data, rows, 2)).X


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("seed", range(3))
def test_folded_equals_column_by_column(monkeypatch: pytest.MonkeyPatch, end: str, seed: int) -> None:
    data = text_of(cells(5, seed), end)
    folded = wide.read_wide(Chunk(data, 5, 2), PLAIN, WIDTH)
    assert folded is not None
    X = parse(data, 5)
    monkeypatch.setattr(chunks, "WIDE", WIDTH + 1)
    np.testing.assert_array_equal(X, parse(data, 5))
    np.testing.assert_array_equal(X, folded)


def test_quoted_numbers_are_read_folded() -> None:
    rows = cells(3, 0)
    plain = wide.read_wide(Chunk(text_of(rows), 3, 2), PLAIN, WIDTH)
    quoted = [[f'"{cell}"' if i % 2 else cell for i, cell in enumerate(row)] for row in rows]
    folded = wide.read_wide(Chunk(text_of(quoted), 3, 2), PLAIN, WIDTH)
    assert plain is not None and folded is not None
    np.testing.assert_array_equal(folded, plain)


@pytest.mark.parametrize("others", [(0,), (WIDTH - 1,), (5, 6, 40), (0, WIDTH - 1)])
def test_text_beside_the_features_does_not_hinder_folding(
    monkeypatch: pytest.MonkeyPatch, others: tuple[int, ...]
) -> None:
    rows = cells(4, 3)
    for i, row in enumerate(rows):
        for j in others:
            row[j] = ["", "Zoë", '"a"', "x" * 50][(i + j) % 4]
    features = tuple(Feature(f"c{j}", j) for j in range(WIDTH) if j not in others)
    chunk = Chunk(text_of(rows), 4, 2)
    parser = ChunkParser("wide.csv", PLAIN, WIDTH, features, others, 2)
    folded = parser._parse_folded(chunk)
    assert folded is not None
    monkeypatch.setattr(chunks, "WIDE", WIDTH + 1)
    expected = ChunkParser("wide.csv", PLAIN, WIDTH, features, others, 2)(chunk)
    np.testing.assert_array_equal(folded.X, expected.X)
    assert [c.to_pylist() for c in folded.passthrough] == [c.to_pylist() for c in expected.passthrough]


def test_a_separator_in_quotes_does_not_hide_that_a_row_is_too_short() -> None:
    rows = cells(3, 6)
    for row in rows:
        row[0], row[1] = "a", "b"
    rows[1][0], rows[1][1] = '"Smith', ' J"'  # one field of the first column; the second one is absent
    features = tuple(Feature(f"c{j}", j) for j in range(2, WIDTH))
    for kept in ((), (0, 1)):
        parser = ChunkParser("wide.csv", PLAIN, WIDTH, features, kept, 2)
        with pytest.raises(DataError, match=f"line 3: the row has {WIDTH - 1} fields, but the header has {WIDTH}"):
            parser(Chunk(text_of(rows), 3, 2))
    rows[1][0], rows[1][1] = 'a "b" c', ""
    assert parser(Chunk(text_of(rows), 3, 2)).passthrough[0].to_pylist()[1] == 'a "b" c'


def test_kinds_of_a_wide_table_with_text_do_not_depend_on_folding(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = cells(4, 5)
    for row, words in zip(rows, ["aNA", "bx", "cy", "d1"], strict=True):
        row[0], row[7], row[9], row[11] = words[0], "", words[1:], "true"
    names, chunk = [f"c{j}" for j in range(WIDTH)], Chunk(text_of(rows), 4, 2)
    found = kinds.profile(chunk, names, PLAIN, "wide.csv", 2)
    assert [found[j].kind for j in (0, 1, 7, 9, 11)] == ["text", "number", "empty", "number", "boolean"]
    monkeypatch.setattr(kinds, "WIDE", WIDTH + 1)
    assert found == kinds.profile(chunk, names, PLAIN, "wide.csv", 2)


@pytest.mark.parametrize("more", [["1"], ["x", "y"]])
def test_a_first_row_that_is_too_long_is_refused(tmp_path: Path, more: list[str]) -> None:
    from pcatool import fit

    rows = [[f"c{j}" for j in range(WIDTH)], ["x", *["1"] * (WIDTH - 1), *more], ["1"] * WIDTH]
    (tmp_path / "wide.csv").write_bytes(text_of(rows))
    with pytest.raises(DataError, match=f"line 2: the row has {WIDTH + len(more)} fields, but the header has {WIDTH}"):
        fit(tmp_path / "wide.csv")


def test_memory_is_reckoned_for_the_chunks_that_a_file_has(tmp_path: Path) -> None:
    def reading(rows: int, at_once: int) -> int:
        path = tmp_path / f"{rows}.csv"
        path.write_bytes(text_of([[f"c{j}" for j in range(WIDTH)], *(rows * [["1.5"] * WIDTH])]))
        table = Inputs([str(path)], TableOptions(), Reporter()).first
        next(table.parts([Feature(f"c{j}", j) for j in range(WIDTH)], ()))
        return table.reading_bytes(at_once)

    height = ChunkParser("", PLAIN, WIDTH, tuple(Feature("", j) for j in range(WIDTH)), (), 2).rows_at_once
    assert reading(10, 3) == reading(10, 1)
    assert reading(height + 10, 3) == reading(height + 10, 2) > reading(height + 10, 1)
    assert reading(4 * height, 3) > reading(4 * height, 2)


def test_a_number_of_a_folded_chunk_is_in_memory_once() -> None:
    """Arrow's column is the block: 210 x 3,268 in 8 files was planned 269 MB, and took 165."""
    parser = ChunkParser("", PLAIN, WIDTH, tuple(Feature("", j) for j in range(WIDTH)), (), 2)
    assert parser.is_wide
    row = 9 * WIDTH
    text, cells = parser.rows_at_once * row, parser.rows_at_once * WIDTH
    # The chunk, and the cutter's buffer twice; for parsing three times; and for each cell its end and its number.
    assert parser.bytes_at_once(row, 1 << 40, 1, alone=True) == (3 + 3) * text + (4 + 8) * cells


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: rows[1].pop(),
        lambda rows: rows[0].append("1"),
        lambda rows: (rows[0].append("1"), rows[1].pop()),
        lambda rows: rows[2].__setitem__(3, '"5,6"'),
        lambda rows: rows[2].__setitem__(3, "five"),
        lambda rows: rows[2].__setitem__(3, "1\r"),
        lambda rows: rows[2].__setitem__(3, "nan(ind)"),  # which Arrow takes for a number
    ],
    ids=["short", "long", "long then short", "quoted separator", "text", "lone return", "other nan"],
)
def test_what_is_not_even_is_left_to_others(spoil: object) -> None:
    rows = cells(3, 0)
    spoil(rows)  # type: ignore[operator]
    assert wide.read_wide(Chunk(text_of(rows), 3, 2), PLAIN, WIDTH) is None


def test_kinds_of_wide_tables() -> None:
    rows = cells(3, 1)
    for row in rows:
        row[4] = ""
    names = [f"c{j}" for j in range(WIDTH)]
    found = kinds.profile(Chunk(text_of(rows), 3, 2), names, PLAIN, "wide.csv", True)
    assert [c.kind for c in found[:6]] == ["number"] * 4 + ["empty"] + ["number"]


def test_bad_cell_is_named_with_its_line(tmp_path: object) -> None:
    rows = cells(3, 2)
    rows[2][WIDTH - 1] = "five"
    path = f"{tmp_path}/wide.csv"
    with Path(path).open("wb") as file:
        file.write(text_of([[f"c{j}" for j in range(WIDTH)], *rows]))
    from pcatool import fit

    with pytest.raises(DataError, match=rf"line 4, column 'c{WIDTH - 1}': 'five' is not a number"):
        fit(path)
    assert Inputs([path], TableOptions(), Reporter()).first.columns[0].name == "c0"
