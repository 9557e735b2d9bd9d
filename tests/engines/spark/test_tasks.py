"""The tasks of Spark's executors, called in this process: rows of a result, its pieces, and other versions."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from socket import gethostname
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pcatool
from engines import spark_work
from engines.accumulators import Sums
from pcatool.arrays import Accumulator
from pcatool.engines.spark.cluster import error_of_task
from pcatool.engines.spark.tasks import PIECE, FirstStageTask, MergeRows, Row, TaskResults, join_pieces
from pcatool.errors import FileError
from pcatool.linalg.moments import Moments, MomentsAccumulator

HERE = ("pcatool", pcatool.__version__)


class Outcomes(dict[int, bytes]):
    """The outcomes that tasks report, as Spark merges them."""

    def add(self, more: dict[int, bytes]) -> None:
        self.update(TaskResults().addInPlace(TaskResults().zero(self), more))


def rows_of(batches: Any) -> list[Row]:
    return [Row(*(column[0].as_py() for column in batch.columns)) for batch in batches]


def numbers(*wanted: int) -> list[pa.RecordBatch]:
    return [pa.record_batch([pa.array(wanted)], ["number"])]


def first_stage(accumulator: Accumulator[Any, Any], items: list[Any], per: int = 1) -> tuple[FirstStageTask, Outcomes]:
    outcomes = Outcomes()
    return FirstStageTask(HERE, pickle.dumps(accumulator), list(map(pickle.dumps, items)), per, outcomes), outcomes


def test_a_result_longer_than_a_piece_comes_in_rows_of_one_megabyte() -> None:
    task, outcomes = first_stage(Sums(spark_work.large, spark_work.joined), [7])
    rows = rows_of(task(numbers(0)))
    assert [row[:3] for row in rows] == [(0, piece, 0) for piece in range(10)]
    assert {len(row.data) for row in rows[:-1]} == {PIECE}
    assert join_pieces(rows) == (False, spark_work.large(7))
    assert outcomes == {0: b""}


def test_moments_of_tasks_are_those_of_all_blocks() -> None:
    """Merged in twos, from tasks of three blocks each."""
    rng = np.random.default_rng(0)
    blocks = [(rng.normal(100, 1, (50 + i, 4)), None) for i in range(10)]
    accumulator = MomentsAccumulator(blocks[0][0][0])
    task, outcomes = first_stage(accumulator, blocks, 3)
    batches = list(task(numbers(0, 1, 2, 3)))
    assert outcomes == dict.fromkeys(range(4), b"")
    while len(batches) > 1:
        batches = list(MergeRows(pickle.dumps(accumulator), 2)(batches))
    failed, moments = join_pieces(rows_of(batches))
    assert not failed and isinstance(moments, Moments)
    X = np.concatenate([rows for rows, _ in blocks])
    Xc = X - X.mean(axis=0)
    assert moments.centre.weight == len(X)
    np.testing.assert_allclose(moments.centre.mean, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(moments.scatter, Xc.T @ Xc, rtol=1e-12, atol=1e-11)


def refusing(number: int) -> int:
    if number in (5, 6):
        raise FileError(f"item {number}")
    return number


@pytest.mark.parametrize("function", [spark_work.dividing, refusing])
def test_a_merge_passes_on_the_first_error(function: Callable[[int], Any]) -> None:
    task, outcomes = first_stage(Sums(function, max), list(range(8)))
    merged = rows_of(MergeRows(task.accumulator, 8)(task(numbers(*range(8)))))
    failed, error = join_pieces(merged)
    first = next(number for number, outcome in sorted(outcomes.items()) if outcome)
    assert failed
    assert str(error) == str(pickle.loads(outcomes[first]))
    assert first == {spark_work.dividing: 3, refusing: 5}[function]


@pytest.mark.parametrize(
    ("package", "sentence"),
    [
        (
            ("pcatool", "0.0.1"),
            f"has pcatool {pcatool.__version__}, but this process has 0.0.1; install the same version on all",
        ),
        (("no_pcatool", "0.1.0"), "has no pcatool; install pcatool 0.1.0 on the executors, or set PYSPARK"),
    ],
)
def test_an_executor_with_another_pcatool_loads_nothing(package: tuple[str, str], sentence: str) -> None:
    """It could fail to unpickle, and would tell of that instead."""
    outcomes = Outcomes()
    task = FirstStageTask(package, b"no pickle", [b"no pickle"], 1, outcomes)
    failed, value = join_pieces(rows_of(task(numbers(0))))
    assert failed
    assert pickle.loads(outcomes[0]) == value
    error = error_of_task(value, package[1])
    assert isinstance(error, FileError)
    assert str(error).startswith(f"the executor on '{gethostname()}' {sentence}")


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (
            ("node1", "0.0.1"),
            "the executor on 'node1' has pcatool 0.0.1, but this process has 0.1.0; install the same version",
        ),
        (("node1", ""), "the executor on 'node1' has no pcatool; install pcatool 0.1.0 on the executors, or set"),
    ],
)
def test_another_version_there(value: tuple[str, str], sentence: str) -> None:
    error = error_of_task(value, "0.1.0")
    assert isinstance(error, FileError)
    assert str(error).startswith(sentence)
