"""Options of reports and pictures: components, plots, the report page, the difference of two models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pcatool.errors import UsageError
from pcatool.options.fields import check_choices, option, option_like, require_choice, some_of
from pcatool.options.running import FORMS
from pcatool.wording import show

__all__ = [
    "VALUES",
    "ComponentsOptions",
    "DiffOptions",
    "PageOptions",
    "PictureOptions",
    "PlotOptions",
    "parse_first",
    "parse_image",
    "parse_values",
]

# Values of --values -> the word for a single number. Each number belongs to a column and a component.
VALUES = {"loadings": "loading", "correlations": "correlation", "contributions": "contribution", "cos2": "cos2"}


def parse_values(text: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names in `--values`, each once, in the order given; raise `UsageError` for an unknown name or none."""
    names = tuple(dict.fromkeys(text.split(",") if isinstance(text, str) else text))
    for name in names:
        require_choice(name, lambda: tuple(VALUES), "--values")
    if not names:
        raise UsageError("--values is empty", f"give one or more of {', '.join(VALUES)}")
    return names


def parse_first(text: str | int | None) -> int | None:
    """Return `--first` as an int above 0; None stays None. Raise `UsageError` for any other value."""
    if text is None:
        return None
    word = str(text)
    if not re.fullmatch(r"[0-9]{1,9}", word, re.ASCII) or int(word) < 1:
        raise UsageError(f"--first {show(word)} is not a number of components", "give a whole number above 0")
    return int(word)


def parse_image(text: str | tuple[int, int] | None) -> tuple[int, int] | None:
    """Return height and width of an image in pixels, from `--image` such as 28x28; None stays None.

    Raise `UsageError` for any other value.
    """
    if text is None:
        return None
    word = text if isinstance(text, str) else "x".join(map(str, text))
    found = re.fullmatch(r"([0-9]{1,9})[xX×]([0-9]{1,9})", word, re.ASCII)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if min(size) < 1:
        raise UsageError(f"--image {show(word)} is not a size", "give height x width in pixels, such as 28x28")
    return size


@dataclass(frozen=True)
class ComponentsOptions:
    """Options of `components`: numbers to print, or a picture to draw."""

    values: tuple[str, ...] = option(
        "loadings",
        "--values",
        group="output",
        metavar="NAMES",
        help="Values to show for each column and component, separated by commas. loadings: weight of the column; "
        "correlations: correlation of the column with the scores; contributions: share of the column in the "
        "component, in per cent; cos2: share of the component in the column's variance.",
        completion=some_of(*VALUES),
    )
    first: int | None = option(
        None,
        "--first",
        group="output",
        metavar="K",
        help="Show only the first K components.",
        shown_default="all kept components; at most 36 in a picture",
    )
    image: tuple[int, int] | None = option(
        None,
        "--image",
        group="output",
        metavar="HxW",
        help="With -o: draw the mean and the components as images. The columns are the pixels, line by line.",
        takes="tuple[int, int] | str | None",
    )
    format: str | None = option(
        None,
        "--format",
        group="output",
        help="Format of the numbers.",
        choices=lambda: FORMS,
        shown_default="from the ending of -o; without -o: table on a terminal, csv elsewhere",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", parse_values(self.values))
        object.__setattr__(self, "first", parse_first(self.first))
        object.__setattr__(self, "image", parse_image(self.image))
        check_choices(self)
        if self.image is not None and (self.format is not None or self.values != ("loadings",)):
            flag = "--values" if self.format is None else "--format"
            raise UsageError(f"--image draws the loadings, but {flag} prints numbers", f"leave out --image or {flag}")


# Bounds of --size and --dpi. Smaller pictures have no room for their labels; larger ones are posters.
MIN_INCHES, MAX_INCHES = 2.0, 100.0
MIN_DPI, MAX_DPI = 20.0, 2400.0

# A number of inches, or of pixels per inch.
NUMBER_PATTERN = r"[0-9]{1,4}(?:\.[0-9]{1,4})?"


def parse_inches(text: str | tuple[float, float] | None) -> tuple[float, float] | None:
    """Return width and height of a picture in inches, from `--size` such as 8x6; None stays None.

    Raise `UsageError` for any other value, and for sizes below MIN_INCHES or above MAX_INCHES.
    """
    if text is None:
        return None
    word = text if isinstance(text, str) else "x".join(map(str, text))
    found = re.fullmatch(rf"({NUMBER_PATTERN})[xX×]({NUMBER_PATTERN})", word, re.ASCII)
    size = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if not MIN_INCHES <= min(size) <= max(size) <= MAX_INCHES:
        raise UsageError(
            f"--size {show(word)} is not a width and a height from {MIN_INCHES:g} to {MAX_INCHES:g} inches",
            "give width x height in inches, such as 8x6",
        )
    return size


def parse_dpi(text: str | float | None) -> float | None:
    """Return `--dpi`, pixels per inch, as a float from MIN_DPI to MAX_DPI; None stays None.

    Raise `UsageError` for any other value.
    """
    if text is None:
        return None
    word = str(text)
    dpi = float(word) if re.fullmatch(NUMBER_PATTERN, word, re.ASCII) else 0.0
    if not MIN_DPI <= dpi <= MAX_DPI:
        raise UsageError(
            f"--dpi {show(word)} is not a number from {MIN_DPI:g} to {MAX_DPI:g}", "give pixels per inch, such as 150"
        )
    return dpi


def parse_axes(text: str | int | Sequence[int] | None) -> tuple[int, ...] | None:
    """Return the numbers of components in `--axes`, counted from 1, from text such as 1,2; None stays None.

    Raise `UsageError` for any other text, and for a number that occurs twice.
    """
    if text is None:
        return None
    word = text if isinstance(text, str) else str(text) if isinstance(text, int) else ",".join(map(str, text))
    if not re.fullmatch(r"[1-9][0-9]{0,6}(,[1-9][0-9]{0,6})*", word, re.ASCII):
        raise UsageError(
            f"--axes {show(word)} is not a list of components", "give the numbers of components, such as 1,2"
        )
    numbers = tuple(int(number) for number in word.split(","))
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"--axes {show(word)} names a component twice", "name each component once")
    return numbers


