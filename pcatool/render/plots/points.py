"""Rows of a plot as they arrive: single points while few, counts in a growing grid after that.

Rows counted in the cells of a grid, whose range need not be known: memory does not grow with the rows.
A cell is as wide as a power of two and lies on a lattice through 0, so that two cells are exactly one of the next
width. When a row falls outside, cells are made twice as wide until all rows fit. What comes out depends on the rows
alone, not on when they came: the width on the least and the largest, the counts on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array

__all__ = ["CLASSES", "Cloud", "Grid", "Group", "Hue", "Side", "classes_with_colors"]

# The spacing of doubles is the finest that cells can be, and this that of the smallest.
FINEST = -1074

Whole = NDArray[np.int64]


class Side(NamedTuple):
    """One side of a grid: cell i holds the values from (first + i) 2^exponent up to the next."""

    least: float
    most: float
    exponent: int
    first: int

    @classmethod
    def of(cls, least: float, most: float, cells: int) -> Side:
        """The finest lattice of which so many cells hold all from the least to the most."""
        half = most / 2 - least / 2  # of halves, since the difference may overflow
        exponent = max(math.frexp(max(abs(least), abs(most)))[1] - 53, FINEST)
        if half > 0:
            exponent = max(exponent, math.frexp(half)[1] - cells.bit_length() - 1)
        while place(most, exponent) - place(least, exponent) >= cells:
            exponent += 1
        return cls(least, most, exponent, place(least, exponent))

    def joined(self, values: Array, cells: int) -> Side:
        """With these values, too."""
        least, most = min(self.least, float(values.min())), max(self.most, float(values.max()))
        return self if (least, most) == (self.least, self.most) else Side.of(least, most, cells)

    def cells_of(self, values: Array) -> Whole:
        return np.floor(np.ldexp(values, -self.exponent)).astype(np.int64) - self.first

    @property
    def cells(self) -> int:
        """Cells up to the last that holds something."""
        return place(self.most, self.exponent) - self.first + 1

    def edge(self, cell: int, unit: float) -> float:
        """Where a cell begins, in this unit: its edge itself may be past the largest double."""
        shift = 64 if self.exponent > 0 else -64
        return math.ldexp(math.ldexp(self.first + cell, self.exponent - shift) / unit, shift)


def place(value: float, exponent: int) -> int:
    return math.floor(math.ldexp(value, -exponent))


class Grid:
    """Layers of numbers over the cells of one grid: counts of rows, of a class of them, or sums of a column."""

    def __init__(self, cells: tuple[int, int]) -> None:
        self.cells = cells
        self.sides: tuple[Side, Side] | None = None
        self._layers: dict[int, NDArray[Any]] = {}  # counts need no fractions, and half the room

    def add(self, x: Array, y: Array, parts: Iterable[tuple[int, NDArray[np.bool_] | None, Array | None]]) -> None:
        """Rows, in order. Each part is the number of a layer, the rows that go into it, None for all, and what each
        adds to its cell, None for one."""
        if not len(x):
            return
        self._make_room(x, y)
        assert self.sides is not None
        across, up = self.sides
        at = across.cells_of(x) * self.cells[1] + up.cells_of(y)
        for number, rows, amounts in parts:
            where = at if rows is None else at[rows]
            if len(where):
                if amounts is None:
                    np.add.at(self._layer(number, np.uint32).reshape(-1), where, np.uint32(1))
                else:
                    np.add.at(self._layer(number, np.float64).reshape(-1), where, amounts)

    def drop(self, keep: Iterable[int]) -> None:
        """Do without all layers but these."""
        self._layers = {number: self._layers[number] for number in keep if number in self._layers}

    @property
    def numbers(self) -> list[int]:
        return sorted(self._layers)

    def layer(self, number: int) -> Array:
        """(across, up), as far as there are rows."""
        assert self.sides is not None
        across, up = self.sides
        return self._layer(number)[: across.cells, : up.cells].astype(np.float64)

    def _layer(self, number: int, kind: type[np.generic] = np.float64) -> NDArray[Any]:
        if number not in self._layers:
            self._layers[number] = np.zeros(self.cells, dtype=kind)
        return self._layers[number]

    def _make_room(self, x: Array, y: Array) -> None:
        old = self.sides
        if old is None:
            ends = [(float(values.min()), float(values.max())) for values in (x, y)]
            new = (Side.of(*ends[0], self.cells[0]), Side.of(*ends[1], self.cells[1]))
        else:
            new = (old[0].joined(x, self.cells[0]), old[1].joined(y, self.cells[1]))
        if old is not None and any(a[2:] != b[2:] for a, b in zip(old, new, strict=True)):
            self._layers = {number: moved(layer, old, new) for number, layer in self._layers.items()}
        self.sides = new


def moved(layer: NDArray[Any], old: tuple[Side, Side], new: tuple[Side, Side]) -> NDArray[Any]:
    """The same numbers in the cells of a wider grid."""
    found = np.nonzero(layer)
    at = [
        ((cells + a.first) >> min(b.exponent - a.exponent, 62)) - b.first
        for cells, a, b in zip(found, old, new, strict=True)
    ]
    made = np.zeros_like(layer)
    np.add.at(made, (at[0], at[1]), layer[found])
    return made


# More marks than these hide each other, and make a file of lines too large to open.
MARKS = 20_000
CELLS = 1024  # to a side: about the pixels of a picture
BINS = 1024  # of one component alone; a power of two, so that few of them make a bar
# Classes that are told apart by colour, and those that have cells of their own, to find the largest: the most frequent
# when counting begins, and such as come later while there is room.
CLASSES, COUNTED = 10, 24
COUNTED_ALONG = 256  # the same along one component

# Layers of a grid: those of classes are numbered from 0.
ALL, KNOWN, SUMS, NONE, OTHERS = -5, -4, -3, -2, -1
# Sums of so many times less do not overflow, however many rows there are.
LESS = 2.0**-40


Key = TypeVar("Key")


class Hue(NamedTuple):
    """What colours rows: a column of numbers, or one of classes, whose rows come with the number of their class."""

    name: str
    numeric: bool


class Group(NamedTuple):
    """Rows of one colour; without a number the others, or those that lack a value."""

    name: str
    rows: int
    numbers: tuple[int, ...]
    place: int | None  # in the order of colours and marks


class Cloud:
    """Rows (n, 1 or 2) of one or two components, and a last column with what colours them, NaN where it is missing.

    Rows must be added in blocks that depend on nothing but the rows, and be finite in the components.
    """

    def __init__(self, axes: int, hue: Hue | None) -> None:
        self.axes = axes
        self.hue = hue
        self.rows = 0
        self.left_out = 0
        self.words: list[str] = []  # names of the classes, which whoever adds rows counts up
        self.values: dict[float, int] | None = {} if hue is not None and hue.numeric else None
        self.counts: dict[int, int] = {}
        self.least, self.most = np.inf, -np.inf
        self._own: set[int] = set()  # classes with cells of their own
        self._blocks: list[Array] = []
        self.grid: Grid | None = None

    @property
    def width(self) -> int:
        return self.axes + (self.hue is not None)

    @property
    def by_class(self) -> bool:
        """Are there classes: words, or few whole numbers?"""
        return self.hue is not None and (not self.hue.numeric or self.values is not None)

    @property
    def most_counted(self) -> int:
        return COUNTED if self.axes > 1 else COUNTED_ALONG

    @property
    def is_dense(self) -> bool:
        return self.grid is not None

    def add(self, block: Array) -> None:
        self.rows += len(block)
        codes = self._colors(block)
        if self.grid is None:
            self._blocks.append(block.copy())
            if self.rows <= MARKS and self.axes > 1:
                return
            self._own = set(sorted(self._found(), key=lambda code: (-self.counts[code], code))[: self.most_counted])
            self.grid = Grid((CELLS, CELLS) if self.axes > 1 else (BINS, 1))
            for earlier in self._blocks:
                self._count(earlier, self._codes(earlier))
            self._blocks = []
        else:
            self._count(block, codes)

    def _colors(self, block: Array) -> NDArray[np.int64] | None:
        """Take note of what there is, and give the number of each row's class."""
        if self.hue is None:
            return None
        known = block[~np.isnan(block[:, -1]), -1] + 0.0  # -0 is 0
        if len(known):
            self.least, self.most = min(self.least, float(known.min())), max(self.most, float(known.max()))
        if self.values is not None:
            self._look_for_values(known)
        codes = self._codes(block)
        if codes is not None:
            for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
                self.counts[int(code)] = self.counts.get(int(code), 0) + int(count)
        return codes

    def _look_for_values(self, known: Array) -> None:
        """Few whole numbers are classes."""
        assert self.values is not None
        distinct = np.unique(known[: 2 * CLASSES])
        distinct = np.unique(known) if len(distinct) <= CLASSES else distinct
        for value in distinct.tolist():
            self.values.setdefault(value, len(self.values))
        if len(self.values) > CLASSES or np.any(distinct % 1 != 0):
            self.values, self.counts = None, {}
            if self.grid is not None:
                self.grid.drop((ALL, KNOWN, SUMS))

    def _codes(self, block: Array) -> NDArray[np.int64] | None:
        """The class of each row, NONE where it is missing."""
        if not self.by_class:
            return None
        numbers = block[:, -1]
        missing = np.isnan(numbers)
        if self.values is None:
            return np.where(missing, NONE, np.nan_to_num(numbers)).astype(np.int64)
        if not self.values:
            return np.full(len(block), NONE)
        keys = np.array(sorted(self.values))
        codes = np.array([self.values[key] for key in keys.tolist()], dtype=np.int64)
        places = np.searchsorted(keys, np.where(missing, keys[0], numbers))
        return np.where(missing, NONE, codes[np.minimum(places, len(keys) - 1)])

    def _count(self, block: Array, codes: NDArray[np.int64] | None) -> None:
        assert self.grid is not None
        x = block[:, 0]
        y = block[:, 1] if self.axes > 1 else np.zeros(len(block))
        self.grid.add(x, y, self._parts(block, codes))

    def _parts(
        self, block: Array, codes: NDArray[np.int64] | None
    ) -> Iterator[tuple[int, NDArray[np.bool_] | None, Array | None]]:
        yield ALL, None, None
        if self.hue is not None and self.hue.numeric:
            known = ~np.isnan(block[:, -1])
            yield KNOWN, known, None
            yield SUMS, known, block[known, -1] * LESS
        if codes is not None:
            there = np.unique(codes).tolist()
            for code in there:
                if code >= 0 and len(self._own) < self.most_counted:
                    self._own.add(code)
            own = [code for code in there if code in self._own or code < 0]
            yield from ((code, codes == code, None) for code in own)
            if len(own) < len(there):
                yield OTHERS, ~np.isin(codes, own), None

    # --- what is drawn ---

    def points(self) -> Array:
        """All rows, while they are few."""
        return np.concatenate([np.empty((0, self.width)), *self._blocks])

    def codes(self) -> NDArray[np.int64]:
        """The class of each of them."""
        found = self._codes(self.points())
        assert found is not None
        return found

    def groups(self) -> list[Group]:
        """Classes in the order of their names, the largest when there are many, then the others and those of none."""
        names = self._names()
        counted = self._found()
        known = counted if self.grid is None else {code: counted[code] for code in counted if code in self._own}
        largest = classes_with_colors({code: (names[code], count) for code, count in known.items()}, len(counted))
        made = [Group(names[code], counted[code], (code,), at) for at, code in enumerate(largest)]
        rest = sorted(set(counted) - set(largest))
        if rest:
            numbers = (*rest, OTHERS)
            made.append(Group(f"{len(rest)} others", sum(counted[code] for code in rest), numbers, None))
        if NONE in self.counts:
            made.append(Group("missing", self.counts[NONE], (NONE,), None))
        return made

    def _found(self) -> dict[int, int]:
        """Classes with their rows."""
        return {code: count for code, count in self.counts.items() if code >= 0}

    def _names(self) -> Sequence[str]:
        if self.values is None:
            return self.words
        return [repr(value).removesuffix(".0") for value in self.values]


def classes_with_colors(known: Mapping[Key, tuple[str, int]], count: int) -> list[Key]:
    """The classes that have colours of their own, in the order of colours, from their names and numbers of rows.

    These are all, sorted by name, or of `count` that are more than there are colours the largest.
    """
    largest = sorted(known, key=lambda key: (-known[key][1], in_order(known[key][0])))
    if count > CLASSES:
        largest = largest[: CLASSES - 1]
    return sorted(largest, key=lambda key: in_order(known[key][0]))


def in_order(name: str) -> tuple[int, float, str]:
    """Numbers by size, and before words."""
    try:
        number = float(name)
    except ValueError:
        return 1, 0.0, name
    return (0, number, name) if number == number else (1, 0.0, name)
