"""The protocol of a plot (`Plot`), and the data that a plot draws (`PlotData`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.model.model import component_name
from pcatool.options import PictureOptions
from pcatool.render.plots.points import RowCollector
from pcatool.wording import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Plot", "PlotData"]


@dataclass(frozen=True)
class PlotData:
    """The data of a plot: components, scores and loadings; made by the pipeline."""

    axes: tuple[int, ...]  # (a,) numbers of the components, from 1
    caption: str  # full description of the model, for tables
    shares: Array | None = None  # (a,) shares of the variance; None if only scores are known
    cloud: RowCollector | None = None  # scores of the rows; None if the plot shows no rows
    columns: tuple[str, ...] = ()  # (d,) names of the columns
    loadings: Array = field(default_factory=lambda: np.empty((0, 0)))  # (d, a) columns of the basis
    spreads: Array = field(default_factory=lambda: np.empty(0))  # (a,) standard deviations of the scores
    scaling: str = "rows"  # of a biplot: "rows" or "columns"
    brief: str = ""  # short description of the model, for the picture

    @property
    def names(self) -> list[str]:
        """Names of the components, such as `PC1`."""
        return [component_name(number) for number in self.axes]

    def title(self, position: int) -> str:
        """Return the name of the component `axes[position]`, with its share of the variance if `shares` is not None."""
        return self.names[position] + (f" ({percent(float(self.shares[position]))})" if self.shares is not None else "")


class Plot(Protocol):
    """Protocol of one kind of plot: `Scores`, `Loadings` or `Biplot`."""

    rows: ClassVar[bool]  # whether the plot needs the scores of rows
    columns: ClassVar[bool]  # whether the plot needs a model, for its loadings
    default_count: ClassVar[int]  # default number of components
    max_count: ClassVar[int]  # largest number of components

    def draw(self, plot_data: PlotData, picture: PictureOptions) -> Figure:
        """Return the figure of the plot."""
        ...

    def table(self, plot_data: PlotData) -> dict[str, NDArray[Any]]:
        """Return a table with one row per column of the data: its name, then its number in the plot per component.

        Empty if the plot shows no columns.
        """
        ...
