"""What goes to the executors: callables, items and the code of tasks, pickled; and the frame that makes tasks of it."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from pcatool.engines.spark import tasks
from pcatool.engines.spark.tasks import SCHEMA, Leaf, Merging, Told, together

__all__ = ["Parcel"]

# For the session of this work alone.
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4",  # rows that come to a task at once, a MB each
    # How many tasks there are is for us to say, but for the last stage: it hands a large result over in parts, each
    # of which the JVM holds twice, and a small one whole.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
    "spark.sql.adaptive.coalescePartitions.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.localShuffleReader.enabled": "false",
    "spark.sql.shuffle.partitions": "64",
}


class Parcel:
    """The work on some items, cut into tasks of neighbours: how many follows from the number of items alone."""

    def __init__(
        self, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any], items: Sequence[Any], most: int
    ) -> None:
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(tasks)
        self._callables = cloudpickle.dumps((work, merge))
        self.items = [cloudpickle.dumps(item) for item in items]
        self.per = -(-len(items) // most)
        self.count = -(-len(items) // self.per)
        self.package = __name__.partition(".")[0]
        self.version = str(sys.modules[self.package].__version__)

    loads = staticmethod(pickle.loads)

    def size(self, number: int) -> int:
        """Items of one task."""
        return min(self.per, len(self.items) - number * self.per)

    def accumulator(self, context: Any) -> Any:
        """Where tasks tell what they came to: nothing, or a pickled error."""
        return context.accumulator({}, Told())

    def send(self, spark: Any, told: Any, fan: int) -> tuple[bool, Any]:
        """Whether an error came back, and the error or the result. The tree follows from the number of tasks alone."""
        from pyspark.sql import functions as f

        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        leaf = Leaf((self.package, self.version), self._callables, self.items, self.per, told)
        frame = _mapped(spark.range(0, self.count, 1, self.count), leaf)
        count = self.count
        while count > 1:
            count = -(-count // fan)
            near = frame.repartition(count, f.expr(f"number div {fan}")).sortWithinPartitions("number", "piece")
            frame = _mapped(near, Merging(self._callables, fan))
        return together(sorted(frame.repartition("piece").toLocalIterator()))


def _mapped(frame: Any, task: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions of pandas, which takes no part
        return frame.mapInArrow(lambda batches: task(batches), SCHEMA)
