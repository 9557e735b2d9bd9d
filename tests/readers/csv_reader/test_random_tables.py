"""Whole tables at random: their numbers, the cells passed through, the line of each row, or what is first wrong."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from often import often
from pcatool.errors import DataError
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.base import Feature
from pcatool.readers.csv_reader import chunk_parser
from pcatool.readers.csv_reader import table as table_module
from pcatool.readers.csv_reader.table import CsvTable
from readers.by_letter import Joined, states
from readers.reading import Pieces, number, same_bits

CELLS = st.sampled_from(
    ["1", "2.5", "-3e5", "+7", "0", "", "NA", " nan ", " 4 ", '"5"', '""', '"\n"', '"6\r\n"', "-nan"]
)
ODD_CELLS = st.sampled_from(["x", "inf", '5"', '"', '"1,5"', '""""', '"8"9', "1,2", "1e999", '"a\rb"', "\u00a09", "#"])
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"])


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, int]:
    """Text and width; most cells are good, so that much of it is read."""
    width = draw(st.integers(1, 3))
    cell = st.one_of(*[CELLS] * draw(st.sampled_from([1, 20])), *[ODD_CELLS] * draw(st.integers(0, 1)))
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), max_size=6))
    ends = [draw(LINE_ENDS) for _ in rows]
    lines = (end + ",".join(row) for end, row in zip(ends, rows, strict=True))
    return ",".join("abc"[:width]) + "".join(lines) + draw(st.sampled_from(["", "\n", "\r"])), width


def expected(text: str, features: list[int], kept: list[int], width: int) -> Any:
    """Numbers, kept cells and lines of the rows; or where the first is that cannot be read."""
    rows = states(text, lone=width == 1)
    if isinstance(rows, int):
        return f"line {rows}: a quote in this line is never closed"
    for line, cells in rows[1:]:
        if len(cells) != width:
            return f"line {line}: the row has {len(cells)} field"
        for i in features:
            if isinstance(cells[i], Joined) or number(cells[i]) is None:
                return f"line {line}, column '{'abc'[i]}'"
    numbers = [[number(cells[i]) for i in features] for _, cells in rows[1:]]
    return (
        np.array(numbers, dtype=np.float64).reshape(-1, len(features)),
        [[cells[i] for _, cells in rows[1:]] for i in kept],
        [line for line, _ in rows[1:]],
    )


@settings(max_examples=often(250), deadline=None)
@given(tables(), st.integers(1, 40), st.booleans(), st.data())
def test_tables(table: tuple[str, int], piece: int, eager: bool, data: st.DataObject) -> None:
    check(table, piece, eager, data)


@settings(max_examples=often(250), deadline=None)
@given(tables(), st.integers(1, 40), st.booleans(), st.data())
def test_tables_read_as_very_wide_ones(table: tuple[str, int], piece: int, eager: bool, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_parser, "WIDE", 1)
        patch.setattr(table_module, "WIDE", 1)
        check(table, piece, eager, data)


def check(table: tuple[str, int], piece: int, eager: bool, data: st.DataObject) -> None:
    """Read a table in pieces, and compare its numbers, kept cells, places and errors with the expected ones."""
    text, width = table
    columns = st.integers(0, width - 1)
    features = data.draw(st.lists(columns, min_size=1, unique=True))
    kept = data.draw(st.lists(columns, unique=True))
    want = expected(text, features, kept, width)
    opened: Any = SimpleNamespace(
        name="t.csv",
        format="csv",
        size=None,
        share=lambda: None,
        one_of_many=False,
        stream=Pieces(text.encode(), itertools.repeat(piece)),
    )
    try:
        parts = CsvTable(opened, TableOptions(header=True), Reporter()).parts(
            [Feature("abc"[i], i) for i in features], kept, eager=eager
        )
        batches = [part.batch() for part in parts]
    except DataError as error:
        assert isinstance(want, str), error
        # A quote that is never closed may be met before an earlier row is looked into, or after.
        assert want in str(error) or "never closed" in want
        return
    assert not isinstance(want, str), want
    assert same_bits(np.concatenate([np.empty((0, len(features))), *(b.X for b in batches)]), want[0])
    assert [[cell for b in batches for cell in b.passthrough[k].to_pylist()] for k in range(len(kept))] == want[1]
    assert [b.place(i) for b in batches for i in range(len(b.X))] == [f"t.csv, line {line}" for line in want[2]]
    assert all(b.finite == bool(np.isfinite(b.X).all()) for b in batches)
