"""Rows that are kept: the same bits from memory and from the file, in order, as often as they are asked for."""

from __future__ import annotations

import os
import threading
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import pcatool
from pcatool.arrays import SERIAL, Block, LocalEngine, Serial, empty_block, recut
from pcatool.engines.threads import Threads
from pcatool.errors import FileError
from pcatool.model.npz import dumps
from pcatool.readers.inputs import Inputs
from pcatool.registry import SOLVERS
from pcatool.solvers import rows as solver_rows
from pcatool.solvers import rows as solver_store
from pcatool.solvers.base import Problem, Solution
from pcatool.solvers.rows import BlockStore, Rows
from solvers.cases import Array, fit, names_of

# --- the store ---

HEIGHTS = (7, 16, 1, 16, 16, 3)
D = 5


def blocks_of(heights: tuple[int, ...] = HEIGHTS, d: int = D) -> list[Array]:
    """With what a change of bits would show in: both zeros, NaN with a payload, the ends of the range."""
    rng = np.random.default_rng(8)
    blocks = []
    for height in heights:
        block = empty_block(height, d)
        block[:] = rng.normal(size=(height, d)) * 10.0 ** rng.integers(-300, 300, (height, d))
        block[0, 0], block[-1, -1] = -0.0, np.array(0x7FF8_0000_0000_BEEF).view(np.float64)
        block.setflags(write=False)
        blocks.append(block)
    return blocks


def bits(blocks: Any) -> list[tuple[tuple[int, ...], bytes]]:
    return [(block.shape, block.tobytes("F")) for block in blocks]


WHOLE = sum(8 * D * height for height in HEIGHTS)


@pytest.mark.parametrize("memory", [0, 8 * D * 7, 8 * D * 8, WHOLE - 8, WHOLE, 1 << 30])
def test_blocks_come_back_in_order_again_and_again_and_once_more(memory: int) -> None:
    store, expected = BlockStore(memory), bits(blocks_of())
    for block in blocks_of():
        store.add(block)
    assert (store.rows, store.bytes) == (sum(HEIGHTS), WHOLE)
    assert bits(store) == expected
    first, second = iter(store), iter(store)  # two at a time
    assert bits(pair[i] for pair in zip(first, second, strict=True) for i in (0, 1)) == [
        one for one in expected for _ in (0, 1)
    ]
    assert all(block.flags.f_contiguous for block in store)
    assert bits(store.drain()) == expected


@pytest.mark.parametrize("memory", [0, 300, 1 << 30])
def test_blocks_may_be_added_between_two_passes(memory: int) -> None:
    store, blocks = BlockStore(memory), blocks_of()
    for count, block in enumerate(blocks, 1):
        store.add(block)
        assert bits(store) == bits(blocks[:count])


def test_an_empty_store_and_blocks_of_one_column() -> None:
    assert list(BlockStore(0)) == list(BlockStore(0).drain()) == []
    store = BlockStore(20)
    for block in (thin := blocks_of((2, 1, 4), 1)):
        store.add(block)
    assert bits(store) == bits(thin)


