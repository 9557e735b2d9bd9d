"""The connection to a scheduler, waited on such that signals are heard and a scheduler that is lost is noticed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from typing import Any

from pcatool.errors import LostError, show

__all__ = ["MOMENT", "Link"]

MOMENT = 0.1  # seconds for which a signal may wait
BEAT = 2.0  # seconds from one question to the scheduler whether it is there to the next
SILENCE = 20.0  # seconds without an answer, or without a worker, after which nothing more is hoped for


class Link:
    """A client of Dask, and what is known of the other side."""

    def __init__(self, client: Any, name: str, keep: Callable[[], None]) -> None:
        self.client = client
        self._name = name
        self._keep = keep  # looks after workers that are our own
        self._question: Future[Any] | None = None
        self._answered = self._manned = self._looked = time.monotonic()
        self._asked = float("-inf")

    def ask(self, question: Callable[[], Awaitable[Any]], *, of_workers: bool = False) -> Any:
        """What Dask answers; of workers not one may be silent for long."""

        async def asking() -> Any:
            return await question()

        coming = asyncio.run_coroutine_threadsafe(asking(), self.client.loop.asyncio_loop)
        try:
            until = time.monotonic() + SILENCE
            while not wait([coming], MOMENT).done:
                self.check()
                if of_workers and time.monotonic() > until:
                    raise LostError(f"a worker of {self._name} does not answer", "look which it is, and end it")
            return coming.result()
        finally:
            coming.cancel()

    def check(self) -> None:
        """Is the scheduler there, and has it workers? Costs nothing if asked often."""
        self._keep()
        now = time.monotonic()
        unwatched, self._looked = max(now - self._looked - BEAT, 0), now
        self._answered += unwatched  # this program was at something else, or suspended
        self._manned += unwatched
        if self.client.status != "running":
            raise self.lost()
        if self._question is None:
            if now > self._asked + BEAT:
                self._asked = now
                self._question = asyncio.run_coroutine_threadsafe(self._workers(), self.client.loop.asyncio_loop)
        elif self._question.done():
            question, self._question = self._question, None
            if question.exception() is None:
                self._answered = now
                if question.result():
                    self._manned = now
        if now > self._answered + SILENCE:
            raise LostError(f"{self._name} does not answer any more", "look whether it is overloaded, and run it again")
        if now > self._manned + SILENCE:
            raise LostError(f"{self._name} has no workers left", "look why they ended, memory first, and run it again")

    async def _workers(self) -> dict[str, int]:
        """Threads of each."""
        found: dict[str, int] = await self.client.scheduler.ncores()
        return found

    def wait_for_workers(self, seconds: float, remedy: str) -> int:
        """Until there is one; how many there are."""
        until = time.monotonic() + seconds
        while not (workers := self.ask(self._workers)):
            self._keep()
            if time.monotonic() > until:
                raise LostError(f"{self._name} has no workers", remedy)
            time.sleep(MOMENT)
        self._manned = time.monotonic()
        return len(workers)

    def lost(self) -> LostError:
        return LostError(f"{self._name} was lost", "look whether it is still running, and run it again")


def of_scheduler(address: str) -> str:
    return f"the Dask scheduler at {show(address)}"
