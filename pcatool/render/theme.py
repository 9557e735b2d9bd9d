"""What all pictures have in common: colours and marks that are told apart in grey and by the colour-blind, and texts.

Colours are those of Okabe and Ito (2008), with two more of Tol's, in an order in which neighbours differ in lightness,
too; marks repeat what colours say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pcatool.arrays import Array
from pcatool.errors import printable
from pcatool.render.text import display_width, fold

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

__all__ = [
    "COLORS",
    "DARK",
    "DENSITY",
    "DIVERGING",
    "FRAME",
    "GRID",
    "KEPT",
    "LEFT",
    "MARK",
    "MARKERS",
    "NEGATIVE",
    "NUMBERS",
    "PAGE",
    "PAGE_AT_NIGHT",
    "POSITIVE",
    "REST",
    "SMALL_LETTERS",
    "clean",
    "in_units",
    "label",
    "of_numbers",
    "shortened",
    "signed",
    "titled",
    "told_apart",
]

# Of classes, in this order; a test holds neighbours apart in grey, and for two kinds of colour-blindness as Machado,
# Oliveira and Fernandes (2009) simulate them.
COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#882255", "#F0E442", "#CC79A7", "#000000", "#999933"
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">")
REST = "#B0B0B0"  # of rows that are of no class, or of one without a colour

# What is kept, what is not, and what is pointed at: blue and vermilion, and a grey.
KEPT, LEFT, MARK = COLORS[0], "#B8B8B8", COLORS[4]
DARK, FRAME, GRID = "#222222", "#808080", "#E5E5E5"

# Of signs, in bars, images and the page: vermilion is above 0, blue below, on a scale of both with darker ends of equal
# lightness and white for 0.
POSITIVE, NEGATIVE = MARK, KEPT
DIVERGING = ("#00344F", NEGATIVE, "#A9CFE6", "#FFFFFF", "#F3C3A0", POSITIVE, "#5E2900")

# Of numbers: viridis, made so that lightness grows evenly, for any eye (Smith and van der Walt 2015), at even steps.
NUMBERS = (
    "#440154", "#481769", "#472A7A", "#433D84", "#3D4E8A", "#355E8D", "#2E6D8E", "#297B8E", "#23898E",
    "#1F978B", "#21A585", "#2EB37C", "#46C06F", "#65CB5E", "#89D548", "#B0DD2F", "#D8E219", "#FDE725"
)  # fmt: skip
# Of how many rows lie in one place: one hue that gets darker, from a lightness that is still seen on white.
DENSITY = ("#9CC9E3", "#4C9CCB", KEPT, "#004A75", "#001F33")

# Of the page, by the names of its style sheet: what marks and bars are drawn with, on white and on black, where they
# are lighter.
PAGE = {"kept": KEPT, "left": "#838D99", "sum": MARK, "positive": POSITIVE, "negative": NEGATIVE, "rest": REST}
PAGE_AT_NIGHT = {
    "kept": COLORS[3], "left": "#77838F", "sum": "#FFA561", "positive": "#F08C42", "negative": COLORS[3],
    "rest": "#77838F",
}  # fmt: skip

# Letters of the small and the large size to an inch; points at the left of titles, and inches at both of their sides.
SMALL_LETTERS, LARGE_LETTERS = 15.0, 9.5
LEFT_EDGE, LEGROOM = 8.0, 0.25


def clean(axes: Axes, grid: str = "both") -> None:
    """Axes with two sides, and a faint grid behind all."""
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FRAME)
    axes.tick_params(color=FRAME)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def shortened(name: str, most: int = 28) -> str:
    """A name from outside that fits beside a picture."""
    text = printable(name[: 4 * most])
    if display_width(text) <= most and len(name) <= 4 * most:
        return text
    while display_width(text) >= most:
        text = text[:-1]
    return text.rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def told_apart(names: Sequence[str], most: int = 28) -> list[str]:
    """Names that fit, `shortened`; those whose beginnings are alike show the part where they differ."""
    texts = [printable(name) for name in names]
    made = [shortened(name, most) for name in names]
    alike = defaultdict(list)
    for at, name in enumerate(made):
        alike[name].append(at)
    for group in alike.values():
        first, last = min(texts[at] for at in group), max(texts[at] for at in group)
        same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        if len(group) > 1 and first != last:
            for at in group:
                head, rest = texts[at][: most // 4], texts[at][max(same - most // 4, most // 4) :]
                made[at] = shortened(f"{head.rstrip()}\N{HORIZONTAL ELLIPSIS}{rest.lstrip()}", most)
    return made


def of_numbers() -> LinearSegmentedColormap:
    """The colours of numbers, from the least to the largest."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("numbers", NUMBERS, N=256)


