"""Functions `transform` and `reconstruct`, which return results in the kind of table that the data are."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.api.arguments import Warnings, data_of, is_path, model_of, option_records
from pcatool.api.keywords import ApplySettings, ArraySettings
from pcatool.api.messages import errors_name_settings
from pcatool.arrays import Array
from pcatool.errors import UsageError
from pcatool.model.model import Model
from pcatool.options import (
    ApplyOptions,
    EngineOptions,
    OutputOptions,
    TableOptions,
)
from pcatool.pipeline import apply as applying
from pcatool.pipeline import output_folder
from pcatool.pipeline.output_folder import Make
from pcatool.pipeline.results import BatchTable, Results, warn_of_empty_results, write
from pcatool.progress import Reporter
from pcatool.readers.memory_tables import is_pandas
from pcatool.readers.paths import are_paths
from pcatool.wording import show

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["deliver", "in_type_of_data", "reconstruct", "transform"]


Scores = NDArray[np.float64]


@overload
def transform(
    model: Model | str | Path, data: Any, *, output: str | Path, **settings: Unpack[ApplySettings]
) -> None: ...
@overload
def transform(
    model: Model | str | Path,
    data: NDArray[Any] | Sequence[Sequence[float]],
    *,
    output: None = None,
    **settings: Unpack[ArraySettings],
) -> Scores: ...
@overload
def transform(
    model: Model | str | Path,
    data: str | Path | Sequence[str | Path] | pd.DataFrame,
    *,
    output: None = None,
    **settings: Unpack[ApplySettings],
) -> pd.DataFrame: ...
@overload
def transform(
    model: Model | str | Path, data: Any, *, output: None = None, **settings: Unpack[ApplySettings]
) -> Any: ...
@errors_name_settings
def transform(
    model: Model | str | Path, data: Any, *, output: str | Path | None = None, **settings: Unpack[ApplySettings]
) -> Any:
    """Return the scores of the rows of `data` in the kind of table that `data` is; or write them to the file `output`.

    An array or a list of rows gives an array, a pandas DataFrame gives a DataFrame with its index, a polars DataFrame
    gives a polars DataFrame, a record batch gives a record batch; an Arrow table or reader, and any other object that
    exports to Arrow, gives an Arrow table; paths give a pandas DataFrame, as does an array with columns to keep.
    Settings: components, missing, keep, keep_all, with_error, with_coverage, and how files are read and written.
    Columns are found by name; those of an array by position. If `output` is a folder, or ends with /, the scores of
    each file in `data` go to a file of their own in this folder; with engine="dask" or "spark" the files in it are
    parts of one table. Raises `DataError` for columns that are missing and for rows that cannot be scored.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 5]])
    >>> model = pcatool.fit(X, components=1)
    >>> pcatool.transform(model, X).round(4).ravel().tolist()
    [7.0711, -4.2426, 2.8284, -5.6569, 0.0]
    """
    kinds = (TableOptions, ApplyOptions, EngineOptions, OutputOptions)
    table, apply, engine, out = option_records(settings, *kinds, output=output)
    fitted = model_of(model)

    def make(data: Any, table: TableOptions, reporter: Reporter) -> Results:
        return applying.transform(fitted, data, table, apply, engine, reporter)

    return deliver(make, data, table, out, engine, model)


@overload
def reconstruct(
    model: Model | str | Path,
    data: Any,
    *,
    source: str | None = None,
    preimage: bool = False,
    fill: bool = False,
    output: str | Path,
    **settings: Unpack[ApplySettings],
) -> None: ...
@overload
def reconstruct(
    model: Model | str | Path,
    data: NDArray[Any] | Sequence[Sequence[float]],
    *,
    source: str | None = None,
    preimage: bool = False,
    fill: bool = False,
    output: None = None,
    **settings: Unpack[ArraySettings],
) -> Scores: ...
@overload
def reconstruct(
    model: Model | str | Path,
    data: str | Path | Sequence[str | Path] | pd.DataFrame,
    *,
    source: str | None = None,
    preimage: bool = False,
    fill: bool = False,
    output: None = None,
    **settings: Unpack[ApplySettings],
) -> pd.DataFrame: ...
@overload
def reconstruct(
    model: Model | str | Path,
    data: Any,
    *,
    source: str | None = None,
    preimage: bool = False,
    fill: bool = False,
    output: None = None,
    **settings: Unpack[ApplySettings],
) -> Any: ...
@errors_name_settings
def reconstruct(
    model: Model | str | Path,
    data: Any,
    *,
    source: str | None = None,
    preimage: bool = False,
    fill: bool = False,
    output: str | Path | None = None,
    **settings: Unpack[ApplySettings],
) -> Any:
    """Return rows in original units, reconstructed from scores or from original rows.

    `source` says whether `data` are "scores" or "rows"; without `source` the columns decide. Results are
    returned in the kind of table that `data` is, or written to `output`, as by `transform` and with its settings. A
    kernel model reconstructs rows only approximately, and only with preimage=True. With `fill`, the original rows are
    returned with only their missing cells replaced. Raises `UsageError` for an array that could be scores or rows, and
    for a model that cannot reconstruct rows from scores.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 5]])
    >>> model = pcatool.fit(X, components=1)
    >>> back = pcatool.reconstruct(model, pcatool.transform(model, X))
    >>> bool(np.allclose(back, X))
    True
    """
    if source not in (None, "scores", "rows"):
        raise UsageError(f"invalid source {show(source)}", "choose scores or rows")
    kinds = (TableOptions, ApplyOptions, EngineOptions, OutputOptions)
    table, apply, engine, out = option_records(settings, *kinds, output=output)
    request = applying.ReconstructRequest(source, preimage, fill)
    fitted = model_of(model)

    def make(data: Any, table: TableOptions, reporter: Reporter) -> Results:
        return applying.reconstruct(fitted, data, table, apply, engine, reporter, request)

    return deliver(make, data, table, out, engine, model)


def deliver(
    make: Make,
    data: Any,
    table: TableOptions,
    output: OutputOptions,
    engine: EngineOptions,
    model: Model | str | Path,
) -> Any:
    """Write results to the file or folder of `output` and return None; without output return them as `in_type_of_data`.

    `make` computes the results from data, table options and a reporter. If `model` is a path, no output may replace
    this file. An engine in other processes always writes. Raises `UsageError` for a folder if the data are not files.
    """
    path = None if isinstance(model, Model) else os.fspath(model)
    if engine.in_other_processes:
        from pcatool.pipeline.cluster import write_parts

        write_parts(make, data_of(data), table, output, path, engine, Warnings())
        return None
    if output_folder.goes_to_folder(output):
        if not is_path(data):
            raise UsageError(
                "the output is a folder, but the data are not files",
                "give the name of a file, as in output='scores.csv'",
            )
        output_folder.write_each(make, data_of(data), table, output, path, Warnings())
        return None
    named = data_of(data)
    reporter = Warnings()
    results = make(named, table, reporter)
    if output.output is not None:
        write(results, output, None)
        warn_of_empty_results(results.row_counts, results.inputs.resolved.inputs, results.plan.options, reporter)
        return None
    return in_type_of_data(results, named)


# --- results in the kind of table that was given ---


def in_type_of_data(results: BatchTable, data: Any) -> Any:
    """Return all results in memory, in the kind of table that `data` is: an array for arrays and lists of rows.

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
    """Whether the data are paths, a DataFrame, or an object that exports to Arrow: not an array or a list of rows."""
    return (
        are_paths(data)
        or is_pandas(data)
        or any(hasattr(data, way) for way in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__"))
    )


def _pandas(results: BatchTable, passthrough: dict[str, Any], values: Array, data: Any) -> Any:
    """Return a pandas DataFrame of the columns passed through, followed by the results, `values`.

    If `data` is a DataFrame with the same rows, its index and its own columns are used.
    """
    import pandas as pd

    index: Any = data.index if is_pandas(data) and not results.by_users else None
    frame = pd.DataFrame(values, columns=results.names, index=index)
    for at, (name, chunks) in enumerate(passthrough.items()):
        own = index is not None and hasattr(data, "columns") and name in data
        series = data[name] if own else chunks.to_pandas()
        frame.insert(at, name, series.to_numpy() if index is not None else series)
    return frame
