"""Biplot: rows and columns in one picture (Gabriel 1971), with scores as points and columns as arrows.

The rows X, centred and scaled as in the fit, are approximately Z B^T for two components. A biplot draws the rows of
Z S^-a as points and the rows of B S^a as arrows, with S the standard deviations of the scores. For any a, the inner
product of a point and an arrow approximates the cell of that row and column. With `scaling` "rows", a is 0: distances
between points are those of the scores, and arrows are loadings. With "columns", a is 1: angles between arrows show
correlations of columns, lengths of arrows show standard deviations of columns, and all components have equal variance.
All arrows are multiplied by one factor so that they fill the cloud of points; the picture states this factor.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.options import PictureOptions
from pcatool.render.figures import DARK, MARK, distinct_names, draw_titles
from pcatool.render.plots.arrow_names import NamePlace, OccupiedArea, draw_names, place_names, text_sizes
from pcatool.render.plots.base import PlotData
from pcatool.render.plots.marks import MARGIN, Scale, draw_rows, drawn_places, fit_scale
from pcatool.render.plots.scores import figure_of_rows, rows_subtitle
from pcatool.wording import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Biplot"]

MAX_ARROWS = 60  # the shortest arrows are omitted
ARROW_REACH = (
    0.95  # length of the longest arrow relative to the farthest row, along the component where this comes first
)
# Characters of a name, and room around the rows relative to both sides; tried in this order until all names fit.
NAME_LENGTHS, EXTRA_ROOM = (26, 16), (0.0, 0.1, 0.22, 0.4)
ROOM_COST = (
    4.0  # cost of room, in unplaced names per unit of room: a single name does not justify a far smaller drawing
)


class Biplot:
    """The plot `biplot`: rows as points, columns as arrows."""

    rows: ClassVar[bool] = True
    columns: ClassVar[bool] = True
    default_count: ClassVar[int] = 2
    max_count: ClassVar[int] = 2

    def draw(self, plot_data: PlotData, picture: PictureOptions) -> Figure:
        """Return the figure; `plot_data` must have rows and two components."""
        assert plot_data.cloud is not None
        scale = fit_scale(plot_data.cloud)
        arrows = arrows_of(plot_data)
        order = np.argsort(-np.hypot(*arrows.T), kind="stable")[:MAX_ARROWS]
        order = order[np.hypot(*arrows[order].T) > 0]  # an arrow without length has no direction
        zoom = arrow_scale(arrows[order], scale)
        tips = arrows[order] * zoom
        scale = scale._replace(ends=(axis_limits(scale.ends[0], tips[:, 0]), axis_limits(scale.ends[1], tips[:, 1])))
        figure, axes = figure_of_rows(plot_data, scale, picture)
        draw_rows(figure, axes, plot_data.cloud, scale, faint=True)
        placed = lay_out_best(figure, axes, plot_data, scale, zoom, order, tips)
        color = MARK if plot_data.cloud.hue is None else DARK  # differs from the colours of rows
        draw_arrows(axes, tips, [place is not None for place in placed.places], color)
        draw_names(axes, placed.tips, placed.names, placed.places)
        return figure

    def table(self, plot_data: PlotData) -> dict[str, NDArray[Any]]:
        """Return a table with one row per column of the data: its name, and the end of its arrow from `arrows_of`."""
        columns = np.array(plot_data.columns, dtype=object)
        arrows = arrows_of(plot_data) + 0.0
        return {"column": columns, **{name: arrows[:, m] for m, name in enumerate(plot_data.names)}}


def arrows_of(plot_data: PlotData) -> Array:
    """Return the ends of the arrows (d, 2), not yet multiplied by the common factor from `arrow_scale`."""
    arrows: Array = plot_data.loadings * (plot_data.spreads if plot_data.scaling == "columns" else 1.0)
    return arrows


def arrow_scale(arrows: Array, scale: Scale) -> float:
    """Return the factor, with two significant digits, by which the arrows (m, 2) reach about as far as the rows.

    The arrows reach ARROW_REACH of the farthest row along one component, and stay within the rows along the other. The
    factor is 1 if all arrows have length 0, or all rows are at the origin.
    """
    factor = math.inf
    for m, ends in enumerate(scale.ends):
        low, high = ends
        room = MARGIN / (1 + 2 * MARGIN) * (high - low)  # the margin that `fit_scale` left around the rows
        farthest = max(abs(low + room), abs(high - room))
        longest = float(np.abs(arrows[:, m]).max(initial=0.0))
        factor = min(factor, farthest / longest) if longest > 0 else factor
    if not math.isfinite(factor) or factor <= 0:
        return 1.0
    return float(f"{ARROW_REACH * factor:.1e}")


def axis_limits(ends: tuple[float, float], tips: Array) -> tuple[float, float]:
    """Return the limits `ends` of an axis, extended to contain the origin and the ends `tips` (m,) of all arrows.

    An extended side gets a margin. If the rows are far from the origin, the limits extend past the origin, too.
    """
    low, high = ends
    low_tip, high_tip = float(tips.min(initial=0.0)), float(tips.max(initial=0.0))
    if not (low < -0.25 * high and high > -0.25 * low):  # otherwise the origin would be at the edge
        low_tip, high_tip = min(low_tip, low, -0.25 * high), max(high_tip, high, -0.25 * low)
    room = MARGIN * (max(high, high_tip) - min(low, low_tip))
    return min(low, low_tip - room), max(high, high_tip + room)


class PlacedNames(NamedTuple):
    """Names, their places, and the ends of their arrows, in points (1/72 inch) from the lower left of the axes."""

    names: list[str]
    places: list[NamePlace | None]  # None for a name without a place
    tips: Array  # (m, 2) ends of the arrows

    @property
    def unplaced(self) -> int:
        """Number of names without a place."""
        return sum(place is None for place in self.places)


def lay_out_best(
    figure: Figure, axes: Axes, plot_data: PlotData, scale: Scale, zoom: float, order: NDArray[np.intp], tips: Array
) -> PlacedNames:
    """Draw the title, set the limits of the axes, freeze the layout, and return the names with their places.

    `order` has the index of the column of each arrow, `tips` (m, 2) the end in data coordinates; the title states the
    factor `zoom`. The limits have the least room, and names the most letters, with which all names fit; otherwise those
    of lowest cost by ROOM_COST. The title states the number of names without a place, which depends on the height of
    the title, so both are computed until they agree; the title never loses lines, so that this ends.
    """
    shortened = {length: distinct_names(plot_data.columns, length) for length in NAME_LENGTHS}
    names = {length: [shortened[length][j] for j in order] for length in NAME_LENGTHS}
    sizes = {length: text_sizes(figure, names[length]) for length in NAME_LENGTHS}
    least_cost, best = math.inf, (NAME_LENGTHS[0], EXTRA_ROOM[0])
    for length, room in ((length, room) for length in NAME_LENGTHS for room in EXTRA_ROOM):
        _, artists = draw_titles(figure, axes, "Biplot", subtitle(plot_data, scale, zoom, len(tips), 0))
        placed = lay_out(figure, axes, plot_data, scale, room, tips, names[length], sizes[length])
        remove_artists(artists)
        if placed.unplaced + ROOM_COST * room < least_cost:
            least_cost, best = placed.unplaced + ROOM_COST * room, (length, room)
        if not placed.unplaced:
            break
    length, room = best
    lines, unplaced = 0, 0
    while True:
        before = lines, unplaced
        lines, artists = draw_titles(
            figure, axes, "Biplot", subtitle(plot_data, scale, zoom, len(tips), unplaced), min_lines=lines
        )
        placed = lay_out(figure, axes, plot_data, scale, room, tips, names[length], sizes[length])
        unplaced = placed.unplaced
        if (lines, unplaced) == before:
            figure.set_layout_engine("none")
            return placed
        remove_artists(artists)


def remove_artists(drawn: list[Any]) -> None:
    for artist in drawn:
        artist.remove()


def lay_out(
    figure: Figure,
    axes: Axes,
    plot_data: PlotData,
    scale: Scale,
    room: float,
    tips: Array,
    names: list[str],
    sizes: Array,
) -> PlacedNames:
    """Extend the axes by `room` relative to their sides, lay out the figure, and return the places of names.

    tips (m, 2): ends of the arrows in data coordinates. sizes (m, 2): of the names, in points.
    """
    (left, right), (bottom, top) = scale.ends
    across, up = room * (right - left) / 2, room * (top - bottom) / 2
    axes.set(xlim=(left - across, right + across), ylim=(bottom - up, top + up))
    # With equal scales matplotlib changes the length of one axis, but keeps these data limits visible; they include the
    # arrows.
    axes.dataLim.set_points(np.array([(left - across, bottom - up), (right + across, top + up)]))
    figure.draw_without_rendering()
    corner = axes.get_window_extent()
    points = 72 / figure.dpi
    area = OccupiedArea(corner.width * points, corner.height * points)

    def in_points(data: Array) -> Array:
        points_within: Array = (axes.transData.transform(data) - (corner.x0, corner.y0)) * points
        return points_within

    assert plot_data.cloud is not None
    rows, radius = drawn_places(plot_data.cloud, scale)
    area.add_marks(in_points(rows), radius)
    origin, ends = in_points(np.zeros((1, 2)))[0], in_points(tips)
    area.add_axes(origin)
    return PlacedNames(names, place_names(area, origin, ends, sizes), ends)


def subtitle(plot_data: PlotData, scale: Scale, zoom: float, drawn: int, unnamed: int) -> str:
    """Return the text below the title: rows, model, factor of the arrows, and numbers of arrows and missing names.

    drawn: number of arrows in the picture. unnamed: number of these without a name.
    """
    assert plot_data.cloud is not None
    parts = [rows_subtitle(plot_data, plot_data.cloud, scale)]
    if plot_data.scaling == "columns":
        parts.append("scores divided by their standard deviation")
    lengths = "loadings" if plot_data.scaling == "rows" else "loadings x standard deviation of the component"
    parts.append(f"arrows: {lengths} x {zoom:g}")
    if len(plot_data.columns) > drawn:
        parts.append(
            f"the {drawn} longest of {grouped(len(plot_data.columns))} arrows"
            + (f", {unnamed} of them without a name" * bool(unnamed))
        )
    elif unnamed:
        parts.append(f"{unnamed} of {drawn} arrows without a name")
    return "; ".join(parts)


def draw_arrows(axes: Axes, tips: Array, has_name: list[bool], color: str) -> None:
    """Draw arrows from the origin to `tips` (m, 2); arrows without a name are thin and faint."""
    for (x, y), labelled in zip(tips.tolist(), has_name, strict=True):
        axes.annotate(
            "", (x, y), xytext=(0, 0), zorder=4 if labelled else 3, annotation_clip=False,
            arrowprops={"arrowstyle": "-|>" if labelled else "-", "color": color, "alpha": 1.0 if labelled else 0.45,
                        "linewidth": 1.3 if labelled else 0.7, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
