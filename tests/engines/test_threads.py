"""A pool of threads hands results out in the order of the work, draws no more of it than it needs, and ends."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from itertools import count as endless
from itertools import islice
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest

import pcatool
from pcatool.engines.threads import Threads, usable_cores
from pcatool.linalg import blas
from pcatool.options import EngineOptions

LONG_ENOUGH = 20
COUNTS = pytest.mark.parametrize("count", [1, 2, 4])


def same(item: int) -> int:
    return item


def names() -> list[str]:
    """Threads of the pools that are alive."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("pcatool")]


class Source:
    """Items without end, of which we know how many were drawn."""

    def __init__(self) -> None:
        self.drawn = 0

    def __iter__(self) -> Iterator[int]:
        for item in endless():
            self.drawn += 1
            yield item


# --- order ---


@pytest.mark.parametrize("count", [2, 4])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    finished: list[int] = []
    over = [threading.Event() for _ in range(8)]

    def work(item: int) -> int:
        if item % 2 == 0:  # every other one ends only after the one behind it
            assert over[item + 1].wait(LONG_ENOUGH)
        finished.append(item)
        over[item].set()
        return item

    with Threads(count) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))
    assert all(finished.index(item + 1) < finished.index(item) for item in range(0, 8, 2))


@COUNTS
def test_nothing_in_nothing_out(count: int) -> None:
    with Threads(count) as pool:
        assert list(pool.map(same, [])) == []


@COUNTS
def test_maps_of_maps_of_one_pool(count: int) -> None:
    with Threads(count) as pool:
        for _ in range(20):
            inner = pool.map(lambda i: i + 1, range(40))
            middle = pool.map(lambda i: i * 2, inner, ready=lambda: False)
            outer = pool.map(lambda i: i - 1, middle, most=3)
            assert list(outer) == [2 * i + 1 for i in range(40)]


@COUNTS
def test_maps_side_by_side_in_one_pool(count: int) -> None:
    with Threads(count) as pool:
        one, other = pool.map(same, range(30)), pool.map(same, endless())
        assert list(zip(one, other, strict=False)) == [(i, i) for i in range(30)]


# --- how far ahead it draws ---


@pytest.mark.parametrize(
    ("count", "most", "ahead"), [(1, None, 1), (2, None, 3), (4, None, 5), (4, 100, 5), (4, 3, 3), (4, 1, 1)]
)
def test_so_many_are_drawn_and_no_more(count: int, most: int | None, ahead: int) -> None:
    source = Source()
    with Threads(count) as pool:
        results = pool.map(same, source, most=most)
        assert source.drawn == 0
        for handed_out in range(20):
            assert next(results) == handed_out
            assert source.drawn == handed_out + ahead


@pytest.mark.parametrize("count", [2, 4])
def test_where_the_next_may_be_long_in_coming_all_is_handed_out_first(count: int) -> None:
    handed_out: list[int] = []

    def items() -> Iterator[int]:
        for item in range(5):
            assert handed_out == list(range(item))
            yield item

    with Threads(count) as pool:
        for result in pool.map(same, items(), ready=lambda: False):
            handed_out.append(result)
    assert handed_out == list(range(5))


def test_a_source_that_blocks_keeps_nothing_back() -> None:
    waiting: Queue[int] = Queue()

    def items() -> Iterator[int]:
        while True:
            yield waiting.get(timeout=LONG_ENOUGH)

    with Threads(4) as pool:
        results = pool.map(same, items(), ready=lambda: not waiting.empty())
        for first, number in ((0, 1), (1, 3), (4, 20), (24, 1)):
            for item in range(first, first + number):
                waiting.put(item)
            assert list(islice(results, number)) == list(range(first, first + number))


def test_as_long_as_more_is_there_it_is_drawn() -> None:
    source = Source()
    with Threads(2) as pool:
        assert next(pool.map(same, source, ready=lambda: source.drawn < 3)) == 0
    assert source.drawn == 3


# --- errors ---


class Broken(Exception):
    pass


def fails_at(place: int) -> Any:
    def work(item: int) -> int:
        if item == place:
            raise Broken(item)
        return item

    return work


def gathered(results: Iterator[int]) -> tuple[list[int], Broken]:
    """What is handed out, and the error that follows."""
    found: list[int] = []
    with pytest.raises(Broken) as caught:
        for result in results:
            found.append(result)
    return found, caught.value


