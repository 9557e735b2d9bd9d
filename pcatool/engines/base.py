"""Protocol of an engine that runs tasks in other processes, on this machine or on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, TypeVar

__all__ = ["FAN", "Cluster", "Done"]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Neighbouring results that one task of the tree merges.
FAN = 8

# Callback for progress: takes the number of items done since the last call.
Done = Callable[[int], None]


class Cluster(Protocol):
    """Workers that have the same version of pcatool and see the same files; used in a `with` block.

    Functions, items and results are sent pickled. A `PcatoolError` that a function raises in a worker is raised in the
    caller; of several errors, the one of the first item. Another worker repeats the task of a lost worker.
    """

    def __enter__(self) -> Cluster:
        """Find the workers, or start some; raise `LostError` where the cluster cannot be reached."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the workers; after an error, stop their tasks."""
        ...

    def map(self, work: Callable[[Item], Result], items: Sequence[Item], done: Done) -> list[Result]:
        """Return `work(item)` for every item, in the order of the items; for small results."""
        ...

    def gather(
        self,
        work: Callable[[Item], Result],
        merge: Callable[[Result, Result], Result],
        items: Sequence[Item],
        done: Done,
    ) -> Result:
        """Return the merged results of `work(item)` for all items.

        The workers merge neighbouring results in a tree, always in the order of the items, so only one result is sent
        back.
        """
        ...
