"""Spark engine: pickle accumulator and items, run them in stages that merge neighbouring parts, watch the executors."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

from pcatool.arrays import Accumulator, nothing_to_fit
from pcatool.engines.base import FAN, Done, Listing, unreported
from pcatool.engines.spark import tasks
from pcatool.engines.spark.calls import Call, ask, error_of_spark
from pcatool.engines.spark.session import Session, active_session, check_address, start_session
from pcatool.engines.spark.tasks import SCHEMA, FirstStageTask, MergeRows, TaskResults, join_pieces
from pcatool.errors import FileError, LostError, PcatoolError
from pcatool.wording import show

__all__ = ["Spark"]

HEARTBEAT = 2.0  # seconds between two requests for the number of executors


class ExecutorWatch:
    """Watch over the JVM and the executors of a session; `check` notices their loss."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._question: Call[int] | None = None
        self._executors_at = self._checked_at = monotonic()
        self._asked_at = float("-inf")
        self._had_executors = False

    def check(self) -> None:
        """Raise `LostError` where the JVM has ended, or no executor was there for `session.patience` seconds.

        Cheap, so it may be called often. A session without patience, on a local master, needs no executors.
        """
        session, now = self._session, monotonic()
        # Time in which the program did other work, or was suspended, does not count.
        self._executors_at += max(now - self._checked_at - HEARTBEAT, 0)
        self._checked_at = now
        if not session.is_running():
            raise LostError(
                "Spark's Java process ended before its work was done, perhaps because this machine ran out of memory",
                "close other programs, or use a machine with more memory, and run the command again",
            )
        if session.patience is None:
            return
        if self._question is None:
            if now > self._asked_at + HEARTBEAT:
                self._asked_at, self._question = now, Call(session.executors)
        elif self._question.ended(0):
            question, self._question = self._question, None
            if question.answer():
                self._executors_at, self._had_executors = now, True
        if now > self._executors_at + session.patience:
            raise self._lost(session.patience)

    def _lost(self, seconds: float) -> LostError:
        """Return the error for a session that has had no executors for `seconds`."""
        if self._had_executors:
            return LostError(
                f"{self._session.name} has no executors left",
                "check that the cluster is still running, and find out why the executors ended",
            )
        return LostError(
            f"{self._session.name} has started no executor in {seconds:.0f} s",
            "check that the cluster has workers with free cores and memory, or set "
            "spark.scheduler.maxRegisteredResourcesWaitingTime to a longer time",
        )


# Settings for pcatool's own session, which do not affect others of the same context.
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4",  # rows of a batch, 1 MB each
    # Spark must not change the number of tasks, except in the last stage: there it returns a large result in parts,
    # which the JVM holds twice each, and a small result at once.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
    "spark.sql.adaptive.coalescePartitions.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.localShuffleReader.enabled": "false",
    "spark.sql.shuffle.partitions": "64",
}


