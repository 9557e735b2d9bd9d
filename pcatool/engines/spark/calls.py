"""Calls of Spark, interruptible by signals, and their failures in a sentence each.

Calls of Spark, each in a thread of its own: the thread that heeds signals only waits.
Talk with the JVM must not be broken off half-way: the answer would be taken for that to the next question.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

from pcatool.errors import FileError, LostError, RefusedError, show

__all__ = ["Call", "ask", "in_words"]

Answer = TypeVar("Answer")

# Seconds between two looks.
POLL = 0.05


class Call(Generic[Answer]):
    """A function under way."""

    def __init__(self, function: Callable[[], Answer]) -> None:
        self._function = function
        self._answer: list[Answer] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="pcatool-spark", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer.append(self._function())
        except BaseException as error:  # raised where the answer is asked for
            self._error = error

    def ended(self, seconds: float = POLL) -> bool:
        """Has it come to its end, now or within this time?"""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def answer(self) -> Answer:
        """What it gave, or raised, when it has ended."""
        if self._error is not None:
            raise self._error
        return self._answer[0]


def ask(function: Callable[[], Answer], limit: float = float("inf")) -> Answer:
    """What the function gives; past the limit, in seconds, a `TimeoutError`."""
    call, start = Call(function), monotonic()
    while not call.ended():
        if monotonic() > start + limit:
            raise TimeoutError
    return call.answer()


MEMORY = "give it more with spark.driver.memory or spark.executor.memory, in spark-defaults.conf"

# Part of what Spark says, the sentence, what to do, and what it is.
KNOWN: tuple[tuple[str, str, str, type[FileError | RefusedError]], ...] = (
    (
        r"(?:different version:|worker_version=)\D*(\d+\.\d+)\D+?(\d+\.\d+)",
        "the executors have Python {0}, this is Python {1}",
        "set PYSPARK_PYTHON to a Python of the same version there",
        FileError,
    ),
    (
        r"No module named '?([\w.]+)",
        "the executors have no package {0}",
        "install pcatool there, or set PYSPARK_PYTHON to the Python that has it",
        FileError,
    ),
    (
        r"Cannot run program \"([^\"]+)\"",
        "the executors cannot run {0}",
        "set PYSPARK_PYTHON to a Python that has pcatool there",
        FileError,
    ),
    (
        r"java\.lang\.OutOfMemoryError|OutOfMemoryException|Total allocation exceeds|UNABLE_TO_ACQUIRE_MEMORY",
        "out of memory in Spark's Java",
        MEMORY,
        RefusedError,
    ),
    (
        r"spark\.driver\.maxResultSize",
        "the result is larger than spark.driver.maxResultSize allows",
        "set it to 0, for no bound",
        RefusedError,
    ),
    (
        r"Python worker (?:exited unexpectedly|failed to connect)|ExecutorLostFailure|Connection reset",
        "a worker was lost again and again: killed, maybe, for its memory",
        "give the executors more memory, or fewer cores",
        LostError,
    ),
    (
        r"All masters are unresponsive|Master removed our application|SparkContext was shut ?down|stopped SparkContext",
        "the Spark cluster was lost",
        "check that it runs, and try again",
        LostError,
    ),
)


def in_words(error: BaseException, said: str = "") -> FileError | RefusedError:
    """The sentence for an error of Spark's, or of the way to it; `said` is what the JVM wrote."""
    text = f"{error}\n{getattr(error, 'java_exception', '') or ''}"
    for pattern, message, remedy, kind in KNOWN:
        match = re.search(pattern, text) or re.search(pattern, said)
        if match:
            return kind(message.format(*map(show, match.groups())), remedy)
    if type(error).__name__ in ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "EOFError"):
        return LostError("Spark's Java process ended before its work was done", "check its memory, and try again")
    return LostError(f"Spark failed: {_gist(text)}", "--debug shows all that it says")


def _gist(text: str) -> str:
    """The innermost cause, without the frames."""
    causes = re.findall(r"(?:Caused by|: )\s*(?:[\w.$]+\.)?(\w+(?:Exception|Error): [^\n]+)", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (causes or lines or ["it does not say why"])[-1 if causes else 0]
