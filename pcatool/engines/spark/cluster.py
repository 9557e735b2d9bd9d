"""The work in Spark: a row for each task, whose results neighbours are merged with in stages, until one is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import add
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

from pcatool.engines.base import FAN, Done
from pcatool.engines.spark.address import check_address
from pcatool.engines.spark.asking import Call, ask
from pcatool.engines.spark.calls import in_words
from pcatool.engines.spark.sending import Parcel
from pcatool.engines.spark.session import Session, found, made
from pcatool.engines.spark.tasks import listed
from pcatool.engines.spark.watch import Watch
from pcatool.errors import FileError, PcatoolError, show

__all__ = ["Spark"]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Tasks at most: of more items, neighbours share one. A task costs some ten milliseconds, its result a trip to disk.
TASKS = 512
TO_CANCEL = 5  # seconds


class Spark:
    """A session of Spark, its tasks in executors that see the same files.

    The tree of merges follows from the number of items alone, so whatever the executors, the same is added to the same.
    """

    def __init__(self, address: str | None) -> None:
        if address is not None:
            check_address(address)
        self.address = address
        self._session: Session | None = None

    def __enter__(self) -> Spark:
        self._session = found(self.address) or made(self.address)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def map(self, work: Callable[[Item], Result], items: Sequence[Item], done: Done) -> list[Result]:
        """`work` of each item, in their order: small results."""
        return self.gather(partial(listed, work), add, items, done) if items else []

    def gather(
        self,
        work: Callable[[Item], Result],
        merge: Callable[[Result, Result], Result],
        items: Sequence[Item],
        done: Done,
    ) -> Result:
        """The results merged, a tree of neighbours, each with those that come after it; one result comes back here."""
        assert self._session is not None
        parcel = Parcel(work, merge, items, TASKS)
        run = Run(self._session, parcel)
        try:
            merged: Result = run.result(done)
            return merged
        finally:
            run.cancel()


class Run:
    """One tree of tasks, from its start until its result is here."""

    def __init__(self, session: Session, parcel: Parcel) -> None:
        self._session = session
        self._parcel = parcel
        self._group = f"pcatool-{uuid4().hex}"
        self._told = ask(lambda: parcel.accumulator(session.context))
        self._call = Call(self._run)
        self._seen = 0
        self._watch = Watch(session)

    def _run(self) -> tuple[bool, Any]:
        self._session.context.setJobGroup(self._group, "pcatool", interruptOnCancel=True)
        return self._parcel.send(self._session.spark, self._told, FAN)

    def result(self, done: Done) -> Any:
        """Wait for it, and tell how far it is."""
        try:
            while not self._call.ended():
                self._tell(done)
                self._stop_at_error()
                self._watch.check()
            failed, value = self._call.answer()
        except PcatoolError:
            raise
        except Exception as error:
            self._stop_at_error()
            raise in_words(error) from error
        if failed:
            raise told_of(value, self._parcel.version)
        done(len(self._parcel.items) - self._seen)
        return value

    def _tell(self, done: Done) -> None:
        count = sum(self._parcel.size(number) for number in dict(self._told.value))
        if count > self._seen:
            done(count - self._seen)
            self._seen = count

    def _stop_at_error(self) -> None:
        """Raise the first error, as soon as it is known to be the first."""
        outcomes = dict(self._told.value)
        first = min((number for number, error in outcomes.items() if error), default=None)
        if first is not None and all(number in outcomes for number in range(first)):
            raise told_of(self._parcel.loads(outcomes[first]), self._parcel.version)

    def cancel(self) -> None:
        """Nothing of it goes on."""
        if not self._call.ended(0):
            context = self._session.context
            Call(lambda: context.cancelJobGroup(self._group)).ended(TO_CANCEL)
            self._call.ended(TO_CANCEL)


def told_of(value: Any, version: str) -> Exception:
    """The error that came back in place of a result."""
    if isinstance(value, Exception):
        return value
    host, other = value
    if not other:
        return FileError(
            f"the executor on {show(host)} has no pcatool",
            f"install pcatool {version} there, or set PYSPARK_PYTHON to the Python that has it",
        )
    return FileError(
        f"the executor on {show(host)} has pcatool {other}, this is {version}",
        "install the same version on all of them",
    )
