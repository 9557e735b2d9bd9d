"""Loadings: bars of the columns with the largest for each component, or lines along the columns when there are many."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pcatool.model import Array
from pcatool.options import PictureOptions
from pcatool.render.figures import new_figure
from pcatool.render.plots.base import View
from pcatool.render.tables import display_width
from pcatool.render.theme import DARK, FRAME, KEPT, MARK, clean, shortened, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Loadings"]

# Bars of one component, and columns past which their order along a line tells more than the names of a few.
BARS, COLUMNS = 20, 40
# The largest of a line that are named.
NAMED = 3
# In inches.
WIDTH, BAR, LINE = 9.0, 0.24, 1.5
ABOVE, AROUND = 0.9, 0.65
LETTER, BESIDE = 0.085, 0.9  # of a name, and what stands beside the axes
HEADING = 18.0  # points, of what stands above each panel


class Loadings:
    """What each component is made of."""

    rows: ClassVar[bool] = False
    columns: ClassVar[bool] = True
    usual: ClassVar[int] = 4
    most: ClassVar[int] = 12

    def draw(self, view: View, look: PictureOptions) -> Figure:
        return bars(view, look) if len(view.columns) <= COLUMNS else lines(view, look)

    def table(self, view: View) -> dict[str, NDArray[Any]]:
        columns = np.array(view.columns, dtype=object)
        return {"column": columns, **{name: view.loadings[:, m] + 0.0 for m, name in enumerate(view.names)}}


def bars(view: View, look: PictureOptions) -> Figure:
    """A panel for each component, the columns with the largest loadings first."""
    shown = min(len(view.columns), BARS)
    across = min(len(view.axes), 2)
    down = math.ceil(len(view.axes) / across)
    figure = new_figure(look, (WIDTH if across > 1 else 6.5, ABOVE + down * (AROUND + BAR * max(shown, 3))))
    panels = figure.subplots(down, across, squeeze=False, sharex=True).ravel()
    left = len(view.columns) - shown
    out = f"; the {shown} largest of each component, {left} smaller left out" if left else ""
    titled(figure, panels[0], "Loadings", f"{view.caption}{out}", under=HEADING)
    peak = float(np.abs(view.loadings).max()) or 1.0
    for m, axes in enumerate(panels):
        if m >= len(view.axes):
            axes.set_visible(False)
            continue
        draw_bars(axes, view, m, shown)
        axes.set_xlim(-1.3 * peak, 1.3 * peak)
        axes.set_xlabel("loading" if m >= len(view.axes) - across else "")
        axes.tick_params(labelbottom=m >= len(view.axes) - across)
    return figure


def draw_bars(axes: Axes, view: View, m: int, shown: int) -> None:
    loadings = view.loadings[:, m]
    order = np.argsort(-np.abs(loadings), kind="stable")[:shown]
    values = loadings[order]
    places = np.arange(shown)
    axes.barh(places, values, color=[KEPT if value >= 0 else MARK for value in values], height=0.72)
    for row, value in enumerate(values.tolist()):
        axes.annotate(
            number(value), (value, row), xytext=(3 if value >= 0 else -3, 0), textcoords="offset points",
            ha="left" if value >= 0 else "right", va="center", fontsize=7.5, color=FRAME,
        )  # fmt: skip
    axes.set_yticks(places, [shortened(view.columns[j], 24) for j in order], fontsize=9)
    axes.set_ylim(shown - 0.4, -0.6)
    clean(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color=FRAME, linewidth=0.8)
    axes.set_title(view.title(m), loc="left", fontsize=10.5, color=DARK)


def lines(view: View, look: PictureOptions) -> Figure:
    """A line for each component along the columns in their order, the largest named."""
    count = len(view.axes)
    figure = new_figure(look, (WIDTH, ABOVE + AROUND + LINE * count))
    panels = figure.subplots(count, 1, squeeze=False, sharex=True, sharey=True).ravel()
    d = len(view.columns)
    titled(figure, panels[0], "Loadings", f"{view.caption}; in the order of the columns, the {NAMED} largest named")
    peak = float(np.abs(view.loadings).max()) or 1.0
    for m, axes in enumerate(panels):
        draw_line(axes, view.loadings[:, m], view.columns, figure.get_size_inches()[0] - BESIDE)
        axes.set_xlim(0.5, d + 0.5)
        axes.set_ylim(-1.35 * peak, 1.35 * peak)
        axes.set_ylabel(view.title(m).replace(" (", "\n("))
        clean(axes, "y")
    panels[-1].set_xlabel(f"column: 1 is {shortened(view.columns[0])}, {d} is {shortened(view.columns[-1])}")
    return figure


def draw_line(axes: Axes, loadings: Array, columns: tuple[str, ...], width: float) -> None:
    """On axes of so many inches."""
    d = len(loadings)
    edges = np.arange(d + 1) + 0.5
    for color, part in ((KEPT, np.maximum(loadings, 0)), (MARK, np.minimum(loadings, 0))):
        axes.stairs(part, edges, fill=True, color=color, linewidth=0)
    axes.stairs(loadings, edges, color=DARK, linewidth=0.4, baseline=None)
    axes.axhline(0, color=FRAME, linewidth=0.8)
    taken: list[tuple[bool, float, float]] = []  # above or below, from here to there of the width
    for j in np.argsort(-np.abs(loadings), kind="stable").tolist():
        if len(taken) == NAMED or loadings[j] == 0:
            break
        name, up = shortened(columns[j], 20), bool(loadings[j] >= 0)
        wide = display_width(name) * LETTER / width
        at = (j + 0.5) / d
        side = "left" if at < wide / 2 else "right" if at > 1 - wide / 2 else "center"
        begin = at - {"left": 0.0, "center": 0.5, "right": 1.0}[side] * wide
        if any(up == other and begin < end and start < begin + wide for other, start, end in taken):
            continue
        taken.append((up, begin, begin + wide))
        axes.annotate(
            name, (j + 1, loadings[j]), xytext=(0, 3 if up else -3), textcoords="offset points",
            ha=side, va="bottom" if up else "top", fontsize=8, color=DARK,
        )  # fmt: skip


def number(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "\N{MINUS SIGN}")