class TaskBatch:
    """Pickled accumulator and items, cut into at most `most` tasks of neighbouring items; sent by `SparkRun`.

    The number of tasks depends only on the number of items.
    """

    def __init__(self, accumulator: Accumulator[Any, Any], items: Sequence[Any], most: int) -> None:
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(tasks)
        self._accumulator = cloudpickle.dumps(accumulator)
        self.items = [cloudpickle.dumps(item) for item in items]
        self.per = -(-len(items) // most)
        self.count = -(-len(items) // self.per)
        self.package = __name__.partition(".")[0]
        self.version = str(sys.modules[self.package].__version__)

    loads = staticmethod(pickle.loads)

    def size(self, number: int) -> int:
        """Return the number of items in task `number`, counted from 0."""
        return min(self.per, len(self.items) - number * self.per)

    def outcomes(self, context: Any) -> Any:
        """Return an accumulator of Spark in which tasks report their outcome: number -> b"", or the pickled error."""
        return context.accumulator({}, TaskResults())

    def send(self, spark: Any, outcomes: Any, fan: int) -> tuple[bool, Any]:
        """Run the tasks in the session `spark`, and merge their results in a tree with `fan` branches.

        `outcomes` is the Spark accumulator from the method `outcomes`. Return whether the result is an error, and the
        error or the result. The tree depends only on the number of tasks, so sums are added in the same order on any
        cluster.
        """
        from pyspark.sql import functions as f

        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        first_stage = FirstStageTask((self.package, self.version), self._accumulator, self.items, self.per, outcomes)
        frame = _mapped(spark.range(0, self.count, 1, self.count), first_stage)
        count = self.count
        while count > 1:
            count = -(-count // fan)
            near = frame.repartition(count, f.expr(f"number div {fan}")).sortWithinPartitions("number", "piece")
            frame = _mapped(near, MergeRows(self._accumulator, fan))
        return join_pieces(sorted(frame.repartition("piece").toLocalIterator()))


def _mapped(frame: Any, task: Any) -> Any:
    """Return the Spark data frame that `task` makes from the Arrow batches of `frame`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark warns of the version of pandas, which is not used
        return frame.mapInArrow(lambda batches: task(batches), SCHEMA)


Item = TypeVar("Item")
Part = TypeVar("Part")
Result = TypeVar("Result")

# Most tasks of the first stage; with more items, neighbours share a task. A task costs about ten milliseconds, and its
# result is written to disk once.
TASKS = 512
TO_CANCEL = 5  # seconds to wait for a cancelled job


class Spark:
    """Cluster of Spark executors: of the master at `address`, or, with None, of the active or configured master.

    Follows the protocol `Cluster` of `engines.base`. The tree of merges depends only on the number of items, so sums
    are added in the same order whatever the executors.
    """

    def __init__(self, address: str | None) -> None:
        if address is not None:
            check_address(address)
        self.address = address
        self._session: Session | None = None

    def __enter__(self) -> Spark:
        self._session = active_session(self.address) or start_session(self.address)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], done: Done = unreported) -> list[Result]:
        """Return `function(item)` for every item, in the order of the items; all results must fit into memory here."""
        items = list(items)
        return self.reduce(items, Listing(function), done) if items else []

    def reduce(self, items: Iterable[Item], accumulator: Accumulator[Item, Part], done: Done = unreported) -> Part:
        """Return the sums over all items, finished; executors merge neighbouring parts in a tree."""
        assert self._session is not None
        items = list(items)
        if not items:
            raise nothing_to_fit()
        run = SparkRun(self._session, TaskBatch(accumulator, items, TASKS))
        try:
            part: Part = run.result(done)
            return accumulator.finish(part)
        finally:
            run.cancel()


class SparkRun:
    """One run of a `TaskBatch` on Spark, started at once in a thread of its own."""

    def __init__(self, session: Session, batch: TaskBatch) -> None:
        self._session = session
        self._batch = batch
        self._group = f"pcatool-{uuid4().hex}"
        self._outcomes = ask(lambda: batch.outcomes(session.context))
        self._call = Call(self._run)
        self._reported = 0
        self._watch = ExecutorWatch(session)

    def _run(self) -> tuple[bool, Any]:
        self._session.context.setJobGroup(self._group, "pcatool", interruptOnCancel=True)
        return self._batch.send(self._session.spark, self._outcomes, FAN)

    def result(self, done: Done) -> Any:
        """Wait for the merged result and return it; `done` is called with numbers of items just done.

        Raises the error of the first item that has one.
        """
        try:
            while not self._call.ended():
                self._report(done)
                self._stop_at_error()
                self._watch.check()
            failed, value = self._call.answer()
        except PcatoolError:
            raise
        except Exception as error:
            self._stop_at_error()
            raise error_of_spark(error) from error
        if failed:
            raise error_of_task(value, self._batch.version)
        done(len(self._batch.items) - self._reported)
        return value

    def _report(self, done: Done) -> None:
        """Call `done` with the number of items done since the last report, if there are any."""
        count = sum(self._batch.size(number) for number in dict(self._outcomes.value))
        if count > self._reported:
            done(count - self._reported)
            self._reported = count

    def _stop_at_error(self) -> None:
        """Raise the error of the first failed task, once all tasks before it have ended."""
        outcomes = dict(self._outcomes.value)
        first = min((number for number, error in outcomes.items() if error), default=None)
        if first is not None and all(number in outcomes for number in range(first)):
            raise error_of_task(self._batch.loads(outcomes[first]), self._batch.version)

    def cancel(self) -> None:
        """Cancel the job if it still runs, and wait a few seconds for its end."""
        if not self._call.ended(0):
            context = self._session.context
            Call(lambda: context.cancelJobGroup(self._group)).ended(TO_CANCEL)
            self._call.ended(TO_CANCEL)


def error_of_task(value: Any, version: str) -> Exception:
    """Return the error for a value that came back in place of a result.

    The value is an exception, or (host, version there) of an executor whose pcatool is not `version`; the version there
    is "" if the executor has no pcatool.
    """
    if isinstance(value, Exception):
        return value
    host, other = value
    if not other:
        return FileError(
            f"the executor on {show(host)} has no pcatool",
            f"install pcatool {version} on the executors, or set PYSPARK_PYTHON to a Python that has pcatool",
        )
    return FileError(
        f"the executor on {show(host)} has pcatool {other}, but this process has {version}",
        "install the same version on all machines",
    )
