"""How pictures look, and what they show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pcatool.errors import UsageError, show
from pcatool.options.flags import option, require

__all__ = ["PictureOptions", "PlotOptions", "parse_axes"]

# Smaller ones have no room for the words in them; larger ones are for walls.
LEAST_INCHES, MOST_INCHES = 2.0, 100.0
LEAST_DPI, MOST_DPI = 20.0, 2400.0

NUMBER = r"[0-9]{1,4}(?:\.[0-9]{1,4})?"


def parse_inches(text: str | tuple[float, float] | None) -> tuple[float, float] | None:
    """Width and height of a picture in inches, as in 8x6."""
    if text is None:
        return None
    word = text if isinstance(text, str) else "x".join(map(str, text))
    found = re.fullmatch(rf"({NUMBER})[xX×]({NUMBER})", word, re.ASCII)
    size = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if not LEAST_INCHES <= min(size) <= max(size) <= MOST_INCHES:
        raise UsageError(
            f"--size {show(word)} is not a size",
            f"give width x height in inches, such as 8x6, each from {LEAST_INCHES:g} to {MOST_INCHES:g}",
        )
    return size


def parse_dpi(text: str | float | None) -> float | None:
    if text is None:
        return None
    word = str(text)
    dpi = float(word) if re.fullmatch(NUMBER, word, re.ASCII) else 0.0
    if not LEAST_DPI <= dpi <= MOST_DPI:
        raise UsageError(
            f"--dpi {show(word)} is not a number of pixels per inch",
            f"give a number from {LEAST_DPI:g} to {MOST_DPI:g}",
        )
    return dpi


def parse_axes(text: str | int | Sequence[int] | None) -> tuple[int, ...] | None:
    """Numbers of components, once each, as in 1,2."""
    if text is None:
        return None
    word = text if isinstance(text, str) else str(text) if isinstance(text, int) else ",".join(map(str, text))
    if not re.fullmatch(r"[1-9][0-9]{0,6}(,[1-9][0-9]{0,6})*", word, re.ASCII):
        raise UsageError(f"--axes {show(word)} names no components", "give numbers from 1, such as 1,2")
    numbers = tuple(int(number) for number in word.split(","))
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"--axes {show(word)} names a component twice", "name each once")
    return numbers


@dataclass(frozen=True)
class PictureOptions:
    """How large a picture is, and how fine."""

    size: tuple[float, float] | None = option(
        None,
        "--size",
        group="output",
        metavar="WxH",
        help="Width and height of the picture in inches.",
        shown_default="what suits it",
    )
    dpi: float | None = option(
        None,
        "--dpi",
        group="output",
        metavar="N",
        help="Pixels per inch, also of what is a raster in .svg and .pdf.",
        shown_default="150",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", parse_inches(self.size))
        object.__setattr__(self, "dpi", parse_dpi(self.dpi))

    @property
    def given(self) -> str | None:
        """The flag that was given, if one was."""
        return "--size" if self.size is not None else "--dpi" if self.dpi is not None else None


SCALINGS = ("rows", "columns")
SOURCES = ("scores", "rows")


@dataclass(frozen=True)
class PlotOptions:
    """What is drawn of scores and loadings."""

    axes: tuple[int, ...] | None = option(
        None,
        "--axes",
        group="output",
        metavar="M,N",
        help="Which components: one or two for scores and biplot, some for loadings.",
        shown_default="1,2; loadings: the first 4",
    )
    color: str | None = option(
        None,
        "--color",
        group="output",
        metavar="COL",
        help="Colour the rows by this column: its classes, with marks of their own, or its numbers.",
    )
    scaling: str | None = option(
        None,
        "--scaling",
        group="output",
        help="Of a biplot: distances of rows as in the scores, or angles of arrows as columns correlate.",
        choices=lambda: SCALINGS,
        shown_default="rows",
    )
    source: str | None = option(
        None,
        "--from",
        group="input",
        help="What the input holds.",
        choices=lambda: SOURCES,
        shown_default="by its columns: PC1, ... or others",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", parse_axes(self.axes))
        if self.color == "":
            raise UsageError("--color names nothing", "give the name of a column")
        if self.scaling is not None:
            require(self.scaling, lambda: SCALINGS, "--scaling")
        if self.source is not None:
            require(self.source, lambda: SOURCES, "--from")
