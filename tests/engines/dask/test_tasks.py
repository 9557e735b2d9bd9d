"""The tasks of Dask workers, run in this process: a graph that needs no pcatool, and moments merged in a tree."""

from __future__ import annotations

import pickle
import pickletools
from typing import Any

import numpy as np
import pytest
from dask import get

from engines import dask_work as jobs
from engines.accumulators import Sums
from pcatool.arrays import Accumulator
from pcatool.engines.base import FAN
from pcatool.engines.dask.tasks import MergeTask, WorkTask, build_tree, version
from pcatool.errors import FileError
from pcatool.linalg.moments import Moments, MomentsAccumulator


def computed(accumulator: Accumulator[Any, Any], items: list[Any]) -> Any:
    tree = build_tree(accumulator, items, pickle.dumps)
    return get(tree.tasks, tree.root)


def test_neighbours_are_merged_in_their_order_by_eights() -> None:
    assert computed(Sums(jobs.word, jobs.pair), [5]) == "5"
    row = list(map(str, range(FAN + 2)))
    left = row[0]
    for word in row[1:FAN]:
        left = f"({left} {word})"
    assert computed(Sums(jobs.word, jobs.pair), list(range(FAN + 2))) == f"({left} ({FAN} {FAN + 1}))"


def test_moments_of_a_tree_are_those_of_all_blocks() -> None:
    rng = np.random.default_rng(0)
    blocks = [(rng.normal(100, 1, (50 + i, 4)), None) for i in range(FAN * 2 + 3)]
    moments = computed(MomentsAccumulator(blocks[0][0][0]), blocks)
    assert isinstance(moments, Moments)
    X = np.concatenate([rows for rows, _ in blocks])
    Xc = X - X.mean(axis=0)
    assert moments.centre.weight == len(X)
    np.testing.assert_allclose(moments.centre.mean, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(moments.scatter, Xc.T @ Xc, rtol=1e-12, atol=1e-11)


def test_the_scheduler_needs_no_pcatool() -> None:
    """It unpickles the graph; what is of pcatool in there is bytes within bytes."""
    tasks = build_tree(Sums(jobs.word, jobs.pair), list(range(20)), pickle.dumps).tasks
    names = {str(word) for code, word, _ in pickletools.genops(pickle.dumps(tasks)) if "BYTES" not in code.name}
    assert "loads" in names
    assert {name for name in names if name.startswith(("pcatool.", "engines"))} == set()


def test_a_worker_with_another_version_refuses() -> None:
    """Such a worker may join after the versions were compared."""
    work = WorkTask(Sums(jobs.word, jobs.pair), "0.0.9")
    with pytest.raises(FileError) as caught:
        work(pickle.dumps(1))
    assert str(caught.value) == (
        f"a worker has pcatool {version()}, but this process has 0.0.9; install the same version on all machines"
    )
    assert MergeTask(Sums(jobs.word, jobs.pair))("1", "2", "3") == "((1 2) 3)"