@dataclass(frozen=True)
class PictureOptions:
    """Options of the size and resolution of a picture."""

    size: tuple[float, float] | None = option(
        None,
        "--size",
        group="output",
        metavar="WxH",
        help="Width and height of the picture in inches.",
        shown_default="depends on the picture",
    )
    dpi: float | None = option(
        None,
        "--dpi",
        group="output",
        metavar="N",
        help="Pixels per inch, also for raster parts of .svg and .pdf.",
        shown_default="150",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", parse_inches(self.size))
        object.__setattr__(self, "dpi", parse_dpi(self.dpi))

    @property
    def given(self) -> str | None:
        """Flag that was given, `--size` or `--dpi`, the first if both were; None if neither was."""
        return "--size" if self.size is not None else "--dpi" if self.dpi is not None else None


# Values of --scaling and --from.
SCALINGS = ("rows", "columns")
SOURCES = ("scores", "rows")


@dataclass(frozen=True)
class PlotOptions:
    """Options of `plot`."""

    axes: tuple[int, ...] | None = option(
        None,
        "--axes",
        group="output",
        metavar="M,N",
        help="Components to draw: one or two for scores, two for biplot, any number for loadings.",
        shown_default="1,2; loadings: the first 4",
    )
    color: str | None = option(
        None,
        "--color",
        group="output",
        metavar="COL",
        help="Colour the rows by this column. A column of text, or of at most 10 different whole numbers, gets a mark "
        "for each value; other numbers get shades.",
    )
    scaling: str | None = option(
        None,
        "--scaling",
        group="output",
        help="Scaling of a biplot. rows: distances between points show distances between rows; columns: angles between "
        "arrows show correlations of columns.",
        choices=lambda: SCALINGS,
        shown_default="rows",
    )
    source: str | None = option(
        None,
        "--from",
        group="input",
        help="Content of the input.",
        choices=lambda: SOURCES,
        shown_default="scores if the columns of the input are PC1, PC2, ..., else rows",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", parse_axes(self.axes))
        if self.color == "":
            raise UsageError("--color is empty", "give the name of a column")
        check_choices(self)


def parse_two_axes(text: str | int | Sequence[int] | None) -> tuple[int, int] | None:
    """Return the numbers of the two components in `--axes`, from text such as 1,2; None stays None.

    Raise `UsageError` for any other text, and for more or fewer than two numbers.
    """
    axes = parse_axes(text)
    if axes is None:
        return None
    if len(axes) != 2:
        raise UsageError(
            f"--axes {','.join(map(str, axes))}: scores are drawn along two components", "give two numbers, such as 1,2"
        )
    return axes[0], axes[1]


@dataclass(frozen=True)
class PageOptions:
    """Options of the page of `report`."""

    color: str | None = option_like(
        PlotOptions,
        "color",
        None,
        help="Colour the scores by this input column. A column of text, or of at most 10 different whole numbers, gets "
        "a colour for each value; other numbers get shades.",
    )
    axes: tuple[int, int] | None = option(
        None,
        "--axes",
        group="output",
        metavar="X,Y",
        help="Components whose scores are drawn at first, such as 1,3; the page can also show other components.",
        shown_default="1,2",
        takes="tuple[int, int] | str | None",
    )
    image: tuple[int, int] | None = option_like(
        ComponentsOptions,
        "image",
        None,
        help="Also show the mean and the components as images. The columns are the pixels, line by line.",
    )
    first: int | None = option_like(
        ComponentsOptions,
        "first",
        None,
        help="Show only the first K components in loadings, scores and images.",
        shown_default="at most 100; fewer if the page would be too large",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", parse_two_axes(self.axes))
        object.__setattr__(self, "image", parse_image(self.image))
        object.__setattr__(self, "first", parse_first(self.first))


# Values of --format of `diff`.
DIFF_FORMS = ("text", *FORMS[1:])


@dataclass(frozen=True)
class DiffOptions:
    """Options of `diff`."""

    format: str = option(
        "text",
        "--format",
        group="output",
        help="Format of the report. text: sentences and tables; csv, json, markdown: one table with a row for each "
        "comparison and the columns what, name, a, b, change.",
        choices=lambda: DIFF_FORMS,
    )

    def __post_init__(self) -> None:
        check_choices(self)
