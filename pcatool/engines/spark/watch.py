"""Is there anybody to do the work? Spark itself waits for ever for executors that nobody will start."""

from __future__ import annotations

from time import monotonic

from pcatool.engines.spark.asking import Call
from pcatool.engines.spark.session import Session
from pcatool.errors import LostError

__all__ = ["Watch"]

BEAT = 2.0  # seconds from one look to the next


class Watch:
    """What was last seen of Spark's process and of the executors; time in which nobody looked does not count."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._question: Call[int] | None = None
        self._manned = self._looked = monotonic()
        self._asked = float("-inf")
        self._ever = False

    def check(self) -> None:
        """Costs nothing if asked often."""
        session, now = self._session, monotonic()
        self._manned += max(now - self._looked - BEAT, 0)  # this program was at something else, or suspended
        self._looked = now
        if not session.is_running():
            raise LostError("Spark's Java process ended before its work was done", "check its memory, and try again")
        if session.patience is None:
            return
        if self._question is None:
            if now > self._asked + BEAT:
                self._asked, self._question = now, Call(session.executors)
        elif self._question.ended(0):
            question, self._question = self._question, None
            if question.answer():
                self._manned, self._ever = now, True
        if now > self._manned + session.patience:
            raise self._lost(session.patience)

    def _lost(self, seconds: float) -> LostError:
        if self._ever:
            return LostError(
                f"{self._session.name} has no executors left", "look whether it still runs, and why they ended"
            )
        return LostError(
            f"{self._session.name} has started no executor in {seconds:.0f} s",
            "look whether it has workers with cores and memory to spare; "
            "spark.scheduler.maxRegisteredResourcesWaitingTime sets how long to wait",
        )
