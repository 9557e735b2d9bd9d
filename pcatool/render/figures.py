"""Figures as files: matplotlib as it was shipped, forms by name, and the same bytes for the same figure."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcatool.errors import RefusedError, UsageError, check_memory, printable, show
from pcatool.options import PictureOptions
from pcatool.stores.uri import plain_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "PICTURES",
    "check_form",
    "check_room",
    "drawn_as_boxes",
    "figure_file",
    "is_picture",
    "new_figure",
    "picture_form",
    "plain_matplotlib",
]

# The metadata that would carry a date or a version: without it the same model gives the same bytes.
PICTURES: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

SIZE = (8.0, 6.0)  # inches
DPI = 150.0
ROOM = (4.0, 3.0)  # inches, below which axes and their texts lie on each other
# What a picture may take: four bytes a pixel, several times over.
MOST_PIXELS = 100_000_000


def picture_form(path: str | os.PathLike[str]) -> str:
    """The form of a picture by the ending of its name."""
    form = Path(plain_name(os.fspath(path))).suffix.lower().lstrip(".")
    if form not in PICTURES:
        raise UsageError(f"{show(os.fspath(path))} does not end like a picture", "use .png, .svg or .pdf")
    return form


def is_picture(path: str | os.PathLike[str] | None) -> bool:
    """Does the name end like a picture?"""
    return path is not None and Path(plain_name(os.fspath(path))).suffix.lower().lstrip(".") in PICTURES


def check_form(form: str) -> None:
    if form not in PICTURES:
        raise UsageError(f"no form of picture called {show(form)}", f"there are: {', '.join(PICTURES)}")


def check_room(look: PictureOptions) -> None:
    """Is a plot of this size one that can be read?"""
    if look.size is not None and (look.size[0] < ROOM[0] or look.size[1] < ROOM[1]):
        size, least = ("x".join(f"{side:g}" for side in pair) for pair in (look.size, ROOM))
        raise UsageError(
            f"--size {size} has no room for the texts of a plot", f"give {least} or more; --dpi makes its pixels fewer"
        )


@contextmanager
def plain_matplotlib() -> Iterator[None]:
    """Matplotlib as it was shipped: no settings of the user, no words on stderr, and nothing of it left behind.

    It would otherwise log that a home is read-only and warn of a letter its font lacks; a job's log has no use for it.
    A name is no formula, whatever dollar signs it has.
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
                matplotlib.rcParams["text.parse_math"] = False
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
        check_memory(error)
        raise UsageError(f"matplotlib does not load: {printable(str(error))}", remedy) from error
    return matplotlib


def new_figure(look: PictureOptions, size: tuple[float, float] = SIZE) -> Figure:
    """An empty figure of the size asked for, or of this one, which arranges what is put into it.

    It has the pixels of its file from the start: letters are rounded to whole pixels, so that text which is measured at
    another number of them is up to a fifth wider in the file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_pixels(look.size or size, look)
    figure = Figure(figsize=look.size or size, dpi=look.dpi or DPI, layout="constrained")
    FigureCanvasAgg(figure)  # measures all texts with one renderer; without it each text makes one, with all pixels
    return figure


def check_pixels(size: tuple[float, float], look: PictureOptions) -> None:
    """Does a picture of this size in inches have no more pixels than memory may hold?"""
    dpi = look.dpi or DPI
    width, height = size
    if width * height * dpi * dpi > MOST_PIXELS:
        pixels = f"{width * dpi:.0f} x {height * dpi:.0f} pixels"
        raise RefusedError(f"a picture of {pixels} is too large", "give a smaller --size or --dpi")


def figure_file(figure: Figure, form: str, look: PictureOptions) -> bytes:
    """The figure as the bytes of a file; the same figure gives the same bytes."""
    width, height = figure.get_size_inches()
    check_pixels((float(width), float(height)), look)
    out = io.BytesIO()
    figure.savefig(out, format=form, dpi=look.dpi or DPI, metadata=PICTURES[form])
    return out.getvalue()


def drawn_as_boxes(figure: Figure) -> list[str]:
    """The letters that the font lacks, in the order in which they appear."""
    from matplotlib.font_manager import findfont, get_font
    from matplotlib.text import Text

    there = get_font(findfont("DejaVu Sans")).get_charmap()
    letters = dict.fromkeys(letter for text in figure.findobj(Text) for letter in text.get_text())
    return [letter for letter in letters if letter.isprintable() and ord(letter) not in there]
