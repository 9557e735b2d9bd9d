"""An engine of the tests: does the work in this process, on copies that went through bytes, and merges in any shape."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any


class Apart:
    """As an engine elsewhere, but without workers; the address tells how many neighbours are merged at once."""

    def __init__(self, address: str | None) -> None:
        self.fan = int(address or 2)

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *of_error: object) -> None:
        return None

    def map(self, function: Any, items: Sequence[Any], done: Callable[[int], None]) -> list[Any]:
        sent, results = pickle.dumps(function), []
        for item in copied(list(items)):
            results.append(copied(pickle.loads(sent)(item)))
            done(1)
        return results

    def reduce(self, items: Sequence[Any], accumulator: Any, done: Callable[[int], None]) -> Any:
        results, merge = self.map(accumulator.of_block, items, done), copied(accumulator).merge
        while len(results) > 1:
            groups = [results[i : i + self.fan] for i in range(0, len(results), self.fan)]
            again = [copied(reduce(merge, group)) for group in groups]  # as when a worker is lost
            results = [copied(reduce(merge, group)) for group in groups]
            assert pickle.dumps(again) == pickle.dumps(results)
        return accumulator.finish(results[0])


def copied(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))
