"""What a report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pcatool.errors import UsageError
from pcatool.options.components import parse_first, parse_image
from pcatool.options.flags import option
from pcatool.options.showing import parse_axes

__all__ = ["PageOptions"]


def parse_both(text: str | int | Sequence[int] | None) -> tuple[int, int] | None:
    """Two components by their numbers, as in 1,2."""
    axes = parse_axes(text)
    if axes is None:
        return None
    if len(axes) != 2:
        raise UsageError(f"--axes {','.join(map(str, axes))}: the scores are drawn by two components", "name both")
    return axes[0], axes[1]


@dataclass(frozen=True)
class PageOptions:
    """What a report shows."""

    color: str | None = option(
        None,
        "--color",
        group="output",
        metavar="COL",
        help="Colour the scores by this input column: numbers in shades, other values as categories.",
    )
    axes: tuple[int, int] | None = option(
        None,
        "--axes",
        group="output",
        metavar="X,Y",
        help="The components whose scores are drawn first, such as 1,3; others can be chosen on the page.",
        shown_default="1,2",
    )
    image: tuple[int, int] | None = option(
        None,
        "--image",
        group="output",
        metavar="HxW",
        help="Show the mean and the components as images, too, the columns as pixels, line by line.",
    )
    first: int | None = option(
        None,
        "--first",
        group="output",
        metavar="K",
        help="Show loadings, scores and images of the first K components only.",
        shown_default="as many as a page can hold",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", parse_both(self.axes))
        object.__setattr__(self, "image", parse_image(self.image))
        object.__setattr__(self, "first", parse_first(self.first))
