"""What is shown of the components, and in what form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pcatool.errors import UsageError, show
from pcatool.options.flags import option, require
from pcatool.options.wanted import some_of

__all__ = ["VALUES", "ComponentsOptions", "parse_first", "parse_image", "parse_values"]

# What there is to know of a column and a component, and the word for one such number.
VALUES = {"loadings": "loading", "correlations": "correlation", "contributions": "contribution", "cos2": "cos2"}

FORMS = ("table", "csv", "json", "markdown")


def parse_values(text: str | Sequence[str]) -> tuple[str, ...]:
    """Names of values, once each, in the order they were asked for."""
    names = tuple(dict.fromkeys(text.split(",") if isinstance(text, str) else text))
    for name in names:
        require(name, lambda: tuple(VALUES), "--values")
    if not names:
        raise UsageError("--values names nothing", f"give some of {', '.join(VALUES)}")
    return names


def parse_first(text: str | int | None) -> int | None:
    """How many components to show: a whole number from 1, or nothing."""
    if text is None:
        return None
    word = str(text)
    if not re.fullmatch(r"[0-9]{1,9}", word, re.ASCII) or int(word) < 1:
        raise UsageError(f"--first {show(word)} is not a number of components", "give a whole number from 1")
    return int(word)


def parse_image(text: str | tuple[int, int] | None) -> tuple[int, int] | None:
    """Height and width of an image in pixels, as in 28x28."""
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
    """Numbers, or a picture."""

    values: tuple[str, ...] = option(
        "loadings",
        "--values",
        group="output",
        metavar="NAMES",
        help="What to show of each column: loadings; correlations with the scores; contributions, in per cent of the "
        "component; cos2, the share of the column's variance. Several, with commas between, stand side by side.",
        wanted=some_of(*VALUES),
    )
    first: int | None = option(
        None,
        "--first",
        group="output",
        metavar="K",
        help="Show only the first K components, of a model too.",
        shown_default="all that are kept; 36 in a picture",
    )
    image: tuple[int, int] | None = option(
        None,
        "--image",
        group="output",
        metavar="HxW",
        help="Draw the mean and the components as images instead, the columns as pixels, line by line; with -o.",
    )
    format: str | None = option(
        None,
        "--format",
        group="output",
        help="Form of the numbers.",
        choices=lambda: FORMS,
        shown_default="by the name of -o, else table on a terminal, csv elsewhere",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", parse_values(self.values))
        object.__setattr__(self, "first", parse_first(self.first))
        object.__setattr__(self, "image", parse_image(self.image))
        if self.format is not None:
            require(self.format, lambda: FORMS, "--format")
        if self.image is not None and (self.format is not None or self.values != ("loadings",)):
            flag = "--values" if self.format is None else "--format"
            raise UsageError(f"--image draws the loadings, {flag} prints numbers", "use one of the two")
