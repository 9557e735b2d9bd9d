"""The Python front: everything the command line does, on arrays, DataFrames, Arrow tables and paths.

    model = pcatool.fit(frame, components=0.95, standardize=True)
    scores = pcatool.transform(model, frame)          # a DataFrame in gives a DataFrame out, with its index

Data are a path or several (files, folders, patterns, URLs), a DataFrame of pandas, a table, record batch or reader of
Arrow, anything else that gives itself to Arrow (polars, duckdb), a two-dimensional array, or a list of rows. Keywords
are the fields of the option records in `pcatool.options`, which are the options of the command line; `pcatool.typing`
spells them out. All functions raise `PcatoolError`: `UsageError` for settings, `DataError` for data, `ModelError` for
files that are no models, `FileError` for what cannot be read or written, `RefusedError` for want of memory or accuracy.
Where the command line warns, they issue a `PcatoolWarning`.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import PcatoolWarning, UsageError, show
from pcatool.model import Model
from pcatool.modelfile import load_model, save_model
from pcatool.notices import Notices
from pcatool.options import (
    AlignOptions,
    ApplyOptions,
    EngineOptions,
    FitOptions,
    OutputOptions,
    PageOptions,
    RefitOptions,
    ScoreOptions,
    SelectOptions,
    TableOptions,
    UpdateOptions,
)
from pcatool.options.keywords import records, texts
from pcatool.pipeline import apply as applying
from pcatool.pipeline import combine as combining
from pcatool.pipeline import fit as fitting
from pcatool.pipeline import folder
from pcatool.pipeline import models as named_models
from pcatool.pipeline import report as reporting
from pcatool.pipeline.refit import refit as refitting
from pcatool.readers.tally import Tally
from pcatool.returned import in_kind
from pcatool.typing import (
    AlignSettings,
    ApplySettings,
    ArraySettings,
    FitSettings,
    RefitSettings,
    ReportSettings,
    UpdateSettings,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "compare_rules",
    "components",
    "diff",
    "explain_variance",
    "fit",
    "inspect",
    "load_model",
    "merge",
    "plan",
    "plot",
    "reconstruct",
    "refit",
    "report",
    "save_model",
    "scree",
    "subtract",
    "transform",
    "update",
]


class Warnings(Notices):
    """Warnings go through Python's own machinery; notes are for people at a terminal."""

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        if kind == "warning":
            warnings.warn("\n  ".join([text, *items]), PcatoolWarning, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """How many calls `show` lies below the first that is not in this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "pcatool":
        frame, level = frame.f_back, level + 1
    return level


Scores = NDArray[np.float64]


def fit(
    data: Any,
    *,
    scores: str | Path | None = None,
    keep: str | Sequence[str] = (),
    keep_all: bool = False,
    **settings: Unpack[FitSettings],
) -> Model:
    """Fit a model to `data`: a path or several, a DataFrame, an Arrow table, or a two-dimensional array.

    Settings: those of `pcatool fit`, such as components=0.99, standardize=True, center=False, ddof=1, solver="svd",
    missing="drop", columns=["a", "b"], exclude=["c"], and how a file is read, such as delimiter=";". With `scores`,
    the scores of the rows are written to that file, too, with the columns named in `keep` ahead of them,
    or all with `keep_all`. Raises `UsageError` for settings that are none, before any data are read; `DataError` for
    data that have no components, such as constant ones, or missing cells; `RefusedError` where memory would not do.

    >>> import pcatool
    >>> model = pcatool.fit("sample_data/houses.csv", components=1)
    >>> model.columns, model.n_samples, model.k
    (('price', 'area'), 5, 1)
    """
    job = _job(data, settings)
    asked = ScoreOptions(None if scores is None else str(scores), texts(keep), bool(keep_all))
    if asked.scores is None:
        return fitting.fit(job).model
    from pcatool.pipeline.both import fit_and_score

    return fit_and_score(job, None, asked).fitted.model


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
def transform(
    model: Model | str | Path, data: Any, *, output: str | Path | None = None, **settings: Unpack[ApplySettings]
) -> Any:
    """Scores of the rows of `data`, in the kind of table that they are, or written to the file `output`.

    An array or a list of rows gives an array, a DataFrame of pandas one with its index, one of polars one of polars, a
    record batch a record batch; a table or reader of Arrow, and whatever else speaks Arrow, gives a table of Arrow;
    paths give a DataFrame of pandas, as does an array with columns to keep. Settings: components, missing, keep,
    keep_all, with_error, with_coverage, and how files are read and written.
    Columns are found by name; those of an array by position. Where `output` is a folder, or ends with /, each of the
    files that `data` names gets an output of its own there; with engine="dask" or "spark" they are parts of one table.
    Raises `DataError` for columns that are missing and for rows that cannot be scored.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 5]])
    >>> model = pcatool.fit(X, components=1)
    >>> pcatool.transform(model, X).round(4).ravel().tolist()
    [7.0711, -4.2426, 2.8284, -5.6569, 0.0]
    """
    kinds = (TableOptions, ApplyOptions, EngineOptions, OutputOptions)
    table, apply, engine, out = records(settings, *kinds, output=output)
    fitted = _model(model)

    def make(data: Any, table: TableOptions, notices: Notices) -> applying.Results:
        return applying.transform(fitted, data, table, apply, engine, notices)

    return _deliver(make, data, table, out, engine, model)


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
    """Rows in original units, from scores or from original rows (`source`: "scores" or "rows", else by the columns).

    Results come in the kind of table that `data` are, as from `transform`, with the same settings, or are written to
    `output`. A kernel model gives them only approximately, and only with preimage=True. With `fill`, the original rows
    with only their missing cells replaced. Raises `UsageError` where an array could be both, and where a model does not
    come back from scores.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 5]])
    >>> model = pcatool.fit(X, components=1)
    >>> back = pcatool.reconstruct(model, pcatool.transform(model, X))
    >>> bool(np.allclose(back, X))
    True
    """
    if source not in (None, "scores", "rows"):
        raise UsageError(f"source {show(source)} is neither scores nor rows")
    kinds = (TableOptions, ApplyOptions, EngineOptions, OutputOptions)
    table, apply, engine, out = records(settings, *kinds, output=output)
    back = applying.Back(source, preimage, fill)
    fitted = _model(model)

    def make(data: Any, table: TableOptions, notices: Notices) -> applying.Results:
        return applying.reconstruct(fitted, data, table, apply, engine, notices, back)

    return _deliver(make, data, table, out, engine, model)


@overload
def explain_variance(model: Any, *, threshold: None = None, **settings: Unpack[FitSettings]) -> pd.DataFrame: ...
@overload
def explain_variance(model: Any, *, threshold: float, **settings: Unpack[FitSettings]) -> int: ...
def explain_variance(
    model: Any, *, threshold: float | None = None, **settings: Unpack[FitSettings]
) -> pd.DataFrame | int:
    """A DataFrame with what each number of components keeps and loses; with `threshold`, how many keep that share.

    Of a model, a path to one, or data to fit with the settings of `fit`. Raises `UsageError` for a threshold that is no
    share, and `RefusedError` where the eigenvalues that are known do not reach it.

    >>> import pcatool
    >>> pcatool.explain_variance("sample_data/digits.csv", exclude="digit", threshold=0.9)
    21
    """
    import pandas as pd

    fitted = _model_or_fit(model, settings)
    if threshold is not None:
        if not 0 < threshold < 1:
            raise UsageError(f"threshold {threshold} is not a share", "give a number between 0 and 1, such as 0.95")
        return reporting.smallest_k(fitted, threshold)
    return pd.DataFrame(fitted.variance.columns())


@overload
def scree(model: Any, *, output: None = None, width: int = 80, **settings: Unpack[FitSettings]) -> str: ...
@overload
def scree(
    model: Any,
    *,
    output: str | Path,
    log: bool = False,
    rules: str | Sequence[str] = (),
    size: tuple[float, float] | str | None = None,
    dpi: float | None = None,
    **settings: Unpack[FitSettings],
) -> None: ...
def scree(
    model: Any,
    *,
    output: str | Path | None = None,
    width: int = 80,
    log: bool = False,
    rules: str | Sequence[str] = (),
    size: tuple[float, float] | str | None = None,
    dpi: float | None = None,
    **settings: Unpack[FitSettings],
) -> str | None:
    """The scree chart of a model, a path to one, or data to fit: as text, or drawn to the file `output`.

    Text is `width` columns wide. A picture, by the name's end png, svg or pdf, needs matplotlib: without it a
    `UsageError` says so. It has a logarithmic scale with `log`, marks what the `rules` named pick, "all" or some, and
    is as large as `size`, width and height in inches, at `dpi` pixels per inch.

    >>> import pcatool
    >>> print(pcatool.scree("sample_data/digits.csv", exclude="digit", components=2, width=40).splitlines()[0])
    PC  eigenvalue  cumulative
    """
    from pcatool.options import PictureOptions
    from pcatool.render.chart import scree_chart

    look, names = PictureOptions(size, dpi), texts(rules)  # type: ignore[arg-type]  # which the record parses
    if output is None and (log or names or look.given is not None):
        raise UsageError("log, rules, size and dpi are for a picture", "name it with output, such as 'scree.png'")
    fitted = _fitted(model, settings)
    if output is not None:
        named = None if names == ("all",) else tuple(name for text in names for name in text.split(","))
        asked = reporting.Scree(bool(log), named, int(settings.get("seed", 0)), look)
        reporting.draw_scree(fitted, str(output), asked)
        return None
    made = fitted.model
    return scree_chart(made.variance, kept=made.k, width=width, color=False, unicode=True, total_components=made.d)


@overload
def components(
    model: Any,
    *,
    values: str | Sequence[str] = "loadings",
    first: int | None = None,
    image: None = None,
    output: None = None,
    **settings: Unpack[FitSettings],
) -> pd.DataFrame: ...
@overload
def components(
    model: Any,
    *,
    values: str | Sequence[str] = "loadings",
    first: int | None = None,
    image: tuple[int, int] | str,
    output: str | Path,
    size: tuple[float, float] | str | None = None,
    dpi: float | None = None,
    **settings: Unpack[FitSettings],
) -> None: ...
def components(
    model: Any,
    *,
    values: str | Sequence[str] = "loadings",
    first: int | None = None,
    image: tuple[int, int] | str | None = None,
    output: str | Path | None = None,
    size: tuple[float, float] | str | None = None,
    dpi: float | None = None,
    **settings: Unpack[FitSettings],
) -> pd.DataFrame | None:
    """What the components of a model, a path to one, or data to fit are made of, as a DataFrame.

    `values`: "loadings", "correlations", "contributions", "cos2", or several, which give a row for each component and
    column; of the `first` components only. With `image`, the height and width of the images that the columns are pixels
    of, the mean and the components are drawn to the file `output`, of a `size` in inches and at `dpi` pixels per inch,
    and nothing is returned.
    Raises `UsageError` for a kernel model, whose components are not made of columns.

    >>> import pcatool
    >>> table = pcatool.components("sample_data/houses.csv", components=1)
    >>> table.round(4).values.tolist()
    [['price', 0.7071], ['area', 0.7071]]
    """
    import pandas as pd

    from pcatool.options import PictureOptions
    from pcatool.options.components import parse_first, parse_image, parse_values
    from pcatool.pipeline import loadings
    from pcatool.render.figures import picture_form

    names, first, shape = parse_values(values), parse_first(first), parse_image(image)
    look = PictureOptions(size, dpi)  # type: ignore[arg-type]  # which the record parses
    if shape is None and look.given is not None:
        raise UsageError("size and dpi are for a picture", "give image and output, too")
    if (shape is None) != (output is None):
        raise UsageError("a picture needs both image and output", "as in image=(8, 8), output='components.png'")
    form = picture_form(output) if output is not None else ""
    fitted = _model_or_fit(model, settings)
    if shape is None:
        return pd.DataFrame(loadings.component_table(fitted, names, first))
    loadings.write(loadings.components_picture(fitted, shape, form, first, look), str(output))
    return None


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
def report(
    model: Model | str | Path,
    data: Any = None,
    *,
    output: str | Path | None = None,
    no_clobber: bool = False,
    **settings: Unpack[ReportSettings],
) -> str | None:
    """A page of HTML about a model, and about rows, `data`: as text, or written to the file `output`.

    Settings: color="column", axes=(1, 3), image=(8, 8), first=10, and those of `transform`: components, missing, keep,
    keep_all, with_error, with_coverage, and how files are read. With `no_clobber` a file that exists is not replaced.
    Raises `UsageError` for settings that would change nothing, `DataError` for columns and components that are not
    there.

    >>> import pcatool
    >>> model = pcatool.fit("sample_data/houses.csv", components=1)
    >>> page = pcatool.report(model, "sample_data/houses.csv", keep="price")
    >>> page.splitlines()[0]
    '<!doctype html>'
    """
    from pcatool.pipeline.page import build

    table, apply, engine, asked = records(settings, TableOptions, ApplyOptions, EngineOptions, PageOptions)
    name, fitted = (None, model) if isinstance(model, Model) else _named(model)
    rows = build.Rows(None if data is None else _data(data), table, apply, engine)
    if output is None:
        return build.report(fitted, name, rows, asked, Warnings()).html
    build.report_to(str(output), fitted, name, rows, asked, Warnings(), no_clobber=no_clobber)
    return None


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
    """Draw scores of rows ("scores"), "loadings" of columns, or both ("biplot") to the file `output`.

    Of a model, or a path to one, and the rows in `data`; of data to fit with the settings of `fit` and then to draw; or
    of a table of scores as `transform` gives it (`source`: "scores" or "rows", else by the columns). `axes` names the
    components, `color` the column that colours the rows; `scaling` of a biplot is "rows" for distances of rows as in
    the scores, or "columns" for angles of arrows that show how columns correlate. A picture is as large as `size`,
    width and height in inches, at `dpi` pixels per inch; it needs matplotlib, without which a `UsageError` says so.
    Without `output` the numbers are returned instead: scores in the kind of table that was given, as from `transform`;
    loadings or arrows as a DataFrame. Raises `UsageError` for pictures that a model does not have.

    >>> import pcatool
    >>> pcatool.plot("loadings", "sample_data/houses.csv", axes=1).round(4).values.tolist()
    [['price', 0.7071], ['area', 0.7071]]
    """
    from pcatool.options import PictureOptions, PlotOptions
    from pcatool.pipeline.plots import picture
    from pcatool.pipeline.plots.asked import Asked

    look = PictureOptions(size, dpi)  # type: ignore[arg-type]  # which the record parses, as the next does
    wishes = PlotOptions(axes, color, scaling, source)  # type: ignore[arg-type]
    asked = Asked(
        kind, wishes, look, None if output is None else str(output), form="csv" if output is None else "picture"
    )
    job = _job(model if data is None else data, settings)
    asked.check(job.options)
    fitted = _model(model) if data is not None or _is_model(model) else None
    if fitted is not None and data is None and asked.of_rows:
        raise UsageError("a model alone has no rows to draw", "give them as data")
    if output is not None:
        picture.draw(job, asked, fitted)
        return None
    if asked.of_rows:
        flow = picture.rows_of(job, asked, fitted)
        return in_kind(flow, job.data)
    import pandas as pd

    return pd.DataFrame(picture.table_of(job, asked, fitted))


def inspect(model: Model | str | Path) -> dict[str, Any]:
    """What is in a model, or in a file of one, as plain values: what `pcatool inspect --json` prints.

    >>> import pcatool
    >>> facts = pcatool.inspect(pcatool.fit("sample_data/houses.csv", components=1))
    >>> facts["rows"], facts["columns"], facts["settings"]
    (5, ['price', 'area'], 'centred, not standardised, divisor n (ddof 0)')
    """
    from pcatool.pipeline.inspection import inspect

    return inspect(model)


def diff(a: Model | str | Path, b: Model | str | Path) -> dict[str, Any]:
    """What has changed from model `a` to model `b`, or files of them: what `pcatool diff --json` prints.

    >>> import pcatool
    >>> a = pcatool.fit("sample_data/houses.csv", components=1)
    >>> b = pcatool.fit("sample_data/houses.csv", components=1, ddof=1)
    >>> pcatool.diff(a, b)["settings"]
    [{'setting': 'ddof', 'a': 0, 'b': 1}]
    """
    from pcatool.pipeline.comparison import diff

    return diff(a, b)


def update(model: Model | str | Path, data: Any, **settings: Unpack[UpdateSettings]) -> Model:
    """The model of the rows it was fitted to and of those of `data`, as a fit of all together would give it.

    Settings: missing="error" or "drop", align_to=older, and how a file is read. Raises `ModelError` for a model without
    the sums over its rows, with the reason.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]])
    >>> model = pcatool.update(pcatool.fit(X[:3], components=1), X[3:])
    >>> model.n_samples, bool(np.allclose(model.eigenvalues, pcatool.fit(X).eigenvalues))
    (5, True)
    """
    table, options, engine = records(settings, TableOptions, UpdateOptions, EngineOptions)
    return combining.update(_named(model), _data(data), table, options, engine, Warnings()).model


def subtract(model: Model | str | Path, data: Any, **settings: Unpack[UpdateSettings]) -> Model:
    """The model of its rows without those of `data`, rows that were fitted or a model of them; settings as `update`.

    Raises `RefusedError` where what cancels would leave too few digits, `DataError` for rows that cannot have been
    fitted, and `ModelError` for a model without the sums over its rows.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]])
    >>> pcatool.subtract(pcatool.fit(X, components=1), X[3:]).n_samples
    3
    """
    table, options, engine = records(settings, TableOptions, UpdateOptions, EngineOptions)
    named, data = _named(model), data if isinstance(data, Model) else _data(data)
    if isinstance(data, Model) or (_is_path(data) and named_models.are_models(data)):
        named_models.refuse_reading(table, options, engine)
        gone = [_named(data)] if isinstance(data, Model) else named_models.models_of(data)
        return combining.subtract_models(named, gone, options.align_to, Warnings()).model
    return combining.subtract(named, data, table, options, engine, Warnings()).model


def merge(*models: Model | str | Path, **settings: Unpack[AlignSettings]) -> Model:
    """The model of the rows of all these models. Settings: align_to=older.

    Raises `DataError` for models of different columns, `ModelError` for ones of different settings, or without the sums
    over their rows.

    >>> import numpy as np, pcatool
    >>> X = np.array([[10.0, 10], [2, 2], [7, 7], [1, 1], [5, 6]])
    >>> pcatool.merge(pcatool.fit(X[:3], components=1), pcatool.fit(X[3:], components=1)).n_samples
    5
    """
    if not models:
        raise UsageError("there are no models to merge", "give one or more")
    (options,) = records(settings, AlignOptions)
    return combining.merge(map(_named, models), options.align_to, Warnings()).model


def refit(model: Model | str | Path, **settings: Unpack[RefitSettings]) -> Model:
    """The model that a fit of the same rows with these settings would have given, without the rows.

    Settings: components, standardize, center, ddof, whiten, epsilon, columns, exclude, align_to. Raises `ModelError`
    for a model without the sums over its rows.

    >>> import pcatool
    >>> model = pcatool.fit("sample_data/houses.csv", components=1)
    >>> pcatool.refit(model, standardize=True, ddof=1).standardized
    True
    """
    (options,) = records(settings, RefitOptions)
    return refitting(_named(model), options, Warnings())


def _named(model: Model | str | Path) -> tuple[str, Model]:
    return ("the model", model) if isinstance(model, Model) else (os.fspath(model), load_model(model))


def plan(data: Any, **settings: Unpack[FitSettings]) -> dict[str, Any]:
    """What a fit of `data` would do, with the settings of `fit`: solver, reason, rows, passes, bytes at the peak.

    >>> import pcatool
    >>> pcatool.plan("sample_data/houses.csv")["solver"]
    'covariance'
    """
    from pcatool.render.summary import plan_facts

    return plan_facts(fitting.plan_fit(_job(data, settings)))


def compare_rules(model: Any, rules: list[str] | None = None, **settings: Unpack[FitSettings]) -> pd.DataFrame:
    """A DataFrame with what each rule for the number of components says of a model, a path to one, or data.

    `rules` by name, all that can be asked if none are named. Raises `UsageError` for a rule that is none.

    >>> import pcatool
    >>> table = pcatool.compare_rules("sample_data/digits.csv", ["kaiser", "elbow"], exclude="digit")
    >>> table[["rule", "k"]].values.tolist()
    [['kaiser', 14], ['elbow', 3]]
    """
    import pandas as pd

    job = _job(model, settings)
    fitted = fitting.Fitted(model, Tally()) if isinstance(model, Model) else fitting.model_or_fit(job)
    return pd.DataFrame(reporting.judge(fitted, rules, job.options.seed), columns=["rule", "k", "reason"])


def _model_or_fit(subject: Any, settings: Mapping[str, Any]) -> Model:
    """A model as it is, or from a path, or fitted to the data with these settings."""
    return _fitted(subject, settings).model


def _is_model(subject: Any) -> bool:
    """Is it a model, or a path to one?"""
    from pcatool.pipeline.plots.subject import is_model

    return isinstance(subject, Model) or (isinstance(subject, (str, Path)) and is_model(str(subject)))


def _fitted(subject: Any, settings: Mapping[str, Any]) -> fitting.Fitted:
    """The same with what the fit knows of its data."""
    if isinstance(subject, Model):
        if settings:
            raise UsageError(f"a model is fitted already: {', '.join(settings)} would change nothing", "give the data")
        return fitting.Fitted(subject, Tally())
    return fitting.model_or_fit(_job(subject, settings))


def _job(data: Any, settings: Mapping[str, Any]) -> fitting.Job:
    table, select, options, engine = records(settings, TableOptions, SelectOptions, FitOptions, EngineOptions)
    return fitting.Job(_data(data), table, select, options, engine, Warnings())


def _model(model: Model | str | Path) -> Model:
    return model if isinstance(model, Model) else load_model(model)


def _data(data: Any) -> Any:
    """Paths as a list of texts; anything else as it is."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    if isinstance(data, (list, tuple)) and not data:
        raise UsageError("there is no data: the list is empty", "give a path, several, or a table")
    if isinstance(data, (list, tuple)) and all(isinstance(item, (str, os.PathLike)) for item in data):
        return [os.fspath(item) for item in data]
    return data


def _deliver(
    make: folder.Make,
    data: Any,
    table: TableOptions,
    output: OutputOptions,
    engine: EngineOptions,
    model: Model | str | Path,
) -> Any:
    """Written to a file or a folder, or gathered in the form the data came in."""
    path = None if isinstance(model, Model) else str(model)
    if engine.far:
        from pcatool.pipeline.parted import write_parts

        write_parts(make, _data(data), table, output, path, engine, Warnings())
        return None
    if folder.goes_to_folder(output):
        if not _is_path(data):
            raise UsageError("a folder gets an output for each file, and the data are none", "name a file as output")
        folder.write_each(make, _data(data), table, output, path, Warnings())
        return None
    named = _data(data)
    results = make(named, table, Warnings())
    if output.output is not None:
        applying.write(results, output, None)
        return None
    return in_kind(results, named)


def _is_path(data: Any) -> bool:
    return isinstance(_data(data), list) and all(isinstance(item, str) for item in _data(data))
