"""Protocol of a cluster: an engine that works in other processes, on this machine or on others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol, TypeVar

from pcatool.arrays import Accumulator, Engine

__all__ = ["FAN", "Cluster", "Done", "Listing", "unreported"]

Item = TypeVar("Item")
Part = TypeVar("Part")
Result = TypeVar("Result")

# Neighbouring parts that one task of the tree merges.
FAN = 8

# Callback for progress: takes the number of items done since the last call.
Done = Callable[[int], None]


def unreported(count: int) -> None:
    """Do nothing: the callback for progress where nobody wants progress."""


class Cluster(Engine, Protocol):
    """Engine whose workers have the same version of pcatool and see the same files; used in a `with` block.

    Functions, accumulators, items and parts are sent pickled. The caller gets the `PcatoolError` that a worker raises;
    of several errors, the error of the first item. Another worker repeats the task of a lost worker, so a merge must
    leave its parts unchanged.
    """

    def __enter__(self) -> Cluster:
        """Find the workers, or start some; raise `LostError` where the cluster cannot be reached."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the workers; after an error, stop their tasks."""
        ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], done: Done = unreported) -> list[Result]:
        """Return `function(item)` for every item, in the order of the items; all results must fit into memory here."""
        ...

    def reduce(self, items: Iterable[Item], accumulator: Accumulator[Item, Part], done: Done = unreported) -> Part:
        """Return the sums over all items, after `accumulator.finish`; raise `NoRows` without items.

        The workers merge neighbouring parts in a tree, always in the order of the items, so only one part is sent back.
        """
        ...


class Listing(Accumulator[Item, list[Result]]):
    """Accumulator that lists the results of a function in the order of the items, so that `reduce` does a `map`."""

    def __init__(self, function: Callable[[Item], Result]) -> None:
        self.function = function

    def of_block(self, block: Item) -> list[Result]:
        """Return the result of one item, in a list."""
        return [self.function(block)]

    def merge(self, one: list[Result], other: list[Result]) -> list[Result]:
        """Return the results of both, in a new list."""
        return one + other
