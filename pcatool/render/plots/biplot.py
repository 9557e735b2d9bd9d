"""Rows and columns in one picture (Gabriel 1971): scores as places, columns as arrows.

The rows X, centred and scaled as in the fit, are about Z B^T of two components. A biplot draws the rows of Z S^-a and
the columns as rows of B S^a, with S the standard deviations of the scores, so that the product of a row and an arrow is
what the components say of that cell, whatever a is. With `scaling` "rows" a is 0: distances of rows are those of their
scores, and arrows are loadings. With "columns" a is 1: angles between arrows show how columns correlate, their
lengths the standard deviations of columns, and rows lie as if all components had the same variance. Only the common
length of all arrows is chosen to fill the cloud; the picture says by how much.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.options import PictureOptions
from pcatool.render.figures import DARK, MARK, titled, told_apart
from pcatool.render.plots.base import View
from pcatool.render.plots.marks import MARGIN, Scale, draw_rows, fit_scale, places_of_rows
from pcatool.render.plots.names import Ground, NamePlace, draw_names, place_names, sizes_of
from pcatool.render.plots.scores import described, figure_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Biplot"]

DRAWN = 60  # arrows: of more columns the shortest are left out
REACH = 0.95  # of the way to the farthest row, along the component where that comes first, that the arrows go
# Letters of a name, and how much room is left around the rows, as a part of both sides: tried one after the other until
# all names have a place.
LETTERS, ROOMS = (26, 16), (0.0, 0.1, 0.22, 0.4)
WORTH = 4.0  # names, of as much room again as the rows take: one more name is no reason to draw all far smaller


class Biplot:
    """Rows as places, columns as arrows."""

    rows: ClassVar[bool] = True
    columns: ClassVar[bool] = True
    usual: ClassVar[int] = 2
    most: ClassVar[int] = 2

    def draw(self, view: View, look: PictureOptions) -> Figure:
        assert view.cloud is not None
        scale = fit_scale(view.cloud)
        arrows = arrows_of(view)
        order = np.argsort(-np.hypot(*arrows.T), kind="stable")[:DRAWN]
        order = order[np.hypot(*arrows[order].T) > 0]  # what has no length has no direction to name
        zoom = filling(arrows[order], scale)
        tips = arrows[order] * zoom
        scale = scale._replace(ends=(around(scale.ends[0], tips[:, 0]), around(scale.ends[1], tips[:, 1])))
        figure, axes = figure_of_rows(view, scale, look)
        draw_rows(figure, axes, view.cloud, scale, faint=True)
        named = arrange(figure, axes, view, scale, zoom, order, tips)
        color = MARK if view.cloud.hue is None else DARK  # apart from the colours of rows
        draw_arrows(axes, tips, [place is not None for place in named.places], color)
        draw_names(axes, named.tips, named.names, named.places)
        return figure

    def table(self, view: View) -> dict[str, NDArray[Any]]:
        columns = np.array(view.columns, dtype=object)
        arrows = arrows_of(view) + 0.0
        return {"column": columns, **{name: arrows[:, m] for m, name in enumerate(view.names)}}


def arrows_of(view: View) -> Array:
    """(d, 2) where the arrows end, before they are made to fit."""
    arrows: Array = view.loadings * (view.spreads if view.scaling == "columns" else 1.0)
    return arrows


def filling(arrows: Array, scale: Scale) -> float:
    """By how much all arrows are longer so that they go as far from the origin as the rows, with two digits.

    They do so along one component, and stay within the rows along the other.
    """
    least = math.inf
    for m, ends in enumerate(scale.ends):
        low, high = ends
        room = MARGIN / (1 + 2 * MARGIN) * (high - low)  # which `fit_scale` left around the rows
        farthest = max(abs(low + room), abs(high - room))
        longest = float(np.abs(arrows[:, m]).max(initial=0.0))
        least = min(least, farthest / longest) if longest > 0 else least
    if not math.isfinite(least) or least <= 0:
        return 1.0
    return float(f"{REACH * least:.1e}")


def around(ends: tuple[float, float], tips: Array) -> tuple[float, float]:
    """A side with the origin and the ends of all arrows in it, and some around rows that lie far from them."""
    low, high = ends
    least, most = float(tips.min(initial=0.0)), float(tips.max(initial=0.0))
    if not (low < -0.25 * high and high > -0.25 * low):  # the origin would be at the edge
        least, most = min(least, low, -0.25 * high), max(most, high, -0.25 * low)
    room = MARGIN * (max(high, most) - min(low, least))
    return min(low, least - room), max(high, most + room)


class Named(NamedTuple):
    """Names and where they lie, and where their arrows end, in points of the axes."""

    names: list[str]
    places: list[NamePlace | None]
    tips: Array

    @property
    def without(self) -> int:
        """How many names have no place."""
        return sum(place is None for place in self.places)


def arrange(
    figure: Figure, axes: Axes, view: View, scale: Scale, zoom: float, order: NDArray[np.intp], tips: Array
) -> Named:
    """Settle the sides, the title and the places of names: as much room as the names need, or most of them.

    What the title says depends on how many names have a place, which depends on the room that the title leaves: its
    lines may only become more from one try to the next, so that this ends.
    """
    apart = {most: told_apart(view.columns, most) for most in LETTERS}
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
    """The axes with so much room around, arranged, and the names in it."""
    (left, right), (bottom, top) = scale.ends
    across, up = room * (right - left) / 2, room * (top - bottom) / 2
    axes.set(xlim=(left - across, right + across), ylim=(bottom - up, top + up))
    # With one scale for both sides one of them is made longer, or else shorter, as far as this: arrows count, too.
    axes.dataLim.set_points(np.array([(left - across, bottom - up), (right + across, top + up)]))
    figure.draw_without_rendering()
    corner = axes.get_window_extent()
    points = 72 / figure.dpi
    ground = Ground(corner.width * points, corner.height * points)

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
    """What the picture is of, and what it leaves out."""
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
    """Those with a name stand out."""
    for (x, y), bold in zip(tips.tolist(), named, strict=True):
        axes.annotate(
            "", (x, y), xytext=(0, 0), zorder=4 if bold else 3, annotation_clip=False,
            arrowprops={"arrowstyle": "-|>" if bold else "-", "color": color, "alpha": 1.0 if bold else 0.45,
                        "linewidth": 1.3 if bold else 0.7, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
