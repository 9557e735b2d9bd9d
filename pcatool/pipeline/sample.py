"""Some of the rows that come out of a model, evenly spread over all of them, and the same by every route.

A row is taken by a hash of its number, of which the smallest win: neither how the rows are cut into batches, nor who
works on them, nor how many follow changes which those are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.pipeline.results import Results
from pcatool.readers.labels import texts_of
from pcatool.writers.jsonlines import cells_at

__all__ = ["Counted", "Sample", "hashes", "sample_of"]


# Of more texts their counts would take memory as the rows do: they are no classes.
MOST_TEXTS = 10_000


@dataclass
class Counted:
    """How often each text of a column occurs; of very many different ones, None."""

    name: str
    nulls: Sequence[str]  # spellings of a missing cell, beside the usual ones
    texts: Counter[str] | None = field(default_factory=Counter)

    def of(self, column: Any) -> Counter[str]:
        if self.texts is None:
            return Counter()
        found = texts_of(column, self.nulls)
        counts = np.bincount(found.which[found.which >= 0], minlength=len(found.distinct))
        return Counter(dict(zip(found.distinct, counts.tolist(), strict=True)))

    def add(self, more: Counter[str]) -> None:
        if self.texts is not None:
            self.texts.update(more)
            self.texts = self.texts if len(self.texts) <= MOST_TEXTS else None


class Sample(NamedTuple):
    """Rows in their order: their numbers from 1, results, and the cells passed through."""

    numbers: NDArray[np.int64]  # (s,)
    values: Array  # (s, w)
    kept: dict[str, list[str | None]]
    names: list[str]  # of the results
    seen: int  # rows that they were taken from

    def smallest(self, most: int) -> Sample:
        """Those with the smallest hashes."""
        order = smallest(hashes(self.numbers), most)
        kept = {name: [cells[i] for i in order] for name, cells in self.kept.items()}
        return self._replace(numbers=self.numbers[order], values=self.values[order], kept=kept)

    def joined(self, other: Sample) -> Sample:
        return self._replace(
            numbers=np.concatenate([self.numbers, other.numbers]),
            values=np.concatenate([self.values, other.values]),
            kept={name: cells + other.kept[name] for name, cells in self.kept.items()},
            seen=other.seen,
        )


def hashes(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Numbers stirred, no two alike (splitmix64; Steele, Lea and Flood 2014)."""
    z = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


def smallest(values: NDArray[np.uint64], most: int) -> NDArray[np.intp]:
    """Where the smallest stand, in the order in which they stand there."""
    if len(values) <= most:
        return np.arange(len(values))
    return np.sort(np.argpartition(values, most - 1)[:most])


def sample_of(results: Results, most: int, columns: list[int], counted: Counted | None = None) -> Sample:
    """At most so many rows, of the results only these columns; no more than three times as many are held meanwhile.

    The texts of one column can be counted in all rows.
    """
    names = [name for name, _ in results.kept]
    found = Sample(
        np.zeros(0, np.int64),
        np.zeros((0, len(columns))),
        {name: [] for name in names},
        [results.names[j] for j in columns],
        0,
    )
    bound = np.uint64(2**64 - 1)
    at = names.index(counted.name) if counted is not None else 0

    def part(kept: Sequence[Any], values: Array) -> tuple[Sequence[Any], Array, Counter[str]]:
        return kept, values[:, columns], Counter() if counted is None else counted.of(kept[at])

    with closing(results.each(part)) as batches:
        for kept, values, texts in batches:
            if counted is not None:
                counted.add(texts)
            numbers = np.arange(found.seen + 1, found.seen + len(values) + 1)
            stirred = hashes(numbers)
            rows = np.flatnonzero(stirred <= bound)
            rows = rows[smallest(stirred[rows], most)]  # before their cells are made text, which takes long
            cells = {name: cells_at(column, rows) for name, column in zip(names, kept, strict=True)}
            seen = found.seen + len(values)
            found = found.joined(found._replace(numbers=numbers[rows], values=values[rows], kept=cells, seen=seen))
            if len(found.numbers) >= 2 * most:
                found = found.smallest(most)
                bound = hashes(found.numbers).max()
    return found.smallest(most)
