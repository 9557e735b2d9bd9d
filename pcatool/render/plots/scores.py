"""The plot of scores: two components as points in a plane, or one component as a histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pcatool.options import PictureOptions
from pcatool.render.figures import FRAME, GRID, KEPT, clean, new_figure, titled
from pcatool.render.plots.base import View
from pcatool.render.plots.marks import Scale, color_of, draw_rows, fit_scale, legend_of_groups
from pcatool.render.plots.points import ALL, RowCollector
from pcatool.render.text import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Scores", "described", "figure_of_rows"]

# Inches: width of the axes, and the bounds of their height, which depends on the rows.
ACROSS, LOWEST, HIGHEST = 6.2, 3.2, 6.8
BESIDE, LEGEND, ABOVE = 1.5, 1.1, 1.3  # inches beside the axes, for a legend, and above and below the axes
FEWEST, MOST = 8, 64  # bounds of the number of histogram bars


class Scores:
    """The plot `scores`: the rows in the plane of two components, or along one."""

    rows: ClassVar[bool] = True
    columns: ClassVar[bool] = False
    usual: ClassVar[int] = 2
    most: ClassVar[int] = 2

    def draw(self, view: View, look: PictureOptions) -> Figure:
        """Return the figure; the view must have rows and one or two components."""
        cloud = view.cloud
        assert cloud is not None
        if len(view.axes) == 1:
            return bars(view, cloud, look)
        scale = fit_scale(cloud)
        figure, axes = figure_of_rows(view, scale, look)
        titled(figure, axes, "Scores of rows", described(view, cloud, scale))
        draw_rows(figure, axes, cloud, scale)
        return figure

    def table(self, view: View) -> dict[str, NDArray[Any]]:
        """Return an empty table: the plot shows no columns of the data."""
        return {}


def figure_of_rows(view: View, scale: Scale, look: PictureOptions) -> tuple[Figure, Axes]:
    """Return a figure with empty axes for the rows, with equal scales of both components if `scale.equal`."""
    (left, right), (bottom, top) = scale.ends
    high = ACROSS * (top - bottom) / (right - left) if scale.equal else 0.75 * ACROSS
    beside = BESIDE + (LEGEND if view.cloud is not None and view.cloud.by_class else 0.0)
    figure = new_figure(look, (ACROSS + beside, min(max(high, LOWEST), HIGHEST) + ABOVE))
    axes = figure.subplots()
    clean(axes)
    for line in (axes.axhline, axes.axvline):
        line(0, color=GRID, linewidth=1.6, zorder=0)
    axes.set(xlim=(left, right), ylim=(bottom, top))
    if scale.equal:
        axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(named(view, 0, scale.text))
    axes.set_ylabel(named(view, 1, scale.text))
    plain_ticks(axes)
    return figure, axes


def plain_ticks(axes: Axes) -> None:
    """Switch off offsets and powers of ten of the tick labels: `fit_scale` has already divided large values."""
    for side in (axes.xaxis, axes.yaxis):
        side.get_major_formatter().set_useOffset(False)  # type: ignore[attr-defined]
        side.get_major_formatter().set_scientific(False)  # type: ignore[attr-defined]


def named(view: View, at: int, unit: str) -> str:
    """Return the axis label: the component, the power of ten divided out, and the share."""
    name, bracket, share = view.title(at).partition(" (")
    return f"{name}{unit}{bracket}{share}"


def described(view: View, cloud: RowCollector, scale: Scale | None = None) -> str:
    """Return the text below the title: the number of rows, rows without scores, the model, and unequal scales."""
    more = f", {grouped(cloud.left_out)} more without scores" if cloud.left_out else ""
    said = [f"{grouped(cloud.rows)} row{'s' if cloud.rows != 1 else ''}{more}"]
    said += [view.brief] if view.brief else []
    said += ["the two axes have different scales"] if scale is not None and not scale.equal else []
    return "; ".join(said)


def bars(view: View, cloud: RowCollector, look: PictureOptions) -> Figure:
    """Return the figure of a histogram of one component, with stacked bars for classes."""
    assert cloud.grid is not None and cloud.grid.sides is not None
    side = cloud.grid.sides[0]
    most = min(max(int(2 * cloud.rows**0.5), FEWEST), MOST)
    fold = 1
    while -(-(side.cells + 1) // fold) > most:
        fold *= 2
    scale = fit_scale(cloud)
    figure = new_figure(look, (ACROSS + BESIDE, 4.6))
    axes = figure.subplots()
    titled(figure, axes, "Scores of rows", described(view, cloud))
    skip = side.first % fold  # aligns the bars with the lattice of the grid
    count = -(-(skip + side.cells) // fold)
    edges = [side.edge(fold * i - skip, scale.unit) for i in range(count + 1)]

    def heights(numbers: tuple[int, ...]) -> NDArray[np.float64]:
        assert cloud.grid is not None
        there = [cloud.grid.layer(number)[:, 0] for number in numbers if number in cloud.grid.numbers]
        cells = np.zeros(fold * count)
        cells[skip : skip + side.cells] = np.sum(there, axis=0) if there else 0
        return np.asarray(cells.reshape(-1, fold).sum(axis=1))

    below = np.zeros(count)
    for numbers, color in (
        [(group.numbers, color_of(group)) for group in cloud.groups()] if cloud.by_class else [((ALL,), KEPT)]
    ):
        more = heights(numbers)
        axes.bar(edges[:-1], more, np.diff(edges), bottom=below, align="edge", color=color, edgecolor="white",
                 linewidth=0.4)  # fmt: skip
        below = below + more
    if cloud.by_class:
        legend_of_groups(axes, cloud, ["s"] * len(cloud.groups()))
    clean(axes, "y")
    axes.set_ylim(0, 1.06 * float(below.max(initial=1.0)))
    # Limits from the bars alone: the line at 0 would otherwise compress scores far from 0 (rows not centred) to a line.
    ends = axes.get_xlim()
    axes.axvline(0, color=FRAME, linewidth=0.8)
    axes.set_xlim(ends)
    axes.set_xlabel(named(view, 0, scale.text))
    axes.set_ylabel("rows")
    plain_ticks(axes)
    return figure
