"""The scree chart as a picture file: eigenvalues above, cumulative share below, and what the rules for k pick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pcatool.linalg.drop import largest_drop
from pcatool.model import Array
from pcatool.options import PictureOptions
from pcatool.render.chart import drop_text, kept_text
from pcatool.render.figures import check_form, figure_file, new_figure, plain_matplotlib
from pcatool.render.theme import DARK, FRAME, KEPT, LEFT, MARK, clean, in_units, label, titled
from pcatool.render.words import counted
from pcatool.rules.compare import Verdict, agreement
from pcatool.variance import VarianceTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["scree_picture"]

# More bars than this run into each other: an area instead, on a logarithmic axis, or what matters, which is at the
# left, would be a sliver.
BARS = 40

# In inches: the panels without the rules, and one rule.
WIDTH, HEIGHT = 8.0, 6.0
RULES, RULE = 0.5, 0.21


def scree_picture(
    table: VarianceTable,
    *,
    kept: int,
    form: str,
    title: str,
    log: bool = False,
    verdicts: Sequence[Verdict] = (),
    look: PictureOptions = PictureOptions(),  # noqa: B008
) -> bytes:
    """The picture as the bytes of its file; the same table gives the same bytes."""
    check_form(form)
    ruled = RULES + RULE * len(verdicts) if verdicts else 0.0
    with plain_matplotlib():
        figure = new_figure(look, (WIDTH, HEIGHT + ruled))
        heights = (3.3, 2.0, *([ruled] if ruled else []))
        above, below, *rest = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        titled(figure, above, "Eigenvalues and what they add up to", title)
        draw_eigenvalues(above, table, kept, log)
        draw_cumulative(below, table, kept)
        for axes in rest:
            draw_rules(axes, verdicts, len(table.component))
        for axes in (above, below, *rest):
            axes.axvline(kept + 0.5, color=DARK, linestyle="--", linewidth=1, clip_on=False)
            clean(axes, "y")
        name_components(above if not rest else rest[-1], table)
        (rest or [below])[-1].set_xlabel(f"component{'' if few(table) else ' (logarithmic)'}")
        return figure_file(figure, form, look)


def few(table: VarianceTable) -> bool:
    return len(table.component) <= BARS


def draw_eigenvalues(axes: Axes, table: VarianceTable, kept: int, log: bool) -> None:
    """The eigenvalues with both marks; the room above the first is for their names."""
    values, unit = in_units(table.eigenvalue)
    axes.set_xlim(0.5 if few(table) else 0.75, len(values) + 0.5)
    if not few(table):
        axes.set_xscale("log")
    axes.set_ylabel(f"eigenvalue{unit}{' (logarithmic)' if log else ''}")
    top = draw_line(axes, values, kept) if log else draw_bars(axes, values, kept, few(table))
    label(axes, kept + 0.5, kept_text(table, kept), DARK, down=9)
    drop = largest_drop(np.sort(table.eigenvalue)[::-1])
    if drop:
        floor = values[drop] if not log or values[drop] > 0 else axes.get_ylim()[0]
        axes.plot([drop + 0.5] * 2, [floor, top], color=MARK, linewidth=2, zorder=3)
        label(axes, drop + 0.5, drop_text(drop), MARK, down=25)


def draw_bars(axes: Axes, values: Array, kept: int, few: bool) -> float:
    """Bars, or an area when there are too many; how high the mark of the drop goes."""
    if few:
        colors = [KEPT if j < kept else LEFT for j in range(len(values))]
        axes.bar(np.arange(len(values)) + 1, values, color=colors)
    else:
        edges = np.arange(len(values) + 1) + 0.5
        axes.stairs(values[:kept], edges[: kept + 1], fill=True, color=KEPT)
        axes.stairs(values[kept:], edges[kept:], fill=True, color=LEFT)
        axes.stairs(values, edges, color=DARK, linewidth=0.8)
    top = float(values.max()) or 1.0
    axes.set_ylim(0, 1.3 * top)
    return 1.14 * top


def draw_line(axes: Axes, values: Array, kept: int) -> float:
    """Points on a logarithmic axis, which has no base for bars to stand on; what is 0 has no place there."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    components = np.arange(len(values)) + 1
    there = values > 0
    marker = {"marker": "o", "markersize": 5 if len(values) <= BARS else 2.5}
    axes.set_yscale("log")
    axes.plot(components[there], values[there], color=FRAME, linewidth=0.8)
    for color, part in ((LEFT, there & (components > kept)), (KEPT, there & (components <= kept))):
        axes.plot(components[part], values[part], color=color, linestyle="", markeredgecolor=DARK,
                  markeredgewidth=0.3, **marker)  # type: ignore[arg-type]  # fmt: skip
    if not there.all():
        text = f"not shown: {counted(int(len(values) - there.sum()), 'eigenvalue')} of 0"
        axes.annotate(text, (0.01, 0.02), xycoords="axes fraction", va="bottom", color=FRAME, fontsize=9)
    low, high = (float(values[there].min()), float(values[there].max())) if there.any() else (1.0, 1.0)
    decades = max(float(np.log10(high / low)), 0.5)
    axes.set_ylim(low / 10 ** (0.06 * decades), high * 10 ** (0.28 * decades))
    axes.yaxis.set_major_locator(LogLocator(10, numticks=8) if decades >= 2 else LogLocator(10, (1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    return float(high * 10 ** (0.14 * decades))


def draw_cumulative(axes: Axes, table: VarianceTable, kept: int) -> None:
    from matplotlib.ticker import PercentFormatter

    marker = "o" if few(table) else ""
    axes.plot(table.component, table.cumulative, color=DARK, linewidth=1.2, marker=marker, markersize=4)
    axes.plot(kept, table.cumulative[kept - 1], color=KEPT, marker="o", markersize=8, clip_on=False)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("cumulative share")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def draw_rules(axes: Axes, verdicts: Sequence[Verdict], most: int) -> None:
    """A line for each rule: what it picks, by a mark and its number; those that most agree on stand out."""
    agreed = agreement(verdicts)
    for row, verdict in enumerate(verdicts):
        if verdict.k is None:
            place = axes.get_yaxis_transform()
            axes.text(0.5, row, "does not apply", transform=place, ha="center", va="center", color=FRAME, fontsize=8)
            continue
        color = MARK if agreed is not None and verdict.k == agreed.k else KEPT
        shown = min(verdict.k, most)
        axes.plot(shown, row, color=color, marker="D" if color == MARK else "o", markersize=6, clip_on=False)
        label(axes, shown, str(verdict.k), color, y=row)
    axes.set_yticks(range(len(verdicts)), [verdict.rule for verdict in verdicts], fontsize=9)
    axes.set_ylim(len(verdicts) - 0.4, -0.6)
    axes.set_ylabel("picked by" if agreed is None else f"picked by (most: {agreed.k})")


def name_components(axes: Axes, table: VarianceTable) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    whole = MaxNLocator(integer=True, steps=(1, 2, 5, 10), min_n_ticks=1)
    axes.xaxis.set_major_locator(whole if few(table) else LogLocator(10, (1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
