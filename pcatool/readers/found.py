"""The inputs of a run, looked for once: files in order, and the columns that their folders tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pcatool.options import TableOptions
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.paths import Input, resolve

if TYPE_CHECKING:
    from pcatool.readers.hive_partitions import Partitions

__all__ = ["Found"]


class Found(NamedTuple):
    """Inputs that were looked for already, and the columns that the folders of them all tell."""

    inputs: tuple[Input, ...]
    partitions: Partitions | None

    @classmethod
    def of(cls, paths: Sequence[str], options: TableOptions) -> Found:
        inputs = tuple(resolve(paths))
        if not any("=" in item.path for item in inputs):
            return cls(inputs, None)
        from pcatool.readers.hive_partitions import Partitions

        return cls(inputs, Partitions([item.path for item in inputs], Dialect.of(options, ",")))

    def some(self, inputs: Iterable[Input]) -> Found:
        return self._replace(inputs=tuple(inputs))
