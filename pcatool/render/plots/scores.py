"""The plot of scores: two components as points in a plane, or one component as a histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pcatool.options import PictureOptions
from pcatool.render.figures import FRAME, GRID, KEPT, clean, draw_titles, new_figure
from pcatool.render.plots.base import PlotData
from pcatool.render.plots.marks import Scale, color_of, draw_rows, fit_scale, legend_of_groups
from pcatool.render.plots.points import ALL, RowCollector
from pcatool.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Scores", "figure_of_rows", "rows_subtitle"]

# Inches: width of the axes, and the bounds of their height, which depends on the rows.
AXES_WIDTH, MIN_HEIGHT, MAX_HEIGHT = 6.2, 3.2, 6.8
# Inches: beside the axes, for a legend, and above and below the axes.
SIDE_WIDTH, LEGEND_WIDTH, VERTICAL_MARGIN = 1.5, 1.1, 1.3
MIN_BARS, MAX_BARS = 8, 64  # bars of a histogram


class Scores:
    """The plot `scores`: the rows in the plane of two components, or along one."""

    rows: ClassVar[bool] = True
    columns: ClassVar[bool] = False
    default_count: ClassVar[int] = 2
    max_count: ClassVar[int] = 2

    def draw(self, plot_data: PlotData, picture: PictureOptions) -> Figure:
        """Return the figure; `plot_data` must have rows and one or two components."""
        cloud = plot_data.cloud
        assert cloud is not None
        if len(plot_data.axes) == 1:
            return histogram(plot_data, cloud, picture)
        scale = fit_scale(cloud)
        figure, axes = figure_of_rows(plot_data, scale, picture)
        draw_titles(figure, axes, "Scores of rows", rows_subtitle(plot_data, cloud, scale))
        draw_rows(figure, axes, cloud, scale)
        return figure

    def table(self, plot_data: PlotData) -> dict[str, NDArray[Any]]:
        """Return an empty table: the plot shows no columns of the data."""
        return {}


def figure_of_rows(plot_data: PlotData, scale: Scale, picture: PictureOptions) -> tuple[Figure, Axes]:
    """Return a figure with empty axes for the rows, with equal scales of both components if `scale.equal`."""
    (left, right), (bottom, top) = scale.ends
    height = AXES_WIDTH * (top - bottom) / (right - left) if scale.equal else 0.75 * AXES_WIDTH
    side = SIDE_WIDTH + (LEGEND_WIDTH if plot_data.cloud is not None and plot_data.cloud.by_class else 0.0)
    figure = new_figure(picture, (AXES_WIDTH + side, min(max(height, MIN_HEIGHT), MAX_HEIGHT) + VERTICAL_MARGIN))
    axes = figure.subplots()
    clean(axes)
    for line in (axes.axhline, axes.axvline):
        line(0, color=GRID, linewidth=1.6, zorder=0)
    axes.set(xlim=(left, right), ylim=(bottom, top))
    if scale.equal:
        axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(axis_label(plot_data, 0, scale.text))
    axes.set_ylabel(axis_label(plot_data, 1, scale.text))
    plain_ticks(axes)
    return figure, axes


def plain_ticks(axes: Axes) -> None:
    """Show tick labels without offset and power of ten, because `fit_scale` has already divided large values."""
    for side in (axes.xaxis, axes.yaxis):
        side.get_major_formatter().set_useOffset(False)  # type: ignore[attr-defined]
        side.get_major_formatter().set_scientific(False)  # type: ignore[attr-defined]


def axis_label(plot_data: PlotData, position: int, unit: str) -> str:
    """Return the axis label: component, `unit` (the power of ten divided out, as text), and share of the variance."""
    name, separator, share = plot_data.title(position).partition(" (")
    return f"{name}{unit}{separator}{share}"


def rows_subtitle(plot_data: PlotData, cloud: RowCollector, scale: Scale | None = None) -> str:
    """Return the text below the title: the number of rows and of rows without scores, the model, unequal scales.

    Without `scale`, the scales of the axes are not mentioned.
    """
    without_scores = f", and {counted(cloud.left_out, 'row')} without scores" if cloud.left_out else ""
    parts = [f"{counted(cloud.rows, 'row')}{without_scores}"]
    parts += [plot_data.brief] if plot_data.brief else []
    parts += ["the two axes have different scales"] if scale is not None and not scale.equal else []
    return "; ".join(parts)


def histogram(plot_data: PlotData, cloud: RowCollector, picture: PictureOptions) -> Figure:
    """Return the figure of a histogram of one component, with stacked bars for classes."""
    assert cloud.grid is not None and cloud.grid.sides is not None
    side = cloud.grid.sides[0]
    max_bars = min(max(int(2 * cloud.rows**0.5), MIN_BARS), MAX_BARS)
    cells_per_bar = 1
    while -(-(side.cells + 1) // cells_per_bar) > max_bars:
        cells_per_bar *= 2
    scale = fit_scale(cloud)
    figure = new_figure(picture, (AXES_WIDTH + SIDE_WIDTH, 4.6))
    axes = figure.subplots()
    draw_titles(figure, axes, "Scores of rows", rows_subtitle(plot_data, cloud))
    skip = side.first % cells_per_bar  # aligns the bars with the lattice of the grid
    count = -(-(skip + side.cells) // cells_per_bar)
    edges = [side.edge(cells_per_bar * i - skip, scale.unit) for i in range(count + 1)]

    def heights(numbers: tuple[int, ...]) -> NDArray[np.float64]:
        assert cloud.grid is not None
        layers = [cloud.grid.layer(number)[:, 0] for number in numbers if number in cloud.grid.numbers]
        cells = np.zeros(cells_per_bar * count)
        cells[skip : skip + side.cells] = np.sum(layers, axis=0) if layers else 0
        return np.asarray(cells.reshape(-1, cells_per_bar).sum(axis=1))

    below = np.zeros(count)
    for numbers, color in (
        [(group.numbers, color_of(group)) for group in cloud.groups()] if cloud.by_class else [((ALL,), KEPT)]
    ):
        counts = heights(numbers)
        axes.bar(edges[:-1], counts, np.diff(edges), bottom=below, align="edge", color=color, edgecolor="white",
                 linewidth=0.4)  # fmt: skip
        below = below + counts
    if cloud.by_class:
        legend_of_groups(axes, cloud, ["s"] * len(cloud.groups()))
    clean(axes, "y")
    axes.set_ylim(0, 1.06 * float(below.max(initial=1.0)))
    # Limits from the bars alone: the line at 0 would otherwise compress scores far from 0 (rows not centred) to a line.
    ends = axes.get_xlim()
    axes.axvline(0, color=FRAME, linewidth=0.8)
    axes.set_xlim(ends)
    axes.set_xlabel(axis_label(plot_data, 0, scale.text))
    axes.set_ylabel("rows")
    plain_ticks(axes)
    return figure
