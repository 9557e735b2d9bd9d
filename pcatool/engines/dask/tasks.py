"""Tasks for Dask workers: a task for the part of each item, and a tree of tasks that merge neighbouring parts.

The scheduler needs no pcatool: a task calls only functions of Python, and carries everything else as pickled bytes.
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

from pcatool.arrays import Accumulator
from pcatool.engines.base import FAN
from pcatool.errors import FileError
from pcatool.linalg.blas import one_blas_thread
from pcatool.resources import tune_allocator

__all__ = ["Tree", "build_tree", "version"]

Key = str | tuple[str, int] | tuple[str, int, int]


class Tree(NamedTuple):
    """A graph of Dask tasks; made by `build_tree`, run by `DaskRun`."""

    tasks: dict[Key, tuple[Any, ...]]
    leaves: list[Key]  # keys of the items, in their order
    root: Key  # key of the merged part


class WorkTask(NamedTuple):
    """Task that makes the part of one pickled item; raises `FileError` in a worker with another version of pcatool."""

    accumulator: Accumulator[Any, Any]
    version: str  # version of pcatool in the main process

    def __call__(self, item: bytes) -> Any:
        if self.version != version():  # a worker that joined after the check of versions
            raise FileError(
                f"a worker has pcatool {version()}, but this process has {self.version}",
                "install the same version on all machines",
            )
        with _one_blas_thread():
            return self.accumulator.of_block(loads(item))


class MergeTask(NamedTuple):
    """Task that merges neighbouring parts into one part."""

    accumulator: Accumulator[Any, Any]

    def __call__(self, *parts: Any) -> Any:
        with _one_blas_thread():
            return reduce(self.accumulator.merge, parts)


def _one_blas_thread() -> AbstractContextManager[None]:
    """Return a context manager that limits BLAS to one thread, because a worker runs a task on each of its cores.

    The first call also prepares this process for tasks.
    """
    _set_up()
    return one_blas_thread()


@cache
def _set_up() -> None:
    """Prepare this process for tasks, once: load numpy, and let the allocator of memory keep what is freed.

    With Dask's own settings of the allocator, freeing and fetching memory would cost a third of the time.
    """
    import_module("numpy")  # loads the BLAS library that `threads` limits
    tune_allocator()


def version() -> str:
    """Return the version of pcatool in this process."""
    return str(sys.modules["pcatool"].__version__)


def build_tree(accumulator: Accumulator[Any, Any], items: Sequence[Any], dumps: Callable[[Any], bytes]) -> Tree:
    """Return the tasks for the part of each item and for the tree that merges the parts; `dumps` pickles an object.

    The shape of the tree depends only on the number of items, so sums are added in the same order on any cluster.
    """
    from uuid import uuid4

    token = uuid4().hex
    doing, merging, part, merged = (f"pcatool-{what}-{token}" for what in ("doing", "merging", "part", "merged"))
    # The two callables are tasks too, so Dask makes them again if the worker that holds them is lost.
    tasks: dict[Key, tuple[Any, ...]] = {doing: (loads, dumps(WorkTask(accumulator, version())))}
    leaves: list[Key] = [(part, i) for i in range(len(items))]
    tasks |= {leaf: (call, doing, dumps(item)) for leaf, item in zip(leaves, items, strict=True)}
    row, height = leaves, 0
    if len(row) > 1:
        tasks[merging] = (loads, dumps(MergeTask(accumulator)))
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
