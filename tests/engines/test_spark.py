"""Spark in local mode, with its real JVM: the same answers whatever happens on the way, and nothing on the terminal.

A real cluster takes too long for a test of every day. By hand, with what pyspark brings along:

    export SPARK_LOCAL_IP=127.0.0.1
    spark-class org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 7077 --webui-port 0
    spark-class org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --cores 2 --memory 2g spark://127.0.0.1:7077

A fit on it with `--scheduler spark://127.0.0.1:7077` gives the eigenvalues of threads, also when the process
CoarseGrainedExecutorBackend is killed. With all three killed, or no worker from the start, it ends within 30 s, exit 5.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import pcatool
from engines import spark_work
from engines.accumulators import Sums
from pcatool.engines.spark import Spark, session
from pcatool.engines.spark import cluster as watch
from pcatool.engines.spark import session as java
from pcatool.errors import FileError, LostError, UsageError
from programs import has_avx2

pytestmark = pytest.mark.long(first=True)

TESTS = Path(__file__).resolve().parents[1]

needs_java = pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ and "CI" not in os.environ,
    reason="Spark needs Java, which is not installed",
)


# --- what shares one JVM, as it takes seconds to start: one test, for one process of a run in several ---


@needs_java
def test_the_work_in_one_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.chdir(tmp_path)
    if has_avx2():
        monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    with Spark("local[2]") as spark:
        workers_compute_for_the_processor_that_is_named(spark)
        neighbours_are_merged_in_their_order(spark)
        more_items_than_tasks_share_them(spark)
        results_come_in_many_pieces(spark)
        the_first_item_that_fails_is_told_of(spark)
        a_bug_comes_back_as_it_is(spark)
        a_worker_that_is_killed_costs_a_retry(spark, tmp_path)
        workers_that_are_killed_again_and_again_are_an_error(spark)
        assert capfd.readouterr() == ("", "")
        work_that_nobody_does_is_given_up(spark)
        parts_of_a_table()
        a_session_that_is_there_is_used_and_stays(spark)
        as_many_threads_as_there_are_give_the_same_bits(spark)
        a_master_that_says_nothing()
        monkeypatch.setattr(session, "TO_STOP", 0.1)  # the attempt to reach that master still holds pyspark's lock,
        monkeypatch.setattr(java, "TO_LEAVE", 0.1)  # and Java


def workers_compute_for_the_processor_that_is_named(spark: Spark) -> None:
    if (named := os.environ.get("OPENBLAS_CORETYPE")) is None:
        return
    assert {*spark.map(spark_work.computed_for, [1])[0]} == {named}
    assert spark._session is not None
    assert spark._session.context.getConf().get("spark.executorEnv.OPENBLAS_CORETYPE") == named


def neighbours_are_merged_in_their_order(spark: Spark) -> None:
    for count in (1, 8, 70):
        counts: list[int] = []
        merged = spark.reduce(range(count), Sums(spark_work.letters, spark_work.joined), counts.append)
        assert merged == "".join(map(spark_work.letters, range(count)))
        assert sum(counts) == count


def more_items_than_tasks_share_them(spark: Spark) -> None:
    counts: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pcatool.engines.spark.cluster.TASKS", 9)
        assert spark.map(spark_work.double, range(50), counts.append) == [2 * i for i in range(50)]
    assert sum(counts) == 50


def the_first_item_that_fails_is_told_of(spark: Spark) -> None:
    with pytest.raises(FileError) as caught:
        spark.map(spark_work.failing, range(12))
    assert (caught.value.message, caught.value.remedy) == ("item 5", "look at it")


def a_bug_comes_back_as_it_is(spark: Spark) -> None:
    with pytest.raises(ZeroDivisionError):
        spark.map(spark_work.dividing, range(5))


def a_worker_that_is_killed_costs_a_retry(spark: Spark, folder: Path) -> None:
    places = [str(folder / f"{i}{'.kill' if i == 3 else '.calm'}") for i in range(6)]
    assert spark.map(spark_work.killed_once, places) == [str(i) for i in range(6)]
    assert (folder / "3.kill").exists()


def workers_that_are_killed_again_and_again_are_an_error(spark: Spark) -> None:
    with pytest.raises(LostError, match="a Python worker of Spark was lost several times"):
        spark.map(spark_work.killed, [1])


def results_come_in_many_pieces(spark: Spark) -> None:
    merged = spark.reduce(range(3), Sums(spark_work.large, spark_work.joined))
    assert merged == b"".join(map(spark_work.large, range(3)))


def work_that_nobody_does_is_given_up(spark: Spark) -> None:
    """A local session has no executor apart from this process: what a cluster looks like that grants none."""
    here = spark._session
    assert here is not None and here.patience is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(here, "patience", 0.5)
        patch.setattr(watch, "HEARTBEAT", 0.1)
        with pytest.raises(LostError, match=r"the Spark master 'local\[2,4\]' has started no executor in 0 s; check"):
            spark.map(spark_work.sleeping, [60.0])
        patch.setattr(here, "executors", iter([1, 1, *[0] * 600]).__next__)
        with pytest.raises(LostError, match="has no executors left; check that the cluster is still running"):
            spark.map(spark_work.sleeping, [60.0])
    assert spark.map(spark_work.double, [2]) == [4]


def parts_of_a_table() -> None:
    Path("in").mkdir()
    for number in range(3):
        rows = np.random.default_rng(number).standard_normal((20, 3))
        Path(f"in/{number}.csv").write_text("a,b,c\n" + "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in rows.tolist()))
    model = pcatool.fit("in", components=2)
    pcatool.transform(model, "in", output="out/", engine="spark", scheduler="local[2]", with_error=True)
    pcatool.transform(model, "in", output="whole.parquet", with_error=True)
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "_SUCCESS", *(f"part-0000{number}.parquet" for number in range(3))
    ]  # fmt: skip
    parts, whole = parquet.read_table("out"), parquet.read_table("whole.parquet")
    assert parts.schema == whole.schema
    for name in whole.column_names:
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-13, atol=1e-13)


def a_session_that_is_there_is_used_and_stays(spark: Spark) -> None:
    with Spark(None) as another:
        assert another.map(spark_work.double, [1]) == [2]
    assert spark.map(spark_work.double, [2]) == [4]
    with pytest.raises(
        UsageError, match=r"Spark already runs in this process with the master 'local\[2,4\]', not 'yarn'"
    ):
        Spark("yarn").__enter__()


def as_many_threads_as_there_are_give_the_same_bits(spark: Spark) -> None:
    def total(cluster: Spark) -> float:
        return cluster.reduce(range(20), Sums(spark_work.inexact, spark_work.plus))

    there = total(spark)
    assert spark._session is not None
    spark._session.context.stop()  # its JVM stays, for another
    with Spark("local[1]") as another:
        assert total(another) == there


def a_master_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "TO_REGISTER", 0.5)
        master = f"spark://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(LostError, match=f"the Spark master '{master}' does not answer; check the address"):
            Spark(master).__enter__()


# --- what is not there ---


def run(folder: Path, environment: dict[str, str], *words: str) -> tuple[int, str, str]:
    """The installed program's exit code, and all that came on the terminal."""
    done = subprocess.run(["pcatool", *words], capture_output=True, text=True, env=environment, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def fit_in(folder: Path, environment: dict[str, str], master: str) -> tuple[int, str, str]:
    words = ["fit", "sample_data/houses.csv", "-o", "m.npz", "--engine=spark", f"--scheduler={master}"]
    return run(folder, environment, *words)


def test_a_master_that_is_not_there(folder: Path, plain_environment: dict[str, str]) -> None:
    assert fit_in(folder, plain_environment, "spark://127.0.0.1:1") == (
        5,
        "",
        "pcatool: error: cannot reach the Spark master 'spark://127.0.0.1:1': Connection refused; check the address, "
        "and that the master is running\n",
    )


def test_no_java(folder: Path, plain_environment: dict[str, str]) -> None:
    (folder / "bin").mkdir()
    for name in ("bash", "dirname", "pcatool", "python3", "uname"):
        found = shutil.which(name, path=plain_environment["PATH"])
        assert found
        (folder / "bin" / name).symlink_to(found)
    code, out, error = fit_in(folder, {**plain_environment, "PATH": str(folder / "bin")}, "local[2]")
    assert (code, out) == (5, "")
    assert error.startswith("pcatool: error: Spark needs Java, which is not installed; install Java 17 or later")


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        (
            "Error: java.lang.UnsupportedClassVersionError: org/apache/spark",
            "the installed Java is too old for this version of Spark",
        ),
        (
            "Error: Could not find or load main class X",
            "Spark does not start: Error: Could not find or load main class X",
        ),
    ],
)
def test_java_that_does_not_do(says: str, sentence: str, folder: Path, plain_environment: dict[str, str]) -> None:
    java = folder / "jre" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
    java.chmod(0o755)
    code, out, error = fit_in(folder, {**plain_environment, "JAVA_HOME": str(folder / "jre")}, "local[2]")
    assert (code, out) == (5, "")
    assert error.startswith(f"pcatool: error: {sentence}; ")


