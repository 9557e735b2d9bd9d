"""Rows on a slow pipe come out as soon as their line is complete, and are the same rows however they arrive."""

from __future__ import annotations

import bz2
import gzip
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue

import pytest

from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.inputs import Inputs
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import checked_batches
from pcatool.readers.schema import ColumnChoice

LONG_ENOUGH = 20


class Pipe:
    """A named pipe that this process writes to, and a thread that reads rows from it."""

    def __init__(self, path: Path, names: tuple[str, ...], eager: bool, **options: object) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self.rows: Queue[object] = Queue()
        self._reader = threading.Thread(target=self._read, args=(names, eager, options), daemon=True)
        self._reader.start()
        self._file = path.open("wb", buffering=0)

    def _read(self, names: tuple[str, ...], eager: bool, options: dict[str, object]) -> None:
        try:
            inputs = Inputs([self.path], TableOptions(**options), Reporter())  # type: ignore[arg-type]
            for batch in checked_batches(inputs, ColumnChoice(names), RowCounts(), eager=eager):
                for row in batch.X.tolist():
                    self.rows.put(row)
        except Exception as error:
            self.rows.put(error)
        self.rows.put(None)

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def close(self) -> None:
        self._file.close()
        self._reader.join(LONG_ENOUGH)

    def next(self) -> object:
        return self.rows.get(timeout=LONG_ENOUGH)

    def nothing_more(self) -> bool:
        return self.rows.empty()


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Callable[..., Pipe]]:
    opened = []

    def make(*names: str, eager: bool = True, **options: object) -> Pipe:
        opened.append(Pipe(tmp_path / f"pipe{len(opened)}", names, eager, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def test_each_row_comes_when_its_line_is_complete(pipe: Callable[..., Pipe]) -> None:
    p = pipe("b", "a")
    p.write(b"a,b\n1,2\n3,")
    assert p.next() == [2, 1]
    p.write(b"4")
    p.write(b"\n")
    assert p.next() == [4, 3]
    p.write(b'"5\n",6\n7,8\n9')
    assert p.next() == [6, 5]
    assert p.next() == [8, 7]
    assert p.nothing_more()
    p.write(b",10")
    p.close()
    assert p.next() == [10, 9]
    assert p.next() is None


def test_byte_by_byte(pipe: Callable[..., Pipe]) -> None:
    p = pipe("b", "a")
    for i in range(200):
        for byte in b"\xef\xbb\xbfa,b\r\n" if i == 0 else b'%d,"%d"\r\n' % (i, -i):
            p.write(bytes([byte]))
    for i in range(1, 200):
        assert p.next() == [-i, i]


def test_the_header_may_come_long_before_the_rows(pipe: Callable[..., Pipe]) -> None:
    for beginning in (b"B", b"P", b"PAR1", b"BZh", b"\x1f"):
        p = pipe("x", header=True, delimiter=",")
        p.write(beginning + b",x\n")
        p.write(b"1,2\n")
        assert p.next() == [2]


def test_a_comment_or_a_blank_line_keeps_no_row_back(pipe: Callable[..., Pipe]) -> None:
    p = pipe("a", comment="#")
    p.write(b"# title\n\na,b\n1,0 # one\n\n\n")
    assert p.next() == [1]
    p.write(b"# nothing\n2,0\n")
    assert p.next() == [2]


def test_a_carriage_return_may_be_half_of_a_line_end(pipe: Callable[..., Pipe]) -> None:
    p = pipe("a")
    p.write(b"a\r1\r2\r")
    assert p.next() == [1]
    p.write(b"\n3\r\n")
    assert p.next() == [2]
    assert p.next() == [3]


@pytest.mark.parametrize("kind", ["gzip", "bz2"])
def test_packed_rows_come_when_they_are_unpacked(kind: str, pipe: Callable[..., Pipe]) -> None:
    p = pipe("b", "a")
    if kind == "gzip":
        packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        p.write(packer.compress(b"a,b\n1,2\n") + packer.flush(zlib.Z_SYNC_FLUSH))
        assert p.next() == [2, 1]
        p.write(packer.compress(b"3,4\n") + packer.flush())
        assert p.next() == [4, 3]
        p.write(gzip.compress(b"5,6\n"))
    else:
        p.write(bz2.compress(b"a,b\n1,2\n"))
        assert p.next() == [2, 1]
        p.write(bz2.compress(b"3,4\n5,6\n"))
        assert p.next() == [4, 3]
    assert p.next() == [6, 5]


def test_a_fit_waits_for_whole_blocks_and_reads_the_same(pipe: Callable[..., Pipe]) -> None:
    rows = [[float(i), float(i * i)] for i in range(3000)]
    data = "".join(f"{a:.0f},{b:.0f}\n" for a, b in rows).encode()
    for eager in (False, True):
        p = pipe("a", "b", eager=eager)
        p.write(b"a,b\n")
        for at in range(0, len(data), 1000):
            p.write(data[at : at + 1000])
        p.close()
        assert [p.next() for _ in rows] == rows
        assert p.next() is None


def test_a_bad_row_is_told_without_waiting_for_the_end(pipe: Callable[..., Pipe]) -> None:
    p = pipe("a", "b")
    p.write(b"a,b\n1,2\n")
    assert p.next() == [1, 2]
    p.write(b"3,4\n5\n")
    error = p.next()
    assert "line 4: the row has 1 field, but the header has 2" in str(error)
