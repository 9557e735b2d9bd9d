"""Collect the rows of a plot (`RowCollector`): single points while they are few, then counts in the cells of a `Grid`.

A grid needs no known range, and its memory does not grow with the rows. The width of a cell is a power of two, and
cells lie on a lattice through 0, so two cells are exactly one cell of the next width. When a row falls outside, the
width is doubled until all rows fit. The result depends on the rows alone, not on their order: the width depends on the
minimum and the maximum, and the counts on the width and the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array

__all__ = ["CLASSES", "ColorColumn", "Grid", "Group", "RowCollector", "Side", "classes_with_colors"]

# Smallest exponent of the width of a cell: the spacing of the smallest doubles.
SMALLEST_EXPONENT = -1074

CellNumbers = NDArray[np.int64]


class Side(NamedTuple):
    """One axis of a grid: cell i covers the values from (first + i) 2^exponent up to the next cell."""

    least: float  # smallest value
    most: float  # largest value
    exponent: int  # a cell has the width 2^exponent
    first: int  # lattice number of the first cell

    @classmethod
    def of(cls, least: float, most: float, cells: int) -> Side:
        """Return the axis from `least` to `most`, with at most `cells` cells, which are as narrow as possible."""
        half = most / 2 - least / 2  # difference of halves, because most - least may overflow
        exponent = max(math.frexp(max(abs(least), abs(most)))[1] - 53, SMALLEST_EXPONENT)
        if half > 0:
            exponent = max(exponent, math.frexp(half)[1] - cells.bit_length() - 1)
        while cell_number(most, exponent) - cell_number(least, exponent) >= cells:
            exponent += 1
        return cls(least, most, exponent, cell_number(least, exponent))

    def extended(self, values: Array, cells: int) -> Side:
        """Return the axis extended to contain `values`; its cells become wider if more than `cells` were needed."""
        least, most = min(self.least, float(values.min())), max(self.most, float(values.max()))
        return self if (least, most) == (self.least, self.most) else Side.of(least, most, cells)

    def cells_of(self, values: Array) -> CellNumbers:
        """Return the number of the cell that contains each value, counted from 0 at `first`."""
        return np.floor(np.ldexp(values, -self.exponent)).astype(np.int64) - self.first

    @property
    def cells(self) -> int:
        """Number of cells that cover the values from `least` to `most`."""
        return cell_number(self.most, self.exponent) - self.first + 1

    def edge(self, cell: int, unit: float) -> float:
        """Return the lower edge of cell number `cell`, divided by `unit`; the edge itself may overflow a double."""
        shift = 64 if self.exponent > 0 else -64
        return math.ldexp(math.ldexp(self.first + cell, self.exponent - shift) / unit, shift)


def cell_number(value: float, exponent: int) -> int:
    """Return the lattice number of the cell that contains the value: the cell of number i begins at i 2^exponent."""
    return math.floor(math.ldexp(value, -exponent))


# Rows added to one layer of a grid: the number of the layer, a mask (n,) of the rows that count in this layer (None for
# all), and the amount that each of these rows adds to its cell (None for 1 each).
Addition = tuple[int, NDArray[np.bool_] | None, Array | None]


class Grid:
    """A grid of cells with layers: arrays (across, up) that hold a number for each cell, such as a count of rows.

    A layer has a number and counts all rows or those of a class, or sums a column. `cells` is the largest number of
    cells across and up. The cells become wider when rows lie outside.
    """

    def __init__(self, cells: tuple[int, int]) -> None:
        self.cells = cells
        self.sides: tuple[Side, Side] | None = None  # None before the first row
        self._layers: dict[int, NDArray[Any]] = {}  # counts are uint32, which takes half the memory of sums

    def add(self, x: Array, y: Array, additions: Iterable[Addition]) -> None:
        """Add rows with coordinates x and y (n,) to layers; each row adds 1, or its amount, to its cell.

        An addition is (number of the layer, mask of the rows that count there, their amounts); see `Addition`. The grid
        grows first if rows lie outside.
        """
        if not len(x):
            return
        self._make_room(x, y)
        assert self.sides is not None
        across, up = self.sides
        cells = across.cells_of(x) * self.cells[1] + up.cells_of(y)
        for number, rows, amounts in additions:
            counted_cells = cells if rows is None else cells[rows]
            if len(counted_cells):
                if amounts is None:
                    np.add.at(self._layer(number, np.uint32).reshape(-1), counted_cells, np.uint32(1))
                else:
                    np.add.at(self._layer(number, np.float64).reshape(-1), counted_cells, amounts)

    def drop(self, keep: Iterable[int]) -> None:
        """Delete all layers except those in `keep`."""
        self._layers = {number: self._layers[number] for number in keep if number in self._layers}

    @property
    def numbers(self) -> list[int]:
        """Numbers of the existing layers, ascending."""
        return sorted(self._layers)

    def layer(self, number: int) -> Array:
        """Return a layer (across, up), cut to the cells that cover all rows; zeros if there is no such layer."""
        assert self.sides is not None
        across, up = self.sides
        return self._layer(number)[: across.cells, : up.cells].astype(np.float64)

    def _layer(self, number: int, kind: type[np.generic] = np.float64) -> NDArray[Any]:
        if number not in self._layers:
            self._layers[number] = np.zeros(self.cells, dtype=kind)
        return self._layers[number]

    def _make_room(self, x: Array, y: Array) -> None:
        """Extend the grid to cover the coordinates x and y (n,); layers are `coarsened` if cells become wider."""
        old = self.sides
        if old is None:
            ends = [(float(values.min()), float(values.max())) for values in (x, y)]
            new = (Side.of(*ends[0], self.cells[0]), Side.of(*ends[1], self.cells[1]))
        else:
            new = (old[0].extended(x, self.cells[0]), old[1].extended(y, self.cells[1]))
        if old is not None and any(a[2:] != b[2:] for a, b in zip(old, new, strict=True)):
            self._layers = {number: coarsened(layer, old, new) for number, layer in self._layers.items()}
        self.sides = new


def coarsened(layer: NDArray[Any], old: tuple[Side, Side], new: tuple[Side, Side]) -> NDArray[Any]:
    """Return a layer moved from the grid `old` to the coarser grid `new`; a new cell sums the old cells inside it."""
    occupied = np.nonzero(layer)
    cells = [
        ((old_cells + a.first) >> min(b.exponent - a.exponent, 62)) - b.first
        for old_cells, a, b in zip(occupied, old, new, strict=True)
    ]
    merged = np.zeros_like(layer)
    np.add.at(merged, (cells[0], cells[1]), layer[occupied])
    return merged


# Rows drawn as marks; more marks hide each other, and make a vector file too large to open.
MAX_MARKS = 20_000
GRID_CELLS = 1024  # cells per side: about the pixels of a picture
HISTOGRAM_CELLS = 1024  # cells for a single component; a power of two, so that a whole number of them makes a bar
# Classes with a colour of their own, and classes with a layer of their own. Layers go to the most frequent classes when
# counting begins, and to later classes while there is room.
CLASSES, MAX_LAYERS = 10, 24
MAX_LAYERS_OF_ONE = 256  # as MAX_LAYERS, for a single component

# Layers of a grid: all rows; rows with a known number; sums of numbers; rows without a class; rows of classes without a
# layer. Layers of classes are numbered from 0.
ALL, KNOWN, SUMS, NONE, OTHERS = -5, -4, -3, -2, -1
# Factor of the numbers in SUMS, so that sums do not overflow for any number of rows.
SUM_FACTOR = 2.0**-40


Key = TypeVar("Key")


class ColorColumn(NamedTuple):
    """The column that colours the rows."""

    name: str  # of the column
    numeric: bool  # False for a column of words, which blocks of rows contain as class numbers


class Group(NamedTuple):
    """Rows of one colour: a class, all classes without a colour, or rows with a missing value."""

    name: str
    rows: int  # number of rows
    numbers: tuple[int, ...]  # class numbers of the rows, which are also the numbers of their layers
    color_index: int | None  # position in the order of colours and marks; None without a colour


class RowCollector:
    """The rows of a plot: scores of `axes` (one or two) components, and a column `hue` that colours the rows, or None.

    Rows are added in blocks (h, width): finite scores, then the value of the column of colours, NaN where missing.
    Which classes get a layer depends on the blocks, so equal rows must come in equal blocks.
    """

    def __init__(self, axes: int, hue: ColorColumn | None) -> None:
        self.axes = axes
        self.hue = hue
        self.rows = 0
        self.left_out = 0  # rows without scores; counted by the caller
        self.words: list[str] = []  # names of the classes by class number; set by the caller after all rows
        # Value -> class number while a numeric column has few whole numbers; None otherwise.
        self.values: dict[float, int] | None = {} if hue is not None and hue.numeric else None
        self.counts: dict[int, int] = {}  # class number -> rows
        self.least, self.most = np.inf, -np.inf  # range of the column of colours
        self._layered: set[int] = set()  # classes with a layer of their own
        self._blocks: list[Array] = []
        self.grid: Grid | None = None  # None while rows are kept as points

    @property
    def width(self) -> int:
        """Number of columns of a block."""
        return self.axes + (self.hue is not None)

    @property
    def by_class(self) -> bool:
        """Whether rows are coloured by class: the column has words, or so far few whole numbers."""
        return self.hue is not None and (not self.hue.numeric or self.values is not None)

    @property
    def max_layers(self) -> int:
        """Largest number of classes with a layer of their own."""
        return MAX_LAYERS if self.axes > 1 else MAX_LAYERS_OF_ONE

    @property
    def is_dense(self) -> bool:
        """Whether rows are counted in a grid instead of kept as points."""
        return self.grid is not None

    def add(self, block: Array) -> None:
        """Add a block of rows (h, width); change from points to a grid when there are more than MAX_MARKS rows.

        A single component is counted in a grid from the start.
        """
        self.rows += len(block)
        codes = self._update_colors(block)
        if self.grid is None:
            self._blocks.append(block.copy())
            if self.rows <= MAX_MARKS and self.axes > 1:
                return
            self._layered = set(
                sorted(self._class_counts(), key=lambda code: (-self.counts[code], code))[: self.max_layers]
            )
            self.grid = Grid((GRID_CELLS, GRID_CELLS) if self.axes > 1 else (HISTOGRAM_CELLS, 1))
            for earlier in self._blocks:
                self._count(earlier, self._codes(earlier))
            self._blocks = []
        else:
            self._count(block, codes)

    def _update_colors(self, block: Array) -> NDArray[np.int64] | None:
        """Update range, values and row counts of the column of colours; return the class number of each row (h,).

        None if rows have no classes.
        """
        if self.hue is None:
            return None
        known = block[~np.isnan(block[:, -1]), -1] + 0.0  # adding 0.0 turns -0.0 into 0.0
        if len(known):
            self.least, self.most = min(self.least, float(known.min())), max(self.most, float(known.max()))
        if self.values is not None:
            self._update_values(known)
        codes = self._codes(block)
        if codes is not None:
            for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
                self.counts[int(code)] = self.counts.get(int(code), 0) + int(count)
        return codes

    def _update_values(self, known: Array) -> None:
        """Give each new value a class number, while there are at most CLASSES distinct values, all whole numbers.

        Otherwise the column has no classes from now on: `values` becomes None, counts and layers of classes are lost.
        """
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
        """Return the class number of each row (h,), NONE where the value is missing; None if rows have no classes."""
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
        self.grid.add(x, y, self._additions(block, codes))

    def _additions(self, block: Array, codes: NDArray[np.int64] | None) -> Iterator[Addition]:
        """Yield the additions of a block to all layers; a new class gets a layer while there are under `max_layers`.

        `codes` (h,) has the class number of each row; None if rows have no classes.
        """
        yield ALL, None, None
        if self.hue is not None and self.hue.numeric:
            known = ~np.isnan(block[:, -1])
            yield KNOWN, known, None
            yield SUMS, known, block[known, -1] * SUM_FACTOR
        if codes is not None:
            classes = np.unique(codes).tolist()
            for code in classes:
                if code >= 0 and len(self._layered) < self.max_layers:
                    self._layered.add(code)
            layered = [code for code in classes if code in self._layered or code < 0]
            yield from ((code, codes == code, None) for code in layered)
            if len(layered) < len(classes):
                yield OTHERS, ~np.isin(codes, layered), None

    # --- what is drawn ---

    def points(self) -> Array:
        """Return all rows (n, width) while they are kept as points; no rows if `is_dense`."""
        return np.concatenate([np.empty((0, self.width)), *self._blocks])

    def codes(self) -> NDArray[np.int64]:
        """Return the class number of each row of `points` (n,), for rows coloured by class."""
        codes = self._codes(self.points())
        assert codes is not None
        return codes

    def groups(self) -> list[Group]:
        """Return the groups of rows: each class with a colour, sorted by name, all other classes, missing values.

        The last two are left out if empty. If there are many classes, the largest get a colour.
        """
        names = self._names()
        counted = self._class_counts()
        layered = counted if self.grid is None else {code: counted[code] for code in counted if code in self._layered}
        largest = classes_with_colors({code: (names[code], count) for code, count in layered.items()}, len(counted))
        groups = [Group(names[code], counted[code], (code,), index) for index, code in enumerate(largest)]
        rest = sorted(set(counted) - set(largest))
        if rest:
            numbers = (*rest, OTHERS)
            groups.append(Group(f"{len(rest)} others", sum(counted[code] for code in rest), numbers, None))
        if NONE in self.counts:
            groups.append(Group("missing", self.counts[NONE], (NONE,), None))
        return groups

    def _class_counts(self) -> dict[int, int]:
        """Return the number of rows by class number, without the rows whose value is missing."""
        return {code: count for code, count in self.counts.items() if code >= 0}

    def _names(self) -> Sequence[str]:
        if self.values is None:
            return self.words
        return [repr(value).removesuffix(".0") for value in self.values]


def classes_with_colors(known: Mapping[Key, tuple[str, int]], count: int) -> list[Key]:
    """Return the keys of the classes that get a colour, sorted by name, which is the order of colours.

    `known` maps keys to names and row counts. All classes get a colour; if `count`, the number of all classes, exceeds
    the number of colours, only the largest do.
    """
    largest = sorted(known, key=lambda key: (-known[key][1], name_order(known[key][0])))
    if count > CLASSES:
        largest = largest[: CLASSES - 1]
    return sorted(largest, key=lambda key: name_order(known[key][0]))


def name_order(name: str) -> tuple[int, float, str]:
    """Return a sort key for names of classes: first numbers, by size, then words."""
    try:
        number = float(name)
    except ValueError:
        return 1, 0.0, name
    return (0, number, name) if number == number else (1, 0.0, name)