@pytest.mark.parametrize(("memory", "written"), [(0, 6), (8 * D * 7, 5), (8 * D * 8, 5), (WHOLE - 8, 1), (WHOLE, 0)])
def test_no_more_lies_in_memory_than_may(memory: int, written: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first block on that does not fit all go to the file, which is made only then."""
    puts: list[int] = []

    class Spool(solver_store.Spool):
        def put(self, pieces: Any, place: int) -> None:
            puts.append(place)
            super().put(pieces, place)

    monkeypatch.setattr(solver_store, "Spool", Spool)
    store = BlockStore(memory)
    for block in blocks_of():
        store.add(block)
    assert len(puts) == written
    assert sum(kept.nbytes for kept in store._blocks if not isinstance(kept, tuple)) <= memory
    assert (store._spool is None) == (written == 0)


def test_memory_does_not_grow_with_what_is_stored() -> None:
    def peak(count: int) -> int:
        store = BlockStore(1 << 20)
        tracemalloc.start()
        for _ in range(count):
            store.add(empty_block(1 << 13, 4))
        for _ in store:
            pass
        for _ in store.drain():
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(60) < peak(15) + (1 << 18) < 3 << 20


def test_what_was_drained_is_let_go_of() -> None:
    store = BlockStore(1 << 30)
    tracemalloc.start()
    for _ in range(10):
        store.add(empty_block(1 << 14, 4))
    for number, _ in enumerate(store.drain(), 1):
        assert tracemalloc.get_traced_memory()[0] < (11 - number) * (1 << 19) + (1 << 16)
    tracemalloc.stop()
    assert list(store) == []


@pytest.mark.parametrize("before", [0, 8 * D * 8, WHOLE])
@pytest.mark.parametrize("after", [0, 8 * D * 7, WHOLE - 8, WHOLE])
def test_what_may_stay_in_memory_can_change(before: int, after: int) -> None:
    """Blocks move to the file or come back; the same blocks stay in memory as if the limit had been so from the start.

    No file is left if all blocks are in memory.
    """
    moved, made_so = BlockStore(before), BlockStore(after)
    for block in blocks_of():
        moved.add(block)
        made_so.add(block)
    moved.allow(after)
    assert bits(moved) == bits(blocks_of())
    assert (moved.memory_bytes, moved.file_bytes) == (made_so.memory_bytes, made_so.file_bytes)
    assert moved.memory_bytes + moved.file_bytes == WHOLE
    assert (moved._spool is None) == (after == WHOLE)
    moved.add(blocks_of()[0])  # on the same side of the limit as the last block
    assert bits(moved)[:-1] == bits(blocks_of())
    assert moved.memory_bytes <= max(after, 0)


def test_draining_closes_the_file() -> None:
    store = BlockStore(0)
    store.add(blocks_of()[0])
    assert store._spool is not None
    descriptor = store._spool._file.fileno()
    for _ in store.drain():
        os.fstat(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


# --- the rows of a fit ---


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 rows; of those 100 KB are held, 8 KB of them in memory."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 64)
    monkeypatch.setattr(solver_rows, "SMALL_BYTES", 100_000)
    monkeypatch.setattr(solver_rows, "HELD_BYTES", 8_000)


def matrix(n: int, d: int) -> Array:
    rng = np.random.default_rng(n + d)
    return rng.normal(size=(n, d)) * np.linspace(1, 0.01, d) + 7


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("n", "known"), [(1, 1), (64, 64), (1250, 1250), (1251, None), (3000, None)])
@pytest.mark.parametrize("keep", [True, False])
def test_rows_pass_in_order_however_many_are_held(n: int, known: int | None, keep: bool) -> None:
    X = matrix(n, 10)
    rows = Rows(recut([X], 10))
    assert (rows.n, rows.complete) == (known, known is not None)
    assert rows.origin is not None
    assert rows.origin.tolist() == X[0].tolist()
    if keep:
        rows.several_passes()
    for _ in range(3 if keep or known else 1):
        assert np.array_equal(np.concatenate(list(rows.map(lambda block: block[0].copy(), size=1))), X)


@pytest.mark.usefixtures("small")
def test_weights_are_told_from_rows_in_the_file_too() -> None:
    X = matrix(3000, 10)
    rows = Rows(recut([X], 10), weighted=True)
    rows.several_passes()
    for _ in range(2):
        found = list(rows.map(lambda block: (block[0].copy(), block[1]), size=1, height=100))
        assert np.array_equal(np.concatenate([B for B, _ in found]), X[:, :-1])
        assert np.array_equal(np.concatenate([w for _, w in found if w is not None]), X[:, -1])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("solver", list(SOLVERS))
@pytest.mark.parametrize("n", [90, 1000, 3000])
def test_rows_held_in_a_file_give_the_bits_of_those_in_memory(
    solver: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = matrix(n, 12)
    held = bits_of(fit(X, solver=solver, components=1))
    monkeypatch.setattr(solver_rows, "HELD_BYTES", 1 << 30)
    assert bits_of(fit(X, solver=solver, components=1)) == held


def bits_of(model: Any) -> tuple[bytes, ...]:
    return tuple(a.tobytes() for a in (model.mean, model.basis, model.eigenvalues))


def solved(n: int, *, reread: bool, memory: int = 0, engine: LocalEngine = SERIAL) -> tuple[Solution, list[str]]:
    """What the randomized solver makes of a table in memory, or of a file; and which of its blocks were read.

    `memory` is what may stay in memory of the rows of a file.
    """
    d, read = 30, []

    def blocks(which: str) -> Iterator[Array]:
        for block in recut([matrix(n, d)], d):
            read.append(which)
            yield block

    rows = Rows(blocks("first"), reread=(lambda: blocks("again")) if reread else None, engine=engine)
    rows.memory = memory
    return SOLVERS.load("randomized")().solve(rows, Problem(names_of(d), rows.n, wish=2)), read


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("n", [300, 2000])
@pytest.mark.parametrize("memory", [0, 100_000, 300_000, 1 << 30])
def test_several_passes_read_once_and_give_the_bits_of_a_table_in_memory(n: int, threads: int, memory: int) -> None:
    with Threads(threads) as pool:
        kept, once = solved(n, reread=False, memory=memory, engine=pool)
        held, read = solved(n, reread=True, engine=pool)
    assert once == ["first"] * -(-n // 64)
    assert set(read) == ({"first"} if n == 300 else {"first", "again"})  # few are held and not read again
    assert kept.eigenvalues.tobytes() == held.eigenvalues.tobytes()
    assert kept.leading(2).tobytes() == held.leading(2).tobytes()
    assert kept.variances.tobytes() == held.variances.tobytes()


def test_joined_rows_are_freed_by_their_user() -> None:
    """Before the next are joined: of 4,000 x 2,000 numbers, that is 16 MB."""
    blocks = Rows(recut([matrix(3000, 300)], 300)).joined(1000)
    for X, _ in blocks:
        alive = weakref.ref(X)
        assert len(X)
        del X
        assert alive() is None


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("most", "in_memory"), [(480_000, 480_000), (479_999, 92_160)])
def test_beside_a_file_fewer_rows_stay_in_memory(most: int, in_memory: int) -> None:
    """Blocks that wait or are in work then come on top of these. Blocks of 64 rows take 15,360 bytes."""
    X = matrix(2000, 30)
    rows = Rows(recut([X], 30))
    rows.memory, rows.memory_beside_file = most, 100_000
    rows.several_passes()
    for _ in range(2):
        np.testing.assert_array_equal(np.vstack(list(rows.map(lambda block: block[0], size=1))), X)
        kept = rows.kept
        assert kept is not None
        assert kept[:2] == (in_memory, 480_000 - in_memory)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("memory", "in_memory"), [(0, 0), (200_000, 199_680), (480_000, 480_000), (1 << 30, 480_000)])
def test_rows_say_where_they_are_kept(memory: int, in_memory: int) -> None:
    """Blocks of 64 rows take 15,360 bytes."""
    rows = Rows(recut([matrix(2000, 30)], 30))
    rows.memory = memory
    assert rows.kept is None
    rows.several_passes()
    assert sum(rows.map(lambda block: len(block[0]), size=1)) == 2000
    kept = rows.kept
    assert kept is not None
    assert kept[:2] == (in_memory, 480_000 - in_memory)
    assert (kept.folder is None) == (in_memory == 480_000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("memory", [0, 1 << 30])
def test_rows_that_were_kept_can_become_one_matrix(memory: int) -> None:
    """A solver that holds all rows then uses up those that were kept."""
    X = matrix(2000, 30)
    rows = Rows(recut([X], 30))
    rows.memory = memory
    rows.several_passes()
    assert sum(rows.map(lambda block: len(block[0]), size=1)) == 2000
    assert np.array_equal(rows.matrix()[0], X)
    assert rows.kept is None


@pytest.mark.parametrize("d", [10, 40])
def test_of_the_rows_before_the_choice_of_a_solver_some_are_in_a_file(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 64)
    X = matrix(3000, d)
    room = 8 * d * 640
    rows = Rows(recut([X], d), hold_rows=2000, hold_memory=lambda: room, small=100)
    assert rows.buffered_rows == 2048
    assert rows.held_bytes == room
    rows.leave_memory()
    assert rows.held_bytes <= solver_rows.HELD_BYTES
    assert np.array_equal(np.concatenate(list(rows.map(lambda block: block[0].copy(), size=1))), X)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("solver", ["randomized", "svd", "auto"])
def test_a_pipe_gives_the_model_of_the_file(solver: str, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "x.csv", matrix(2000, 30), "%.9f", ",", header=",".join(names_of(30)), comments="")
    os.mkfifo(tmp_path / "pipe")
    data = (tmp_path / "x.csv").read_bytes()
    feeder = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,), daemon=True)
    feeder.start()
    piped = dumps(pcatool.fit(tmp_path / "pipe", solver=solver, components=2, threads=3))
    feeder.join(30)
    assert piped == dumps(pcatool.fit(tmp_path / "x.csv", solver=solver, components=2, threads=1))


def test_where_no_file_can_be_made_a_little_is_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> NoReturn:
        raise FileError("cannot write rows to a temporary file in '/tmp': No space left on device")

    monkeypatch.setattr("pcatool.solvers.rows.Spool", full)
    blocks = [np.full((4, 2), float(i), order="F") for i in range(4)]  # of 64 bytes
    store = BlockStore(64, spare=128)
    for block in blocks[:3]:
        store.add(block)
    assert [block[0, 0] for block in store] == [0, 1, 2]
    with pytest.raises(FileError, match="No space left"):
        store.add(blocks[3])


@pytest.mark.parametrize("height", [100, 1000])
def test_rows_that_were_joined_are_held_once(height: int) -> None:
    """Blocks are let go of once they are joined: a solver copies tall rows several times, and one time less counts."""
    d = 200

    def largest(block: Block) -> int:
        return tracemalloc.get_traced_memory()[0]

    blocks = (empty_block(100, d) for _ in range(20))
    rows = Rows(blocks, small=0)
    tracemalloc.start()
    held = max(rows.map(largest, size=1, height=height))
    tracemalloc.stop()
    assert held < 8 * d * (height + 200) + (1 << 16)


def test_tall_rows_and_results_share_one_limit() -> None:
    limits: list[int | None] = []

    class Recording(Serial):
        def map(self, function: Any, items: Any, *, ready: Any = None, most: int | None = None) -> Iterator[Any]:
            limits.append(most)
            return map(function, items)

    d = 8
    rows = Rows(iter([np.ones((4, d))]), engine=Recording())
    list(rows.map(lambda _: 0, size=1 << 20))
    list(rows.map(lambda _: 0, size=1 << 20, height=(1 << 20) // 8 // d))
    list(rows.map(lambda _: 0, size=1 << 40))
    assert limits == [128, 64, 1]


# --- rows that will come for certain ---


@pytest.mark.parametrize(
    ("at_least", "hold_rows", "read"),
    [(0, 0, 5), (9, 0, 5), (50, 0, 1), (1000, 0, 1), (50, 50, 7), (51, 50, 1), (1000, 60, 1)],
)
def test_one_block_is_enough_where_too_many_rows_will_come(at_least: int, hold_rows: int, read: int) -> None:
    """The number of rows stays unknown, as if rows had been read until they are too many."""
    blocks = [empty_block(8, D) for _ in range(8)]
    for at, block in enumerate(blocks):
        block[:] = at
    rows = Rows(blocks, small=8 * D * 39, hold_rows=hold_rows, at_least=at_least)
    assert rows.buffered_rows == 8 * read
    assert (rows.n, rows.complete, rows.small) == (None, False, False)
    assert [float(X[0, 0]) for X, _ in rows.map(lambda block: block, size=1)] == list(range(8))


@pytest.mark.parametrize(
    ("kind", "options", "blocks"),
    [
        ("parquet", {}, 1),
        ("array", {}, 1),
        ("csv", {}, 10),  # the number of rows is an estimate
        ("parquet", {"missing": "drop"}, 10),  # rows may be dropped
        ("parquet", {"weights": "c3"}, 10),  # rows of weight 0 are left out
        ("parquet", {"missing": "em"}, 10),  # the plan looks for missing cells in the rows that were read
        ("parquet", {"skip_bad": True}, 10),  # the file may be left out
    ],
)
def test_rows_that_are_too_many_for_certain_are_not_kept(
    kind: str, options: dict[str, Any], blocks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To write and read them again takes a twentieth of the time of a fit."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 64)
    X = np.random.default_rng(3).normal(size=(64 * 20, 4)) ** 2
    table = pa.table({f"c{j}": X[:, j] for j in range(4)})
    parquet.write_table(table, tmp_path / "t.parquet")
    csv.write_csv(table, tmp_path / "t.csv")
    data = X if kind == "array" else tmp_path / f"t.{kind}"
    monkeypatch.setattr(solver_rows, "SMALL_BYTES", 64 * 4 * 8 * 9)
    first: list[int] = []
    made = Rows.__init__

    def counted(self: Rows, *given: Any, **options: Any) -> None:
        made(self, *given, **options)
        first.append(self.buffered_rows // 64)

    monkeypatch.setattr(Rows, "__init__", counted)
    found = dumps(pcatool.fit(data, components=2, **options))
    monkeypatch.setattr(Inputs, "certain_rows", lambda self: 0)
    assert dumps(pcatool.fit(data, components=2, **options)) == found
    assert first == [blocks, 10]
