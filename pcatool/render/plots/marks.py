"""Draw rows as marks, or as a raster of their density, with legends and colour bars.

Few rows are drawn as marks. Very many rows are drawn as a raster of counts, with marks for isolated rows. Darker or
less transparent cells hold more rows, on a logarithmic scale, so that single rows are visible beside cells of
thousands. With classes, a cell has the colour of the class with most rows in it. After Datashader (Bednar and others
2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.render.figures import (
    CLASS_COLORS,
    DARK,
    DENSITY,
    KEPT,
    MARKERS,
    REST,
    SMALL_LETTERS,
    in_units,
    number_colormap,
    shortened,
)
from pcatool.render.plots.points import ALL, KNOWN, SUM_FACTOR, SUMS, Group, RowCollector
from pcatool.render.text import fold
from pcatool.wording import counted, grouped

__all__ = [
    "CLIPPED_PERCENT",
    "MARGIN",
    "Scale",
    "color_of",
    "draw_rows",
    "drawn_places",
    "fit_scale",
    "legend_of_groups",
]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Per cent of the rows at each end of the numbers that share the end of the colour scale: otherwise a single outlier
# would take up most of the scale.
CLIPPED_PERCENT = 1.0
# Largest ratio of the two extents at which both axes get equal scales; beyond, the shorter one would be a mere line.
MAX_EQUAL_RATIO = 4.0
# Room around the rows: MARGIN relative to the extent of the rows along the axis; if this is 0, FLAT_MARGIN relative to
# the extent along the other axis.
MARGIN, FLAT_MARGIN = 0.04, 0.2

# Legend: font size in points, line height relative to the font size, and inches of the picture above the legend.
LEGEND_FONT, LEGEND_LINE, ABOVE_LEGEND = 10.0, 1.8, 0.9


class Scale(NamedTuple):
    """The mapping from scores to the axes: a power of ten that is divided out, and the limits of both axes."""

    unit: float  # scores are divided by this power of ten
    text: str  # the power as text for a label; empty for 1
    ends: tuple[tuple[float, float], tuple[float, float]]  # limits of both axes, after the division

    @property
    def equal(self) -> bool:
        """Whether both axes can have equal scales: neither extent is more than MAX_EQUAL_RATIO times the other."""
        across, up = (max(b - a, 0.0) for a, b in self.ends)
        return max(across, up) <= MAX_EQUAL_RATIO * min(across, up)


def fit_scale(cloud: RowCollector) -> Scale:
    """Return the scale that shows all rows, with a margin around them."""
    ends = extremes(cloud)
    largest = max(abs(end) for side in ends for end in side)
    drawn, text = in_units(np.array([largest]), largest)
    unit = largest / float(drawn[0]) if text else 1.0
    spans = [high / unit - low / unit for low, high in ends]
    return Scale(unit, text, (padded_limits(ends[0], unit, spans[1]), padded_limits(ends[1], unit, spans[0])))


def extremes(cloud: RowCollector) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the minimum and maximum of the scores, for the first and the second component."""
    if cloud.grid is not None:
        assert cloud.grid.sides is not None
        across, up = cloud.grid.sides
        return (across.least, across.most), (up.least, up.most)
    points = cloud.points()
    x, y = points[:, 0], points[:, 1]
    return (float(x.min()), float(x.max())), (float(y.min()), float(y.max()))


def padded_limits(ends: tuple[float, float], unit: float, other: float) -> tuple[float, float]:
    """Return the limits of an axis: minimum and maximum `ends`, divided by `unit`, with a margin on both sides.

    If the extent is 0, the margin is relative to `other`, the extent along the other axis in the same unit.
    """
    low, high = ends[0] / unit, ends[1] / unit
    room = MARGIN * (high - low) or FLAT_MARGIN * other or 0.05 * abs(low) or 1.0
    return low - room, high + room


def color_of(group: Group) -> str:
    """Return the colour of a group as `#RRGGBB`; REST, a grey, for a group without a colour of its own."""
    return REST if group.color_index is None else CLASS_COLORS[group.color_index]


# --- marks ---


def draw_rows(figure: Figure, axes: Axes, cloud: RowCollector, scale: Scale, *, faint: bool = False) -> None:
    """Draw all rows of the cloud, and a legend or colour bar beside the axes; `faint` makes marks fainter."""
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
        # The rarest class is drawn last, on top.
        for group in sorted(groups, key=lambda group: (group.color_index is not None, -group.rows)):
            rows = np.isin(codes, group.numbers)
            axes.scatter(x[rows], y[rows], color=color_of(group), marker=marker_of(group), **style)
        legend_of_groups(axes, cloud, [marker_of(group) for group in groups])
    else:
        draw_by_value(figure, axes, x, y, cloud, style)


