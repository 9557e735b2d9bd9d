"""The scree chart as a picture file: eigenvalues above, cumulative share below."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pcatool.errors import UsageError, printable, show
from pcatool.linalg.drop import largest_drop
from pcatool.model import Array
from pcatool.render.chart import drop_text, kept_text
from pcatool.render.tables import fold
from pcatool.stores.uri import plain_name
from pcatool.variance import VarianceTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PICTURES", "picture_form", "scree_picture"]

# The metadata that would carry a date or a version: without it the same model gives the same bytes.
PICTURES: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

# More bars than this run into each other: an area instead, on a logarithmic axis, or what matters, which is at the
# left, would be a sliver.
BARS = 40

# Okabe and Ito's blue and vermilion, and a grey: apart for the colour-blind, and in lightness when printed in grey.
KEPT, LEFT, MARK = "#0072B2", "#B8B8B8", "#D55E00"


def picture_form(path: str | os.PathLike[str]) -> str:
    """The form of a picture by the ending of its name."""
    form = Path(plain_name(os.fspath(path))).suffix.lower().lstrip(".")
    if form not in PICTURES:
        raise UsageError(f"{show(os.fspath(path))} does not end like a picture", "use .png, .svg or .pdf")
    return form


def scree_picture(table: VarianceTable, *, kept: int, form: str, title: str) -> bytes:
    """The picture as the bytes of its file; the same table gives the same bytes."""
    if form not in PICTURES:
        raise UsageError(f"no form of picture called {show(form)}", f"there are: {', '.join(PICTURES)}")
    with plain_matplotlib():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 6), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        figure.suptitle("\n".join(fold(printable(title), 80)), parse_math=False)
        draw_eigenvalues(above, table, kept)
        draw_cumulative(below, table, kept)
        for axes in (above, below):
            axes.axvline(kept + 0.5, color="black", linestyle="--", linewidth=1)
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="y", color="#E5E5E5", linewidth=0.8)
            axes.set_axisbelow(True)
        out = io.BytesIO()
        figure.savefig(out, format=form, dpi=150, metadata=PICTURES[form])
    return out.getvalue()


@contextmanager
def plain_matplotlib() -> Iterator[None]:
    """Matplotlib as it was shipped: no settings of the user, no words on stderr, and nothing of it left behind.

    It would otherwise log that a home is read-only and warn of a letter its font lacks; a job's log has no use for it.
    """
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matplotlib = imported()
            with matplotlib.rc_context():
                matplotlib.rcdefaults()
                matplotlib.rcParams["svg.hashsalt"] = "pcatool"  # its ids are random otherwise
                yield
    finally:
        log.setLevel(level)


def imported() -> Any:
    remedy = "pip install 'pcatool[plot]'; charts on a terminal and tables work without"
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise UsageError("drawing a picture needs matplotlib", remedy) from error
    except (ImportError, ValueError) as error:
        raise UsageError(f"matplotlib does not load: {printable(str(error))}", remedy) from error
    return matplotlib


def draw_eigenvalues(axes: Axes, table: VarianceTable, kept: int) -> None:
    """Bars, or an area when there are too many, with both marks; the room above the first bar is for their names."""
    values, unit = in_units(table.eigenvalue)
    if len(values) <= BARS:
        colors = [KEPT if j <= kept else LEFT for j in table.component]
        axes.bar(table.component, values, color=colors)
    else:
        edges = np.arange(len(values) + 1) + 0.5
        axes.stairs(values[:kept], edges[: kept + 1], fill=True, color=KEPT)
        axes.stairs(values[kept:], edges[kept:], fill=True, color=LEFT)
        axes.stairs(values, edges, color="black", linewidth=0.8)
        axes.set_xscale("log")
    top = float(values.max()) or 1.0
    axes.set_xlim(0.5 if len(values) <= BARS else 0.75, len(values) + 0.5)
    axes.set_ylim(0, 1.3 * top)
    axes.set_ylabel(f"eigenvalue{unit}")
    label(axes, kept + 0.5, 1.22 * top, kept_text(table, kept), "black")
    drop = largest_drop(table.eigenvalue)
    if drop:
        axes.plot([drop + 0.5] * 2, [values[drop], 1.14 * top], color=MARK, linewidth=2, zorder=3)
        label(axes, drop + 0.5, 1.09 * top, drop_text(drop), MARK)


def draw_cumulative(axes: Axes, table: VarianceTable, kept: int) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter, StrMethodFormatter

    few = len(table.component) <= BARS
    axes.plot(table.component, table.cumulative, color="black", linewidth=1.2, marker="o" if few else "", markersize=4)
    axes.plot(kept, table.cumulative[kept - 1], color=KEPT, marker="o", markersize=8, clip_on=False)
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("cumulative share")
    axes.set_xlabel("component" if few else "component (logarithmic)")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    whole = MaxNLocator(integer=True, steps=(1, 2, 5, 10), min_n_ticks=1)
    axes.xaxis.set_major_locator(whole if few else LogLocator(10, (1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))


def label(axes: Axes, x: float, y: float, text: str, color: str) -> None:
    """A name beside a vertical mark, on the side where there is more room."""
    at, _ = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))
    side = 1 if at <= 0.5 else -1
    axes.annotate(
        text, (x, y), xytext=(6 * side, 0), textcoords="offset points", color=color, va="center",
        ha="left" if side > 0 else "right", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip


def in_units(values: Array) -> tuple[Array, str]:
    """Values to draw, with the power of ten taken off when it is large: axes of 1e300 or 1e-300 cannot be drawn."""
    mantissa, _, exponent = f"{values[0]:e}".partition("e")
    if -3 <= int(exponent) <= 5 or values[0] == 0:
        return values, ""
    return values / values[0] * float(mantissa), f" / 1e{int(exponent)}"