def test_spark_that_is_not_installed(folder: Path, plain_environment: dict[str, str]) -> None:
    (folder / "pyspark.py").write_text("raise ImportError('not here', name='pyspark')\n")
    code, out, error = fit_in(folder, {**plain_environment, "PYTHONPATH": str(folder)}, "local[2]")
    assert (code, out) == (5, "")
    assert error == "pcatool: error: --engine spark needs the package pyspark; run pip install 'pcatool[spark]'\n"


# --- the program as a whole ---


@needs_java
def test_nothing_of_spark_on_the_terminal(folder: Path, plain_environment: dict[str, str]) -> None:
    """And the numbers are those of threads."""
    write_parts(folder / "parts", 20)
    spark = ["--engine=spark", "--scheduler=local[2]"]
    assert run(folder, plain_environment, "fit", "parts", "-o", "there.npz", "-k2", *spark) == (0, "", "")
    assert run(folder, plain_environment, "fit", "parts", "-o", "here.npz", "-k2") == (0, "", "")
    there, here = np.load(folder / "there.npz"), np.load(folder / "here.npz")
    np.testing.assert_allclose(there["eigenvalues"], here["eigenvalues"], rtol=1e-12)
    outside = there["basis"] - here["basis"] @ (here["basis"].T @ there["basis"])
    assert np.linalg.norm(outside, 2) < 1e-9


@needs_java
def test_an_interrupt_ends_all_of_it(folder: Path, plain_environment: dict[str, str]) -> None:
    write_parts(folder / "parts", 200)
    words = ["pcatool", "fit", "parts", "-o", "m.npz", "--engine=spark", "--scheduler=local[2]"]
    mark = f"{folder}/mark"
    program = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**plain_environment, "PCATOOL_TEST": mark},
        cwd=folder,
        start_new_session=True,
    )
    wait_for(lambda: any("pyspark.daemon" in line for line in marked(mark)))
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    out, error = program.communicate(timeout=30)
    assert (program.returncode, out, error) == (130, b"", b"")
    wait_for(lambda: not marked(mark), 10)
    assert [path.name for path in folder.iterdir() if path.suffix == ".npz"] == []


def write_parts(folder: Path, count: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    rows = np.random.default_rng(0).normal(size=(count, 50, 3)) * [1, 2, 3]
    for i, part in enumerate(rows):
        parquet.write_table(pa.table(dict(zip("abc", part.T, strict=True))), folder / f"{i:03}.parquet")


def marked(mark: str) -> list[str]:
    """The command lines of all processes with this mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:  # gone, or somebody else's
            continue
    return found


def wait_for(true: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)
