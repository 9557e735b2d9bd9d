"""Code that all pictures share: colours, marks, labels, file formats, and matplotlib figures with reproducible bytes.

Colours and marks can be distinguished in greyscale and by colour-blind readers. The colours are those of Okabe and Ito
(2008) and two of Tol, ordered so that neighbours also differ in lightness; marks repeat the information of colours.
"""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcatool.arrays import Array
from pcatool.errors import RefusedError, UsageError, check_memory
from pcatool.options import PictureOptions
from pcatool.render.text import fold
from pcatool.stores.uri import plain_name, shown
from pcatool.terminal import display_width
from pcatool.wording import printable, show

__all__ = [
    "CLASS_COLORS",
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
    "PAGE_DARK",
    "PICTURES",
    "POSITIVE",
    "REST",
    "SMALL_LETTERS",
    "check_form",
    "check_room",
    "clean",
    "distinct_names",
    "draw_titles",
    "figure_file",
    "in_units",
    "is_picture",
    "label",
    "missing_glyphs",
    "new_figure",
    "number_colormap",
    "picture_form",
    "plain_matplotlib",
    "shortened",
    "signed",
]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

# Colours of classes, in this order. A test checks that neighbours differ in greyscale, and for two kinds of colour
# blindness as simulated by Machado, Oliveira and Fernandes (2009).
CLASS_COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#882255", "#F0E442", "#CC79A7", "#000000", "#999933"
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">")
REST = "#B0B0B0"  # for rows without a class, or of a class without a colour

# Colours of kept components (blue), other components (grey) and highlights (vermilion).
KEPT, LEFT, MARK = CLASS_COLORS[0], "#B8B8B8", CLASS_COLORS[4]
DARK, FRAME, GRID = "#222222", "#808080", "#E5E5E5"

# Colours of signs, in bars, images and the page: vermilion above 0, blue below. The diverging scale is white at 0, and
# its dark ends have equal lightness.
POSITIVE, NEGATIVE = MARK, KEPT
DIVERGING = ("#00344F", NEGATIVE, "#A9CFE6", "#FFFFFF", "#F3C3A0", POSITIVE, "#5E2900")

# Colours of numbers: viridis in even steps; its lightness grows evenly for any eye (Smith and van der Walt 2015).
NUMBERS = (
    "#440154", "#481769", "#472A7A", "#433D84", "#3D4E8A", "#355E8D", "#2E6D8E", "#297B8E", "#23898E",
    "#1F978B", "#21A585", "#2EB37C", "#46C06F", "#65CB5E", "#89D548", "#B0DD2F", "#D8E219", "#FDE725"
)  # fmt: skip
# Colours of density (rows in a cell): one hue that gets darker; the lightest is still visible on white.
DENSITY = ("#9CC9E3", "#4C9CCB", KEPT, "#004A75", "#001F33")

# Colours of marks and bars in the report page, by their names in the style sheet: on white, and lighter ones on black.
PAGE = {"kept": KEPT, "left": "#838D99", "sum": MARK, "positive": POSITIVE, "negative": NEGATIVE, "rest": REST}
PAGE_DARK = {
    "kept": CLASS_COLORS[3], "left": "#77838F", "sum": "#FFA561", "positive": "#F08C42", "negative": CLASS_COLORS[3],
    "rest": "#77838F",
}  # fmt: skip

# Characters per inch of small and large text. Left margin of titles in points, and total side margin in inches.
SMALL_LETTERS, LARGE_LETTERS = 15.0, 9.5
TITLE_LEFT, SIDE_MARGINS = 8.0, 0.25


