"""Protocol of a plot: what it is given, and what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.options import PictureOptions
from pcatool.render.plots.points import Cloud
from pcatool.render.text import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Plot", "View"]


@dataclass(frozen=True)
class View:
    """What there is to draw."""

    axes: tuple[int, ...]  # components, from 1
    caption: str  # what they are of, in full, below tables
    shares: Array | None = None  # (a,) of the variance; None where only scores are known
    cloud: Cloud | None = None
    columns: tuple[str, ...] = ()
    loadings: Array = field(default_factory=lambda: np.empty((0, 0)))  # (d, a)
    spreads: Array = field(default_factory=lambda: np.empty(0))  # (a,) standard deviations of the scores
    scaling: str = "rows"
    brief: str = ""  # what they are of, as far as a reader of the picture needs it

    @property
    def names(self) -> list[str]:
        return [f"PC{number}" for number in self.axes]

    def title(self, at: int) -> str:
        """The name of a component with its share."""
        return self.names[at] + (f" ({percent(float(self.shares[at]), 1)})" if self.shares is not None else "")


class Plot(Protocol):
    """One kind of picture."""

    rows: ClassVar[bool]  # it needs the scores of rows
    columns: ClassVar[bool]  # it needs a model, and is made of its loadings
    usual: ClassVar[int]  # how many components it shows unless told
    most: ClassVar[int]

    def draw(self, view: View, look: PictureOptions) -> Figure: ...

    def table(self, view: View) -> dict[str, NDArray[Any]]:
        """The numbers that the picture shows of the columns."""
        ...
