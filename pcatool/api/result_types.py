"""Return results in the kind of table that was given."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from pcatool.arrays import Array
from pcatool.pipeline.results import BatchTable
from pcatool.readers.memory_tables import is_pandas
from pcatool.readers.paths import are_paths

__all__ = ["in_type_of_data"]


def in_type_of_data(results: BatchTable, data: Any) -> Any:
    """Return all results at once: an array for arrays, a table for tables.

    A pandas DataFrame gives a DataFrame with its index; paths give a new one, and so does an array with columns passed
    through. A polars DataFrame gives a polars DataFrame, an Arrow record batch gives a record batch, and any other
    object that exports to Arrow gives an Arrow table.
    """
    gathered = list(results.each(lambda passthrough, values: (passthrough, values)))
    values = np.concatenate([np.empty((0, len(results.names))), *(values for _, values in gathered)])
    if not results.passthrough and not _is_table(data):
        return values
    passthrough = {
        name: pa.chunked_array([batch[i] for batch, _ in gathered], type=kind)
        for i, (name, kind) in enumerate(results.passthrough)
    }
    if isinstance(data, list) or not _is_table(data) or is_pandas(data):
        return _pandas(results, passthrough, values, data)
    table = pa.table({**passthrough, **{name: values[:, j] for j, name in enumerate(results.names)}})
    if isinstance(data, pa.RecordBatch):
        arrays = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(arrays, names=table.column_names)
    if type(data).__module__.partition(".")[0] == "polars":
        return sys.modules["polars"].DataFrame(table)  # loaded by the caller, so that pcatool need not install it
    return table


def _is_table(data: Any) -> bool:
    """Whether the data have column names: paths and tables do, arrays and lists of rows do not."""
    return (
        are_paths(data)
        or is_pandas(data)
        or any(hasattr(data, way) for way in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__"))
    )


def _pandas(results: BatchTable, passthrough: dict[str, Any], values: Array, data: Any) -> Any:
    """Return the results as a pandas DataFrame, after the columns passed through.

    The index and the columns passed through come from `data` if this is a DataFrame with the same rows.
    """
    import pandas as pd

    index: Any = data.index if is_pandas(data) and not results.by_users else None
    frame = pd.DataFrame(values, columns=results.names, index=index)
    for at, (name, chunks) in enumerate(passthrough.items()):
        own = index is not None and hasattr(data, "columns") and name in data
        series = data[name] if own else chunks.to_pandas()
        frame.insert(at, name, series.to_numpy() if index is not None else series)
    return frame
