"""Biplot: rows and columns in one picture (Gabriel 1971), with scores as points and columns as arrows.

The rows X, centred and scaled as in the fit, are approximately Z B^T for two components. A biplot draws the rows of
Z S^-a as points and the rows of B S^a as arrows, with S the standard deviations of the scores. For any a, the inner
product of a point and an arrow is the approximation of that cell. With `scaling` "rows", a is 0: distances between
points are those of the scores, and arrows are loadings. With "columns", a is 1: angles between arrows show correlations
of columns, lengths of arrows show standard deviations of columns, and all components have equal variance. All arrows
are multiplied by one factor so that they fill the cloud of points; the picture states this factor.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.options import PictureOptions
from pcatool.render.figures import DARK, MARK, distinct_names, titled
from pcatool.render.plots.base import View
from pcatool.render.plots.marks import MARGIN, Scale, draw_rows, fit_scale, places_of_rows
from pcatool.render.plots.names import NamePlace, OccupiedArea, draw_names, place_names, sizes_of
from pcatool.render.plots.scores import described, figure_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Biplot"]

DRAWN = 60  # most arrows; the shortest are omitted
REACH = 0.95  # length of the longest arrow relative to the farthest row, along the component where this comes first
# Most characters of a name, and room around the rows relative to both sides; tried in this order until all names fit.
LETTERS, ROOMS = (26, 16), (0.0, 0.1, 0.22, 0.4)
WORTH = 4.0  # cost of room, in unplaced names per unit of room: a single name does not justify a far smaller drawing


class Biplot:
    """The plot `biplot`: rows as points, columns as arrows."""

    rows: ClassVar[bool] = True
    columns: ClassVar[bool] = True
    usual: ClassVar[int] = 2
    most: ClassVar[int] = 2

    def draw(self, view: View, look: PictureOptions) -> Figure:
        """Return the figure; the view must have rows and two components."""
        assert view.cloud is not None
        scale = fit_scale(view.cloud)
        arrows = arrows_of(view)
        order = np.argsort(-np.hypot(*arrows.T), kind="stable")[:DRAWN]
        order = order[np.hypot(*arrows[order].T) > 0]  # an arrow without length has no direction
        zoom = filling(arrows[order], scale)
        tips = arrows[order] * zoom
        scale = scale._replace(ends=(around(scale.ends[0], tips[:, 0]), around(scale.ends[1], tips[:, 1])))
        figure, axes = figure_of_rows(view, scale, look)
        draw_rows(figure, axes, view.cloud, scale, faint=True)
        named = arrange(figure, axes, view, scale, zoom, order, tips)
        color = MARK if view.cloud.hue is None else DARK  # differs from the colours of rows
        draw_arrows(axes, tips, [place is not None for place in named.places], color)
        draw_names(axes, named.tips, named.names, named.places)
        return figure

    def table(self, view: View) -> dict[str, NDArray[Any]]:
        """Return the ends of the arrows per column, unscaled."""
        columns = np.array(view.columns, dtype=object)
        arrows = arrows_of(view) + 0.0
        return {"column": columns, **{name: arrows[:, m] for m, name in enumerate(view.names)}}


def arrows_of(view: View) -> Array:
    """Return the ends of the arrows (d, 2), before they are scaled to the rows."""
    arrows: Array = view.loadings * (view.spreads if view.scaling == "columns" else 1.0)
    return arrows


def filling(arrows: Array, scale: Scale) -> float:
    """Return the factor, with two digits, by which all arrows are multiplied to reach as far as the rows.

    The arrows reach REACH of the farthest row along one component, and stay within the rows along the other.
    """
    least = math.inf
    for m, ends in enumerate(scale.ends):
        low, high = ends
        room = MARGIN / (1 + 2 * MARGIN) * (high - low)  # the margin that `fit_scale` left around the rows
        farthest = max(abs(low + room), abs(high - room))
        longest = float(np.abs(arrows[:, m]).max(initial=0.0))
        least = min(least, farthest / longest) if longest > 0 else least
    if not math.isfinite(least) or least <= 0:
        return 1.0
    return float(f"{REACH * least:.1e}")


def around(ends: tuple[float, float], tips: Array) -> tuple[float, float]:
    """Return the ends of an axis, extended to contain the origin and all arrows, with room around far rows."""
    low, high = ends
    least, most = float(tips.min(initial=0.0)), float(tips.max(initial=0.0))
    if not (low < -0.25 * high and high > -0.25 * low):  # otherwise the origin would be at the edge
        least, most = min(least, low, -0.25 * high), max(most, high, -0.25 * low)
    room = MARGIN * (max(high, most) - min(low, least))
    return min(low, least - room), max(high, most + room)


class Named(NamedTuple):
    """Names with their places and the ends of their arrows, in points (1/72 inch) within the axes."""

    names: list[str]
    places: list[NamePlace | None]  # None for a name without a place
    tips: Array  # (m, 2) ends of the arrows

    @property
    def without(self) -> int:
        """Number of names without a place."""
        return sum(place is None for place in self.places)


def arrange(
    figure: Figure, axes: Axes, view: View, scale: Scale, zoom: float, order: NDArray[np.intp], tips: Array
) -> Named:
    """Set the limits of the axes, the title, and the places of names; return the names with their places.

    The axes get the least room in which all names fit, or the room with the lowest cost in WORTH. The title states how
    many names have no place, which depends on the room that the title leaves. So the steps are repeated until they
    agree; the number of title lines may only grow, so that the loop ends.
    """
    apart = {most: distinct_names(view.columns, most) for most in LETTERS}
    names = {most: [apart[most][j] for j in order] for most in LETTERS}
    sizes = {most: sizes_of(figure, names[most]) for most in LETTERS}
    least, best = math.inf, (LETTERS[0], ROOMS[0])
    for letters, room in ((letters, room) for letters in LETTERS for room in ROOMS):
        _, drawn = titled(figure, axes, "Biplot", said(view, scale, zoom, len(tips), 0))
        found = settle(figure, axes, view, scale, room, tips, names[letters], sizes[letters])
        remove(drawn)
        if found.without + WORTH * room < least:
            least, best = found.without + WORTH * room, (letters, room)
        if not found.without:
            break
    letters, room = best
    rows, without = 0, 0
    while True:
        before = rows, without
        rows, drawn = titled(figure, axes, "Biplot", said(view, scale, zoom, len(tips), without), rows=rows)
        found = settle(figure, axes, view, scale, room, tips, names[letters], sizes[letters])
        without = found.without
        if (rows, without) == before:
            figure.set_layout_engine("none")
            return found
        remove(drawn)


def remove(drawn: list[Any]) -> None:
    for artist in drawn:
        artist.remove()


def settle(
    figure: Figure, axes: Axes, view: View, scale: Scale, room: float, tips: Array, names: list[str], sizes: Array
) -> Named:
    """Extend the axes by `room` relative to their sides, lay out the figure, and place the names."""
    (left, right), (bottom, top) = scale.ends
    across, up = room * (right - left) / 2, room * (top - bottom) / 2
    axes.set(xlim=(left - across, right + across), ylim=(bottom - up, top + up))
    # With equal scales matplotlib changes the length of one axis, but keeps these data limits visible; they include the
    # arrows.
    axes.dataLim.set_points(np.array([(left - across, bottom - up), (right + across, top + up)]))
    figure.draw_without_rendering()
    corner = axes.get_window_extent()
    points = 72 / figure.dpi
    ground = OccupiedArea(corner.width * points, corner.height * points)

    def inside(data: Array) -> Array:
        found: Array = (axes.transData.transform(data) - (corner.x0, corner.y0)) * points
        return found

    assert view.cloud is not None
    rows, reach = places_of_rows(view.cloud, scale)
    ground.add_marks(inside(rows), reach)
    origin, ends = inside(np.zeros((1, 2)))[0], inside(tips)
    ground.add_axes(origin)
    return Named(names, place_names(ground, origin, ends, sizes), ends)


def said(view: View, scale: Scale, zoom: float, drawn: int, unnamed: int) -> str:
    """Return the text below the title: rows, model and arrows, and what is not drawn or named."""
    assert view.cloud is not None
    told = [described(view, view.cloud, scale)]
    if view.scaling == "columns":
        told.append("scores divided by their standard deviation")
    what = "loadings" if view.scaling == "rows" else "loadings times the standard deviation"
    told.append(f"arrows: {what} x {zoom:g}")
    if len(view.columns) > drawn:
        told.append(f"the {drawn} longest of {len(view.columns)}" + (f", {unnamed} of them unlabelled" * bool(unnamed)))
    elif unnamed:
        told.append(f"{unnamed} of {drawn} unlabelled")
    return "; ".join(told)


def draw_arrows(axes: Axes, tips: Array, named: list[bool], color: str) -> None:
    """Draw arrows from the origin to `tips` (m, 2); arrows without a name are thin and faint."""
    for (x, y), bold in zip(tips.tolist(), named, strict=True):
        axes.annotate(
            "", (x, y), xytext=(0, 0), zorder=4 if bold else 3, annotation_clip=False,
            arrowprops={"arrowstyle": "-|>" if bold else "-", "color": color, "alpha": 1.0 if bold else 0.45,
                        "linewidth": 1.3 if bold else 0.7, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