def signed(value: float, places: int) -> str:
    """A number with so many decimal places, and a minus sign that is one; no minus before zeros."""
    text = f"{value:.{places}f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "\N{MINUS SIGN}")


def titled(
    figure: Figure, axes: Axes, title: str, below: str = "", *, under: float = 0.0, rows: int = 0
) -> tuple[int, list[Annotation]]:
    """A title above the axes, at the left of the picture, and in smaller letters what the picture is of, folded to its
    width; so many points above them. Returns the number of small lines, at least `rows`, and what was drawn."""
    width, height = figure.get_size_inches()
    room = width - LEGROOM
    lines = folded(figure, below, room, SMALL_LETTERS, 9, "normal") if below else []
    lines += [""] * (rows - len(lines))
    headings = folded(figure, title, room, LARGE_LETTERS, 13, "bold")
    up = 6.0 + under
    made = []
    for texts, size, color, weight in ((lines, 9, FRAME, "normal"), (headings, 13, DARK, "bold")):
        if texts:
            made.append(
                axes.annotate(
                    "\n".join(texts), (LEFT_EDGE, 1), xycoords=("figure points", "axes fraction"), xytext=(0, up),
                    textcoords="offset points",
                    fontsize=size, color=color, fontweight=weight, ha="left", va="bottom", annotation_clip=False,
                )
            )  # fmt: skip
            made[-1].set_in_layout(False)
        up += len(texts) * size * 1.25 + 4
    engine: Any = figure.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0, 0, 1, 1 - min((up - under) / 72 / height, 0.5)))
    return len(lines), made


def folded(figure: Figure, text: str, room: float, density: float, size: float, weight: str) -> list[str]:
    """Lines no wider than so many inches, as they are drawn in letters of this size, of about so many to an inch."""
    from matplotlib.text import Text

    letters = max(int(room * density), 12)
    while True:
        lines = fold(printable(text), letters)
        widest = Text(0, 0, "\n".join(lines), fontsize=size, fontweight=weight, figure=figure).get_window_extent().width
        if widest <= room * figure.dpi or letters <= 12:
            return lines
        letters = max(min(letters - 1, int(letters * room * figure.dpi / widest)), 12)


def label(axes: Axes, x: float, text: str, color: str, *, y: float | None = None, down: float = 0) -> None:
    """A name beside a mark, on the side where there is more room: at a height, or so many points below the top."""
    from_data = axes.transData.transform((x, 0.0 if y is None else y))
    at, _ = axes.transAxes.inverted().transform(from_data)
    side = 1 if at <= 0.5 else -1
    place = axes.get_xaxis_transform() if y is None else axes.transData
    axes.annotate(
        text, (x, 1 if y is None else y), xycoords=place, xytext=(6 * side, -down), textcoords="offset points",
        color=color, va="center", ha="left" if side > 0 else "right", fontsize=10 if y is None else 8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5 if y is None else 0.5},
    )  # fmt: skip


def in_units(values: Array, largest: float | None = None) -> tuple[Array, str]:
    """Values to draw, with the power of ten of the first, or of `largest`, taken off when it is large.

    Axes of 1e300 or 1e-300 cannot be drawn.
    """
    unit = float(values[0]) if largest is None else largest
    mantissa, _, exponent = f"{unit:e}".partition("e")
    if -3 <= int(exponent) <= 5 or unit == 0:
        return values, ""
    return values / unit * float(mantissa), f" / 1e{int(exponent)}"
