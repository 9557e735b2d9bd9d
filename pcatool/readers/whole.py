"""Inputs that count only as a whole: no row of a file is handed on before its last one is known to be good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pcatool.errors import PcatoolError
from pcatool.readers.base import Batch
from pcatool.readers.inputs import Inputs
from pcatool.readers.rounding import Rounded
from pcatool.readers.row_counts import Holes

__all__ = ["Read", "whole_files"]

# Bytes of one file that are held until its end; a larger one is read twice.
MOST_HELD = 64 << 20


class Read(NamedTuple):
    """What was read of a piece; of the end of an input, or of one that is bad, there are no rows."""

    at: int
    batch: Batch | None = None
    holes: Holes | None = None
    rounded: Rounded | None = None
    error: PcatoolError | None = None

    @property
    def size(self) -> int:
        return 0 if self.batch is None else self.batch.X.nbytes + sum(column.nbytes for column in self.batch.kept)


def whole_files(read: Callable[[Inputs], Iterator[Read]], inputs: Inputs) -> Iterator[Read]:
    """The rows of the files that are good; a pipe cannot be read again, so that its rows are handed on at once."""
    held: list[Read] = []
    size = 0
    for found in read(inputs):
        if found.at in inputs.skipping.bad:
            continue
        if found.error is not None:
            inputs.skipping.leave_out(found.at, found.error)
            held.clear()
            size = 0
        elif found.batch is None:
            yield from read(inputs.alone(found.at)) if size > MOST_HELD else held
            held.clear()
            size = 0
        elif inputs.flows(found.at):
            yield found
        else:
            size += found.size
            held.append(found)
            if size > MOST_HELD:
                held.clear()
