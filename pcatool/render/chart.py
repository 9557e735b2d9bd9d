"""The scree chart for a terminal: one bar per component, with the kept components and the largest drop marked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pcatool.linalg.spectrum import largest_drop
from pcatool.model.model import VarianceTable
from pcatool.render.shares import percent
from pcatool.render.text import BOLD, DIM, fold, format_numbers, paint

__all__ = ["drop_text", "kept_text", "scree_chart"]

USUAL = 30  # rows of a chart, so that it fits in a window
MOST = 60  # rows it may grow to, to show the kept components without a gap
LEAST_BAR = 10  # narrower bars tell nothing: numbers give way
DIGITS = 5  # of an eigenvalue; the table has more

CYAN, MAGENTA = "\x1b[36m", "\x1b[35m"


class Glyphs(NamedTuple):
    """What a chart is drawn with."""

    full: str
    parts: str  # growing parts of a full one
    kept: str
    drop: str
    hidden: str


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
    """The chart as text that ends with a newline; no line is wider than `width`, colour only adds.

    `total_components` counts those whose eigenvalues are not known as well.
    """
    glyphs = UNICODE if unicode else ASCII
    drop = largest_drop(table.eigenvalue)
    shown = shown_components(len(table.eigenvalue), kept, drop, max_rows)
    heading, *numbers = number_columns(table, shown, width)
    room = width - len(heading) - 1
    lines = [paint(heading.rstrip(), BOLD, color)]
    before = 0
    longest = float(table.eigenvalue.max())
    for j, text in zip(shown, numbers, strict=True):
        if j > before + 1:
            lines += fold(f"{glyphs.hidden} {hidden_text(table, before + 1, j - 1)}", width)
        ratio = float(table.eigenvalue[j - 1]) / longest if longest > 0 else 0.0
        lines.append(f"{text} {paint(bar(ratio, room, glyphs), CYAN if j <= kept else DIM, color)}".rstrip())
        lines += markers(table, j, kept, drop, width, color, glyphs)
        before = j
    rest = rest_text(table, shown[-1], total_components)
    lines += fold(f"{glyphs.hidden} {rest}", width) if rest else []
    return "\n".join(lines) + "\n"


def kept_text(table: VarianceTable, kept: int) -> str:
    return f"k = {kept} kept: {percent(float(table.cumulative[kept - 1]))}"


def drop_text(drop: int) -> str:
    return f"largest drop: after {drop}"


def shown_components(m: int, kept: int, drop: int, max_rows: int | None) -> list[int]:
    """The numbers of the components that get a row: the leading ones, and both sides of each mark."""
    most = max_rows or max(USUAL, kept + 3 if kept + 3 <= MOST else 0)
    marked = {j for j in (kept, kept + 1, drop, drop + 1) if 1 <= j <= m}
    leading = max(1, most - sum(j > most for j in marked))
    shown = marked | set(range(1, min(leading, m) + 1))
    # To say that one row is hidden takes as much room as the row.
    alone = {j for j in range(1, m + 1) if j - 1 in shown and (j + 1 in shown or j == m)}
    return sorted(shown | alone)


def number_columns(table: VarianceTable, shown: list[int], width: int) -> list[str]:
    """The text left of the bars, the heading first: as many of the numbers as leave room for bars."""
    rows = np.array(shown) - 1
    columns = {
        "PC": [str(j) for j in shown],
        "eigenvalue": format_numbers(table.eigenvalue[rows], DIGITS),
        "share": [percent(float(s)) for s in table.share[rows]],
        "cumulative": [percent(float(s)) for s in table.cumulative[rows]],
    }
    for spared in ("share", "cumulative", "eigenvalue", ""):
        widths = {name: max(map(len, (name, *cells))) for name, cells in columns.items()}
        if sum(widths.values()) + 2 * len(widths) + LEAST_BAR <= width or not spared:
            break
        del columns[spared]
    lines: Iterable[tuple[str, ...]] = zip(*([name, *cells] for name, cells in columns.items()), strict=True)
    return ["  ".join(text.rjust(w) for text, w in zip(line, widths.values(), strict=True)) + " " for line in lines]


def bar(ratio: float, room: int, glyphs: Glyphs) -> str:
    """A bar of this part of the room, rounded up, so that only zero has none."""
    steps = len(glyphs.parts) + 1
    full, part = divmod(min(math.ceil(ratio * room * steps), room * steps), steps)
    return glyphs.full * full + (glyphs.parts[part - 1] if part else "")


def markers(
    table: VarianceTable, j: int, kept: int, drop: int, width: int, color: bool, glyphs: Glyphs
) -> Iterable[str]:
    """The lines below component j that mark the kept components and the largest drop."""
    here = {}
    if j == kept:
        here[kept_text(table, kept)] = (glyphs.kept, BOLD)
    if j == drop:
        here[drop_text(drop)] = (glyphs.drop, MAGENTA)
    both = ", ".join(here)
    if len(here) == 2 and len(both) + 6 <= width:
        here = {both: (glyphs.kept, BOLD)}
    for text, (dash, code) in here.items():
        for line in fold(f"{dash * 2} {text}", width):
            yield paint(f"{line} {dash * (width - len(line) - 1)}" if len(line) + 1 < width else line, code, color)


def hidden_text(table: VarianceTable, first: int, last: int) -> str:
    return f"{first} to {last}: {percent(float(np.sum(table.share[first - 1 : last])))} in all"


def rest_text(table: VarianceTable, last: int, total_components: int | None) -> str:
    """What lies past the last row: how many components, and what they hold together."""
    m = len(table.eigenvalue)
    left = (total_components or m) - last
    share = percent(float(table.lost_share[last - 1]))
    unknown = total_components is None and table.lost_share[m - 1] > 0
    if left > 0:
        noun = "component" if left == 1 else "components"
        return f"{'at least ' if unknown else ''}{left} more {noun}: {share} in all"
    return f"components not computed: {share} in all" if unknown else ""
