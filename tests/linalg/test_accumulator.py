"""Every engine merges the parts of all items in their order, and finishes once."""

from __future__ import annotations

import time

import pytest

from pcatool.engines.base import Listing
from pcatool.engines.threads import Threads
from pcatool.errors import DataError
from pcatool.linalg.accumulator import SERIAL, Accumulator, ArraySum, Engine, NoRows, fold, most_waiting


class Words(Accumulator[int, str]):
    """Tells in which order, and what with what."""

    def of_block(self, block: int) -> str:
        time.sleep(0.01 if block % 3 == 0 else 0)
        return str(block)

    def merge(self, one: str, other: str) -> str:
        return f"({one} {other})"

    def finish(self, part: str) -> str:
        return f"{part}."


def check(engine: Engine) -> None:
    assert engine.reduce(range(4), Words()) == "(((0 1) 2) 3)."
    assert engine.reduce([7], Words()) == "7."
    assert engine.reduce(range(40), Listing(str)) == [str(i) for i in range(40)]
    with pytest.raises(NoRows, match="no rows to fit"):
        engine.reduce([], Words())


def test_one_thread_and_several_merge_in_the_order_of_the_items() -> None:
    check(SERIAL)
    for count in (1, 2, 4):
        with Threads(count) as pool:
            check(pool)


def test_a_fold_takes_parts_that_are_there_already() -> None:
    assert fold(Words(), iter("abc")) == "((a b) c)."


def test_an_error_of_an_item_is_that_of_the_sum() -> None:
    def refuse(item: int) -> list[int]:
        raise DataError(f"item {item}")

    with Threads(2) as pool, pytest.raises(DataError, match="item 0"):
        pool.reduce(range(3), Listing(refuse))


def test_parts_that_fill_the_memory_wait_one_at_a_time() -> None:
    assert [most_waiting(size) for size in (1 << 40, 128 << 20, 64 << 20)] == [1, 1, 2]
    assert ArraySum(len, 1 << 20).part_bytes == 1 << 20  # type: ignore[arg-type]
