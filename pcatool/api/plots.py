"""Functions `plot` and `report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack, overload

from pcatool.api.arguments import Warnings, data_of, is_model, job_of, model_of, named_model, option_records
from pcatool.api.keywords import FitSettings, ReportSettings
from pcatool.api.messages import errors_name_settings
from pcatool.api.transform import in_type_of_data
from pcatool.errors import UsageError
from pcatool.model.model import Model
from pcatool.options import (
    ApplyOptions,
    EngineOptions,
    PageOptions,
    TableOptions,
)

__all__ = ["plot", "report"]


@overload
def plot(
    kind: str,
    model: Any,
    data: Any = None,
    *,
    output: str | Path,
    axes: int | Sequence[int] | str | None = None,
    color: str | None = None,
    scaling: str | None = None,
    source: str | None = None,
    size: tuple[float, float] | str | None = None,
    dpi: float | None = None,
    **settings: Unpack[FitSettings],
) -> None: ...
@overload
def plot(
    kind: str,
    model: Any,
    data: Any = None,
    *,
    output: None = None,
    axes: int | Sequence[int] | str | None = None,
    color: str | None = None,
    scaling: str | None = None,
    source: str | None = None,
    **settings: Unpack[FitSettings],
) -> Any: ...
@errors_name_settings
def plot(
    kind: str,
    model: Any,
    data: Any = None,
    *,
    output: str | Path | None = None,
    axes: int | Sequence[int] | str | None = None,
    color: str | None = None,
    scaling: str | None = None,
    source: str | None = None,
    size: tuple[float, float] | str | None = None,
    dpi: float | None = None,
    **settings: Unpack[FitSettings],
) -> Any:
    """Draw scores of rows (kind "scores"), "loadings" of columns, or both ("biplot") to the file `output`.

    Without `output`, return the numbers of the plot instead: for "scores" the scores, in the kind of table that `data`
    is, as `transform` does; for "loadings" the loadings and for "biplot" the arrows of the columns, as a DataFrame.

    `model` is a model or the path of a model, with its rows in `data`; or data to fit with the settings of `fit` and to
    draw; or a table of scores from `transform`. `source` says what the rows are, "scores" or "rows"; without `source`
    the names of the columns decide. `axes` are the numbers of the components to show, and `color` is the column that
    colours the rows. `scaling` of a biplot is "rows", so that distances of rows are those of the scores, or "columns",
    so that angles of arrows show how columns correlate. `size` is the width and height of the picture in inches, with
    `dpi` pixels per inch. Raises `UsageError` for a plot that the model does not have, and for a picture if matplotlib
    is not installed.

    >>> import pcatool
    >>> pcatool.plot("loadings", "sample_data/houses.csv", axes=1).round(4).values.tolist()
    [['price', 0.7071], ['area', 0.7071]]
    """
    from pcatool.options import PictureOptions, PlotOptions
    from pcatool.pipeline import plot
    from pcatool.pipeline.plot_request import PlotRequest

    picture = PictureOptions(size, dpi)  # type: ignore[arg-type]  # the record parses it, like the next record
    options = PlotOptions(axes, color, scaling, source)  # type: ignore[arg-type]
    request = PlotRequest(
        kind, options, picture, None if output is None else str(output), form="csv" if output is None else "picture"
    )
    job = job_of(model if data is None else data, settings)
    request.check(job.options)
    fitted = model_of(model) if data is not None or is_model(model) else None
    if fitted is not None and data is None and request.needs_rows:
        raise UsageError("a model has no rows to draw", "give the rows, as in data='rows.csv'")
    if output is not None:
        plot.draw(job, request, fitted)
        return None
    if request.needs_rows:
        flow = plot.rows_of(job, request, fitted)
        return in_type_of_data(flow, job.data)
    import pandas as pd

    return pd.DataFrame(plot.table_of(job, request, fitted))


@overload
def report(
    model: Model | str | Path,
    data: Any = None,
    *,
    output: None = None,
    no_clobber: bool = False,
    **settings: Unpack[ReportSettings],
) -> str: ...
@overload
def report(
    model: Model | str | Path,
    data: Any = None,
    *,
    output: str | Path,
    no_clobber: bool = False,
    **settings: Unpack[ReportSettings],
) -> None: ...
@errors_name_settings
def report(
    model: Model | str | Path,
    data: Any = None,
    *,
    output: str | Path | None = None,
    no_clobber: bool = False,
    **settings: Unpack[ReportSettings],
) -> str | None:
    """Return an HTML page about a model and the rows in `data`, as text; with `output`, write the page to that file.

    Settings: color="column", axes=(1, 3), image=(8, 8), first=10, and those of `transform`: components, missing, keep,
    keep_all, with_error, with_coverage, and how files are read. With `no_clobber` a file that exists is not replaced.
    Raises `UsageError` for settings that have no effect, and `DataError` for columns and components that do not exist.

    >>> import pcatool
    >>> model = pcatool.fit("sample_data/houses.csv", components=1)
    >>> page = pcatool.report(model, "sample_data/houses.csv", keep="price")
    >>> page.splitlines()[0]
    '<!doctype html>'
    """
    from pcatool.pipeline import report_page

    table, apply, engine, request = option_records(settings, TableOptions, ApplyOptions, EngineOptions, PageOptions)
    name, fitted = (None, model) if isinstance(model, Model) else named_model(model)
    rows = report_page.ReportRows(None if data is None else data_of(data), table, apply, engine)
    if output is None:
        return report_page.report(fitted, name, rows, request, Warnings()).html
    report_page.report_to(str(output), fitted, name, rows, request, Warnings(), no_clobber=no_clobber)
    return None
