"""Spark in local mode, with its real JVM: the same answers whatever happens on the way, and nothing on the terminal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import spark_work
from pcatool.engines.spark import Spark
from pcatool.errors import FileError, LostError, UsageError

TESTS = Path(__file__).resolve().parents[1]

needs_java = pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ and "CI" not in os.environ,
    reason="Spark needs Java, and there is none",
)


@pytest.fixture(scope="module")
def spark() -> Iterator[Spark]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS))
        with Spark("local[2]") as cluster:
            yield cluster


def ignore(count: int) -> None:
    pass


@needs_java
@pytest.mark.parametrize("count", [1, 8, 70])
def test_neighbours_are_merged_in_their_order(spark: Spark, count: int) -> None:
    counts: list[int] = []
    merged = spark.gather(spark_work.letters, spark_work.joined, range(count), counts.append)
    assert merged == "".join(map(spark_work.letters, range(count)))
    assert sum(counts) == count


@needs_java
def test_more_items_than_tasks_share_them(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcatool.engines.spark.cluster.TASKS", 9)
    counts: list[int] = []
    assert spark.map(spark_work.double, range(50), counts.append) == [2 * i for i in range(50)]
    assert sum(counts) == 50


@needs_java
def test_the_first_item_that_fails_is_told_of(spark: Spark, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileError) as caught:
        spark.map(spark_work.failing, range(12), ignore)
    assert (caught.value.message, caught.value.remedy) == ("item 5", "look at it")
    assert capfd.readouterr() == ("", "")


@needs_java
def test_a_bug_comes_back_as_it_is(spark: Spark) -> None:
    with pytest.raises(ZeroDivisionError):
        spark.map(spark_work.dividing, range(5), ignore)


@needs_java
def test_a_worker_that_is_killed_costs_a_retry(spark: Spark, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    places = [str(tmp_path / f"{i}{'.kill' if i == 3 else '.calm'}") for i in range(6)]
    assert spark.map(spark_work.killed_once, places, ignore) == [str(i) for i in range(6)]
    assert (tmp_path / "3.kill").exists()
    assert capfd.readouterr() == ("", "")


@needs_java
def test_workers_that_are_killed_again_and_again_are_an_error(spark: Spark) -> None:
    with pytest.raises(LostError, match="a worker was lost again and again"):
        spark.map(spark_work.killed, [1], ignore)


@needs_java
def test_results_of_many_pieces(spark: Spark) -> None:
    merged = spark.gather(spark_work.large, spark_work.joined, range(3), ignore)
    assert merged == b"".join(map(spark_work.large, range(3)))


def test_nothing_is_nothing() -> None:
    assert Spark("local").map(spark_work.double, [], ignore) == []


@pytest.mark.parametrize("address", ["", "local[x]", "spark://host", "tcp://127.0.0.1:8786", "somewhere"])
def test_an_address_of_something_else(address: str) -> None:
    with pytest.raises(UsageError, match="is no address of a Spark master; write local"):
        Spark(address)


def test_spark_connect_is_refused() -> None:
    with pytest.raises(UsageError, match="a server of Spark Connect"):
        Spark("sc://host:15002")
