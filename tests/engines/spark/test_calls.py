"""Calls of Spark: their answers and errors, and what Spark says in words."""

from __future__ import annotations

import threading

import pytest

from pcatool.engines.spark.calls import ask, error_of_spark
from pcatool.errors import FileError, LostError, RefusedError


def test_an_answer_comes_from_a_thread_of_its_own() -> None:
    assert ask(threading.current_thread) is not threading.current_thread()


def test_an_error_of_a_call_is_raised_where_it_was_asked() -> None:
    def wrong() -> None:
        raise ValueError("of Spark")

    with pytest.raises(ValueError, match="of Spark"):
        ask(wrong)


def test_a_call_that_takes_too_long_is_left() -> None:
    release = threading.Event()
    with pytest.raises(TimeoutError):
        ask(lambda: release.wait(10), 0.1)
    release.set()


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: 3.11, PySpark",
            FileError,
            "the executors have Python '3.12', but this process has Python '3.11'; set PYSPARK_PYTHON",
        ),
        ("ModuleNotFoundError: No module named 'pyarrow'", FileError, "the executors have no package 'pyarrow'; "),
        ('java.io.IOException: Cannot run program "py9": error=2', FileError, "the executors cannot run 'py9'; "),
        (
            "java.lang.OutOfMemoryError: Java heap space",
            RefusedError,
            "Spark's Java process ran out of memory; set spark.driver.memory or",
        ),
        ("is bigger than spark.driver.maxResultSize (1 MiB)", RefusedError, "the result is larger than spark.driver"),
        ("Job 0 cancelled because SparkContext was shut down", LostError, "the Spark cluster was lost; check"),
        (
            "x\nCaused by: org.apache.spark.SparkException: why\n\tat y",
            LostError,
            "Spark failed: SparkException: why; ",
        ),
    ],
)
def test_what_spark_says_in_words(text: str, kind: type[Exception], sentence: str) -> None:
    error = error_of_spark(RuntimeError(text))
    assert type(error) is kind
    assert str(error).startswith(sentence)


class Py4JNetworkError(Exception):
    pass


@pytest.mark.parametrize("error", [Py4JNetworkError("x"), ConnectionRefusedError("x"), EOFError()])
def test_a_connection_that_is_gone_is_java_that_ended(error: Exception) -> None:
    told = error_of_spark(error)
    assert isinstance(told, LostError)
    assert (
        str(told)
        == "Spark's Java process ended before its work was done, perhaps because this machine ran out of memory; "
        "close other programs, or use a machine with more memory, and run the command again"
    )


def test_what_only_java_said_counts_too() -> None:
    told = error_of_spark(RuntimeError("Answer from Java side is empty"), "java.lang.OutOfMemoryError: Java heap space")
    assert str(told).startswith(
        "Spark's Java process ran out of memory; set spark.driver.memory or spark.executor.memory"
    )
    assert (
        str(error_of_spark(RuntimeError(""))) == "Spark failed: no reason given; give --debug to see the whole message"
    )
