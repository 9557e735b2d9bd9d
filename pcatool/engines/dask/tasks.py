"""Tasks for Dask workers: one for each item, and a tree that merges neighbours.

Of pcatool a scheduler sees nothing but bytes, so it need not have it: what a task calls is of Python itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, reduce
from importlib import import_module
from operator import call
from pickle import loads
from typing import Any, NamedTuple

from pcatool.engines.base import FAN
from pcatool.errors import FileError
from pcatool.linalg.blas import threads
from pcatool.resources import keep_memory

__all__ = ["Tree", "plant", "version"]

Key = str | tuple[str, int] | tuple[str, int, int]


class Tree(NamedTuple):
    """Tasks by their keys, the keys of the items in their order, and that of the last."""

    tasks: dict[Key, tuple[Any, ...]]
    leaves: list[Key]
    root: Key


class Doing(NamedTuple):
    """The work, as a worker keeps it: sent once to each, however many items it does."""

    work: Callable[[Any], Any]
    version: str

    def __call__(self, item: bytes) -> Any:
        if self.version != version():  # of a worker that came later
            raise FileError(
                f"a worker has pcatool {version()}, this is {self.version}", "install the same version on all of them"
            )
        with _one_core():
            return self.work(loads(item))


class Merging(NamedTuple):
    """How two results become one."""

    merge: Callable[[Any, Any], Any]

    def __call__(self, *results: Any) -> Any:
        with _one_core():
            return reduce(self.merge, results)


def _one_core() -> AbstractContextManager[None]:
    """A worker has a task for each of its cores."""
    _settle()
    return threads(1)


@cache
def _settle() -> None:
    """Once in each process: Dask has its workers give back all memory at once, which costs a third of our time."""
    import_module("numpy")  # whose BLAS it is
    keep_memory()


def version() -> str:
    """pcatool's own."""
    return str(sys.modules["pcatool"].__version__)


def plant(
    work: Callable[[Any], Any], merge: Callable[[Any, Any], Any], items: Sequence[Any], dumps: Callable[[Any], bytes]
) -> Tree:
    """The tree over these items. Its shape follows from their number alone, so the same is added to the same."""
    from uuid import uuid4

    token = uuid4().hex
    doing, merging, part, merged = (f"pcatool-{what}-{token}" for what in ("doing", "merging", "part", "merged"))
    # The two callables are tasks of their own: made again if the worker that holds them is lost.
    tasks: dict[Key, tuple[Any, ...]] = {doing: (loads, dumps(Doing(work, version())))}
    leaves: list[Key] = [(part, i) for i in range(len(items))]
    tasks |= {leaf: (call, doing, dumps(item)) for leaf, item in zip(leaves, items, strict=True)}
    row, height = leaves, 0
    if len(row) > 1:
        tasks[merging] = (loads, dumps(Merging(merge)))
    while len(row) > 1:
        height += 1
        above: list[Key] = []
        for start in range(0, len(row), FAN):
            neighbours = row[start : start + FAN]
            if len(neighbours) == 1:
                above += neighbours
                continue
            above.append((merged, height, start // FAN))
            tasks[above[-1]] = (call, merging, *neighbours)
        row = above
    return Tree(tasks, leaves, row[0])
