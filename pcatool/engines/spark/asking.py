"""Calls of Spark, each in a thread of its own: the thread that heeds signals only waits.

Talk with the JVM must not be broken off half-way: the answer would be taken for that to the next question.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

__all__ = ["Call", "ask"]

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
