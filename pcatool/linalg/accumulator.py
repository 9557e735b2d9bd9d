"""Sums over rows or files, part by part: the protocols of an accumulator and of an engine, and the fold of all parts.

Whatever is added up in this program is an `Accumulator`: it makes a part of each item and merges neighbouring parts. An
`Engine` decides who does that: `fold` merges in the order of the items, as threads do, and a cluster merges in a tree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Generic, Protocol, TypeVar

from pcatool.arrays import Array, run_serially
from pcatool.errors import DataError

__all__ = [
    "SERIAL",
    "WAITING_BYTES",
    "Accumulator",
    "ArraySum",
    "Block",
    "Engine",
    "LocalEngine",
    "NoRows",
    "fold",
    "most_waiting",
    "nothing_to_fit",
]

Item = TypeVar("Item")
Part = TypeVar("Part")
Result = TypeVar("Result")

# Rows (h, d) and their weights (h,), None without weights: the item of an accumulator of rows.
Block = tuple[Array, Array | None]

# Most bytes of parts that wait to be merged, if there is more than one.
WAITING_BYTES = 128 << 20


class Accumulator(ABC, Generic[Item, Part]):
    """Sums over items. An accumulator never changes, and can be sent to other processes."""

    @property
    def part_bytes(self) -> int:
        """Bytes of one part, while it is computed and after; they limit how many parts wait to be merged."""
        return 1

    @property
    def height(self) -> int:
        """Least number of rows of a block: so many rows outweigh the merge of their part."""
        return 0

    @abstractmethod
    def of_block(self, block: Item) -> Part:
        """Return the part of one item."""

    @abstractmethod
    def merge(self, one: Part, other: Part) -> Part:
        """Return the part of the items of `one` followed by those of `other`.

        `one` may be overwritten, except in an accumulator for clusters, which may run a merge again.
        """

    def finish(self, part: Part) -> Part:
        """Return the result, from the part of all items; called once, where the result is used."""
        return part


class ArraySum(Accumulator[Item, Array]):
    """Adds up the arrays that a function makes of the items."""

    def __init__(self, function: Callable[[Item], Array], nbytes: int = 1) -> None:
        self.function = function
        self.nbytes = nbytes

    @property
    def part_bytes(self) -> int:
        """Bytes of one array."""
        return self.nbytes

    def of_block(self, block: Item) -> Array:
        """Return the array of one item."""
        return self.function(block)

    def merge(self, one: Array, other: Array) -> Array:
        """Return the sum of both."""
        return one + other

    def finish(self, part: Array) -> Array:
        """Return the sum as if it began with zeros, which leaves no -0.0."""
        return part + 0.0


class Engine(Protocol):
    """Runs work on items: in this thread, in threads of this process (`engines.threads`), or on a cluster."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterable[Result]:
        """Return `function(item)` of every item, in the order of the items."""
        ...

    def reduce(self, items: Iterable[Item], accumulator: Accumulator[Item, Part]) -> Part:
        """Return the sums over all items, merged in their order; raise `NoRows` without items."""
        ...


class LocalEngine(Engine, Protocol):
    """Engine of this process, which takes items as they arrive; its `map` is a `Runner`."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        ready: Callable[[], bool] | None = None,
        most: int | None = None,
    ) -> Iterator[Result]:
        """Yield `function(item)` for each item; `ready` and `most` are as in `arrays.Runner`."""
        ...


class NoRows(DataError):
    """Error: the fit got no rows."""


def nothing_to_fit() -> NoRows:
    """Return the error for an input without rows."""
    return NoRows("no rows to fit", "the input has names but no data")


def fold(accumulator: Accumulator[Item, Part], parts: Iterable[Part]) -> Part:
    """Return the sums of all parts, merged in their order; raise `NoRows` without parts."""

    def merged(one: Part | None, other: Part) -> Part:
        return other if one is None else accumulator.merge(one, other)

    total: Part | None = reduce(merged, parts, None)  # from None: a first part would be held beside the sums
    if total is None:
        raise nothing_to_fit()
    return accumulator.finish(total)


def most_waiting(part_bytes: int) -> int:
    """Return how many parts of this size may be computed or wait at once."""
    return max(WAITING_BYTES // part_bytes, 1)


class Serial:
    """Engine that works in the calling thread, one item after the other."""

    map = staticmethod(run_serially)

    def reduce(self, items: Iterable[Item], accumulator: Accumulator[Item, Part]) -> Part:
        """Return the sums over all items; raise `NoRows` without items."""
        return fold(accumulator, map(accumulator.of_block, items))


SERIAL = Serial()