def mark_style(count: int) -> dict[str, Any]:
    """Return the matplotlib style of marks for `count` rows: the more rows, the smaller and fainter."""
    size = float(np.clip(3000 / count**0.7, 3, 42))
    alpha = float(np.clip(1.3 - 0.2 * np.log10(count), 0.45, 0.9))
    return {"s": size, "alpha": alpha, "linewidths": 0.3 if size > 8 else 0.0, "edgecolors": DARK, "zorder": 2}


def marker_of(group: Group) -> str:
    """Return the matplotlib marker of a group; a dot for a group without a colour."""
    return "." if group.color_index is None else MARKERS[group.color_index]


def draw_by_value(figure: Figure, axes: Axes, x: Array, y: Array, cloud: RowCollector, style: dict[str, Any]) -> None:
    """Draw rows at x and y (n,), coloured by a numeric column, with a colour bar; grey if the value is missing."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    numbers = cloud.points()[:, -1]
    known = ~np.isnan(numbers)
    # `known` is never empty: a column without numbers has classes.
    low, high = np.percentile(numbers[known], [CLIPPED_PERCENT, 100 - CLIPPED_PERCENT])
    values, (low, high), unit = color_values(cloud, numbers, (low, high))
    axes.scatter(x[~known], y[~known], color=REST, **style)
    # Opaque, so that the bar is not faint like the marks.
    colors = ScalarMappable(Normalize(low, high), number_colormap())
    axes.scatter(x[known], y[known], color=colors.to_rgba(values[known]), **style)
    color_bar(figure, axes, colors, cloud, unit)


def color_values(
    cloud: RowCollector, values: Array, ends: tuple[float, float]
) -> tuple[Array, tuple[float, float], str]:
    """Return `values` and the colour limits `ends`, divided by a power of ten, and this power as text for a label.

    The power is 1, and its text empty, unless matplotlib could not draw the values; see `in_units`.
    """
    largest = max(abs(cloud.least), abs(cloud.most))
    drawn, unit = in_units(np.append(values, ends), largest)
    return drawn[:-2], (float(drawn[-2]), float(drawn[-1])), unit


def legend_of_groups(axes: Axes, cloud: RowCollector, markers: list[str]) -> None:
    """Draw a legend of the groups with row counts at the right; `markers` has the matplotlib marker of each group.

    The font is smaller if the picture is low.
    """
    from matplotlib.lines import Line2D

    assert cloud.hue is not None
    groups = cloud.groups()
    height = axes.figure.bbox.height / axes.figure.dpi - ABOVE_LEGEND
    font = min(LEGEND_FONT, 72 * height / LEGEND_LINE / (len(groups) + 1))
    handles = [
        Line2D([], [], color=color_of(group), marker=marker, linestyle="", markersize=0.7 * font,
               markeredgecolor=DARK, markeredgewidth=0.3,
               label=f"{shortened(group.name) or '(empty)'}  ({grouped(group.rows)})")
        for group, marker in zip(groups, markers, strict=True)
    ]  # fmt: skip
    legend = axes.legend(
        handles=handles, title=shortened(cloud.hue.name), loc="upper left", bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0, frameon=False, alignment="left", handletextpad=0.3, fontsize=font, title_fontsize=font,
    )  # fmt: skip
    legend.get_title().set_fontweight("bold")


# (some values are below the colour limits, some are above) -> matplotlib's `extend`.
BAR_EXTENSIONS = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}


def color_bar(figure: Figure, axes: Axes, drawn: Any, cloud: RowCollector, unit: str) -> None:
    """Draw the colour bar of a numeric column; its label names the column, clipped ends and missing values.

    drawn: the ScalarMappable of the rows. unit: the power of ten that is divided out, as text; empty for 1.
    """
    from matplotlib.ticker import FuncFormatter

    assert cloud.hue is not None
    _, (least, most), _ = color_values(cloud, np.zeros(0), (cloud.least, cloud.most))
    clipped = (least < drawn.norm.vmin, most > drawn.norm.vmax)
    bar = figure.colorbar(
        drawn, ax=axes, shrink=0.7, aspect=25, pad=0.02, extend=BAR_EXTENSIONS[clipped], extendfrac=0.05,
        format=FuncFormatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}")),
    )  # fmt: skip
    bar.outline.set_visible(False)
    name = f"{shortened(cloud.hue.name)}{unit}"
    lines = [f"mean of {name} in a cell" if cloud.is_dense else name]
    if any(clipped):
        lines.append(f"ends of the scale: {CLIPPED_PERCENT:g}% and {100 - CLIPPED_PERCENT:g}% quantiles")
    if missing := cloud.rows - rows_with_value(cloud):
        lines.append(f"(grey: {counted(missing, 'row')} without a value)")
    height = axes.figure.bbox.height / axes.figure.dpi - ABOVE_LEGEND  # the label must fit into this height
    characters = max(int(SMALL_LETTERS * height * 0.8), 12)
    bar.set_label("\n".join(line for text in lines for line in fold(text, characters)), fontsize=9)


def rows_with_value(cloud: RowCollector) -> int:
    """Return the number of rows whose value in the numeric column of colours is not missing."""
    if cloud.grid is not None:
        return int(cloud.grid.layer(KNOWN).sum())
    return int((~np.isnan(cloud.points()[:, -1])).sum())


# Least opacity of a cell with rows, where opacity shows the number of rows: with classes, and with a numeric column.
LEAST_OPACITY = 0.4
LEAST_OPACITY_OF_NUMBER = 0.6
# A cell is isolated if at most MAX_CELLS_AROUND other cells within ISOLATION_RADIUS cells hold rows. Isolated cells get
# marks, unless there are more than MAX_ISOLATED of them: then marks would hide each other.
ISOLATION_RADIUS, MAX_CELLS_AROUND, MAX_ISOLATED = 8, 1, 1000
ISOLATED_MARK = 9.0  # size of these marks, in points squared

Colors = NDArray[np.float32]  # (across, up, 3)


def draw_density(figure: Figure, axes: Axes, cloud: RowCollector, scale: Scale) -> None:
    """Draw the raster of a dense cloud, coloured by density, class or numeric column, with a legend or colour bar."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

    assert cloud.grid is not None
    counts = cloud.grid.layer(ALL)
    weight = np.log1p(counts) / np.log1p(counts.max())
    if cloud.hue is None:
        shades = LinearSegmentedColormap.from_list("density", DENSITY, N=256)
        colors = shades(weight)[..., :3].astype(np.float32)
        draw_cells(axes, cloud, scale, colors, weight, 1.0)
        density_bar(figure, axes, ScalarMappable(LogNorm(1, max(float(counts.max()), 1.1)), shades))
    elif cloud.by_class:
        draw_cells(axes, cloud, scale, class_colors(cloud), weight, LEAST_OPACITY)
        legend_of_groups(axes, cloud, ["s"] * len(cloud.groups()))
    else:
        values, ends, unit = cell_means(cloud)
        drawn = ScalarMappable(Normalize(*ends), number_colormap())
        colors = drawn.to_rgba(np.nan_to_num(values))[..., :3].astype(np.float32)
        colors[np.isnan(values)] = rgb(REST)
        draw_cells(axes, cloud, scale, colors, weight, LEAST_OPACITY_OF_NUMBER)
        color_bar(figure, axes, drawn, cloud, unit)