@COUNTS
@pytest.mark.parametrize("place", [0, 1, 9])
def test_an_error_comes_at_its_place(count: int, place: int) -> None:
    with Threads(count) as pool:
        found, error = gathered(pool.map(fails_at(place), range(10)))
    assert (found, error.args) == (list(range(place)), (place,))


@COUNTS
def test_of_two_errors_the_first_in_order_is_raised(count: int) -> None:
    later = threading.Event()

    def work(item: int) -> int:
        if item == 2 and count > 1:
            assert later.wait(LONG_ENOUGH)
        if item == 3:
            later.set()
        if item >= 2:
            raise Broken(item)
        return item

    with Threads(count) as pool:
        found, error = gathered(pool.map(work, range(10)))
    assert (found, error.args) == ([0, 1], (2,))


@COUNTS
@pytest.mark.parametrize("place", [0, 1, 3, 9])
def test_an_error_of_the_source_comes_after_the_results_before_it(count: int, place: int) -> None:
    def items() -> Iterator[int]:
        yield from range(place)
        raise Broken(place)

    with Threads(count) as pool:
        found, error = gathered(pool.map(same, items()))
        assert (found, error.args) == (list(range(place)), (place,))
        found, error = gathered(pool.map(same, pool.map(fails_at(place), endless())))
        assert (found, error.args) == (list(range(place)), (place,))


@COUNTS
def test_an_error_of_a_task_goes_before_one_of_the_source_behind_it(count: int) -> None:
    def items() -> Iterator[int]:
        yield from range(2)
        raise Broken("source")

    with Threads(count) as pool:
        found, error = gathered(pool.map(fails_at(1), items()))
    assert (found, error.args) == ([0], (1,))


def test_after_an_error_nothing_more_is_drawn_or_begun() -> None:
    source, gate, begun = Source(), threading.Event(), []

    def work(item: int) -> int:
        begun.append(item)
        if item > 3:  # both threads are held by what follows the error
            gate.wait(LONG_ENOUGH)
        return int(fails_at(3)(item))

    with Threads(2) as pool:
        found, _ = gathered(pool.map(work, source))
        gate.set()
    assert found == [0, 1, 2]
    assert source.drawn == 6
    assert max(begun) < 6


def test_what_an_abandoned_map_has_not_begun_is_dropped() -> None:
    gate, begun = threading.Event(), []

    def work(item: int) -> int:
        begun.append(item)
        if item > 0:
            gate.wait(LONG_ENOUGH)
        return item

    with Threads(2) as pool:
        results = pool.map(work, endless())
        assert next(results) == 0
        results.close()  # type: ignore[attr-defined]
        gate.set()
        assert list(pool.map(same, range(9))) == list(range(9))
    assert 3 not in begun


# --- threads ---


def test_a_pool_of_one_starts_no_thread() -> None:
    before = threading.active_count()
    with Threads(1) as pool:
        places = list(pool.map(lambda _: (threading.get_ident(), threading.active_count()), range(3)))
    assert places == [(threading.get_ident(), before)] * 3


def test_no_thread_starts_before_there_is_work() -> None:
    with Threads(4) as pool:
        results = pool.map(same, range(3))
        assert names() == []
        assert list(results) == [0, 1, 2]
        assert names() != []


def test_all_threads_work_at_once() -> None:
    together = threading.Barrier(3)
    with Threads(3) as pool:
        places = list(pool.map(lambda _: (together.wait(LONG_ENOUGH), threading.get_ident())[1], range(3)))
    assert len({*places, threading.get_ident()}) == 4


def test_the_threads_end_with_the_pool() -> None:
    with Threads(4) as pool:
        results = pool.map(same, endless())
        next(results)
        assert names() != []
    assert names() == []


def test_the_threads_end_when_an_error_leaves_the_pool() -> None:
    with pytest.raises(Broken), Threads(4) as pool:
        list(pool.map(fails_at(5), endless()))
    assert names() == []


