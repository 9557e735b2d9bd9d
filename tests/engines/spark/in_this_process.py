"""Spark without Java: frames whose tasks run in this process, on copies that went through bytes, as for executors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Row

FIELDS = ("number", "piece", "failed", "data")
TYPES = (pa.int64(), pa.int64(), pa.int64(), pa.binary())

Partition = list[tuple[Any, ...]]


class Total:
    """An accumulator of Spark: tasks get its number, and add to the one of the driver."""

    def __init__(self, zero: Any, adding: Any) -> None:
        self.value, self._adding, self._number = zero, adding, len(TOTALS)
        TOTALS.append(self)

    def add(self, more: Any) -> None:
        self.value = self._adding.addInPlace(self.value, more)

    def __reduce__(self) -> tuple[Callable[[int], Total], tuple[int]]:
        return total, (self._number,)


TOTALS: list[Total] = []


def total(number: int) -> Total:
    return TOTALS[number]


class Frame:
    """Rows in partitions, computed each time that they are asked for; a shuffle turns their order round."""

    def __init__(self, partitions: Callable[[], Iterable[Partition]], fields: tuple[str, ...] = FIELDS) -> None:
        self._partitions = partitions
        self._fields = fields

    def mapInArrow(self, task: Any, schema: str) -> Frame:
        assert schema == "number long, piece long, failed long, data binary"
        sent = cloudpickle.dumps(task)

        def partitions() -> Iterator[Partition]:
            for rows in self._partitions():
                columns = [pa.array(column, type) for column, type in zip(zip(*rows, strict=True), TYPES, strict=False)]
                batch = pa.record_batch(columns, list(self._fields))
                batches = [batch.slice(start, 4) for start in range(0, len(batch), 4)]
                yield [
                    tuple(column[0].as_py() for column in result.columns)
                    for result in cloudpickle.loads(sent)(iter(batches))
                ]

        return Frame(partitions)

    def repartition(self, *by: Any) -> Frame:
        """By a column, or by `number div N`."""
        name, _, divisor = by[-1].partition(" div ")
        place = self._fields.index(name)

        def partitions() -> Iterator[Partition]:
            found: dict[int, Partition] = {}
            for row in reversed([row for rows in self._partitions() for row in rows]):
                found.setdefault(row[place] // int(divisor or 1), []).append(row)
            assert len(by) == 1 or len(found) == by[0]
            yield from found.values()

        return Frame(partitions)

    def sortWithinPartitions(self, *names: str) -> Frame:
        places = [self._fields.index(name) for name in names]
        return Frame(lambda: (sorted(rows, key=lambda row: [row[i] for i in places]) for rows in self._partitions()))

    def toLocalIterator(self) -> Iterator[Any]:
        return (Row(*FIELDS)(*row) for rows in self._partitions() for row in rows)


class Context:
    """What pcatool asks of a SparkContext; `executors` counts those apart from the driver."""

    def __init__(self, master: str) -> None:
        self.master, self.executors = master, 1
        self.group = ""
        self.cancelled: list[str] = []
        self.settings: dict[str, str] = {}
        self.is_cancelled = threading.Event()
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: self))
        self.accumulator = Total

    def getConf(self) -> dict[str, str]:
        return self.settings

    def getExecutorInfos(self) -> list[object]:
        return [object()] * (self.executors + 1)

    def setJobGroup(self, group: str, about: str, interruptOnCancel: bool) -> None:
        self.group = group

    def cancelJobGroup(self, group: str) -> None:
        self.cancelled.append(group)
        self.is_cancelled.set()


class Session:
    """What pcatool asks of a SparkSession."""

    def __init__(self, master: str) -> None:
        self.sparkContext = Context(master)
        self.conf = SimpleNamespace(set=lambda name, value: None)

    def newSession(self) -> Session:
        return self

    def range(self, start: int, end: int, step: int, partitions: int) -> Frame:
        assert partitions == len(range(start, end, step))
        return Frame(lambda: ([(number,)] for number in range(start, end, step)), ("number",))
