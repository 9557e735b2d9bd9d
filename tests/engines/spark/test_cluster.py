"""What pcatool sends to the executors of Spark and makes of their answers, with the tasks in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyspark.sql
import pytest

import pcatool
from engines import spark_work
from engines.accumulators import Sums
from engines.spark.in_this_process import Context, Session
from pcatool.arrays import NoRows
from pcatool.engines.spark import Spark, cluster
from pcatool.errors import DataError, FileError, LostError, UsageError

MASTER = "spark://node1:7077"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    """The session that runs in this process already."""
    made = Session(MASTER)
    CONTEXT.append(made.sparkContext)
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", made.sparkContext)
    monkeypatch.setattr(pyspark.sql.SparkSession, "getActiveSession", lambda: made)
    monkeypatch.setattr(pyspark.sql.functions, "expr", str)  # the real one asks Java
    return made


@pytest.fixture
def spark(session: Session) -> Iterator[Spark]:
    with Spark(None) as spark:
        yield spark


# --- results ---


@pytest.mark.parametrize("count", [1, 2, 8, 9, 70])
def test_neighbours_are_merged_in_their_order(spark: Spark, count: int) -> None:
    done: list[int] = []
    merged = spark.reduce(range(count), Sums(spark_work.letters, spark_work.joined), done.append)
    assert merged == "".join(map(spark_work.letters, range(count)))
    assert sum(done) == count


def test_more_items_than_tasks_share_them(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "TASKS", 9)
    done: list[int] = []
    assert spark.map(spark_work.double, range(50), done.append) == [2 * i for i in range(50)]
    assert sum(done) == 50


def test_results_come_in_many_pieces(spark: Spark) -> None:
    """Of one megabyte each, whose order is lost on the way."""
    merged = spark.reduce(range(3), Sums(several_pieces, spark_work.joined))
    assert merged == b"".join(map(several_pieces, range(3)))


def several_pieces(number: int) -> bytes:
    return bytes(range(number, 200)) * 12_345


def test_a_fit_gives_the_model_of_threads(session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("in").mkdir()
    rng = np.random.default_rng(1)
    for number in range(11):
        rows = "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in rng.standard_normal((20, 3)).tolist())
        Path(f"in/{number:02}.csv").write_text(f"a,b,c\n{rows}")
    there, here = pcatool.fit("in", components=2, engine="spark"), pcatool.fit("in", components=2)
    assert (there.n_samples, there.columns) == (here.n_samples, here.columns) == (220, ("a", "b", "c"))
    np.testing.assert_allclose(there.eigenvalues, here.eigenvalues, rtol=1e-13)
    np.testing.assert_allclose(there.basis, here.basis, rtol=0, atol=1e-12)


# --- errors ---


def test_nothing_to_work_on(spark: Spark) -> None:
    assert spark.map(spark_work.double, []) == []
    assert Spark("local").map(spark_work.double, []) == []
    with pytest.raises(NoRows):
        spark.reduce([], Sums(spark_work.letters, spark_work.joined))


def test_the_first_item_that_fails_is_told_of(spark: Spark) -> None:
    with pytest.raises(FileError) as caught:
        spark.map(failing, range(12))
    assert (caught.value.message, caught.value.remedy) == ("item 5", "look at it")


def failing(number: int) -> int:
    if number == 5:
        raise FileError("item 5", "look at it")
    if number in (6, 11):
        raise DataError(f"item {number}")
    return number


def test_an_error_of_a_merge_comes_back(spark: Spark) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        spark.reduce(range(9), Sums(spark_work.double, lambda one, other: one + str(other)))


def test_a_bug_comes_back_with_the_line_where_it_is(spark: Spark) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        spark.map(spark_work.dividing, range(5))
    assert "in dividing" in caught.value.__notes__[0]


class Unloadable(Exception):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one}{two}")


def raising_unloadable(number: int) -> None:
    raise Unloadable("a", "b")


def test_an_error_that_cannot_be_sent_is_told_in_its_words(spark: Spark) -> None:
    with pytest.raises(RuntimeError, match=r"^Unloadable: ab$"):
        spark.map(raising_unloadable, [1])


def test_an_error_of_spark_itself_is_told_in_words(
    session: Session, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*of_frame: int) -> None:
        raise RuntimeError("Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)")

    monkeypatch.setattr(session, "range", lost)
    with pytest.raises(
        LostError, match="a Python worker of Spark was lost several times, perhaps because memory ran out; set"
    ):
        spark.map(spark_work.double, [1])


# --- executors that are not there, and runs that are given up ---


CONTEXT: list[Context] = []


def waiting(number: int) -> None:
    """Work that ends when Spark cancels it; the first of several items is done at once."""
    if number:
        assert CONTEXT[-1].is_cancelled.wait(10)


def test_work_that_nobody_does_is_given_up(session: Session, spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "HEARTBEAT", 0.06)
    assert spark._session is not None
    monkeypatch.setattr(spark._session, "patience", 0.1)
    session.sparkContext.executors = 0
    with pytest.raises(LostError, match=rf"the Spark master '{MASTER}' has started no executor in 0 s; check that"):
        spark.map(waiting, [1])
    assert session.sparkContext.cancelled == [session.sparkContext.group]


def test_executors_that_end_are_missed(session: Session, spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "HEARTBEAT", 0.06)
    assert spark._session is not None
    monkeypatch.setattr(spark._session, "patience", 0.4)
    counts = iter([2, 2])
    monkeypatch.setattr(spark._session, "executors", lambda: next(counts, 0))
    with pytest.raises(
        LostError, match=rf"the Spark master '{MASTER}' has no executors left; check that the cluster is still"
    ):
        spark.map(waiting, [1])


def test_java_that_ends_is_missed(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark._session, "is_running", lambda: False)
    with pytest.raises(
        LostError, match="Spark's Java process ended before its work was done, perhaps because this machine ran"
    ):
        spark.map(waiting, [1])


def test_an_interrupt_cancels_the_job_and_leaves_the_session(session: Session, spark: Spark) -> None:
    main = threading.main_thread()

    def interrupted(count: int) -> None:
        assert threading.current_thread() is main
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spark.map(waiting, [0, 1], interrupted)
    assert session.sparkContext.cancelled == [session.sparkContext.group]
    assert spark.map(spark_work.double, [2]) == [4]


def test_a_session_with_another_master_is_refused(session: Session) -> None:
    with pytest.raises(UsageError, match=f"Spark already runs in this process with the master '{MASTER}', not 'yarn'"):
        Spark("yarn").__enter__()
