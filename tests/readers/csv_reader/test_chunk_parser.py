"""Very wide tables are read folded, and say what they say when read column by column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: rows[1].pop(),
        lambda rows: rows[0].append("1"),
        lambda rows: (rows[0].append("1"), rows[1].pop()),
        lambda rows: rows[2].__setitem__(3, '"5"'),
        lambda rows: rows[2].__setitem__(3, "five"),
        lambda rows: rows[2].__setitem__(3, "1\r"),
        lambda rows: rows[2].__setitem__(3, "nan(ind)"),  # which Arrow takes for a number
    ],
    ids=["short", "long", "long then short", "quoted", "text", "lone return", "other nan"],
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
    from pcatool.errors import DataError

    with pytest.raises(DataError, match=rf"line 4, column 'c{WIDTH - 1}': 'five' is not a number"):
        fit(path)
    assert Inputs([path], TableOptions(), Reporter()).first.columns[0].name == "c0"
