"""Draw rows: marks or a raster of their density, with legends and colour bars.

Very many rows in a picture: a raster of how many lie where, and marks for those that lie alone.
Darker, or less faint, is more rows, on a logarithmic scale, so that single rows are seen beside cells of thousands; of
classes a cell has the colour of the largest in it. The way of Datashader (Bednar and others 2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.render.figures import (
    COLORS,
    DARK,
    DENSITY,
    KEPT,
    MARKERS,
    REST,
    SMALL_LETTERS,
    in_units,
    of_numbers,
    shortened,
)
from pcatool.render.plots.points import ALL, KNOWN, LESS, SUMS, Cloud, Group
from pcatool.render.text import fold, grouped

__all__ = ["ENDS", "MARGIN", "Scale", "color_of", "draw_rows", "fit_scale", "legend_of_groups", "places_of_rows"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


# The faintest that a cell with a row in it is drawn, where faintness tells how many there are.
FAINTEST = 0.4
FAINTEST_NUMBER = 0.6
# A cell is alone with no more than this many others of its kind so many cells around it; more marks than MARKS hide
# each other, and what they show is no exception.
AROUND, OTHERS, MARKS = 8, 1, 1000
ALONE = 9.0  # their size, in points squared

Colors = NDArray[np.float32]  # (across, up, 3)


def draw_density(figure: Figure, axes: Axes, cloud: Cloud, scale: Scale) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

    assert cloud.grid is not None
    counts = cloud.grid.layer(ALL)
    weight = np.log1p(counts) / np.log1p(counts.max())
    if cloud.hue is None:
        shades = LinearSegmentedColormap.from_list("density", DENSITY, N=256)
        colors = shades(weight)[..., :3].astype(np.float32)
        place_rows(axes, cloud, scale, colors, weight, 1.0)
        density_bar(figure, axes, ScalarMappable(LogNorm(1, max(float(counts.max()), 1.1)), shades))
    elif cloud.by_class:
        place_rows(axes, cloud, scale, class_colors(cloud), weight, FAINTEST)
        legend_of_groups(axes, cloud, ["s"] * len(cloud.groups()))
    else:
        values, ends, unit = numbers_of(cloud)
        drawn = ScalarMappable(Normalize(*ends), of_numbers())
        colors = drawn.to_rgba(np.nan_to_num(values))[..., :3].astype(np.float32)
        colors[np.isnan(values)] = rgb(REST)
        place_rows(axes, cloud, scale, colors, weight, FAINTEST_NUMBER)
        color_bar(figure, axes, drawn, cloud, unit)


def numbers_of(cloud: Cloud) -> tuple[Array, tuple[float, float], str]:
    """The means of cells, and what lies between is most of the rows."""
    assert cloud.grid is not None
    known = cloud.grid.layer(KNOWN)
    means = np.divide(cloud.grid.layer(SUMS), known, out=np.full(known.shape, np.nan), where=known > 0) / LESS
    order = np.argsort(means[known > 0], kind="stable")
    sorted_means, share = means[known > 0][order], np.cumsum(known[known > 0][order]) / known.sum()
    low, high = (float(sorted_means[np.searchsorted(share, at / 100)]) for at in (ENDS, 100 - ENDS))
    values, ends, unit = hues(cloud, means.ravel(), (low, high))
    return values.reshape(means.shape), ends, unit


def class_colors(cloud: Cloud) -> Colors:
    """Of each cell the colour of the class with most rows in it, of equals that of the first."""
    assert cloud.grid is not None
    shape = cloud.grid.layer(ALL).shape
    colors, most = np.zeros((*shape, 3), np.float32), np.zeros(shape)
    there = set(cloud.grid.numbers)
    for group in cloud.groups():
        counts = np.zeros(shape)
        for number in set(group.numbers) & there:
            counts += cloud.grid.layer(number)
        colors[counts > most] = rgb(color_of(group))
        np.maximum(most, counts, out=most)
    return colors


def rgb(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def place_rows(axes: Axes, cloud: Cloud, scale: Scale, colors: Colors, weight: Array, faintest: float) -> None:
    """The cells as an image, each in the empty ones around it, too, and those that lie alone as marks."""
    assert cloud.grid is not None and cloud.grid.sides is not None
    alpha = np.where(weight > 0, faintest + (1 - faintest) * weight, 0.0)
    image = spread(np.concatenate([colors, alpha[..., None].astype(np.float32)], axis=2), weight)
    pixels = (np.clip(image, 0, 1) * 255).round().astype(np.uint8)
    left, right, bottom, top = (
        side.edge(cell, scale.unit) for side in cloud.grid.sides for cell in (-1, side.cells + 1)
    )
    axes.imshow(
        pixels.transpose(1, 0, 2), extent=(left, right, bottom, top), origin="lower", aspect="auto",
        interpolation="nearest", zorder=2,
    )  # fmt: skip
    axes.set_autoscale_on(False)
    at = np.argwhere(alone(weight > 0))
    if 0 < len(at) <= MARKS:
        x, y = (
            [side.edge(int(i), scale.unit) for i in cells] for side, cells in zip(cloud.grid.sides, at.T, strict=True)
        )
        axes.scatter(x, y, c=colors[tuple(at.T)], s=ALONE, linewidths=0.3, edgecolors=DARK, zorder=2.5)


def places_of_rows(cloud: Cloud, scale: Scale) -> tuple[Array, float]:
    """(m, 2) where something is drawn of the rows: their middles, or all corners of cells; and so many points around
    each, as far as a mark may reach."""
    if cloud.grid is None:
        points = cloud.points()
        return points[:, :2] / scale.unit, reach_of(mark_style(len(points))["s"])
    assert cloud.grid.sides is not None
    there = cloud.grid.layer(ALL) > 0
    corners = np.zeros((there.shape[0] + 3, there.shape[1] + 3), dtype=bool)  # of the cells around them, too: `spread`
    for i in range(4):
        for j in range(4):
            corners[i : i + there.shape[0], j : j + there.shape[1]] |= there
    at = np.argwhere(corners)
    edges = [
        np.array([side.edge(cell, scale.unit) for cell in range(-1, count - 1)])
        for side, count in zip(cloud.grid.sides, corners.shape, strict=True)
    ]
    return np.column_stack([edges[0][at[:, 0]], edges[1][at[:, 1]]]), reach_of(ALONE)


def reach_of(size: float) -> float:
    """Of a mark so many points squared, with its edge: a diamond is the widest, a square on its corner."""
    return float(np.sqrt(size / 2)) + 0.5


def spread(image: NDArray[np.float32], weight: Array) -> NDArray[np.float32]:
    """(across + 2, up + 2): empty cells take after the fullest of their eight neighbours, fainter at the corners."""
    across, up = weight.shape
    made = np.zeros((across + 2, up + 2, 4), np.float32)
    best = np.zeros((across + 2, up + 2))
    for i in (0, 2, 1):
        for j in (0, 2, 1):
            own = i == 1 and j == 1
            part = (slice(i, i + across), slice(j, j + up))
            strength = np.where(weight > 0, 2.0, 0.0) if own else weight
            better = strength > best[part]
            best[part][better] = strength[better]
            made[part][better] = image[better] * np.array([1, 1, 1, 1 if own else 0.75], np.float32)
    return made


def alone(there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which cells have next to no others around them."""
    sums = np.pad(there, ((AROUND + 1, AROUND), (AROUND + 1, AROUND))).astype(np.int32)
    sums = sums.cumsum(axis=0, out=sums).cumsum(axis=1, out=sums)
    wide = 2 * AROUND + 1
    around = sums[wide:, wide:] - sums[:-wide, wide:] - sums[wide:, :-wide] + sums[:-wide, :-wide]
    return np.asarray(there & (around <= 1 + OTHERS))


def density_bar(figure: Figure, axes: Axes, drawn: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    bar = figure.colorbar(drawn, ax=axes, shrink=0.7, aspect=25, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_locator(LogLocator(10, (1,) if drawn.norm.vmax > 100 else (1, 2, 5)))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: grouped(round(value))))
    bar.set_label("rows in a cell")
