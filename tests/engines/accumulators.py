"""An accumulator made of two functions, for the tests of engines; workers can import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pcatool.arrays import Accumulator


class Sums(Accumulator[Any, Any]):
    """Made of a function of an item and one that merges two."""

    def __init__(self, of_item: Callable[[Any], Any], merging: Callable[[Any, Any], Any]) -> None:
        self.of_item = of_item
        self.merging = merging

    def of_block(self, block: Any) -> Any:
        return self.of_item(block)

    def merge(self, one: Any, other: Any) -> Any:
        return self.merging(one, other)
