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

__all__ = ["NamePlace", "OccupiedArea", "draw_names", "place_names", "text_sizes"]

FONT_SIZE = 8.5  # font size of a name, in points
CLEARANCE = 2.5  # free points between a name and lines, other names and the edges of the axes
LEADER_FROM = 7.0  # distance in points above which a name gets a leader line
MAX_CELLS = 800  # lattice cells per side; a very large picture would otherwise take gigabytes
CELL_STEP = 2  # lattice cells between the places that are tried
CHECKED_FIRST, CHECKED_EVERY = 150, 20  # places whose leaders are checked: CHECKED_FIRST, then one in CHECKED_EVERY
INWARD_COST = 0.6  # cost of a place on the side of the origin, relative to its distance from the end of the arrow
CROSSING_COST = 40.0  # cost of each line that a leader crosses, in points of distance
LONGEST_LEADER = 0.45  # longest leader relative to the longer side; a longer one is hard to follow

Cells = NDArray[np.bool_]


class NamePlace(NamedTuple):
    """The box of a name and the end of its leader line, in points from the lower left of the axes."""

    left: float
    bottom: float
    right: float
    top: float
    leader: tuple[float, float] | None  # end of the leader line at the name; None without a leader


class OccupiedArea:
    """Lattice of cells over axes of `width` x `height` points; records the cells that marks, lines and names occupy.

    All coordinates are in points from the lower left of the axes.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.unit = max(1.0, max(width, height) / MAX_CELLS)  # side of a cell in points
        self.shape = (int(width / self.unit) + 1, int(height / self.unit) + 1)
        self._marks: Cells = np.zeros(self.shape, dtype=bool)
        self._taken: Cells = np.zeros(self.shape, dtype=bool)  # cells occupied by lines and names
        self._mark_radius = 0.0
        self.segments = np.empty((0, 4))  # lines: x and y of the start, then of the end
        self.boxes = np.empty((0, 4))  # boxes of names: left, bottom, right, top

    def add_marks(self, points: Array, radius: float) -> None:
        """Occupy the cells of marks with centres `points` (n, 2); marks outside the axes are ignored.

        The largest `radius` (in points) of all calls is used for all marks.
        """
        inside = ((points >= -radius) & (points <= (self.width + radius, self.height + radius))).all(axis=1)
        cells = np.clip(np.floor(points[inside] / self.unit).astype(np.int64), 0, np.array(self.shape) - 1)
        self._marks[cells[:, 0], cells[:, 1]] = True
        self._mark_radius = max(self._mark_radius, radius)

    def add_line(self, start: Array, end: Array) -> None:
        """Occupy the cells of a line between two points (2,), and add the line to `segments`."""
        self.segments = np.vstack([self.segments, [*start, *end]])
        count = int(2 * np.hypot(*(end - start)) / self.unit) + 2
        points = start + np.linspace(0, 1, count)[:, None] * (end - start)
        cells = np.floor(points / self.unit).astype(np.int64)
        cells = cells[((cells >= 0) & (cells < self.shape)).all(axis=1)]
        self._taken[cells[:, 0], cells[:, 1]] = True

    def add_axes(self, origin: Array) -> None:
        """Occupy the lines through the origin for names; leader lines may cross these faint lines."""
        i, j = (int(np.floor(coordinate / self.unit)) for coordinate in origin)
        if 0 <= i < self.shape[0]:
            self._taken[i, :] = True
        if 0 <= j < self.shape[1]:
            self._taken[:, j] = True

    def add_box(self, left: float, bottom: float, right: float, top: float) -> None:
        """Occupy the cells of the box of a name, and add the box to `boxes`."""
        self.boxes = np.vstack([self.boxes, [left, bottom, right, top]])
        i, j = int(left / self.unit), int(bottom / self.unit)
        self._taken[i : int(right / self.unit) + 1, j : int(top / self.unit) + 1] = True

    def free(self, width: float, height: float) -> Array:
        """Return the lower left corners (m, 2) at which a box of this size (in points) overlaps nothing.

        Only each CELL_STEP-th cell in both directions is tried.
        """
        across, up = (int(np.ceil(side / self.unit)) + 1 for side in (width, height))
        clear = int(np.ceil(CLEARANCE / self.unit))
        corners = None
        for cells, room in (
            (self._marks, int(np.ceil((self._mark_radius + 1) / self.unit)) + 1),
            (self._taken, clear + 1),
        ):
            blocked = any_within(cells, across, up, room)
            corners = ~blocked if corners is None else corners & ~blocked
        assert corners is not None
        corners = corners[clear : corners.shape[0] - clear, clear : corners.shape[1] - clear]
        return np.asarray(
            (np.argwhere(corners[::CELL_STEP, ::CELL_STEP]) * CELL_STEP + clear) * self.unit, dtype=np.float64
        )


def any_within(cells: Cells, across: int, up: int, room: int) -> Cells:
    """Return a mask with an entry for each box of across x up cells: whether an occupied cell of `cells` is in the box.

    The place of an entry is that of the box's lower left cell. A box is first extended by `room` cells on all sides.
    Only boxes inside the lattice have an entry.
    """
    width, height = cells.shape[0] - across + 1, cells.shape[1] - up + 1
    if width <= 0 or height <= 0:
        return np.ones((0, 0), dtype=bool)
    sums = np.zeros((cells.shape[0] + 2 * room + 1, cells.shape[1] + 2 * room + 1), dtype=np.int32)
    sums[1:, 1:] = np.pad(cells, room)
    sums = sums.cumsum(axis=0, out=sums).cumsum(axis=1, out=sums)
    a, b = across + 2 * room, up + 2 * room
    counts = (
        sums[a : a + width, b : b + height]
        - sums[:width, b : b + height]
        - sums[a : a + width, :height]
        + sums[:width, :height]
    )
    return np.asarray(counts > 0)


def place_names(area: OccupiedArea, origin: Array, tips: Array, sizes: Array) -> list[NamePlace | None]:
    """Return the places of m names, in order; None for a name without room.

    `sizes` (m, 2) are the widths and heights of the names, `tips` (m, 2) the ends of their arrows from `origin` (2,).
    The arrows, names and leader lines are added to `area`.
    """
    for tip in tips:
        area.add_line(origin, tip)
    places = []
    for tip, size in zip(tips, sizes, strict=True):
        place = best_place(area, origin, tip, size)
        places.append(place)
        if place is not None:
            area.add_box(*place[:4])
            if place.leader is not None:
                area.add_line(tip, np.array(place.leader))
    return places


def best_place(area: OccupiedArea, origin: Array, tip: Array, size: Array) -> NamePlace | None:
    """Return a free place for a name of `size` (2,) whose arrow runs from `origin` to `tip`; None if none is suitable.

    A place is unsuitable if it is too far from the tip, or if its line to the tip would cross another name. The result
    has the lowest cost of the places that are tried: the CHECKED_FIRST cheapest, then one in CHECKED_EVERY. `area` is
    not changed.
    """
    low = area.free(*size)
    if not len(low):
        return None
    near = np.clip(tip, low, low + size)  # the point of each box that is nearest to the tip
    away = near - tip
    far = np.hypot(*away.T)
    outward = tip - origin
    length = float(np.hypot(*outward)) or 1.0
    middle = low + size / 2 - tip
    along = middle @ (outward / length) / np.maximum(np.hypot(*middle.T), 1e-9)
    cost = far * (1 + INWARD_COST * (1 - along)) + 3 * (1 - along)
    cost[far > LONGEST_LEADER * max(area.width, area.height)] = np.inf
    order = np.argsort(cost, kind="stable")
    order = order[np.isfinite(cost[order])]
    order = np.concatenate([order[:CHECKED_FIRST], order[CHECKED_FIRST::CHECKED_EVERY]])
    best, least_cost = -1, np.inf
    for start in range(0, len(order), CHECKED_FIRST):
        batch = order[start : start + CHECKED_FIRST]
        batch = batch[cost[batch] < least_cost]  # crossings only increase the cost
        if not len(batch):
            break
        segments = np.hstack([np.broadcast_to(tip, near[batch].shape), near[batch]])
        unblocked = (far[batch] <= LEADER_FROM) | (through_boxes(segments, area.boxes) == 0)
        batch, segments = batch[unblocked], segments[unblocked]
        total = cost[batch] + CROSSING_COST * np.where(far[batch] > LEADER_FROM, crossings(segments, area.segments), 0)
        if total.min(initial=np.inf) < least_cost:
            best, least_cost = int(batch[int(np.argmin(total))]), float(total.min())
    if best < 0:
        return None
    leader = None
    if far[best] > LEADER_FROM:
        end = near[best] - away[best] / far[best] * 1.5  # 1.5 points before the name
        leader = (float(end[0]), float(end[1]))
    left, bottom = (float(side) for side in low[best])
    return NamePlace(left, bottom, left + float(size[0]), bottom + float(size[1]), leader)


def crossings(segments: Array, others: Array) -> NDArray[np.int64]:
    """Return for each of `segments` (m, 4) the number of segments in `others` (q, 4) that cross that segment.

    A segment is x and y of its start, then of its end. Segments with a common end point do not cross.
    """
    a, b = segments[:, None, :2], segments[:, None, 2:]
    c, d = others[None, :, :2], others[None, :, 2:]

    def side(p: Array, q: Array, r: Array) -> Array:
        cross: Array = (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (
            r[..., 0] - p[..., 0]
        )
        return cross

    crossing = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
    return np.asarray(crossing.sum(axis=1))


def through_boxes(segments: Array, boxes: Array) -> NDArray[np.int64]:
    """Return for each of `segments` (m, 4) the number of boxes (q, 4), extended by CLEARANCE, that it meets.

    A box is left, bottom, right and top. The method is that of Liang and Barsky (1984).
    """
    start, step = segments[:, None, :2], segments[:, None, 2:] - segments[:, None, :2]
    low, high = boxes[None, :, :2] - CLEARANCE, boxes[None, :, 2:] + CLEARANCE
    step = np.where(np.abs(step) < 1e-9, 1e-9, step)
    at_low, at_high = (low - start) / step, (high - start) / step
    enters = np.minimum(at_low, at_high).max(axis=2)
    leaves = np.maximum(at_low, at_high).min(axis=2)
    return np.asarray(((enters <= leaves) & (leaves >= 0) & (enters <= 1)).sum(axis=1))


# --- on axes ---


def text_sizes(figure: Figure, names: Sequence[str]) -> Array:
    """Return the widths and heights (m, 2) of the names in points.

    Each is the larger of the size in a raster, where letters are rounded to pixels, and the size in .svg and .pdf.
    """
    from matplotlib.text import Text
    from matplotlib.textpath import text_to_path

    sizes = []
    for name in names:
        text = Text(0, 0, name, fontsize=FONT_SIZE, figure=figure)
        box, points = text.get_window_extent(), 72 / figure.dpi
        width, height, _ = text_to_path.get_text_width_height_descent(name, text.get_fontproperties(), False)
        sizes.append((max(box.width * points, width), max(box.height * points, height)))
    return np.array(sizes).reshape(-1, 2)


def draw_names(axes: Axes, tips: Array, names: Sequence[str], places: Sequence[NamePlace | None]) -> None:
    """Draw the names that have a place, with their leader lines.

    `tips` (m, 2), the ends of the arrows, and `places` are in points from the lower left of the axes.

    The limits of the axes must not have changed since the places were computed.
    """
    figure: Any = axes.figure
    corner = axes.get_window_extent()

    def data(x: float, y: float) -> tuple[float, float]:
        pixels = (corner.x0 + x * figure.dpi / 72, corner.y0 + y * figure.dpi / 72)
        point = axes.transData.inverted().transform(pixels)
        return float(point[0]), float(point[1])

    for tip, name, place in zip(tips, names, places, strict=True):
        if place is None:
            continue
        if place.leader is not None:
            (x, y), (u, v) = data(*tip), data(*place.leader)
            axes.plot([x, u], [y, v], color="white", linewidth=2.2, zorder=4.4, scalex=False, scaley=False)
            axes.plot([x, u], [y, v], color=FRAME, linewidth=0.7, zorder=4.5, scalex=False, scaley=False)
        axes.text(
            *data(place.left, place.bottom), name, ha="left", va="bottom", fontsize=FONT_SIZE, color=DARK, zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip
