"""The plot of loadings: bars of the largest loadings of each component."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import UsageError
from pcatool.options import PictureOptions
from pcatool.render.figures import (
    DARK,
    FRAME,
    NEGATIVE,
    POSITIVE,
    clean,
    distinct_names,
    draw_titles,
    new_figure,
    signed,
)
from pcatool.render.plots.base import PlotData
from pcatool.wording import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Loadings"]

MAX_BARS = 20  # bars of one component
NAME_LENGTHS = (24, 18, 13, 10, 7)  # characters of a name; the first that leaves room for the bars is used
NAME_FONT = 9.0  # font size of names, in points
# Lengths in inches.
WIDTH, SINGLE_WIDTH = 9.0, 6.5  # usual width of the picture, and with a single panel
BAR_HEIGHT, MIN_BAR_HEIGHT = 0.24, 0.16  # usual height of a bar, and the least that its name needs
TOP_ROOM, BOTTOM_ROOM, PANEL_HEAD = 0.8, 0.55, 0.36  # room above all panels, below all panels, and above each panel
MIN_BARS_WIDTH = 1.0  # least width of the bars of a panel, with the space around
# Lengths in points.
PANEL_TITLE = 18.0  # height of the title of a panel
NUMBER_FONT, NUMBER_GAP = 7.5, 3.0  # font size of numbers beside bars; gap between bar and number
MIN_TICK_DISTANCE = 30.0


class PanelGrid(NamedTuple):
    """Layout of the picture: panels, bars per panel, length of names."""

    across: int  # panels side by side
    down: int  # rows of panels
    bars: int  # bars per panel
    name_length: int  # characters per name
    size: tuple[float, float]  # of the picture, in inches


class Loadings:
    """The plot `loadings`: one panel of bars per component."""

    rows: ClassVar[bool] = False
    columns: ClassVar[bool] = True
    default_count: ClassVar[int] = 4
    max_count: ClassVar[int] = 12

    def draw(self, plot_data: PlotData, picture: PictureOptions) -> Figure:
        """Return the figure; raise UsageError if the requested size is too small."""
        grid = panel_grid(plot_data, picture)
        names = distinct_names(plot_data.columns, grid.name_length)
        figure = new_figure(picture, grid.size)
        panels = figure.subplots(grid.down, grid.across, squeeze=False, sharex=True).ravel()
        draw_titles(figure, panels[0], "Loadings", subtitle(plot_data, grid), gap=PANEL_TITLE)
        for axes in panels[len(plot_data.axes) :]:
            axes.set_visible(False)
        shown = panels[: len(plot_data.axes)]
        for m, axes in enumerate(shown):
            draw_bars(axes, plot_data, m, names, grid.bars)
            last = m >= len(plot_data.axes) - grid.across
            axes.set_xlabel("loading" if last else "")
            axes.tick_params(labelbottom=last)
        peak = float(np.abs(plot_data.loadings).max(initial=0.0)) or 1.0
        shown[0].set_xlim(-1.3 * peak, 1.3 * peak)
        figure.draw_without_rendering()  # computes the layout, which sets the width of the bars
        figure.set_layout_engine("none")
        draw_numbers(figure, shown, plot_data, grid.bars, peak)
        return figure

    def table(self, plot_data: PlotData) -> dict[str, NDArray[Any]]:
        """Return a table with one row per column of the data: its name, then its loading on each component."""
        columns = np.array(plot_data.columns, dtype=object)
        return {"column": columns, **{name: plot_data.loadings[:, m] + 0.0 for m, name in enumerate(plot_data.names)}}


def panel_grid(plot_data: PlotData, picture: PictureOptions) -> PanelGrid:
    """Return a layout with room for names and bars, in the size of `picture`, or else in the size that panels need.

    Raise UsageError if the requested size is too small.
    """
    count, bars = len(plot_data.axes), min(len(plot_data.columns), MAX_BARS)
    across = min(count, 2)
    width = picture.size[0] if picture.size else (WIDTH if across > 1 else SINGLE_WIDTH)
    shown = sorted({int(j) for m in range(count) for j in largest(plot_data, m, bars)})
    widths = {length: widest([distinct_names(plot_data.columns, length)[j] for j in shown]) for length in NAME_LENGTHS}
    fitting = [
        (length, n) for n in (across, 1) for length in NAME_LENGTHS if widths[length] <= width / n - MIN_BARS_WIDTH
    ]
    name_length, across = fitting[0] if fitting else (NAME_LENGTHS[-1], 1)
    down = math.ceil(count / across)
    if picture.size is None:
        size = (width, TOP_ROOM + BOTTOM_ROOM + down * (PANEL_HEAD + BAR_HEIGHT * max(bars, 3)))
        return PanelGrid(across, down, bars, name_length, size)
    room = (picture.size[1] - TOP_ROOM - BOTTOM_ROOM) / down - PANEL_HEAD
    # Rounded up, or the suggested size would be refused again.
    height = math.ceil(10 * (TOP_ROOM + BOTTOM_ROOM + down * (PANEL_HEAD + MIN_BAR_HEIGHT))) / 10
    least = f"{max(picture.size[0], 4):g}x{height:g}"
    if room < MIN_BAR_HEIGHT:
        raise UsageError(
            f"--size {picture.size[0]:g}x{picture.size[1]:g} is too small for the loadings of {count} components",
            f"give --size {least} or more, or name fewer components with --axes",
        )
    return PanelGrid(across, down, min(bars, int(room / MIN_BAR_HEIGHT)), name_length, picture.size)


def widest(names: list[str]) -> float:
    """Return the width in inches of the widest name, in the font of the names beside the bars."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    figure = Figure()
    return (
        max(Text(0, 0, name, fontsize=NAME_FONT, figure=figure).get_window_extent().width for name in names)
        / figure.dpi
    )


