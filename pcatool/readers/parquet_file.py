"""A Parquet file whose columns are asked for by number, as they are here throughout."""

from __future__ import annotations

from pyarrow import parquet

__all__ = ["ByNumber"]


class ByNumber(parquet.ParquetFile):  # type: ignore[misc]
    """The same without a table of names, which for a thousand columns takes longer than all else about opening it."""

    def _build_nested_paths(self) -> dict[str, list[int]]:
        return {}
