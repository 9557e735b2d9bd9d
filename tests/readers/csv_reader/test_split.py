"""A stream is cut into the rows that Python's csv module finds, whatever pieces it comes in."""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc
from collections import deque

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from often import often
from pcatool.errors import DataError
from pcatool.readers.csv_reader import split as cutter
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.split import Chunk, RowCutter, count_lines, rows_of
from readers.by_letter import Rows, states
from readers.reading import Pieces, records


def cut(data: bytes, piece: int, most: int, *, eager: bool, dialect: Dialect | None = None, skip: int = 0) -> Rows:
    """Line and cells of every row, by way of the cutter."""
    dialect = dialect or Dialect()
    rows: Rows = []
    whole = RowCutter(Pieces(data, itertools.repeat(piece)), dialect, "t.csv", skip)
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
                with pytest.raises(DataError, match=rf"line {expected}: a quote in this line is never closed"):
                    cut(data, piece, most, eager=eager, dialect=dialect)
            else:
                assert cut(data, piece, most, eager=eager, dialect=dialect) == expected, (piece, most, eager)


@settings(max_examples=often(150), deadline=None)
@given(st.text(st.sampled_from('a1,"\n\r '), max_size=16))
@example('a,"b\n""c""",d\r\n"",\r"e"f"g,5" h\n\n\r\n"i')
@example('\n"\n""')
def test_rows_are_those_of_the_csv_module(text: str) -> None:
    expected = states(text)
    if not isinstance(expected, int):
        assert [cells for _, cells in expected] == records(text)
    check(text, Dialect(), expected)


@settings(max_examples=often(150), deadline=None)
@given(st.text(st.sampled_from('a"\n\r #,\t'), max_size=14), st.sampled_from([",", "\t", " ", "blanks"]))
@example("\r#\n", ",")
@example("\r \n", "blanks")
@example('a # b, "c\n#\n "#" # d\n', ",")
def test_comments_and_blanks(text: str, separator: str) -> None:
    check(text, Dialect(delimiter=separator, comment="#"), states(text, separator, "#"))
    if separator == "blanks":
        check(text, Dialect(delimiter=separator), states(text, separator))


@settings(max_examples=often(60), deadline=None)
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


