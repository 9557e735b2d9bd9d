"""The same rows give the same bits, however they were cut on the way; parts are merged in the order of the items."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcatool.arrays import (
    FEWEST_ROWS,
    MOST_ROWS,
    SERIAL,
    Accumulator,
    ArraySum,
    Engine,
    NoRows,
    apply_in_blocks,
    block_rows,
    fold,
    most_tasks,
    recut,
)
from pcatool.engines.base import Listing
from pcatool.engines.threads import Threads
from pcatool.errors import DataError
from pcatool.methods.pca import PCA
from pcatool.model.npz import dumps
from pcatool.options import FitOptions
from pcatool.progress import Reporter
from pcatool.registry import SOLVERS
from solvers.cases import Array, fit, names_of

seeded = settings(max_examples=25, deadline=None, derandomize=True, database=None)

# Columns, rows: less than a block, whole blocks, blocks and a rest, many small blocks.
SHAPES = [(1, 20_000), (3, 8192), (3, 16_384), (5, 9000), (150, 9000), (3000, 700), (100_000, 40)]


def strided(X: Array) -> Array:
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    return wide[::2, ::2]


def backwards(X: Array) -> Array:
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "backwards": backwards,
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def batches(X: Array, sizes: list[int]) -> Iterator[Array]:
    """Rows in batches of these sizes, over and over; read-only."""
    at, turn = 0, 0
    while at < len(X):
        size = sizes[turn % len(sizes)]
        part = X[at : at + size].view()
        part.setflags(write=False)
        yield part
        at, turn = at + size, turn + 1


# No list of zeros only: it would never end.
sizes = st.lists(st.one_of(st.integers(0, 40), st.integers(1000, 9000)), min_size=1, max_size=6).filter(any)


# --- heights ---


@pytest.mark.parametrize(
    ("d", "rows"),
    [(1, 8192), (2, 8192), (32, 8192), (33, 4096), (64, 4096), (128, 2048), (784, 1024), (1024, 1024), (1025, 512),
     (20_000, 32), (65_536, 16), (65_537, 16), (10_000_000, 16)],
)  # fmt: skip
def test_height_follows_from_the_columns(d: int, rows: int) -> None:
    assert block_rows(d) == rows


def test_height_is_a_power_of_two_within_bounds() -> None:
    heights = np.array([block_rows(d) for d in range(1, 70_000, 7)])
    assert np.all(heights & (heights - 1) == 0)
    assert heights.max() == MOST_ROWS
    assert heights.min() == FEWEST_ROWS
    assert np.all(np.diff(heights) <= 0)


# --- recut ---


@pytest.mark.parametrize(("d", "n"), SHAPES)
@every_layout
def test_blocks_are_as_high_as_the_columns_say(d: int, n: int, layout: str) -> None:
    X = np.random.default_rng(d).normal(size=(n, d))
    height = block_rows(d)
    blocks = list(recut(batches(LAYOUTS[layout](X), [n // 3 + 1]), d))
    assert [len(block) for block in blocks[:-1]] == [height] * (len(blocks) - 1)
    assert 0 < len(blocks[-1]) <= height
    assert all(block.flags.f_contiguous for block in blocks)
    assert np.concatenate(blocks).tobytes() == X.tobytes()


@given(
    sizes=sizes, layout=st.sampled_from(sorted(LAYOUTS)), shape=st.sampled_from([(1, 9000), (3, 16_384), (200, 5000)])
)
@seeded
def test_any_batches_give_the_same_blocks(sizes: list[int], layout: str, shape: tuple[int, int]) -> None:
    d, n = shape
    X = np.random.default_rng(n).normal(size=(n, d))
    whole = [block.tobytes("F") for block in recut([X], d)]
    assert [block.tobytes("F") for block in recut(batches(LAYOUTS[layout](X), sizes), d)] == whole


@pytest.mark.parametrize("solver", list(SOLVERS))
@given(sizes=sizes, layout=st.sampled_from(sorted(LAYOUTS)))
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
def test_any_batches_give_the_same_model_file(solver: str, sizes: list[int], layout: str) -> None:
    X = np.random.default_rng(5).normal(size=(20_000, 4)) + 1e3

    def file(parts: Iterator[Array]) -> bytes:
        return dumps(
            PCA(FitOptions(solver=solver, components="all"), Reporter()).fit(recut(parts, 4), names_of(4)).model
        )

    assert file(batches(LAYOUTS[layout](X), sizes)) == file(iter([X]))


def test_no_rows_give_no_blocks() -> None:
    assert list(recut([], 3)) == []
    assert list(recut([np.empty((0, 3)), np.empty((0, 3))], 3)) == []


def test_blocks_handed_out_stay_as_they_were() -> None:
    """A block may still be in use while the next one is filled."""
    X = np.random.default_rng(1).normal(size=(8192 * 3 + 5, 2))
    blocks = []
    for block in recut(batches(X, [1000]), 2):
        blocks.append((block, block.tobytes("F")))
    assert all(block.tobytes("F") == before for block, before in blocks)


# --- apply_in_blocks ---


@pytest.fixture(scope="module", params=[(4, 20_000), (150, 9000), (3000, 700)], ids=str)
def projected(request: pytest.FixtureRequest) -> tuple[Array, Callable[[Array], Array], Array]:
    """Rows, a projection, and what it makes of all the rows at once."""
    d, n = request.param
    X = np.random.default_rng(d).normal(size=(n, d)) + 10
    B = np.linalg.qr(np.random.default_rng(0).normal(size=(d, 3)))[0]

    def project(Y: Array) -> Array:
        return (Y - 10) @ B

    return X, project, apply_in_blocks(project, X, 0)


@every_layout
@given(sizes=st.lists(st.integers(1, 9000), min_size=1, max_size=5))
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
def test_any_split_gives_the_same_scores(
    projected: tuple[Array, Callable[[Array], Array], Array], layout: str, sizes: list[int]
) -> None:
    X, project, whole = projected
    found, first_row = [], 0
    sizes = [max(size, len(X) // 12) for size in sizes]  # each part costs a whole block
    for part in batches(LAYOUTS[layout](X), sizes):
        found.append(apply_in_blocks(project, part, first_row))
        first_row += len(part)
    assert np.concatenate(found).tobytes() == whole.tobytes()


def test_single_rows_give_the_same_scores(projected: tuple[Array, Callable[[Array], Array], Array]) -> None:
    X, project, whole = projected
    for row in (0, 1, 17, len(X) // 2, len(X) - 1):
        assert apply_in_blocks(project, X[row : row + 1], row).tobytes() == whole[row : row + 1].tobytes()


@pytest.mark.parametrize("d", [3, 784, 100_000])
@pytest.mark.parametrize("first_row", [0, 1, 15, 16, 8191, 8192, 10**12 + 3])
def test_each_row_stands_at_its_place_in_a_whole_block(d: int, first_row: int) -> None:
    """A product may give other bits at another place; the place follows from the row's number in the input."""
    height = block_rows(d)
    seen = []

    def place(Y: Array) -> Array:
        seen.append(Y.shape)
        return np.arange(float(len(Y)))[:, None]

    n = min(height + 5, 2000)
    places = apply_in_blocks(place, np.zeros((n, d)), first_row)[:, 0]
    np.testing.assert_array_equal(places, (first_row + np.arange(n)) % height)
    assert set(seen) == {(height, d)}