def test_a_pool_takes_the_cores_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 4, 5}, raising=False)
    assert usable_cores() == Threads().count == Threads(None).count == 3
    assert Threads(7).count == 7
    monkeypatch.delattr(os, "sched_getaffinity")  # not every system has it
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert usable_cores() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be taken away here")
def test_cores_taken_away_are_not_counted() -> None:
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(ours)})
    try:
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, ours)


# --- what holds where the caller is, holds in the threads ---


@COUNTS
def test_how_numpy_treats_overflow_belongs_to_the_caller(count: int) -> None:
    def square(x: np.float64) -> np.float64:
        return x * x

    large = np.float64(1e200)
    with Threads(count) as pool:
        with np.errstate(over="ignore"):
            assert list(pool.map(square, [large] * 5)) == [np.inf] * 5
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            list(pool.map(square, [large]))
        with np.errstate(divide="print", under="raise"):
            assert list(pool.map(lambda _: np.geterr(), range(5))) == [np.geterr()] * 5


@pytest.fixture
def blas_threads() -> Any:
    """How many threads numpy's BLAS uses; at first 2, since with 1 nothing would be seen to change."""
    controls = blas._openblas("numpy")
    if controls is None:
        pytest.skip("numpy has another BLAS here")
    setter, getter = controls
    before = getter()
    setter(2)
    yield getter
    setter(before)


@COUNTS
def test_a_pool_has_one_thread_of_blas_for_each_of_its_own(count: int, blas_threads: Any) -> None:
    with Threads(count) as pool:
        assert list(pool.map(lambda _: blas_threads(), range(6))) == [1] * 6
    assert blas_threads() == 2


def test_the_number_of_blas_threads_comes_back_after_the_last_body(blas_threads: Any) -> None:
    with blas.one_blas_thread():
        assert blas_threads() == 1
        with pytest.raises(Broken), blas.one_blas_thread():
            raise Broken
        assert blas_threads() == 1
    assert blas_threads() == 2


def test_while_one_thread_is_in_a_body_another_does_not_restore(blas_threads: Any) -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with blas.one_blas_thread():
            entered.set()
            assert leave.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(20)
    with blas.one_blas_thread():
        pass
    assert blas_threads() == 1
    leave.set()
    thread.join()
    assert blas_threads() == 2


def test_a_thread_sets_blas_for_itself(blas_threads: Any) -> None:
    seen: list[int] = []

    def work() -> None:
        with blas.one_blas_thread():
            seen.append(blas_threads())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [1]
    assert blas_threads() == 2


# --- errors of a run ---

ROWS = 2000
FAR = "1.7e308,1.7e308,1.7e308"

# What is run, the rows that are damaged, and what is said: of damage in several chunks the first by its place.
DAMAGE: dict[str, tuple[str, dict[int, str], str]] = {
    "fit: two bad cells": ("fit", {700: "1,x,2", 1990: "1,y,2"}, "t.csv, line 702, column 'b': 'x' is not a number"),
    "two bad cells": ("transform", {700: "1,x,2", 1990: "1,y,2"}, "t.csv, line 702, column 'b': 'x' is not a number"),
    "fit: a short row, a bad cell": (
        "fit",
        {700: "1,2", 1990: "1,x,2"},
        "t.csv, line 702: the row has 2 fields, but the header has 3",
    ),
    "a short row, a bad cell": (
        "transform",
        {700: "1,2", 800: "1,x,2"},
        "t.csv, line 702: the row has 2 fields, but the header has 3",
    ),
    "a bad cell, a long row": ("transform", {700: "x,1,2", 1990: "1,2,3,4"}, "t.csv, line 702, column 'a': 'x'"),
    "fit: a bad cell in the last row": ("fit", {ROWS - 1: "1,2,x"}, "t.csv, line 2001, column 'c': 'x'"),
    "infinite, a bad cell": ("transform", {700: "inf,1,2", 800: "x,1,2"}, "t.csv, line 702, column 'a': 'inf' is not"),
    "fit: missing cells": (
        "fit",
        {700: ",,2", 1990: "1,,2"},
        "2 of 2,000 rows have missing cells: 2 in column 'b', 1 in ",
    ),
    "fit: a missing cell, a bad one": ("fit", {700: ",1,2", 1990: "1,x,2"}, "t.csv, line 1992, column 'b': 'x'"),
    "a missing cell, a bad one": (
        "transform",
        {700: ",1,2", 800: "1,x,2"},
        "t.csv, line 702: a cell is missing in column",
    ),
    "an overflow, a bad cell": ("transform", {700: FAR, 800: "1,x,2"}, "t.csv, line 702: the result overflows"),
    "an overflow, a missing cell": ("transform", {700: FAR, 800: ",1,2"}, "t.csv, line 702: the result overflows"),
    "a bad cell, an overflow": ("transform", {700: "1,x,2", 800: FAR}, "t.csv, line 702, column 'b': 'x'"),
    "weights: below 0, a bad cell": ("weights", {700: "1,2,-1", 800: "x,2,1"}, "t.csv, line 702, column 'c': '-1.0'"),
    "weights: a bad cell, below 0": ("weights", {700: "x,2,1", 800: "1,2,-1"}, "t.csv, line 702, column 'a': 'x'"),
}


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 64 rows, so that little makes many."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 64)


