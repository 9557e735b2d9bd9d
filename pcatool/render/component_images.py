"""The mean and the components as images, for columns that are pixels: as a picture file and in the report page."""

from __future__ import annotations

import math
import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.model.model import component_name
from pcatool.options import PictureOptions
from pcatool.render.figures import DIVERGING, FRAME, check_form, figure_file, plain_matplotlib
from pcatool.render.text import fold
from pcatool.wording import percent, printable

__all__ = ["component_picture", "image_facts"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Lengths in inches.
MARGIN, GAP = 0.25, 0.14
TITLE_HEIGHT, TITLE_GAP = 0.2, 0.05  # height of a title above its panel; distance between title and panel
GRID_WIDTH = 6.4  # approximate width of the grid of components, until the panels reach their minimum width
PANEL_WIDTH, MIN_PANEL_WIDTH = 1.5, 0.95  # usual and minimum width of a panel; a title fits above the minimum
LEGEND_WIDTH, LEGEND_CHARACTERS = 1.9, 32  # width of the left column; characters in one of its lines
BAR_HEIGHT, LINE_HEIGHT = 0.12, 0.15  # height of a colour bar, and of a line of text
SCALE_HEIGHT = TITLE_HEIGHT + BAR_HEIGHT + LINE_HEIGHT + 0.25  # height of a colour bar with its title and numbers
MAX_SIDE_RATIO = 4.0  # largest ratio of sides with square pixels; a longer image would be a mere line

SMALL_FONT, LARGE_FONT = 8.0, 9.0  # font sizes in points


class Box(NamedTuple):
    """A rectangle in the picture, in inches from the top left."""

    x: float  # left edge
    y: float  # top edge
    w: float  # width
    h: float  # height


class Layout(NamedTuple):
    """Size of the picture in inches, and the rectangles of the mean and of the components."""

    width: float
    height: float
    mean: Box
    panels: list[Box]  # one per component


def component_picture(
    mean: Array | None,
    basis: Array,
    shares: Array,
    *,
    shape: tuple[int, int],
    form: str,
    caption: Sequence[str],
    picture: PictureOptions = PictureOptions(),  # noqa: B008
) -> bytes:
    """Return the bytes of the picture file; equal arguments give equal bytes.

    shape: (H, W) of each image. mean (H W,) or None: drawn in greys from its minimum to its maximum. basis (H W, k):
    all components share one colour scale that is white at 0. shares (k,): of the variance, for the titles. caption:
    lines of text. form: the file format. If `picture` sets another size, the whole picture is scaled to this size.
    """
    check_form(form)
    text = [line for part in caption for line in fold(printable(part), LEGEND_CHARACTERS)]
    layout = image_layout(basis.shape[1], shape, with_mean=mean is not None, lines=len(text))
    peak = float(np.abs(basis).max())
    with plain_matplotlib():
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.figure import Figure

        colors = LinearSegmentedColormap.from_list("loadings", DIVERGING, N=257)
        figure = Figure(figsize=picture.size or (layout.width, layout.height))
        axes = figure.add_axes((0, 0, 1, 1))
        for j, box in enumerate(layout.panels):
            draw_title(axes, box, component_name(j + 1), percent(float(shares[j])))
            draw_image(axes, box, centred_levels(basis[:, j], peak).reshape(shape), colors)
        bottom = MARGIN
        if mean is not None:
            bottom = draw_mean(axes, layout.mean, mean.reshape(shape))
        bar = Box(MARGIN, bottom + TITLE_HEIGHT, LEGEND_WIDTH, BAR_HEIGHT)
        bottom = draw_scale(axes, bar, "loading", colors, (number(-peak), "0", number(peak)))
        for i, line in enumerate(text):
            write(axes, MARGIN, bottom + i * LINE_HEIGHT, line, "left")
        axes.set(xlim=(0, layout.width), ylim=(layout.height, 0), aspect="auto" if picture.size is None else "equal")
        axes.set_axis_off()
        if picture.size is not None:
            zoom = min(picture.size[0] / layout.width, picture.size[1] / layout.height)
            for words in axes.texts:
                words.set_fontsize(float(words.get_fontsize()) * zoom)
        return figure_file(figure, form, picture)


def image_layout(k: int, shape: tuple[int, int], *, with_mean: bool, lines: int) -> Layout:
    """Return the layout: at the left the mean, colour bars and `lines` lines of caption; at the right k components.

    `shape` is (H, W) in pixels. Without `with_mean`, no height is reserved for the mean.
    """
    ratio = min(max(shape[0] / shape[1], 1 / MAX_SIDE_RATIO), MAX_SIDE_RATIO)
    cols = grid_columns(k, ratio)
    w = max(min(GRID_WIDTH / cols - GAP, PANEL_WIDTH / math.sqrt(ratio)), MIN_PANEL_WIDTH)
    left, step = MARGIN + LEGEND_WIDTH + 2 * GAP, w * ratio + TITLE_HEIGHT + GAP
    panels = [
        Box(left + (j % cols) * (w + GAP), MARGIN + TITLE_HEIGHT + (j // cols) * step, w, w * ratio) for j in range(k)
    ]
    side = LEGEND_WIDTH / max(1.0, math.sqrt(ratio))
    mean = Box(MARGIN, MARGIN + TITLE_HEIGHT, side, side * ratio)
    legend = (
        SCALE_HEIGHT + lines * LINE_HEIGHT + (TITLE_HEIGHT + mean.h + SCALE_HEIGHT - TITLE_HEIGHT if with_mean else 0)
    )
    grid = math.ceil(k / cols) * step - GAP
    return Layout(left + cols * (w + GAP) - GAP + MARGIN, 2 * MARGIN + max(grid, legend), mean, panels)


def grid_columns(k: int, ratio: float) -> int:
    """Return the number of grid columns that makes the grid nearly square with few empty places.

    `ratio` is the height of a panel divided by its width.
    """

    def cost(cols: int) -> float:
        rows = math.ceil(k / cols)
        return abs(math.log(cols / (rows * ratio))) + (rows * cols - k) / k

    return min(range(1, k + 1), key=cost)


def draw_mean(axes: Axes, box: Box, mean: Array) -> float:
    """Draw the mean (H, W) in `box` with its grey scale below; return the y coordinate below both, in inches."""
    low, high = float(mean.min()), float(mean.max())
    half = high / 2 - low / 2  # difference of halves, because high - low may overflow
    greys = (mean / 2 - low / 2) / half if half > 0 else np.full_like(mean, 0.5)
    write(axes, box.x, box.y - TITLE_GAP, "mean", "left", LARGE_FONT)
    draw_image(axes, box, greys, "gray")
    return draw_scale(
        axes, Box(box.x, box.y + box.h + GAP / 2, LEGEND_WIDTH, BAR_HEIGHT), "", "gray", (number(low), number(high))
    )


def draw_scale(axes: Axes, box: Box, title: str, colors: Any, marks: Sequence[str]) -> float:
    """Draw a colour bar in `box`, with `title` above; return the y coordinate below the texts of the bar, in inches.

    `colors` is a matplotlib colour map. `marks` are two texts for below the ends of the bar, or three, of which the
    second is below the middle.
    """
    write(axes, box.x, box.y - TITLE_GAP, title, "left", LARGE_FONT)
    draw_image(axes, box, np.linspace(0, 1, 257)[None, :], colors)
    sides = ("left", "right") if len(marks) == 2 else ("left", "center", "right")
    places = np.linspace(box.x, box.x + box.w, len(marks))
    for x, mark, side in zip(places, marks, sides, strict=True):
        write(axes, float(x), box.y + box.h + LINE_HEIGHT, mark, side)
    return box.y + box.h + SCALE_HEIGHT - TITLE_HEIGHT - BAR_HEIGHT


def draw_title(axes: Axes, box: Box, name: str, share: str) -> None:
    write(axes, box.x, box.y - TITLE_GAP, name, "left", LARGE_FONT)
    write(axes, box.x + box.w, box.y - TITLE_GAP, share, "right")


def draw_image(axes: Axes, box: Box, values: Array, colors: Any) -> None:
    """Draw values from 0 to 1 (H, W) as pixels in `box`, in the colour map `colors`, with a thin frame.

    The frame shows the edges of white images.
    """
    from matplotlib.patches import Rectangle

    extent = (box.x, box.x + box.w, box.y + box.h, box.y)
    axes.imshow(values, cmap=colors, vmin=0, vmax=1, extent=extent)
    axes.add_patch(Rectangle((box.x, box.y), box.w, box.h, fill=False, edgecolor=FRAME, linewidth=0.6))


def write(axes: Axes, x: float, y: float, text: str, side: str, size: float = SMALL_FONT) -> None:
    axes.text(x, y, text, ha=side, va="baseline", fontsize=size)


def centred_levels(values: Array, peak: float) -> Array:
    """Map values from -peak .. peak to 0 .. 1, so that 0 is in the middle of the colour scale."""
    scaled: Array = values / peak / 2 + 0.5
    return scaled


def number(value: float) -> str:
    """Return the value as text with three significant digits and a typographic minus sign."""
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


# Number of shades; odd, so that 0 has a shade of its own in the middle: white.
SHADES = 255


def image_facts(mean: Array | None, basis: Array, shares: Array, shape: tuple[int, int]) -> dict[str, Any]:
    """Return the images for the report page, as JSON values: PNG data URIs, names, shares, and ends of the scales.

    mean (H W,) or None, basis (H W, k), shares (k,) of the variance, shape (H, W). All components share one scale.
    """
    peak = float(np.abs(basis).max())
    palette = _palette()
    levels = np.rint(centred_levels(basis, peak) * (SHADES - 1)).astype(np.uint8)
    return {
        "shape": list(shape),
        "peak": number(peak),
        "scale": _uri(np.arange(SHADES, dtype=np.uint8)[None], palette),
        "components": [
            {
                "name": component_name(j + 1),
                "share": percent(float(shares[j])),
                "png": _uri(levels[:, j].reshape(shape), palette),
            }
            for j in range(basis.shape[1])
        ],
        "mean": None if mean is None else _mean(mean, shape),
    }


def _mean(mean: Array, shape: tuple[int, int]) -> dict[str, Any]:
    low, high = float(mean.min()), float(mean.max())
    half = high / 2 - low / 2  # difference of halves, because high - low may overflow
    grey = (mean / 2 - low / 2) / half if half > 0 else np.full_like(mean, 0.5)
    return {"png": _uri(np.rint(grey * 255).astype(np.uint8).reshape(shape)), "low": number(low), "high": number(high)}


def _palette() -> NDArray[np.uint8]:
    """Return an RGB palette (256, 3): SHADES colours, interpolated evenly between those of DIVERGING, then zeros."""
    stops = np.array([list(bytes.fromhex(color[1:])) for color in DIVERGING], dtype=np.float64)
    positions = np.linspace(0, len(stops) - 1, SHADES)
    palette = np.zeros((256, 3))
    for i, (low, high) in enumerate(pairwise(stops)):
        inside = (positions >= i) & (positions <= i + 1)
        palette[:SHADES][inside] = low + (positions[inside] - i)[:, None] * (high - low)
    return np.rint(palette).astype(np.uint8)


def _uri(levels: NDArray[np.uint8], palette: NDArray[np.uint8] | None = None) -> str:
    """Return the PNG file that `png` makes as a data URI, for the attribute src of HTML."""
    return "data:image/png;base64," + b64encode(png(levels, palette)).decode("ascii")


def png(levels: NDArray[np.uint8], palette: NDArray[np.uint8] | None = None) -> bytes:
    """Return the bytes of a PNG file (W3C, 2003) with the pixels `levels` (H, W).

    Levels are shades of grey, or indices into an RGB palette (256, 3).
    """
    height, width = levels.shape
    kind = 0 if palette is None else 3
    lines = np.hstack([np.zeros((height, 1), np.uint8), levels]).tobytes()  # each line begins with its filter type: 0
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))]
    parts += [] if palette is None else [(b"PLTE", palette.tobytes())]
    parts += [(b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, parts))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, data = part
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
