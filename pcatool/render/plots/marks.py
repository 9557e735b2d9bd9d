"""Rows in a picture: single marks, or a raster of how many lie where, with what their colours mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.render.plots.points import KNOWN, Cloud, Group
from pcatool.render.text import fold
from pcatool.render.theme import COLORS, DARK, KEPT, MARKERS, REST, SMALL_LETTERS, in_units, of_numbers, shortened
from pcatool.render.words import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ENDS",
    "MARGIN",
    "Scale",
    "color_bar",
    "color_of",
    "draw_rows",
    "fit_scale",
    "hues",
    "legend_of_groups",
    "mark_style",
]

# Of numbers that colour, the part at each end that is not told apart: one outlier would take all colours.
ENDS = 1.0  # per cent
# Sides of the rows whose lengths differ more than so many times: with one scale for both the shorter would be a line.
LONGEST = 4.0
# Of the longer side, left free around the rows.
MARGIN, FLAT = 0.04, 0.2

# Of a legend: points, a line of it as a multiple of its letters, and inches of what stands above.
LETTERS, LINE, ABOVE = 10.0, 1.8, 0.9


class Scale(NamedTuple):
    """How numbers become places: the power of ten that is taken off, and the ends of both sides after that."""

    unit: float
    text: str
    ends: tuple[tuple[float, float], tuple[float, float]]

    @property
    def equal(self) -> bool:
        """Can both sides have one scale?"""
        across, up = (max(b - a, 0.0) for a, b in self.ends)
        return max(across, up) <= LONGEST * min(across, up)


def fit_scale(cloud: Cloud) -> Scale:
    """The rows within both sides, with some room around them."""
    ends = extremes(cloud)
    largest = max(abs(end) for side in ends for end in side)
    drawn, text = in_units(np.array([largest]), largest)
    unit = largest / float(drawn[0]) if text else 1.0
    spans = [high / unit - low / unit for low, high in ends]
    return Scale(unit, text, (padded(ends[0], unit, spans[1]), padded(ends[1], unit, spans[0])))


def extremes(cloud: Cloud) -> tuple[tuple[float, float], tuple[float, float]]:
    if cloud.grid is not None:
        assert cloud.grid.sides is not None
        across, up = cloud.grid.sides
        return (across.least, across.most), (up.least, up.most)
    points = cloud.points()
    x, y = points[:, 0], points[:, 1]
    return (float(x.min()), float(x.max())), (float(y.min()), float(y.max()))


def padded(ends: tuple[float, float], unit: float, other: float) -> tuple[float, float]:
    """With some room; where there is no extent, so much that the picture has the scale of the other side."""
    low, high = ends[0] / unit, ends[1] / unit
    room = MARGIN * (high - low) or FLAT * other or 0.05 * abs(low) or 1.0
    return low - room, high + room


def color_of(group: Group) -> str:
    return REST if group.place is None else COLORS[group.place]


# --- marks ---


def draw_rows(figure: Figure, axes: Axes, cloud: Cloud, scale: Scale, *, faint: bool = False) -> None:
    """All rows of the cloud, and beside the axes what their colours mean."""
    if cloud.is_dense:
        from pcatool.render.plots.density import draw_density

        draw_density(figure, axes, cloud, scale)
        return
    points = cloud.points()
    x, y = points[:, 0] / scale.unit, points[:, 1] / scale.unit
    style = mark_style(len(points))
    style["alpha"] *= 0.6 if faint else 1.0
    if cloud.hue is None:
        axes.scatter(x, y, color=KEPT, **style)
    elif cloud.by_class:
        codes = cloud.codes()
        groups = cloud.groups()
        for group in sorted(groups, key=lambda group: (group.place is not None, -group.rows)):  # the rarest on top
            rows = np.isin(codes, group.numbers)
            axes.scatter(x[rows], y[rows], color=color_of(group), marker=marker_of(group), **style)
        legend_of_groups(axes, cloud, [marker_of(group) for group in groups])
    else:
        draw_numbers(figure, axes, x, y, cloud, style)


def mark_style(count: int) -> dict[str, Any]:
    """The more rows, the smaller and fainter their marks."""
    size = float(np.clip(3000 / count**0.7, 3, 42))
    alpha = float(np.clip(1.3 - 0.2 * np.log10(count), 0.45, 0.9))
    return {"s": size, "alpha": alpha, "linewidths": 0.3 if size > 8 else 0.0, "edgecolors": DARK, "zorder": 2}


def marker_of(group: Group) -> str:
    return "." if group.place is None else MARKERS[group.place]


def draw_numbers(figure: Figure, axes: Axes, x: Array, y: Array, cloud: Cloud, style: dict[str, Any]) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    numbers = cloud.points()[:, -1]
    known = ~np.isnan(numbers)
    low, high = np.percentile(numbers[known], [ENDS, 100 - ENDS])  # with none known there would be classes
    values, (low, high), unit = hues(cloud, numbers, (low, high))
    axes.scatter(x[~known], y[~known], color=REST, **style)
    colors = ScalarMappable(Normalize(low, high), of_numbers())  # in the bar without the faintness of the marks
    axes.scatter(x[known], y[known], color=colors.to_rgba(values[known]), **style)
    color_bar(figure, axes, colors, cloud, unit)


def hues(cloud: Cloud, values: Array, ends: tuple[float, float]) -> tuple[Array, tuple[float, float], str]:
    """Numbers to be colours, and the ends of all colours, in units that can be drawn."""
    largest = max(abs(cloud.least), abs(cloud.most))
    drawn, unit = in_units(np.append(values, ends), largest)
    return drawn[:-2], (float(drawn[-2]), float(drawn[-1])), unit


def legend_of_groups(axes: Axes, cloud: Cloud, markers: list[str]) -> None:
    """Names with their numbers of rows, at the right, in smaller letters where the picture is low."""
    from matplotlib.lines import Line2D

    assert cloud.hue is not None
    groups = cloud.groups()
    high = axes.figure.bbox.height / axes.figure.dpi - ABOVE
    letters = min(LETTERS, 72 * high / LINE / (len(groups) + 1))
    handles = [
        Line2D([], [], color=color_of(group), marker=marker, linestyle="", markersize=0.7 * letters,
               markeredgecolor=DARK, markeredgewidth=0.3,
               label=f"{shortened(group.name) or '(empty)'}  ({grouped(group.rows)})")
        for group, marker in zip(groups, markers, strict=True)
    ]  # fmt: skip
    legend = axes.legend(
        handles=handles, title=shortened(cloud.hue.name), loc="upper left", bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0, frameon=False, alignment="left", handletextpad=0.3, fontsize=letters, title_fontsize=letters,
    )  # fmt: skip
    legend.get_title().set_fontweight("bold")


# How a bar of colours ends where there are numbers past its lower end, and its upper.
EXTENDED = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}


def color_bar(figure: Figure, axes: Axes, drawn: Any, cloud: Cloud, unit: str) -> None:
    from matplotlib.ticker import FuncFormatter

    assert cloud.hue is not None
    _, (least, most), _ = hues(cloud, np.zeros(0), (cloud.least, cloud.most))
    beyond = (least < drawn.norm.vmin, most > drawn.norm.vmax)
    bar = figure.colorbar(
        drawn, ax=axes, shrink=0.7, aspect=25, pad=0.02, extend=EXTENDED[beyond], extendfrac=0.05,
        format=FuncFormatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}")),
    )  # fmt: skip
    bar.outline.set_visible(False)
    name = f"{shortened(cloud.hue.name)}{unit}"
    told = [f"mean of {name} in a cell" if cloud.is_dense else name]
    if any(beyond):
        told.append(f"ends: {ENDS:g} % and {100 - ENDS:g} % of rows")
    if missing := cloud.rows - known_rows(cloud):
        told.append(f"(grey: {grouped(missing)} missing)")
    high = axes.figure.bbox.height / axes.figure.dpi - ABOVE  # in which the label has to fit
    letters = max(int(SMALL_LETTERS * high * 0.8), 12)
    bar.set_label("\n".join(line for text in told for line in fold(text, letters)), fontsize=9)


def known_rows(cloud: Cloud) -> int:
    if cloud.grid is not None:
        return int(cloud.grid.layer(KNOWN).sum())
    return int((~np.isnan(cloud.points()[:, -1])).sum())
