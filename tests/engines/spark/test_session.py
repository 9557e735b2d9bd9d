"""Sessions of Spark: addresses, a Java that does not do, and a master or a package that is missing."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext

from engines.spark import in_this_process
from pcatool.engines.spark import Spark
from pcatool.engines.spark.session import Session, _gateway_environment, is_here, is_tuned, start_session, with_retries
from pcatool.errors import FileError, LostError, UsageError


@pytest.mark.parametrize("address", ["", "local[x]", "spark://host", "tcp://127.0.0.1:8786", "somewhere"])
def test_an_address_of_something_else(address: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a Spark master; write the address as local"):
        Spark(address)


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local[2,4]", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://localhost:7077,node2:7077", False),
        ("spark://node1:7077", False),
        ("yarn", False),
    ],
)
def test_executors_on_this_machine_run_the_same_python(master: str, here: bool) -> None:
    assert is_here(master) is here


def test_who_tunes_java_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert not is_tuned("nowhere")
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.extraJavaOptions -XX:+UseG1GC\n")
    assert is_tuned("nowhere")


def test_spark_connect_is_refused() -> None:
    with pytest.raises(UsageError, match="Spark Connect does not report"):
        Spark("sc://host:15002")


@pytest.mark.parametrize(
    ("named", "used"),
    [("local", "local[1,4]"), ("local[*]", "local[*,4]"), ("local[2,1]", "local[2,1]"), ("yarn", "yarn")],
)
def test_tasks_of_a_local_master_are_tried_again(named: str, used: str) -> None:
    assert with_retries(named) == used


def test_none_of_several_masters_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    masters = f"spark://127.0.0.1:{port},127.0.0.1:99999"
    with pytest.raises(LostError) as caught:
        Spark(masters).__enter__()
    assert str(caught.value).startswith(f"cannot reach the Spark master '{masters}': ")
    assert caught.value.remedy == "check the address, and that the master is running"


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(FileError, match=r"--engine spark needs the package pyspark; run pip install 'pcatool\["):
        Spark(None).__enter__()


# --- Java ---


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, of which none is left; the next session starts another Java."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    yield tmp_path / "temporary"
    assert list((tmp_path / "temporary").iterdir()) == []
    assert SparkContext._gateway is None


@pytest.mark.parametrize(
    ("java", "sentence"),
    [
        (
            "echo 'Error: java.lang.UnsupportedClassVersionError: org/apache/spark' >&2; exit 1",
            "the installed Java is too old for this version of Spark; install Java 17 or later",
        ),
        (
            "echo; echo 'Picked up options'; echo 'Error: Could not find or load main class X' >&2; exit 1",
            "Spark does not start: Error: Could not find or load main class X; "
            "check the settings of Spark and the installation of Java",
        ),
        (None, "Spark needs Java, which is not installed; install Java 17 or later"),
    ],
)
def test_java_that_does_not_do(
    java: str | None, sentence: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = temporary.parent / "jre" / "bin" / "java"
    place.parent.mkdir(parents=True)
    monkeypatch.setenv("JAVA_HOME", str(place.parents[1]))
    if java is not None:
        place.write_text(f"#!/bin/sh\n{java}\n")
        place.chmod(0o755)
    with pytest.raises(LostError) as caught:
        start_session("local[2]")
    assert str(caught.value).startswith(sentence)


def test_no_room_for_the_output_of_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(FileError, match="the output of Spark"):
        start_session("local[2]")


def test_the_secret_of_java_does_not_stay_in_the_environment() -> None:
    before = dict(os.environ)
    with _gateway_environment(struct.pack(">ii", 4711, 6) + b"secret"):
        assert (os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]) == ("4711", "secret")
    assert dict(os.environ) == before


# --- how long to wait for executors ---


@pytest.mark.parametrize(("master", "seconds"), [("local[2]", None), ("spark://node1:7077", 15.0), ("yarn", 300.0)])
def test_a_local_master_needs_no_executor_and_queues_are_waited_for(master: str, seconds: float | None) -> None:
    session = Session(in_this_process.Session(master))
    assert session.patience == seconds
    assert session.name == f"the Spark master '{master}'"
    assert (session.is_running(), session.executors()) == (True, 1)