def cell_means(cloud: RowCollector) -> tuple[Array, tuple[float, float], str]:
    """Return the mean of the numeric column in each cell (across, up), the colour limits, and a power of ten as text.

    Means and limits are divided by this power. The limits leave out CLIPPED_PERCENT per cent of the rows at each end. A
    cell without numbers is NaN.
    """
    assert cloud.grid is not None
    known = cloud.grid.layer(KNOWN)
    means = np.divide(cloud.grid.layer(SUMS), known, out=np.full(known.shape, np.nan), where=known > 0) / SUM_FACTOR
    order = np.argsort(means[known > 0], kind="stable")
    sorted_means, share = means[known > 0][order], np.cumsum(known[known > 0][order]) / known.sum()
    low, high = (
        float(sorted_means[np.searchsorted(share, percent / 100)])
        for percent in (CLIPPED_PERCENT, 100 - CLIPPED_PERCENT)
    )
    values, ends, unit = color_values(cloud, means.ravel(), (low, high))
    return values.reshape(means.shape), ends, unit


def class_colors(cloud: RowCollector) -> Colors:
    """Return for each cell the colour of the group with most rows in that cell; ties go to the first group."""
    assert cloud.grid is not None
    shape = cloud.grid.layer(ALL).shape
    colors, largest_counts = np.zeros((*shape, 3), np.float32), np.zeros(shape)
    layers = set(cloud.grid.numbers)
    for group in cloud.groups():
        counts = np.zeros(shape)
        for number in set(group.numbers) & layers:
            counts += cloud.grid.layer(number)
        colors[counts > largest_counts] = rgb(color_of(group))
        np.maximum(largest_counts, counts, out=largest_counts)
    return colors