def table(damage: dict[int, str]) -> str:
    rows = [damage.get(i, f"{i % 97},{i % 97 + i % 2},{i % 97 + i % 3}") for i in range(ROWS)]
    return "\n".join(["a,b,c", *rows]) + "\n"


def save_clean_model(place: Path) -> None:
    (place / "clean.csv").write_text(table({}))
    pcatool.save_model(pcatool.fit(place / "clean.csv", threads=1), place / "m.npz")


def refusal(command: str, paths: list[Path], threads: int) -> tuple[type[Exception], str]:
    """What a run over these files is refused with; it leaves no file."""
    place = paths[0].parent
    before = sorted(place.iterdir())
    with pytest.raises(pcatool.PcatoolError) as caught:
        if command == "transform":
            pcatool.transform(place / "m.npz", paths, output=place / "out.csv", threads=threads)
        else:
            pcatool.fit(paths, threads=threads, **({"weights": "c"} if command == "weights" else {}))
    assert sorted(place.iterdir()) == before
    return caught.type, str(caught.value).replace(f"{place}/", "")


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", DAMAGE)
def test_of_several_errors_the_first_is_named(name: str, tmp_path: Path) -> None:
    command, damage, said = DAMAGE[name]
    (tmp_path / "t.csv").write_text(table(damage))
    save_clean_model(tmp_path)
    found = [refusal(command, [tmp_path / "t.csv"], threads) for threads in (1, 2, 4, 4, 4)]
    assert found[0][1].startswith(said)
    assert found == found[:1] * len(found)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("command", ["fit", "transform"])
def test_an_error_in_one_input_goes_before_any_in_the_next(command: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(table({ROWS - 1: "1,2,x"}))
    (tmp_path / "next.csv").write_text("a,b\n1,2\n")
    save_clean_model(tmp_path)
    found = [refusal(command, [tmp_path / "t.csv", tmp_path / "next.csv"], threads) for threads in (1, 2, 4)]
    assert found[0][1].startswith("t.csv, line 2001, column 'c': 'x' is not a number")
    assert found == found[:1] * len(found)


# --- the option ---

X = np.array([[10.0, 9.0, 1.0], [2.0, 2.0, 0.0], [7.0, 7.0, 2.0], [1.0, 3.0, 1.0]])


@pytest.mark.parametrize("threads", [0, -1, 1025, True, 1.5, 2.0, "x", "", " 2", "²", "1_0"])
def test_what_is_no_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(pcatool.UsageError, match="is not a number of threads; give a whole number from 1 to 1024"):
        EngineOptions(threads)
    for call in (pcatool.fit, pcatool.plan):
        with pytest.raises(pcatool.UsageError, match="is not a number of threads"):
            call(X, threads=threads)
    with pytest.raises(pcatool.UsageError, match="is not a number of threads"):
        pcatool.transform(pcatool.fit(X), X, threads=threads)


@pytest.mark.parametrize("threads", [1, 2, np.int64(3), 1024, "4"])
def test_a_number_of_threads_is_taken(threads: Any) -> None:
    assert EngineOptions(threads).threads == int(threads)
    model = pcatool.fit(X, threads=threads)
    assert np.array_equal(pcatool.transform(model, X, threads=threads), pcatool.transform(model, X, threads=1))


def test_without_a_number_there_is_none() -> None:
    assert EngineOptions().threads is None
    assert EngineOptions(None).threads is None