def test_values_are_those_of_the_function(projected: tuple[Array, Callable[[Array], Array], Array]) -> None:
    X, project, whole = projected
    np.testing.assert_allclose(whole, project(X), rtol=0, atol=1e-12 * np.abs(whole).max())


def test_no_rows_give_no_scores_but_their_columns() -> None:
    assert apply_in_blocks(lambda Y: Y[:, :2], np.empty((0, 5)), 7).shape == (0, 2)


def test_rows_are_left_alone() -> None:
    X = np.asfortranarray(np.random.default_rng(2).normal(size=(block_rows(6) + 3, 6)))
    X.setflags(write=False)
    before = X.tobytes()
    apply_in_blocks(fit(X, components=2).project, X, 0)
    assert X.tobytes() == before


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


def test_a_part_is_freed_once_it_is_merged() -> None:
    held: list[weakref.ref[Array]] = []

    def parts() -> Iterator[Array]:
        for number in range(4):
            part = np.full(3, float(number))
            held.append(weakref.ref(part))
            yield part
            del part
            # Of the parts so far, no more than the sums lie in memory while the next one is computed.
            assert sum(one() is not None for one in held) <= 1

    assert fold(ArraySum(lambda X: X), parts()).tolist() == [6.0] * 3


def test_a_fold_takes_parts_that_are_there_already() -> None:
    assert fold(Words(), iter("abc")) == "((a b) c)."


def test_an_error_of_an_item_is_that_of_the_sum() -> None:
    def refuse(item: int) -> list[int]:
        raise DataError(f"item {item}")

    with Threads(2) as pool, pytest.raises(DataError, match="item 0"):
        pool.reduce(range(3), Listing(refuse))


def test_parts_that_fill_the_memory_wait_one_at_a_time() -> None:
    assert [most_tasks(size) for size in (1 << 40, 128 << 20, 64 << 20)] == [1, 1, 2]
    assert ArraySum(len, 1 << 20).part_bytes == 1 << 20  # type: ignore[arg-type]
