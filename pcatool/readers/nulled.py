"""Numbers that mean missing, such as -999, in tables that hold no text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from pcatool.readers.base import Batch, all_finite

__all__ = ["null_numbers", "nulled"]


def null_numbers(nulls: Sequence[str]) -> dict[float, str]:
    """Of the spellings of a missing cell those that are numbers, by their value."""
    found = {}
    for text in nulls:
        try:
            found[float(text)] = text
        except ValueError:
            continue
    return found


def nulled(batch: Batch, numbers: Mapping[float, str]) -> Batch:
    """The batch with these numbers missing."""
    X, counts = batch.X.copy(order="K"), Counter[str]()
    for value, text in numbers.items():
        means = value == X
        counts[text] += int(np.count_nonzero(means))
        X[means] = np.nan
    return batch._replace(X=X, finite=all_finite(X), spellings=lambda: Counter(batch.spellings()) + counts)
