"""Very many rows in a picture: a raster of how many lie where, and marks for those that lie alone.

Darker, or less faint, is more rows, on a logarithmic scale, so that single rows are seen beside cells of thousands; of
classes a cell has the colour of the largest in it. The way of Datashader (Bednar and others 2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.render.plots.marks import ENDS, Scale, color_bar, color_of, hues, legend_of_groups, mark_style
from pcatool.render.plots.points import ALL, KNOWN, LESS, SUMS, Cloud
from pcatool.render.theme import DARK, DENSITY, REST, of_numbers
from pcatool.render.words import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_density", "places_of_rows"]

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
