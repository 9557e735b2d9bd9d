"""Rows and columns in one picture (Gabriel 1971): scores as places, columns as arrows.

The rows X, centred and scaled as in the fit, are about Z B^T of two components. A biplot draws the rows of Z S^-a and
the columns as rows of B S^a, with S the standard deviations of the scores, so that the product of a row and an arrow is
what the components say of that cell, whatever a is. With `scaling` "rows" a is 0: distances of rows are those of their
scores, and arrows are loadings. With "columns" a is 1: angles between arrows show how columns correlate, their
lengths the standard deviations of columns, and rows lie as if all components had the same variance. Only the common
length of all arrows is chosen to fit; the picture says by how much.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.model import Array
from pcatool.options import PictureOptions
from pcatool.render.plots.base import View
from pcatool.render.plots.marks import MARGIN, Scale, draw_rows, fit_scale
from pcatool.render.plots.scores import described, figure_of_rows
from pcatool.render.tables import display_width
from pcatool.render.theme import DARK, MARK, shortened, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Biplot"]

NAMED, DRAWN = 12, 60  # arrows: the longest have names, the shortest of very many are left out
REACH = 0.85  # of the way to the edge that the longest arrow goes
# In points.
LETTERS, HIGH, WIDE = 9.0, 12.0, 5.4
STEPS = 12


class Biplot:
    """Rows as places, columns as arrows."""

    rows: ClassVar[bool] = True
    columns: ClassVar[bool] = True
    usual: ClassVar[int] = 2
    most: ClassVar[int] = 2

    def draw(self, view: View, look: PictureOptions) -> Figure:
        assert view.cloud is not None
        scale = fit_scale(view.cloud)
        across, up = scale.ends
        scale = scale._replace(ends=(with_origin(*across), with_origin(*up)))
        figure, axes = figure_of_rows(view, scale, look)
        arrows = arrows_of(view)
        order = np.argsort(-np.hypot(*arrows.T), kind="stable")
        zoom = fitting(arrows, scale)
        titled(figure, axes, "Biplot", "; ".join(said(view, scale, zoom, len(order))))
        draw_rows(figure, axes, view.cloud, scale, faint=True)
        tips = arrows[order[:DRAWN]] * zoom
        draw_arrows(axes, tips, MARK if view.cloud.hue is None else DARK)  # apart from the colours of rows
        figure.draw_without_rendering()  # settles where the axes are, which names must know
        figure.set_layout_engine("none")
        draw_names(axes, tips[:NAMED], [shortened(view.columns[j], 22) for j in order[:NAMED]])
        return figure

    def table(self, view: View) -> dict[str, NDArray[Any]]:
        columns = np.array(view.columns, dtype=object)
        arrows = arrows_of(view) + 0.0
        return {"column": columns, **{name: arrows[:, m] for m, name in enumerate(view.names)}}


def with_origin(low: float, high: float) -> tuple[float, float]:
    """A side with room for arrows to both sides of the origin, and some around rows that lie far from it."""
    if low < -0.25 * high and high > -0.25 * low:
        return low, high
    low, high = min(low, -0.25 * high), max(high, -0.25 * low)
    return low - MARGIN * (high - low), high + MARGIN * (high - low)


def arrows_of(view: View) -> Array:
    """(d, 2) where the arrows end, before they are made to fit."""
    arrows: Array = view.loadings * (view.spreads if view.scaling == "columns" else 1.0)
    return arrows


def fitting(arrows: Array, scale: Scale) -> float:
    """By how much all arrows are longer so that they fill the picture, with two digits."""
    least = math.inf
    for m, (low, high) in enumerate(scale.ends):
        ends = arrows[arrows[:, m] != 0, m]
        least = min(least, float(np.min(np.where(ends > 0, high, low) / ends, initial=math.inf)))
    if not math.isfinite(least) or least <= 0:
        return 1.0
    return float(f"{REACH * least:.1e}")


def said(view: View, scale: Scale, zoom: float, count: int) -> list[str]:
    assert view.cloud is not None
    what = "loadings" if view.scaling == "rows" else "loadings times the standard deviation"
    drawn = [f"arrows: {what} x {zoom:g}"]
    if view.scaling == "columns":
        drawn.append("scores divided by their standard deviation")
    if count > NAMED:
        drawn.append(f"the {NAMED} longest of {count} named")
    if count > DRAWN:
        drawn.append(f"the {DRAWN} longest drawn")
    return [described(view, view.cloud, scale), *drawn]


def draw_arrows(axes: Axes, tips: Array, color: str) -> None:
    for at, (x, y) in enumerate(tips.tolist()):
        named = at < NAMED
        axes.annotate(
            "", (x, y), xytext=(0, 0), zorder=4 if named else 3, annotation_clip=False,
            arrowprops={"arrowstyle": "-|>" if named else "-", "color": color, "alpha": 1.0 if named else 0.45,
                        "linewidth": 1.3 if named else 0.7, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip


class Box(NamedTuple):
    """Room that a name takes, in points."""

    left: float
    bottom: float
    right: float
    top: float

    def hits(self, other: Box) -> bool:
        apart = self.right < other.left or other.right < self.left or self.top < other.bottom or other.top < self.bottom
        return not apart


def draw_names(axes: Axes, tips: Array, names: list[str]) -> None:
    """Each beside the end of its arrow, moved up or down until it hits no other."""
    from matplotlib.transforms import Affine2D

    assert axes.figure is not None
    points = axes.transData.transform(tips) * 72 / axes.figure.dpi
    origin = axes.transData.transform((0, 0)) * 72 / axes.figure.dpi
    edges = axes.get_window_extent().transformed(Affine2D().scale(72 / axes.figure.dpi))
    taken: list[Box] = []
    for (x, y), name in sorted(zip(points.tolist(), names, strict=True), key=lambda item: -item[0][1]):
        right, above = x >= origin[0], y >= origin[1]
        wide = WIDE * display_width(name) + 4
        x = min(x, edges.x1 - wide - 6) if right else max(x, edges.x0 + wide + 6)
        for step in range(STEPS):
            shift = math.ceil(step / 2) * HIGH * (1 if (step % 2 == 1) == above else -1)
            left = x + 4 if right else x - 4 - wide
            box = Box(left, y + shift - HIGH / 2, left + wide, y + shift + HIGH / 2)
            if not any(box.hits(other) for other in taken):
                break
        taken.append(box)
        middle = np.array([box.left + 2 if right else box.right - 2, (box.bottom + box.top) / 2])
        at = axes.transData.inverted().transform(middle * axes.figure.dpi / 72)
        axes.annotate(
            name, tuple(at.tolist()), ha="left" if right else "right", va="center", fontsize=LETTERS, color=DARK,
            zorder=5, annotation_clip=False,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.75},
        )  # fmt: skip