def clean(axes: Axes, grid: str = "both") -> None:
    """Show only the left and bottom sides of the axes, with a faint grid in the background.

    `grid`: "x" or "y" for lines at the ticks of this axis, "both", or empty for no lines.
    """
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FRAME)
    axes.tick_params(color=FRAME)
    if grid:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def shortened(name: str, width: int = 28) -> str:
    """Return a name without control characters; if wider than `width` columns of a terminal, cut with an ellipsis."""
    text = printable(name[: 4 * width])
    if display_width(text) <= width and len(name) <= 4 * width:
        return text
    while display_width(text) >= width:
        text = text[:-1]
    return text.rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def distinct_names(names: Sequence[str], width: int = 28) -> list[str]:
    """Return the names, `shortened` to `width`; names that would become equal show the part where they differ."""
    texts = [printable(name) for name in names]
    results = [shortened(name, width) for name in names]
    by_result = defaultdict(list)
    for index, name in enumerate(results):
        by_result[name].append(index)
    for group in by_result.values():
        first, last = min(texts[index] for index in group), max(texts[index] for index in group)
        common = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        if len(group) > 1 and first != last:
            for index in group:
                head, rest = texts[index][: width // 4], texts[index][max(common - width // 4, width // 4) :]
                results[index] = shortened(f"{head.rstrip()}\N{HORIZONTAL ELLIPSIS}{rest.lstrip()}", width)
    return results


def number_colormap() -> LinearSegmentedColormap:
    """Return the matplotlib colour map of numeric values: viridis, in 256 colours interpolated from NUMBERS."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("numbers", NUMBERS, N=256)


def signed(value: float, places: int) -> str:
    """Return a number as text with `places` decimals and a typographic minus sign; no sign if all digits are zero."""
    text = f"{value:.{places}f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "\N{MINUS SIGN}")


def draw_titles(
    figure: Figure, axes: Axes, title: str, below: str = "", *, gap: float = 0.0, min_lines: int = 0
) -> tuple[int, list[Annotation]]:
    """Draw a title above the axes, at the left of the picture, with `below` in small letters under it.

    Both texts are folded to the width of the picture, whose layout gets room for them. `gap` is the distance from the
    axes in points. If there are fewer small lines than `min_lines`, empty lines are added. Return the number of small
    lines, and the annotations that were drawn.
    """
    width, height = figure.get_size_inches()
    room = width - SIDE_MARGINS
    lines = fold_measured(figure, below, room, SMALL_LETTERS, 9, "normal") if below else []
    lines += [""] * (min_lines - len(lines))
    headings = fold_measured(figure, title, room, LARGE_LETTERS, 13, "bold")
    above_axes = 6.0 + gap
    annotations = []
    for texts, size, color, weight in ((lines, 9, FRAME, "normal"), (headings, 13, DARK, "bold")):
        if texts:
            annotations.append(
                axes.annotate(
                    "\n".join(texts), (TITLE_LEFT, 1), xycoords=("figure points", "axes fraction"),
                    xytext=(0, above_axes), textcoords="offset points",
                    fontsize=size, color=color, fontweight=weight, ha="left", va="bottom", annotation_clip=False,
                )
            )  # fmt: skip
            annotations[-1].set_in_layout(False)
        above_axes += len(texts) * size * 1.25 + 4
    engine: Any = figure.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0, 0, 1, 1 - min((above_axes - gap) / 72 / height, 0.5)))
    return len(lines), annotations


def fold_measured(
    figure: Figure, text: str, room: float, characters_per_inch: float, size: float, weight: str
) -> list[str]:
    """Return the lines of a text folded to at most `room` inches, as the renderer measures this font size and weight.

    `characters_per_inch` is the first guess. Lines of 12 characters are not folded further.
    """
    from matplotlib.text import Text

    characters = max(int(room * characters_per_inch), 12)
    while True:
        lines = fold(printable(text), characters)
        widest = Text(0, 0, "\n".join(lines), fontsize=size, fontweight=weight, figure=figure).get_window_extent().width
        if widest <= room * figure.dpi or characters <= 12:
            return lines
        characters = max(min(characters - 1, int(characters * room * figure.dpi / widest)), 12)


def label(axes: Axes, x: float, text: str, color: str, *, y: float | None = None, down: float = 0) -> None:
    """Draw a text at the left or right of the data coordinate `x`, on the side with more room.

    The text is at the data coordinate `y`, or without `y` at `down` points below the top of the axes.
    """
    from_data = axes.transData.transform((x, 0.0 if y is None else y))
    fraction, _ = axes.transAxes.inverted().transform(from_data)
    side = 1 if fraction <= 0.5 else -1
    coordinates = axes.get_xaxis_transform() if y is None else axes.transData
    axes.annotate(
        text, (x, 1 if y is None else y), xycoords=coordinates, xytext=(6 * side, -down), textcoords="offset points",
        color=color, va="center", ha="left" if side > 0 else "right", fontsize=10 if y is None else 8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5 if y is None else 0.5},
    )  # fmt: skip


def in_units(values: Array, largest: float | None = None) -> tuple[Array, str]:
    """Return the values divided by a power of ten, and this power as text for a label such as ` / 1e300`.

    The power is that of `largest`, or of the first value. If this number is 0, or its size at least 1e-3 and below 1e6,
    the values are unchanged and the text is empty. Matplotlib cannot draw axes of 1e300 or 1e-300.
    """
    unit = float(values[0]) if largest is None else largest
    mantissa, _, exponent = f"{unit:e}".partition("e")
    if -3 <= int(exponent) <= 5 or unit == 0:
        return values, ""
    return values / unit * float(mantissa), f" / 1e{int(exponent)}"


# File format -> metadata to leave out, because a date or version in it would change the bytes.
PICTURES: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

DEFAULT_SIZE = (8.0, 6.0)  # inches
DPI = 150.0
MIN_SIZE = (4.0, 3.0)  # smallest size in inches; in a smaller picture, axes and texts overlap
# Bounds the memory: a pixel takes four bytes, several times over.
MOST_PIXELS = 100_000_000


def picture_form(path: str | os.PathLike[str]) -> str:
    """Return the format of a picture from the suffix of its name; raise UsageError for any other suffix."""
    form = Path(plain_name(os.fspath(path))).suffix.lower().lstrip(".")
    if form not in PICTURES:
        raise UsageError(
            f"cannot write the picture {show(shown(os.fspath(path)))}: its format is not known",
            "end the name with .png, .svg or .pdf",
        )
    return form


def is_picture(path: str | os.PathLike[str] | None) -> bool:
    """Return whether the name has the suffix of a picture format; False for None."""
    return path is not None and Path(plain_name(os.fspath(path))).suffix.lower().lstrip(".") in PICTURES


def check_form(form: str) -> None:
    """Raise UsageError unless `form` is a picture format."""
    if form not in PICTURES:
        raise UsageError(f"unknown picture format {show(form)}", f"choose {', '.join(PICTURES)}")


def check_room(picture: PictureOptions) -> None:
    """Raise UsageError if the requested size is too small for a readable plot."""
    if picture.size is not None and (picture.size[0] < MIN_SIZE[0] or picture.size[1] < MIN_SIZE[1]):
        size, least = ("x".join(f"{side:g}" for side in pair) for pair in (picture.size, MIN_SIZE))
        raise UsageError(
            f"--size {size} is too small for the texts of a plot",
            f"give {least} or more; for fewer pixels, give a smaller --dpi",
        )


@contextmanager
def plain_matplotlib() -> Iterator[None]:
    """Context manager: run its body with matplotlib's default settings and without its log messages and warnings.

    User settings are ignored inside, and restored afterwards. Matplotlib would otherwise report a read-only home
    directory or a missing glyph, which is noise in the log of a job. Dollar signs in names are not read as formulas.
    Raise UsageError if matplotlib is missing.
    """
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matplotlib = import_matplotlib()
            with matplotlib.rc_context():
                matplotlib.rcdefaults()
                matplotlib.rcParams["svg.hashsalt"] = "pcatool"  # otherwise the ids in SVG files are random
                matplotlib.rcParams["text.parse_math"] = False
                yield
    finally:
        log.setLevel(level)


def import_matplotlib() -> Any:
    """Import and return matplotlib; raise UsageError if it is missing or does not load."""
    remedy = "run pip install 'pcatool[plot]'; charts on a terminal and tables do not need matplotlib"
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise UsageError("drawing a picture needs matplotlib", remedy) from error
    except (ImportError, ValueError) as error:
        check_memory(error)
        bad_backend = str(error).startswith("Key backend")  # installed correctly, but misled by the environment
        remedy = "run pip uninstall matplotlib, then pip install 'pcatool[plot]'"
        raise UsageError(
            f"matplotlib does not load: {printable(str(error))}",
            "unset the environment variable MPLBACKEND" if bad_backend else remedy,
        ) from error
    return matplotlib


def new_figure(picture: PictureOptions, size: tuple[float, float] = DEFAULT_SIZE) -> Figure:
    """Return an empty figure with constrained layout, of the requested size or else of `size` in inches.

    Raise RefusedError for too many pixels.

    The figure has the resolution of the file from the start. Letters are rounded to whole pixels, so text that is
    measured at another resolution may be up to a fifth wider in the file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_pixels(picture.size or size, picture)
    figure = Figure(figsize=picture.size or size, dpi=picture.dpi or DPI, layout="constrained")
    FigureCanvasAgg(figure)  # one renderer for all text measurements; otherwise each text creates one, with all pixels
    return figure


def check_pixels(size: tuple[float, float], picture: PictureOptions) -> None:
    """Raise RefusedError if a picture of this size in inches has more than MOST_PIXELS pixels."""
    dpi = picture.dpi or DPI
    width, height = size
    if width * height * dpi * dpi > MOST_PIXELS:
        pixels = f"{width * dpi:,.0f} x {height * dpi:,.0f} pixels"
        limit = f"the limit is {MOST_PIXELS:,} pixels"
        raise RefusedError(f"a picture of {pixels} is too large: {limit}", "give a smaller --size or --dpi")


def figure_file(figure: Figure, form: str, picture: PictureOptions) -> bytes:
    """Return the figure as the bytes of a file; equal figures give equal bytes.

    Raise RefusedError for too many pixels.
    """
    width, height = figure.get_size_inches()
    check_pixels((float(width), float(height)), picture)
    out = io.BytesIO()
    figure.savefig(out, format=form, dpi=picture.dpi or DPI, metadata=PICTURES[form])
    return out.getvalue()


def missing_glyphs(figure: Figure) -> list[str]:
    """Return the characters in the figure that the font of all pictures lacks, in order of appearance.

    Each of them is drawn as a box.
    """
    from matplotlib.font_manager import findfont, get_font
    from matplotlib.text import Text

    available = get_font(findfont("DejaVu Sans")).get_charmap()
    letters = dict.fromkeys(letter for text in figure.findobj(Text) for letter in text.get_text())
    return [letter for letter in letters if letter.isprintable() and ord(letter) not in available]
