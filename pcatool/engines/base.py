"""Protocol of an engine that runs tasks in other processes, maybe on other machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, TypeVar

__all__ = ["FAN", "Cluster", "Done"]

Item = TypeVar("Item")
Result = TypeVar("Result")

# Neighbours that are merged in one task of the tree.
FAN = 8

# Told how many more items are done.
Done = Callable[[int], None]


class Cluster(Protocol):
    """Workers that have pcatool of the same version, and see the same files.

    Functions, items and results go to and fro pickled. What a function raises of `PcatoolError` is raised here, of
    several the one of the first item; a task whose worker is lost is done again by another.
    """

    def __enter__(self) -> Cluster:
        """Find the workers, or start some; a cluster that cannot be reached is a `LostError`."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the workers; after an error nothing goes on there."""
        ...

    def map(self, work: Callable[[Item], Result], items: Sequence[Item], done: Done) -> list[Result]:
        """`work` of each item, in their order: small results."""
        ...

    def gather(
        self,
        work: Callable[[Item], Result],
        merge: Callable[[Result, Result], Result],
        items: Sequence[Item],
        done: Done,
    ) -> Result:
        """The results merged, a tree of neighbours, each with those that come after it; one result comes back here."""
        ...
