"""Place names beside the ends of arrows, without overlap.

The axes are divided into a lattice with cells of about one point (1/72 inch). A name may lie where its box, as measured
by the renderer, overlaps no mark, arrow, leader line, other name, or line through the origin. Of these places, the name
takes the nearest to the end of its arrow, and prefers places outward from the origin. A name far from its arrow gets a
leader line. Names are placed one after the other, those of the longest arrows first, so that names of short arrows are
omitted if there is no room. The result is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.render.figures import DARK, FRAME

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NamePlace", "OccupiedArea", "draw_names", "place_names", "sizes_of"]

LETTERS = 8.5  # font size of a name, in points
CLEAR = 2.5  # free points between a name and lines, other names and the edges of the axes
NEAR = 7.0  # distance in points above which a name gets a leader line
CELLS = 800  # most lattice cells per side; a very large picture would otherwise take gigabytes
STEP = 2  # lattice cells between the places that are tried
NEAREST, EVERY = 150, 20  # places whose leaders are checked: the best NEAREST, and one in EVERY of the others
# Costs: of an inward place, as a part of its distance; of each line that a leader crosses, in points of distance.
INWARD, CROSSED = 0.6, 40.0
FARTHEST = 0.45  # longest leader relative to the longer side; a longer one is hard to follow

Cells = NDArray[np.bool_]


class NamePlace(NamedTuple):
    """The box of a name, in points from the lower left of the axes."""

    left: float
    bottom: float
    right: float
    top: float
    leader: tuple[float, float] | None  # end of the leader line at the name; None without a leader


class OccupiedArea:
    """The area inside axes of `wide` x `high` points, with the parts that are occupied."""

    def __init__(self, wide: float, high: float) -> None:
        self.wide, self.high = wide, high
        self.unit = max(1.0, max(wide, high) / CELLS)
        self.shape = (int(wide / self.unit) + 1, int(high / self.unit) + 1)
        self._marks: Cells = np.zeros(self.shape, dtype=bool)
        self._taken: Cells = np.zeros(self.shape, dtype=bool)  # cells occupied by lines and names
        self._reach = 0.0
        self.segments = np.empty((0, 4))  # lines: x and y of the start, then of the end
        self.boxes = np.empty((0, 4))  # boxes of names: left, bottom, right, top

    def add_marks(self, points: Array, reach: float) -> None:
        """Occupy the places of marks with centres `points` (n, 2) and a radius of `reach` points."""
        inside = ((points >= -reach) & (points <= (self.wide + reach, self.high + reach))).all(axis=1)
        at = np.clip(np.floor(points[inside] / self.unit).astype(np.int64), 0, np.array(self.shape) - 1)
        self._marks[at[:, 0], at[:, 1]] = True
        self._reach = max(self._reach, reach)

    def add_line(self, start: Array, end: Array) -> None:
        """Occupy the cells of a line between two points (2,)."""
        self.segments = np.vstack([self.segments, [*start, *end]])
        count = int(2 * np.hypot(*(end - start)) / self.unit) + 2
        points = start + np.linspace(0, 1, count)[:, None] * (end - start)
        at = np.floor(points / self.unit).astype(np.int64)
        at = at[((at >= 0) & (at < self.shape)).all(axis=1)]
        self._taken[at[:, 0], at[:, 1]] = True

    def add_axes(self, origin: Array) -> None:
        """Occupy the lines through the origin for names; leader lines may cross these faint lines."""
        i, j = (int(np.floor(at / self.unit)) for at in origin)
        if 0 <= i < self.shape[0]:
            self._taken[i, :] = True
        if 0 <= j < self.shape[1]:
            self._taken[:, j] = True

    def add_box(self, left: float, bottom: float, right: float, top: float) -> None:
        """Occupy the box of a name."""
        self.boxes = np.vstack([self.boxes, [left, bottom, right, top]])
        i, j = int(left / self.unit), int(bottom / self.unit)
        self._taken[i : int(right / self.unit) + 1, j : int(top / self.unit) + 1] = True

    def free(self, wide: float, high: float) -> Array:
        """Return the lower left corners (m, 2) at which a box of this size is free."""
        across, up = (int(np.ceil(side / self.unit)) + 1 for side in (wide, high))
        clear = int(np.ceil(CLEAR / self.unit))
        found = None
        for cells, room in ((self._marks, int(np.ceil((self._reach + 1) / self.unit)) + 1), (self._taken, clear + 1)):
            filled = any_within(cells, across, up, room)
            found = ~filled if found is None else found & ~filled
        assert found is not None
        found = found[clear : found.shape[0] - clear, clear : found.shape[1] - clear]
        return np.asarray((np.argwhere(found[::STEP, ::STEP]) * STEP + clear) * self.unit, dtype=np.float64)


def any_within(cells: Cells, across: int, up: int, room: int) -> Cells:
    """Return a mask of the lower left cells whose box of across x up cells contains an occupied cell.

    The box is extended by `room` cells on all sides. Only boxes inside the lattice are included.
    """
    wide, high = cells.shape[0] - across + 1, cells.shape[1] - up + 1
    if wide <= 0 or high <= 0:
        return np.ones((0, 0), dtype=bool)
    sums = np.zeros((cells.shape[0] + 2 * room + 1, cells.shape[1] + 2 * room + 1), dtype=np.int32)
    sums[1:, 1:] = np.pad(cells, room)
    sums = sums.cumsum(axis=0, out=sums).cumsum(axis=1, out=sums)
    a, b = across + 2 * room, up + 2 * room
    counts = (
        sums[a : a + wide, b : b + high] - sums[:wide, b : b + high] - sums[a : a + wide, :high] + sums[:wide, :high]
    )
    return np.asarray(counts > 0)


def place_names(ground: OccupiedArea, origin: Array, tips: Array, sizes: Array) -> list[NamePlace | None]:
    """Return a place for each name of `sizes` (m, 2) whose arrow ends at `tips` (m, 2); None if there is no room.

    The arrows, names and leader lines are added to `ground`.
    """
    for tip in tips:
        ground.add_line(origin, tip)
    found = []
    for tip, size in zip(tips, sizes, strict=True):
        place = _best(ground, origin, tip, size)
        found.append(place)
        if place is not None:
            ground.add_box(*place[:4])
            if place.leader is not None:
                ground.add_line(tip, np.array(place.leader))
    return found


def _best(ground: OccupiedArea, origin: Array, tip: Array, size: Array) -> NamePlace | None:
    """Return the free place of lowest cost for a name of `size` (2,) at an arrow's end `tip` (2,); None if none."""
    low = ground.free(*size)
    if not len(low):
        return None
    near = np.clip(tip, low, low + size)  # the point of each box that is nearest to the tip
    away = near - tip
    far = np.hypot(*away.T)
    outward = tip - origin
    length = float(np.hypot(*outward)) or 1.0
    middle = low + size / 2 - tip
    along = middle @ (outward / length) / np.maximum(np.hypot(*middle.T), 1e-9)
    cost = far * (1 + INWARD * (1 - along)) + 3 * (1 - along)
    cost[far > FARTHEST * max(ground.wide, ground.high)] = np.inf
    order = np.argsort(cost, kind="stable")
    order = order[np.isfinite(cost[order])]
    order = np.concatenate([order[:NEAREST], order[NEAREST::EVERY]])
    at, least = -1, np.inf
    for start in range(0, len(order), NEAREST):
        some = order[start : start + NEAREST]
        some = some[cost[some] < least]  # crossings only increase the cost
        if not len(some):
            break
        segments = np.hstack([np.broadcast_to(tip, near[some].shape), near[some]])
        unblocked = (far[some] <= NEAR) | (through_boxes(segments, ground.boxes) == 0)
        some, segments = some[unblocked], segments[unblocked]
        total = cost[some] + CROSSED * np.where(far[some] > NEAR, crossings(segments, ground.segments), 0)
        if total.min(initial=np.inf) < least:
            at, least = int(some[int(np.argmin(total))]), float(total.min())
    if at < 0:
        return None
    leader = None
    if far[at] > NEAR:
        end = near[at] - away[at] / far[at] * 1.5  # 1.5 points before the name
        leader = (float(end[0]), float(end[1]))
    left, bottom = (float(side) for side in low[at])
    return NamePlace(left, bottom, left + float(size[0]), bottom + float(size[1]), leader)


