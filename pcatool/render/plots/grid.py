"""Rows counted in the cells of a grid, whose range need not be known: memory does not grow with the rows.

A cell is as wide as a power of two and lies on a lattice through 0, so that two cells are exactly one of the next
width. When a row falls outside, cells are made twice as wide until all rows fit. What comes out depends on the rows
alone, not on when they came: the width on the least and the largest, the counts on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array

__all__ = ["Grid", "Side"]

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