def subtitle(plot_data: PlotData, grid: PanelGrid) -> str:
    """Return the text below the title: the model, and how many of the loadings are shown."""
    d = len(plot_data.columns)
    if grid.bars == d:
        return plot_data.brief
    which = f"the {grid.bars} largest of {grouped(d)}" if grid.bars > 1 else f"the largest of {grouped(d)}"
    return f"{plot_data.brief}; {which} loadings of each component".removeprefix("; ")


def largest(plot_data: PlotData, m: int, count: int) -> NDArray[np.intp]:
    """Return the indices of the `count` columns with the largest |loading| on component `axes[m]`, descending."""
    return np.argsort(-np.abs(plot_data.loadings[:, m]), kind="stable")[:count]


def draw_bars(axes: Axes, plot_data: PlotData, m: int, names: list[str], count: int) -> None:
    """Draw the `count` bars of component `plot_data.axes[m]`, the largest at the top, with names and a title."""
    order = largest(plot_data, m, count)
    values = plot_data.loadings[order, m]
    places = np.arange(count)
    axes.barh(places, values, color=[POSITIVE if value >= 0 else NEGATIVE for value in values], height=0.72)
    axes.set_yticks(places, [names[j] for j in order], fontsize=NAME_FONT)
    axes.set_ylim(count - 0.4, -0.6)
    clean(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color=FRAME, linewidth=0.8)
    axes.set_title(plot_data.title(m), loc="left", fontsize=10.5, color=DARK)


def draw_numbers(figure: Figure, panels: Any, plot_data: PlotData, count: int, peak: float) -> None:
    """Write the loading beside each bar, unless this leaves too little width for the bars.

    Set the limits and ticks of the axis that all panels share. `peak` is the largest |loading|.
    """
    from matplotlib.text import Text

    places = 2 if peak >= 0.3 else 3
    widest = Text(0, 0, signed(-peak, places), fontsize=NUMBER_FONT, figure=figure).get_window_extent().width
    room = widest + 2 * NUMBER_GAP * figure.dpi / 72
    bars = min(float(axes.get_window_extent().width) for axes in panels)
    numbered = 2 * room <= 0.7 * bars
    end = peak / (1 - 2 * room / bars) if numbered else 1.05 * peak
    panels[0].set_xlim(-end, end)
    mark_ticks(panels[0], peak, bars * 72 / figure.dpi / 2 / end)
    if not numbered:
        return
    for m, axes in enumerate(panels):
        for row, value in enumerate(plot_data.loadings[largest(plot_data, m, count), m].tolist()):
            side = 1 if value >= 0 else -1
            axes.annotate(
                signed(value, places), (value, row), xytext=(side * NUMBER_GAP, 0), textcoords="offset points",
                ha="left" if side > 0 else "right", va="center", fontsize=NUMBER_FONT, color=FRAME,
            )  # fmt: skip


def mark_ticks(axes: Axes, peak: float, points: float) -> None:
    """Set ticks at 0, at plus and minus a round number up to `peak`, and at half this number, as far as labels fit.

    `points` is the length of a loading of 1 in points.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter

    power = 10.0 ** math.floor(math.log10(peak))
    end = max(step * power for step in (1, 2, 4, 5, 6, 8) if step * power <= peak * (1 + 1e-9))
    ticks = [-end, 0.0, end] if end * points >= MIN_TICK_DISTANCE else [0.0]
    ticks += [-end / 2, end / 2] if end * points >= 2 * MIN_TICK_DISTANCE else []
    axes.xaxis.set_major_locator(FixedLocator(sorted(ticks)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}")))