def crossings(some: Array, others: Array) -> NDArray[np.int64]:
    """Return how many of the segments `others` (q, 4) each segment of `some` (m, 4) crosses.

    Segments with a common start do not count as crossing.
    """
    a, b = some[:, None, :2], some[:, None, 2:]
    c, d = others[None, :, :2], others[None, :, 2:]

    def side(p: Array, q: Array, r: Array) -> Array:
        made: Array = (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (
            r[..., 0] - p[..., 0]
        )
        return made

    apart = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
    return np.asarray(apart.sum(axis=1))


def through_boxes(segments: Array, boxes: Array) -> NDArray[np.int64]:
    """Return how many boxes (q, 4), extended by CLEAR points, each segment (m, 4) meets (Liang and Barsky 1984)."""
    start, step = segments[:, None, :2], segments[:, None, 2:] - segments[:, None, :2]
    low, high = boxes[None, :, :2] - CLEAR, boxes[None, :, 2:] + CLEAR
    step = np.where(np.abs(step) < 1e-9, 1e-9, step)
    one, two = (low - start) / step, (high - start) / step
    enters = np.minimum(one, two).max(axis=2)
    leaves = np.maximum(one, two).min(axis=2)
    return np.asarray(((enters <= leaves) & (leaves >= 0) & (enters <= 1)).sum(axis=1))


# --- on axes ---


def sizes_of(figure: Figure, names: Sequence[str]) -> Array:
    """Return the widths and heights (m, 2) of the names in points.

    Each is the larger of the size in a raster, where letters are rounded to pixels, and the size in .svg and .pdf.
    """
    from matplotlib.text import Text
    from matplotlib.textpath import text_to_path

    found = []
    for name in names:
        text = Text(0, 0, name, fontsize=LETTERS, figure=figure)
        box, points = text.get_window_extent(), 72 / figure.dpi
        wide, high, _ = text_to_path.get_text_width_height_descent(name, text.get_fontproperties(), False)
        found.append((max(box.width * points, wide), max(box.height * points, high)))
    return np.array(found).reshape(-1, 2)


def draw_names(axes: Axes, tips: Array, names: Sequence[str], places: Sequence[NamePlace | None]) -> None:
    """Draw the names that have a place, with their leader lines; `tips` (m, 2) are in points of the axes.

    The limits of the axes must not change after the places were computed.
    """
    figure: Any = axes.figure
    corner = axes.get_window_extent()

    def data(x: float, y: float) -> tuple[float, float]:
        pixels = (corner.x0 + x * figure.dpi / 72, corner.y0 + y * figure.dpi / 72)
        found = axes.transData.inverted().transform(pixels)
        return float(found[0]), float(found[1])

    for tip, name, place in zip(tips, names, places, strict=True):
        if place is None:
            continue
        if place.leader is not None:
            (x, y), (u, v) = data(*tip), data(*place.leader)
            axes.plot([x, u], [y, v], color="white", linewidth=2.2, zorder=4.4, scalex=False, scaley=False)
            axes.plot([x, u], [y, v], color=FRAME, linewidth=0.7, zorder=4.5, scalex=False, scaley=False)
        axes.text(
            *data(place.left, place.bottom), name, ha="left", va="bottom", fontsize=LETTERS, color=DARK, zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip
