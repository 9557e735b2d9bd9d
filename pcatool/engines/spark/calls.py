"""Calls of Spark that signals can interrupt, and error messages for failed calls.

Each call runs in a thread of its own, and the main thread, where Python handles signals, only waits. A signal must not
interrupt an exchange with the JVM: its late answer would be taken as the answer to the next call.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

from pcatool.errors import FileError, LostError, RefusedError
from pcatool.wording import show

__all__ = ["Call", "ask", "error_of_spark"]

Answer = TypeVar("Answer")

# Seconds between two checks whether a call has ended.
POLL = 0.05


class Call(Generic[Answer]):
    """A function call that runs in a thread of its own, started at once."""

    def __init__(self, function: Callable[[], Answer]) -> None:
        self._function = function
        self._answer: list[Answer] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="pcatool-spark", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer.append(self._function())
        except BaseException as error:  # raised by `answer`
            self._error = error

    def ended(self, seconds: float = POLL) -> bool:
        """Wait for the end of the call, at most this time, and return whether the call has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def answer(self) -> Answer:
        """Return the result of the call, or raise its exception; call this only after the call has ended."""
        if self._error is not None:
            raise self._error
        return self._answer[0]


def ask(function: Callable[[], Answer], limit: float = float("inf")) -> Answer:
    """Return the result of the function, which runs in a thread; raise `TimeoutError` after `limit` seconds."""
    call, start = Call(function), monotonic()
    while not call.ended():
        if monotonic() > start + limit:
            raise TimeoutError
    return call.answer()


MEMORY = "set spark.driver.memory or spark.executor.memory in spark-defaults.conf to a larger value"

# Patterns in the texts of Spark, with message, remedy and type of the error; the first match counts.
KNOWN: tuple[tuple[str, str, str, type[FileError | RefusedError]], ...] = (
    (
        r"(?:different version:|worker_version=)\D*(\d+\.\d+)\D+?(\d+\.\d+)",
        "the executors have Python {0}, but this process has Python {1}",
        "set PYSPARK_PYTHON to a Python of the same version on the executors",
        FileError,
    ),
    (
        r"No module named '?([\w.]+)",
        "the executors have no package {0}",
        "install pcatool on the executors, or set PYSPARK_PYTHON to a Python that has pcatool",
        FileError,
    ),
    (
        r"Cannot run program \"([^\"]+)\"",
        "the executors cannot run {0}",
        "set PYSPARK_PYTHON to a Python on the executors that has pcatool",
        FileError,
    ),
    (
        r"java\.lang\.OutOfMemoryError|OutOfMemoryException|Total allocation exceeds|UNABLE_TO_ACQUIRE_MEMORY",
        "Spark's Java process ran out of memory",
        MEMORY,
        RefusedError,
    ),
    (
        r"spark\.driver\.maxResultSize",
        "the result is larger than spark.driver.maxResultSize allows",
        "set spark.driver.maxResultSize to 0, for no limit",
        RefusedError,
    ),
    (
        r"Python worker (?:exited unexpectedly|failed to connect)|ExecutorLostFailure|Connection reset",
        "a Python worker of Spark was lost several times, perhaps because memory ran out",
        "set spark.executor.memory to a larger value, or spark.executor.cores to a smaller value",
        LostError,
    ),
    (
        r"All masters are unresponsive|Master removed our application|SparkContext was shut ?down|stopped SparkContext",
        "the Spark cluster was lost",
        "check that the cluster is running, and try again",
        LostError,
    ),
)


def error_of_spark(error: BaseException, jvm_output: str = "") -> FileError | RefusedError:
    """Return the error, with a plain message, for an exception of Spark or of its connection.

    `jvm_output` is the output of the JVM.
    """
    text = f"{error}\n{getattr(error, 'java_exception', '') or ''}"
    for pattern, message, remedy, kind in KNOWN:
        match = re.search(pattern, text) or re.search(pattern, jvm_output)
        if match:
            return kind(message.format(*map(show, match.groups())), remedy)
    if type(error).__name__ in ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "EOFError"):
        return LostError(
            "Spark's Java process ended before its work was done, perhaps because this machine ran out of memory",
            "close other programs, or use a machine with more memory, and run the command again",
        )
    return LostError(f"Spark failed: {_root_cause(text)}", "give --debug to see the whole message")


def _root_cause(text: str) -> str:
    """Return the innermost cause in a Java error text; without one the first line; "no reason given" for no text."""
    causes = re.findall(r"(?:Caused by|: )\s*(?:[\w.$]+\.)?(\w+(?:Exception|Error): [^\n]+)", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (causes or lines or ["no reason given"])[-1 if causes else 0]
