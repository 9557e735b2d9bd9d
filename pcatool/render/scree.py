"""Scree charts, as text for a terminal and as a picture, with the choices of the rules for k."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.spectrum import largest_drop
from pcatool.model.model import VarianceTable
from pcatool.options import PictureOptions
from pcatool.render.figures import (
    DARK,
    FRAME,
    KEPT,
    LEFT,
    MARK,
    check_form,
    clean,
    draw_titles,
    figure_file,
    in_units,
    label,
    new_figure,
    plain_matplotlib,
)
from pcatool.render.text import fold, format_numbers, render_table
from pcatool.rules.base import Verdict, agreement
from pcatool.terminal import BOLD, CYAN, DIM, MAGENTA, styled
from pcatool.wording import counted, percent

__all__ = ["FIRST_COMPONENTS", "ScreeLook", "rules_report", "scree_chart", "scree_picture"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

DEFAULT_ROWS = 30  # usual rows of a chart: fits in a window
MAX_ROWS = 60  # most rows, to show all kept components without a gap
MIN_BAR_WIDTH = 10  # least width of bars in characters; columns of numbers are removed to reach this width
DIGITS = 5  # significant digits of eigenvalues; the table has more


class Glyphs(NamedTuple):
    """The characters that a chart is drawn with."""

    full: str  # a full cell of a bar
    parts: str  # parts of a full cell, ascending
    kept: str  # line below the kept components
    drop: str  # line at the largest drop
    hidden: str  # in place of hidden rows


UNICODE = Glyphs("█", "▏▎▍▌▋▊▉", "─", "┄", "⋮")
ASCII = Glyphs("#", "", "-", ".", "...")


def scree_chart(
    table: VarianceTable,
    *,
    kept: int,
    width: int,
    color: bool,
    unicode: bool,
    max_rows: int | None = None,
    total_components: int | None = None,
) -> str:
    """Return the chart as text that ends with a newline, with no line wider than `width`.

    One row per component; marks after the first `kept` components and at the largest drop; lines that sum up hidden
    components. `max_rows` limits the components with a row; None for DEFAULT_ROWS, or for `kept` + 3 if this number is
    larger and at most MAX_ROWS. `total_components` includes components with unknown eigenvalues; None if unknown.
    """
    glyphs = UNICODE if unicode else ASCII
    drop = _drop(table)
    shown = shown_components(len(table.eigenvalue), kept, drop, max_rows)
    heading, *numbers = number_columns(table, shown, width)
    room = width - len(heading) - 1
    lines = [styled(heading.rstrip(), BOLD, color)]
    before = 0
    longest = float(table.eigenvalue.max())
    for j, text in zip(shown, numbers, strict=True):
        if j > before + 1:
            lines += fold(f"{glyphs.hidden} {hidden_text(table, before + 1, j - 1)}", width)
        ratio = float(table.eigenvalue[j - 1]) / longest if longest > 0 else 0.0
        lines.append(f"{text} {styled(bar(ratio, room, glyphs), CYAN if j <= kept else DIM, color)}".rstrip())
        lines += markers(table, j, kept, drop, width, color, glyphs)
        before = j
    rest = hidden_tail_text(table, shown[-1], total_components)
    lines += fold(f"{glyphs.hidden} {rest}", width) if rest else []
    return "\n".join(lines) + "\n"


def kept_text(table: VarianceTable, kept: int) -> str:
    """Return the label of the mark after the kept components: their number and their cumulative share."""
    return f"k = {kept} kept: {percent(float(table.cumulative[kept - 1]))}"


def drop_text(drop: int) -> str:
    """Return the label of the mark at the largest drop."""
    return f"largest drop: after {drop}"


def shown_components(m: int, kept: int, drop: int, max_rows: int | None) -> list[int]:
    """Return the components, from 1 to m, that get a row: leading components, and those on both sides of each mark.

    The marks are after components `kept` and `drop`. `max_rows` is the largest number of rows; None for the default.
    """
    max_rows_shown = max_rows or max(DEFAULT_ROWS, kept + 3 if kept + 3 <= MAX_ROWS else 0)
    marked = {j for j in (kept, kept + 1, drop, drop + 1) if 1 <= j <= m}
    leading = max(1, max_rows_shown - sum(j > max_rows_shown for j in marked))
    shown = marked | set(range(1, min(leading, m) + 1))
    # A single hidden row is shown instead of the line that says so: both take one line.
    single_gaps = {j for j in range(1, m + 1) if j - 1 in shown and (j + 1 in shown or j == m)}
    return sorted(shown | single_gaps)


def number_columns(table: VarianceTable, shown: list[int], width: int) -> list[str]:
    """Return the text at the left of the bars: the heading, then a line for each component of `shown`.

    Columns of numbers are omitted until MIN_BAR_WIDTH characters of `width` are left for bars.
    """
    rows = np.array(shown) - 1
    columns = {
        "PC": [str(j) for j in shown],
        "eigenvalue": format_numbers(table.eigenvalue[rows], DIGITS),
        "share": [percent(float(s)) for s in table.share[rows]],
        "cumulative": [percent(float(s)) for s in table.cumulative[rows]],
    }
    for removable in ("share", "cumulative", "eigenvalue", ""):
        widths = {name: max(map(len, (name, *cells))) for name, cells in columns.items()}
        if sum(widths.values()) + 2 * len(widths) + MIN_BAR_WIDTH <= width or not removable:
            break
        del columns[removable]
    lines: Iterable[tuple[str, ...]] = zip(*([name, *cells] for name, cells in columns.items()), strict=True)
    return ["  ".join(text.rjust(w) for text, w in zip(line, widths.values(), strict=True)) + " " for line in lines]


def bar(ratio: float, room: int, glyphs: Glyphs) -> str:
    """Return a bar of ratio * room characters, rounded up, so that only a ratio of 0 has no bar."""
    steps = len(glyphs.parts) + 1
    full, remainder = divmod(min(math.ceil(ratio * room * steps), room * steps), steps)
    return glyphs.full * full + (glyphs.parts[remainder - 1] if remainder else "")


def markers(
    table: VarianceTable, j: int, kept: int, drop: int, width: int, color: bool, glyphs: Glyphs
) -> Iterable[str]:
    """Yield the lines below component j: the mark of the kept components if j is `kept`, of the drop if j is `drop`."""
    marks = {}
    if j == kept:
        marks[kept_text(table, kept)] = (glyphs.kept, BOLD)
    if j == drop:
        marks[drop_text(drop)] = (glyphs.drop, MAGENTA)
    joined = ", ".join(marks)
    if len(marks) == 2 and len(joined) + 6 <= width:
        marks = {joined: (glyphs.kept, BOLD)}
    for text, (dash, code) in marks.items():
        for line in fold(f"{dash * 2} {text}", width):
            yield styled(f"{line} {dash * (width - len(line) - 1)}" if len(line) + 1 < width else line, code, color)


def hidden_text(table: VarianceTable, first: int, last: int) -> str:
    """Return the text for the hidden components `first` to `last`, with the sum of their shares."""
    return f"{first} to {last}: {percent(float(np.sum(table.share[first - 1 : last])))} in all"


def _drop(table: VarianceTable) -> int:
    """Return the number of eigenvalues before the largest drop; components may be in another order, after alignment."""
    return largest_drop(np.sort(table.eigenvalue)[::-1])


def hidden_tail_text(table: VarianceTable, last: int, total_components: int | None) -> str:
    """Return the text on the components after `last`: their number and the sum of their shares.

    Empty if there are no more components. `total_components` is None if their number is unknown.
    """
    m = len(table.eigenvalue)
    hidden = (total_components or m) - last
    share = percent(float(table.lost_share[last - 1]))
    unknown = total_components is None and table.lost_share[m - 1] > 0
    if hidden > 0:
        more = counted(hidden, "more component")
        return f"{'at least ' if unknown else ''}{more}: {share} in all"
    return f"components not computed: {share} in all" if unknown else ""


FIRST_COMPONENTS = 30  # components drawn, unless all are requested
# Most components drawn as bars; more bars would touch each other, so an area is drawn instead.
MAX_BARS = 60
LABELLED_BARS = 10  # first bars that have their share above them
# Points below the top: the labels of the kept components and of the largest drop, and the room for both.
KEPT_LABEL_DOWN, DROP_LABEL_DOWN, LABELS_ROOM = 9.0, 25.0, 36.0
SHARE_FONT, SHARE_GAP = 8.0, 3.0  # font size of shares, and the free space around them, in points
RULE_LINE = 1.35  # line height of the rules, relative to the font size
MIN_BARS_PART = 0.4  # least part of the height for the bars; shares are omitted to keep it

# Appended to the label of a mark that lies beyond the last component shown.
BEYOND_SHOWN = " \N{RIGHTWARDS ARROW}"

# Inches: size of the panels without the rules; height of the panel of rules, and of each rule.
WIDTH, HEIGHT = 8.0, 6.0
RULES_PANEL, RULE_HEIGHT = 0.5, 0.21


@dataclass(frozen=True)
class ScreeLook:
    """Options of the scree picture: the scales of the axes, and the components that are drawn."""

    log: bool = False  # eigenvalues on a logarithmic scale
    log_components: bool = False  # component numbers on a logarithmic scale
    all_components: bool = False  # draw all known components, not only the first

    def shown(self, known: int) -> int:
        """Return the number of eigenvalues that are drawn if `known` eigenvalues are known."""
        return known if self.all_components else min(known, FIRST_COMPONENTS)


def scree_picture(
    table: VarianceTable,
    *,
    kept: int,
    form: str,
    title: str,
    scree: ScreeLook = ScreeLook(),
    verdicts: Sequence[Verdict] = (),
    picture: PictureOptions = PictureOptions(),  # noqa: B008
) -> bytes:
    """Return the bytes of the picture file, with a panel for the verdicts of the rules if there are any.

    Equal arguments give equal bytes.
    """
    check_form(form)
    with plain_matplotlib():
        figure = scree_figure(table, kept, title, scree, verdicts, picture)
        return figure_file(figure, form, picture)


def scree_figure(
    table: VarianceTable, kept: int, title: str, scree: ScreeLook, verdicts: Sequence[Verdict], picture: PictureOptions
) -> Figure:
    """Return the figure: eigenvalues above, cumulative shares in the middle, and the rules below."""
    ruled = RULES_PANEL + RULE_HEIGHT * len(verdicts) if verdicts else 0.0
    figure = new_figure(picture, (WIDTH, HEIGHT + ruled))
    heights = (3.3, 2.0, *([ruled] if ruled else []))
    above, below, *rest = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    shown = scree.shown(len(table.component))
    draw_titles(figure, above, "Eigenvalues and cumulative shares", title)
    values, unit = in_units(table.eigenvalue[:shown], float(table.eigenvalue[0]))
    above.set_ylabel(f"eigenvalue{unit}{' (logarithmic)' if scree.log else ''}")
    (draw_points if scree.log else draw_bars)(above, values, kept)
    draw_cumulative(below, table, kept, shown)
    for axes in rest:
        draw_rules(axes, verdicts, shown)
    for axes in (above, below, *rest):
        if kept <= shown:
            axes.axvline(kept + 0.5, color=DARK, linestyle="--", linewidth=1, clip_on=False)
        clean(axes, "y")
    last = (rest or [below])[-1]
    last.set_xlabel(f"component{' (logarithmic)' if scree.log_components else ''}")
    name_components(last, shown, log=scree.log_components)
    figure.draw_without_rendering()  # computes the layout, which the labels need
    name_marks(figure, above, table, values, kept, scree)
    for axes in rest:
        fit_rules(figure, axes, len(verdicts))
    return figure


def draw_bars(axes: Axes, values: Array, kept: int) -> None:
    """Draw the eigenvalues as bars, or as an area if there are more than MAX_BARS, with points on top.

    The first `kept` bars have the colour of kept components.
    """
    edges = np.arange(len(values) + 1) + 0.5
    if len(values) <= MAX_BARS:
        colors = [KEPT if j < kept else LEFT for j in range(len(values))]
        axes.bar(np.arange(len(values)) + 1, values, color=colors)
    else:
        axes.stairs(values[:kept], edges[: kept + 1], fill=True, color=KEPT)
        axes.stairs(values[kept:], edges[kept:], fill=True, color=LEFT)
    axes.plot(np.arange(len(values)) + 1, values, color=DARK, linestyle="", marker="o", markersize=point_size(values))
    axes.set_ylim(0, 1.3 * (float(values.max()) or 1.0))


def draw_points(axes: Axes, values: Array, kept: int) -> None:
    """Draw the eigenvalues as points on a logarithmic axis; zeros are omitted, and a note counts them.

    The first `kept` points have the colour of kept components.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    components = np.arange(len(values)) + 1
    positive = values > 0
    axes.set_yscale("log")
    axes.plot(components[positive], values[positive], color=FRAME, linewidth=0.8)
    for color, part in ((LEFT, positive & (components > kept)), (KEPT, positive & (components <= kept))):
        axes.plot(components[part], values[part], color=color, linestyle="", markeredgecolor=DARK,
                  markeredgewidth=0.3, marker="o", markersize=point_size(values) + 1)  # fmt: skip
    if not positive.all():
        text = f"not shown: {counted(int(len(values) - positive.sum()), 'eigenvalue')} equal to 0"
        axes.annotate(text, (0.01, 0.02), xycoords="axes fraction", va="bottom", color=FRAME, fontsize=9)
    low, high = (float(values[positive].min()), float(values[positive].max())) if positive.any() else (1.0, 1.0)
    decades = max(float(np.log10(high / low)), 0.5)
    axes.set_ylim(low / 10 ** (0.06 * decades), high * 10 ** (0.28 * decades))
    axes.yaxis.set_major_locator(LogLocator(10, numticks=8) if decades >= 2 else LogLocator(10, (1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def point_size(values: Array) -> float:
    """Return the marker size in points, smaller if there are many values."""
    return 4.0 if len(values) <= MAX_BARS else 1.5


# --- names ---


def name_marks(figure: Figure, axes: Axes, table: VarianceTable, values: Array, kept: int, scree: ScreeLook) -> None:
    """Draw the labels of kept components and of the largest drop, and the shares of the first bars if there is room.

    The axes are extended upward to make room for these texts.
    """
    box = axes.get_window_extent()
    points = 72 / figure.dpi
    high = box.height * points
    shares = [] if scree.log or scree.log_components else fitting_shares(figure, table, box.width * points, len(values))
    shares_height = max((text.get_window_extent().height * points + 2 * SHARE_GAP for text in shares), default=0.0)
    if high - LABELS_ROOM - shares_height < MIN_BARS_PART * high:
        shares, shares_height = [], 0.0
    low, top = axes.get_ylim()
    if not scree.log:
        top = (float(values.max()) or 1.0) / max(1 - (LABELS_ROOM + shares_height) / high, MIN_BARS_PART)
        axes.set_ylim(low, top)
    for j, text in enumerate(shares):
        axes.annotate(
            text.get_text(), (j + 1, values[j]), xytext=(0, SHARE_GAP + 2), textcoords="offset points", ha="center",
            va="bottom", rotation=text.get_rotation(), fontsize=SHARE_FONT, color=DARK,
        )  # fmt: skip
    arrow = BEYOND_SHOWN if kept > len(values) else ""
    label(axes, min(kept, len(values)) + 0.5, f"{kept_text(table, kept)}{arrow}", DARK, down=KEPT_LABEL_DOWN)
    drop = _drop(table)
    if not drop:
        return
    if drop < len(values):
        floor = values[drop] if not scree.log or values[drop] > 0 else axes.get_ylim()[0]
        drop_height = (high - DROP_LABEL_DOWN + 6) / high  # relative to the height
        end = axes.transData.inverted().transform(axes.transAxes.transform((0.0, drop_height)))[1]
        axes.plot([drop + 0.5] * 2, [floor, end], color=MARK, linewidth=2, zorder=3)
    arrow = BEYOND_SHOWN if drop >= len(values) else ""
    label(axes, min(drop, len(values)) + 0.5, f"{drop_text(drop)}{arrow}", MARK, down=DROP_LABEL_DOWN)


def fitting_shares(figure: Figure, table: VarianceTable, width: float, shown: int) -> list[Text]:
    """Return the shares of the first LABELLED_BARS components as texts that fit above bars, rotated if necessary.

    Empty if they do not fit. `width` is that of the axes in points, on which `shown` bars are drawn.
    """
    from matplotlib.text import Text

    for rotation in (0, 90):
        texts = [
            Text(0, 0, percent(float(share)), fontsize=SHARE_FONT, rotation=rotation, figure=figure)
            for share in table.share[: min(LABELLED_BARS, shown)]
        ]
        if max(text.get_window_extent().width for text in texts) * 72 / figure.dpi + SHARE_GAP <= width / shown:
            return texts
    return []


def draw_cumulative(axes: Axes, table: VarianceTable, kept: int, shown: int) -> None:
    """Draw the cumulative shares of the first `shown` components, with a large point at component `kept` if shown."""
    from matplotlib.ticker import PercentFormatter

    marker = "o" if shown <= MAX_BARS else ""
    axes.plot(table.component[:shown], table.cumulative[:shown], color=DARK, linewidth=1.2, marker=marker, markersize=4)
    if kept <= shown:
        axes.plot(kept, table.cumulative[kept - 1], color=KEPT, marker="o", markersize=8, clip_on=False)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("cumulative share")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def draw_rules(axes: Axes, verdicts: Sequence[Verdict], shown_count: int) -> None:
    """Draw a row for each rule with a point at the k that the rule picks; the k that most rules pick is highlighted.

    A k above `shown_count`, the number of components on the axis, is an arrow at the right edge.
    """
    agreed = agreement(verdicts)
    for row, verdict in enumerate(verdicts):
        if verdict.k is None:
            place = axes.get_yaxis_transform()
            axes.text(0.5, row, "does not apply", transform=place, ha="center", va="center", color=FRAME, fontsize=8)
            continue
        color = MARK if agreed is not None and verdict.k == agreed.k else KEPT
        shown = min(verdict.k, shown_count)
        marker = ">" if verdict.k > shown_count else "D" if color == MARK else "o"
        axes.plot(shown, row, color=color, marker=marker, markersize=6, clip_on=False)
        label(axes, shown, str(verdict.k), color, y=row)
    axes.set_yticks(range(len(verdicts)), [verdict.rule for verdict in verdicts], fontsize=9)
    axes.set_ylim(len(verdicts) - 0.4, -0.6)
    axes.set_ylabel("rules" if agreed is None else f"rules ({len(agreed.rules)} pick {agreed.k})")


def fit_rules(figure: Figure, axes: Axes, count: int) -> None:
    """Reduce the font size in the panel of rules if the panel is too low for `count` lines of text."""
    line = axes.get_window_extent().height * 72 / figure.dpi / count
    for text in (*axes.get_yticklabels(), *axes.texts):
        text.set_fontsize(min(float(text.get_fontsize()), line / RULE_LINE))


def name_components(axes: Axes, shown: int, *, log: bool) -> None:
    """Set the limits and ticks of the x axis that all panels share: component numbers from 1 to `shown`."""
    from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    axes.set_xlim(0.75 if log else 0.5, shown + 0.5)
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
    else:
        whole = MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1).tick_values(0, shown)
        axes.xaxis.set_major_locator(FixedLocator([1, *(j for j in whole if 1 < j <= shown)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))


def rules_report(verdicts: Sequence[Verdict], form: str, width: int | None) -> str:
    """Return the k of each rule with its reason, and the k that most rules pick, as text in a format of FORMS.

    CSV omits the k that most rules pick. `width` is for the format `table`; None for no limit.
    """
    agreed = agreement(verdicts)
    if form == "json":
        rules = [{"rule": v.rule, "k": v.k, "reason": v.reason} for v in verdicts]
        document = {"rules": rules, "agreed": None if agreed is None else {"k": agreed.k, "rules": list(agreed.rules)}}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    columns = {
        "rule": np.array([v.rule for v in verdicts]),
        "k": np.array(["" if v.k is None else str(v.k) for v in verdicts]),
        "reason": np.array([v.reason for v in verdicts]),
    }
    where = "no two rules agree"
    if agreed:
        where = f"k = {agreed.k} is picked by {', '.join(agreed.rules)}; no other k is picked by more rules"
    return render_table(columns, form, caption=where, width=width)