@settings(max_examples=often(80), deadline=None)
@given(st.text(st.sampled_from('a,"\n\r#'), max_size=16), st.integers(1, 5), st.sampled_from([None, "#"]))
@example("a\r\n\r\r\n\n,", 1, None)
@example('\n\n\na,"\n\n"\n\na', 3, None)
def test_rows_and_lines_when_little_is_read_at_a_time(text: str, size: int, comment: str | None) -> None:
    """And not more when it can be waited for: the first look ends anywhere, and so does every other."""
    expected = states(text, ",", comment or "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutter, "READ_BYTES", size)
        for most in (1, 2, 100):
            if isinstance(expected, int):
                with pytest.raises(DataError, match=rf"line {expected}: a quote in this line is never closed"):
                    cut(text.encode(), 1, most, eager=False, dialect=Dialect(comment=comment))
            else:
                assert cut(text.encode(), 1, most, eager=False, dialect=Dialect(comment=comment)) == expected


STRETCHES = [
    "1,2", "1,2", "\n1,2", "\r\n\r\n1,2", "\r1,2", '1,"2"', '1,"\n\r\n2\r"', '"""\n""",2', "# x\n1,2", '1,2 # "',
]  # fmt: skip


@pytest.mark.parametrize("comment", [None, "#"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_chunk_begins_on_the_line_that_an_editor_shows(
    end: str, comment: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In long inputs, where stretches of plain rows, in which nothing is counted, follow others."""
    stretches = [row for row in STRETCHES if comment or "#" not in row]
    for seed in range(6):
        rng = random.Random(seed)
        data = "".join((rng.choice(stretches) + end) * rng.randint(1, 60) for _ in range(30)).encode()
        monkeypatch.setattr(cutter, "READ_BYTES", rng.choice([40, 300, 3000]))
        dialect = Dialect(comment=comment)
        whole = RowCutter(Pieces(data, itertools.repeat(rng.choice([7, 1000]))), dialect, "t.csv")
        at = rows = 0
        while (chunk := whole.rows(rng.randint(1, 50), eager=seed % 2 == 0)) is not None:
            assert data[at : at + len(chunk.data)] == chunk.data
            assert chunk.first_line == 1 + count_lines(data[:at])
            at, rows = at + len(chunk.data), rows + chunk.rows
        assert rows == len(list(rows_of(Chunk(data, 0, 1), dialect, "t.csv")))


def test_lines_of_plain_rows_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def count(data: bytes) -> int:
        counted.append(len(data))
        return count_lines(data)

    monkeypatch.setattr(cutter, "READ_BYTES", 100)
    monkeypatch.setattr(cutter, "count_lines", count)
    plain = b"1,2\r\n" * 200
    assert len(cut(plain, 1000, 10, eager=False)) == 200
    assert counted == []
    assert len(cut(plain + b'"3",\r\n' + plain, 1000, 10, eager=False)) == 401
    assert 0 < sum(counted) < 300  # about what was read with the quote


class Arriving:
    """A stream that other hands fill; it must not be read when that would mean to wait."""

    def __init__(self) -> None:
        self.pieces: deque[bytes] = deque()
        self.closed = False

    def ready(self) -> bool:
        return bool(self.pieces) or self.closed

    def read(self, size: int, /) -> bytes:
        assert self.ready()
        if not self.pieces:
            return b""
        piece = self.pieces.popleft()
        if len(piece) > size:
            self.pieces.appendleft(piece[size:])
        return piece[:size]


def test_what_is_ready_and_when_it_has_ended() -> None:
    stream = Arriving()
    whole = RowCutter(stream, Dialect(), "t.csv")

    def after(*pieces: bytes) -> tuple[bool, bool]:
        stream.pieces += pieces
        return whole.ready(), whole.ended()

    def row() -> tuple[bytes, int]:
        chunk = whole.rows(10, eager=True)
        assert chunk is not None
        assert chunk.rows == 1
        return chunk.data, chunk.first_line

    assert after() == (False, False)
    assert after(b"a,", b"b", b"\n") == (True, False)
    assert after() == (True, False)
    assert row() == (b"a,b\n", 1)
    assert after() == after(b"1") == after(b",2") == (False, False)
    assert after(b"\n") == (True, False)
    assert row() == (b"1,2\n", 2)
    assert after(b"\n\r\n") == (False, False)  # blank lines are no row
    assert after(b'3,"\n', b"\n") == (False, False)
    assert after(b'"\n') == (True, False)
    assert row() == (b'\n\r\n3,"\n\n"\n', 3)
    assert after(b"5,6") == (False, False)
    stream.closed = True
    assert after() == (True, False)
    assert row() == (b"5,6", 8)
    assert after() == (True, True)
    assert whole.rows(10, eager=True) is None


def test_the_end_may_be_known_only_when_it_is_looked_for() -> None:
    stream = Arriving()
    stream.pieces += [b"1\n2\n"]
    whole = RowCutter(stream, Dialect(), "t.csv")
    for _ in range(2):
        assert whole.ready()
        assert not whole.ended()
        assert whole.rows(1, eager=True) is not None
    assert not whole.ended()  # more may come
    assert not whole.ready()
    stream.closed = True
    assert whole.ready()
    assert whole.ended()


def test_rows_longer_than_a_read() -> None:
    long = "x" * (3 * cutter.READ_BYTES)
    text = f'a,b\n1,{long}\n"{long}\n{long}""",2\n3,4'
    assert cut(text.encode(), 1 << 16, 100, eager=True) == states(text)
    assert cut(text.encode(), 1 << 30, 100, eager=False) == states(text)


def test_long_rows_come_in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutter, "MOST_BYTES", 100)
    data = b"".join(b"%d,%s\n" % (i, b"x" * (300 if i == 5 else 30)) for i in range(20))
    whole = RowCutter(Pieces(data, itertools.repeat(1 << 20)), Dialect(), "t.csv")
    chunks = list(iter(lambda: whole.rows(1000), None))
    assert b"".join(c.data for c in chunks) == data
    assert all(len(c.data) <= 100 or c.rows == 1 for c in chunks)


def test_long_rows_are_not_all_read_at_once() -> None:
    row = b"1," + b"x" * (1 << 21) + b"\n"
    stream = Pieces(row * 100, itertools.repeat(1 << 20))
    whole = RowCutter(stream, Dialect(), "t.csv")
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
    with pytest.raises(DataError, match=f"line {line}: a quote in this line is never closed"):
        cut(data, 1 << 16, 1000, eager=True)
    assert time.perf_counter() - start < 5


def test_a_row_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutter, "LONGEST_ROW", 1 << 20)
    with pytest.raises(DataError, match="line 2: the row is longer than 1 MB"):
        cut(b"a,b\n" + b"1," * (1 << 20), 1 << 16, 10, eager=False)
    with pytest.raises(DataError, match="line 4: a quote in this line is never closed"):
        cut(b'a,b\n"c\n", "d"' + b',""\n1,"' + b"2\n" * (1 << 20), 1 << 16, 10, eager=False)


def test_memory_does_not_grow_with_the_rows() -> None:
    def peak(rows: int) -> int:
        tracemalloc.start()
        whole = RowCutter(Pieces(b"1,2,3\n" * rows, itertools.repeat(1 << 16)), Dialect(), "t.csv")
        while whole.rows(1000) is not None:
            pass
        most = tracemalloc.get_traced_memory()[1] - 6 * rows
        tracemalloc.stop()
        return most

    assert peak(1_000_000) < peak(200_000) + 500_000