def rgb(color: str) -> tuple[float, float, float]:
    """Return red, green and blue of a colour `#RRGGBB`, each from 0 to 1."""
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def draw_cells(axes: Axes, cloud: RowCollector, scale: Scale, colors: Colors, weight: Array, faintest: float) -> None:
    """Draw the cells as an image, each spread into the empty cells around that cell, and isolated cells as marks.

    `weight` (across, up) from 0 to 1 sets the opacity, at least `faintest` for a cell with rows.
    """
    assert cloud.grid is not None and cloud.grid.sides is not None
    alpha = np.where(weight > 0, faintest + (1 - faintest) * weight, 0.0)
    image = spread_cells(np.concatenate([colors, alpha[..., None].astype(np.float32)], axis=2), weight)
    pixels = (np.clip(image, 0, 1) * 255).round().astype(np.uint8)
    left, right, bottom, top = (
        side.edge(cell, scale.unit) for side in cloud.grid.sides for cell in (-1, side.cells + 1)
    )
    axes.imshow(
        pixels.transpose(1, 0, 2), extent=(left, right, bottom, top), origin="lower", aspect="auto",
        interpolation="nearest", zorder=2,
    )  # fmt: skip
    axes.set_autoscale_on(False)
    isolated = np.argwhere(isolated_cells(weight > 0))
    if 0 < len(isolated) <= MAX_ISOLATED:
        x, y = (
            [side.edge(int(i), scale.unit) for i in cells]
            for side, cells in zip(cloud.grid.sides, isolated.T, strict=True)
        )
        axes.scatter(x, y, c=colors[tuple(isolated.T)], s=ISOLATED_MARK, linewidths=0.3, edgecolors=DARK, zorder=2.5)


def drawn_places(cloud: RowCollector, scale: Scale) -> tuple[Array, float]:
    """Return the points (m, 2) that drawn rows occupy, in units of the axes, and the radius of a mark in points.

    The points are the centres of marks, or for a dense cloud the corners of cells.
    """
    if cloud.grid is None:
        points = cloud.points()
        return points[:, :2] / scale.unit, mark_radius(mark_style(len(points))["s"])
    assert cloud.grid.sides is not None
    occupied = cloud.grid.layer(ALL) > 0
    # Includes the corners of the neighbouring cells, into which `spread_cells` extends the image.
    corners = np.zeros((occupied.shape[0] + 3, occupied.shape[1] + 3), dtype=bool)
    for i in range(4):
        for j in range(4):
            corners[i : i + occupied.shape[0], j : j + occupied.shape[1]] |= occupied
    cells = np.argwhere(corners)
    edges = [
        np.array([side.edge(cell, scale.unit) for cell in range(-1, count - 1)])
        for side, count in zip(cloud.grid.sides, corners.shape, strict=True)
    ]
    return np.column_stack([edges[0][cells[:, 0]], edges[1][cells[:, 1]]]), mark_radius(ISOLATED_MARK)


def mark_radius(size: float) -> float:
    """Return a bound on the radius in points, edge line included, of a mark whose area is `size` points squared.

    The widest mark is the diamond: a square on its corner.
    """
    return float(np.sqrt(size / 2)) + 0.5


def spread_cells(image: NDArray[np.float32], weight: Array) -> NDArray[np.float32]:
    """Return an RGBA image (across + 2, up + 2, 4) in which empty cells copy the fullest of their eight neighbours.

    `image` (across, up, 4) gets a border of one cell. `weight` (across, up) is larger for more rows, and 0 for none.
    Copies have three quarters of the opacity. Cells with rows keep their colour.
    """
    across, up = weight.shape
    image_with_border = np.zeros((across + 2, up + 2, 4), np.float32)
    best = np.zeros((across + 2, up + 2))
    for i in (0, 2, 1):
        for j in (0, 2, 1):
            centre = i == 1 and j == 1
            window = (slice(i, i + across), slice(j, j + up))
            strength = np.where(weight > 0, 2.0, 0.0) if centre else weight
            better = strength > best[window]
            best[window][better] = strength[better]
            image_with_border[window][better] = image[better] * np.array([1, 1, 1, 1 if centre else 0.75], np.float32)
    return image_with_border


def isolated_cells(occupied: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of the occupied cells with at most MAX_CELLS_AROUND other occupied cells nearby.

    Nearby are the cells of the square up to ISOLATION_RADIUS cells away.
    """
    radius = ISOLATION_RADIUS
    sums = np.pad(occupied, ((radius + 1, radius), (radius + 1, radius))).astype(np.int32)
    sums = sums.cumsum(axis=0, out=sums).cumsum(axis=1, out=sums)
    width = 2 * radius + 1
    nearby = sums[width:, width:] - sums[:-width, width:] - sums[width:, :-width] + sums[:-width, :-width]
    return np.asarray(occupied & (nearby <= 1 + MAX_CELLS_AROUND))


def density_bar(figure: Figure, axes: Axes, drawn: Any) -> None:
    """Draw the colour bar of the density, logarithmic, labelled in rows per cell."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    bar = figure.colorbar(drawn, ax=axes, shrink=0.7, aspect=25, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_locator(LogLocator(10, (1,) if drawn.norm.vmax > 100 else (1, 2, 5)))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: grouped(round(value))))
    bar.set_label("rows in a cell")
