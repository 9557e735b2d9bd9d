"""What is taken from every input of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from pcatool.options import FitOptions
from pcatool.readers.labels import Classes

__all__ = ["Wanted"]


class Wanted(NamedTuple):
    """What is taken from every input: features, and columns passed through."""

    names: tuple[str, ...]
    booleans: frozenset[str] = frozenset()
    by_position: bool = False
    kept: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # those of the names, after the features, that supervise
    weighted: bool = False  # the last of the names is a weight
    classes: Classes | None = None  # makes one column of the labels, and of those among the kept columns
    widths: Mapping[str, int] | None = None  # of the vectors, where the names are those of a model

    @property
    def features(self) -> tuple[str, ...]:
        return self.names[: len(self.names) - len(self.labels) - self.weighted]

    def named(self, options: FitOptions) -> FitOptions:
        """The options with the column of weights by its name, so that it is found in other tables, too."""
        return replace(options, weights=self.names[-1]) if self.weighted else options

    @property
    def width(self) -> int:
        return len(self.names) if self.classes is None else len(self.features) + 1
