"""A stream is cut into the rows that Python's csv module finds, whatever pieces it comes in."""

from __future__ import annotations

import itertools
import time
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pcatool.errors import DataError
from pcatool.readers import cutter
from pcatool.readers.cutter import Cutter
from pcatool.readers.dialect import Dialect
from pcatool.readers.exact import rows_of
from readers.by_letter import Rows, states
from readers.reading import Pieces, records


def cut(data: bytes, piece: int, most: int, *, eager: bool, dialect: Dialect | None = None, skip: int = 0) -> Rows:
    """Line and cells of every row, by way of the cutter."""
    dialect = dialect or Dialect()
    rows: Rows = []
    whole = Cutter(Pieces(data, itertools.repeat(piece)), dialect, "t.csv", skip)
    while (chunk := whole.rows(most, eager=eager)) is not None:
        found = list(rows_of(chunk, dialect, "t.csv"))
        assert len(found) == chunk.rows <= most
        rows += found
    return rows


def check(text: str, dialect: Dialect, expected: Rows | int) -> None:
    """Every size of piece, one row at a time and all at once."""
    data = text.encode()
    for piece in range(1, len(data) + 2):
        for most, eager in ((1, True), (2, False), (100, False)):
            if isinstance(expected, int):
                with pytest.raises(DataError, match=rf"line {expected}: a quote opened there is never closed"):
                    cut(data, piece, most, eager=eager, dialect=dialect)
            else:
                assert cut(data, piece, most, eager=eager, dialect=dialect) == expected, (piece, most, eager)


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from('a1,"\n\r '), max_size=16))
@example('a,"b\n""c""",d\r\n"",\r"e"f"g,5" h\n\n\r\n"i')
@example('\n"\n""')
def test_rows_are_those_of_the_csv_module(text: str) -> None:
    expected = states(text)
    if not isinstance(expected, int):
        assert [cells for _, cells in expected] == records(text)
    check(text, Dialect(), expected)


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from('a"\n\r #,\t'), max_size=14), st.sampled_from([",", "\t", " ", "blanks"]))
@example("\r#\n", ",")
@example("\r \n", "blanks")
@example('a # b, "c\n#\n "#" # d\n', ",")
def test_comments_and_blanks(text: str, separator: str) -> None:
    check(text, Dialect(delimiter=separator, comment="#"), states(text, separator, "#"))
    if separator == "blanks":
        check(text, Dialect(delimiter=separator), states(text, separator))


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from('a,"\n\r'), max_size=12), st.integers(0, 4), st.integers(1, 13))
def test_skipped_lines_may_hold_anything(text: str, skip: int, piece: int) -> None:
    rest = text
    for _ in range(skip):
        ends = [i for i in (rest.find("\n"), rest.find("\r")) if i >= 0]
        rest = rest[min(ends) + (2 if rest[min(ends) :][:2] == "\r\n" else 1) :] if ends else ""
    expected = states(rest)
    if isinstance(expected, int):
        with pytest.raises(DataError, match=rf"line {expected + skip}: a quote"):
            cut(text.encode(), piece, 3, eager=False, skip=skip)
    else:
        moved = [(line + skip, cells) for line, cells in expected]
        assert cut(text.encode(), piece, 3, eager=False, skip=skip) == moved


def test_rows_longer_than_a_read() -> None:
    long = "x" * (3 * cutter.READ)
    text = f'a,b\n1,{long}\n"{long}\n{long}""",2\n3,4'
    assert cut(text.encode(), 1 << 16, 100, eager=True) == states(text)
    assert cut(text.encode(), 1 << 30, 100, eager=False) == states(text)


def test_long_rows_come_in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutter, "MOST_BYTES", 100)
    data = b"".join(b"%d,%s\n" % (i, b"x" * (300 if i == 5 else 30)) for i in range(20))
    whole = Cutter(Pieces(data, itertools.repeat(1 << 20)), Dialect(), "t.csv")
    chunks = list(iter(lambda: whole.rows(1000), None))
    assert b"".join(c.data for c in chunks) == data
    assert all(len(c.data) <= 100 or c.rows == 1 for c in chunks)


def test_long_rows_are_not_all_read_at_once() -> None:
    row = b"1," + b"x" * (1 << 21) + b"\n"
    stream = Pieces(row * 100, itertools.repeat(1 << 20))
    whole = Cutter(stream, Dialect(), "t.csv")
    rows = 0
    while (chunk := whole.rows(1000)) is not None:
        rows += chunk.rows
        assert stream.given < len(row) * rows + 2 * cutter.MOST_BYTES
    assert rows == 100


# Text, and the line of the quote.
HUGE = {
    "plain": (b'a,b\n1,"' + b"2,3\n" * 5_000_000, 2),
    "odd quotes before it": (b'a,b\n5" pipe,"' + b"2,3\n" * 5_000_000, 2),
    "one in each line, closed by the next": (b'a,b\n1,"' + b'5" pipe,"2\n' * 2_000_000, 2_000_001),
    "doubled ones after it": (b'a,b\n1,"' + b'""2,3\n' * 3_000_000, 2),
}


@pytest.mark.parametrize("case", HUGE)
def test_a_quote_that_never_closes_is_found_in_one_pass(case: str) -> None:
    """20 MB that arrive in pieces of 64 KB: looking at all of it anew for each would take minutes."""
    data, line = HUGE[case]
    start = time.perf_counter()
    with pytest.raises(DataError, match=f"line {line}: a quote opened there is never closed"):
        cut(data, 1 << 16, 1000, eager=True)
    assert time.perf_counter() - start < 5


def test_a_row_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutter, "LONGEST_ROW", 1 << 20)
    with pytest.raises(DataError, match="line 2: a row longer than 1 MB"):
        cut(b"a,b\n" + b"1," * (1 << 20), 1 << 16, 10, eager=False)
    with pytest.raises(DataError, match="line 4: a quote opened there is never closed"):
        cut(b'a,b\n"c\n", "d"' + b',""\n1,"' + b"2\n" * (1 << 20), 1 << 16, 10, eager=False)


def test_memory_does_not_grow_with_the_rows() -> None:
    def peak(rows: int) -> int:
        tracemalloc.start()
        whole = Cutter(Pieces(b"1,2,3\n" * rows, itertools.repeat(1 << 16)), Dialect(), "t.csv")
        while whole.rows(1000) is not None:
            pass
        most = tracemalloc.get_traced_memory()[1] - 6 * rows
        tracemalloc.stop()
        return most

    assert peak(1_000_000) < peak(200_000) + 500_000
