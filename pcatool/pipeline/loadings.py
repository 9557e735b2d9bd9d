"""Loadings, correlations and contributions of columns, as a table or as images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, ModelError, UsageError
from pcatool.model.description import settings_text
from pcatool.model.model import Model, component_name
from pcatool.options import FitOptions, PictureOptions
from pcatool.options.showing import VALUES
from pcatool.pipeline.fit import Job, model_or_fit_of, open_model_or_data
from pcatool.progress import doing
from pcatool.render.component_images import component_picture
from pcatool.wording import counted, grouped
from pcatool.writers.sink import check_target, open_sink

__all__ = [
    "check_columns",
    "check_component_number",
    "check_image",
    "check_method",
    "column_spread",
    "component_table",
    "components_picture",
    "components_shown",
    "fit_and_write",
    "images_shown",
    "mean_to_draw",
    "table_caption",
    "table_entries",
]

# Most images in a picture by default: on a page, more are too small to tell apart.
PANELS = 36


def check_method(options: FitOptions, names: Sequence[str]) -> None:
    """Raise `UsageError` for kinds of values in `names`, such as cos2, that a fit with these options cannot give."""
    _refuse(options.method, options.kernel is not None, names)


def _refuse(method: str, in_kernel: bool, names: Sequence[str]) -> None:
    """Raise `UsageError` for any kernel model, and for values in `names` that are not defined for the method.

    `names` are kinds of values, such as correlations.
    """
    if in_kernel:
        raise UsageError(
            "the components of a kernel model are directions in the kernel space, not combinations of columns",
            "for scores, run pcatool transform",
        )
    if method == "supervised" and not {"correlations", "cos2"}.isdisjoint(names):
        raise UsageError(
            "correlations and cos2 are not defined for supervised PCA, whose eigenvalues are not variances of scores",
            "give --values loadings or --values contributions",
        )


def is_supervised(model: Model) -> bool:
    return model.meta.get("method") == "supervised"


# --- numbers ---


def contributions(model: Model) -> Array:
    """Contribution of each column to each component in per cent, (d, k); each component adds up to 100."""
    return 100 * model.basis**2


def correlations(model: Model) -> Array:
    """Correlation of column j with the scores of component m, B_jm sqrt(lambda_m) / s_j, (d, k); 0 if s_j is 0."""
    s = column_spread(model)[:, None]
    cross = model.basis * np.sqrt(model.eigenvalues[: model.k])
    found = np.divide(cross, s, out=np.zeros_like(cross), where=s > 0)
    return np.clip(found, -1.0, 1.0)  # rounding may exceed 1


def cos2(model: Model) -> Array:
    """Share of the variance of each column that each component explains, (d, k): the square of `correlations`.

    Over all components of the data, the shares of a column add up to 1; those of a constant column are 0.
    """
    found: Array = correlations(model) ** 2
    return found


MATRICES: Mapping[str, Callable[[Model], Array]] = {
    "loadings": lambda model: model.basis,
    "correlations": correlations,
    "contributions": contributions,
    "cos2": cos2,
}


def column_spread(model: Model) -> Array:
    """Standard deviation s_j = sqrt(S_jj) of each column in the units of the fit, (d,).

    Raises `UsageError` for a model without centring, and `ModelError` for one that does not hold the variances.
    """
    if model.centered and model.variances is not None:
        return np.sqrt(model.variances) / model.std
    if model.centered and model.standardized:
        return np.ones(model.d)
    if not model.centered:
        raise UsageError(
            "correlations and cos2 are not defined for a model fitted with --no-center",
            "fit without --no-center, or give --values loadings or --values contributions",
        )
    if holds_all_variance(model):
        return recovered_spread(model)
    raise ModelError(
        "correlations and cos2 need the variances of the columns, but the model does not hold these variances: "
        "the model was made by an earlier version of pcatool, or by scikit-learn",
        "run pcatool fit on the same rows",
    )


def holds_all_variance(model: Model) -> bool:
    """Whether the model holds every component with variance, so that no variance is lost."""
    rank = model.meta.get("rank")
    return isinstance(rank, int) and model.k >= rank and bool(model.variance.lost[model.k - 1] == 0)


def recovered_spread(model: Model) -> Array:
    """Standard deviation of each column, (d,), from a model that holds all variance: S_jj = sum_m lambda_m B_jm^2.

    A variance within the rounding error of B becomes 0.
    """
    squares = model.basis**2 @ model.eigenvalues[: model.k]
    noise = (model.d * np.finfo(float).eps) ** 2 * model.total_variance
    return np.sqrt(np.where(squares > noise, squares, 0.0))


# --- a table ---


def components_shown(model: Model, first: int | None) -> int:
    """Return the number of components to show: `first`, or all if None; `DataError` when the model has fewer."""
    if first is not None:
        check_component_number(f"--first {first}", first, model.k, model.directions)
    return first or model.k


def check_component_number(option: str, number: int, k: int, possible: int = 0) -> None:
    """Raise `DataError` if `number`, counted from 1, is not a component of a model with k components.

    `option` begins the message. If a fit could give more than k components, up to `possible`, the hint says so.
    """
    if number > k:
        more = ", or fit with a larger -k" if k < possible else ""
        raise DataError(f"{option}: the model has {counted(k, 'component')}", f"give a smaller number{more}")


def component_table(model: Model, names: Sequence[str] = ("loadings",), first: int | None = None) -> dict[str, Any]:
    """Return a table of the values `names` for the `first` components (None: all), as a dict of columns.

    One name gives a row for each column of the data and a column for each component. Several names give a row for each
    pair of component and column of the data, and a column for each name.
    """
    check_columns(model, names)
    k = components_shown(model, first)
    found = [MATRICES[name](model)[:, :k] + 0.0 for name in names]  # -0.0 becomes 0.0
    columns = np.array(model.columns, dtype=object)
    if len(found) == 1:
        return {"column": columns, **{component_name(m + 1): found[0][:, m] for m in range(k)}}
    table: dict[str, NDArray[Any]] = {
        "component": np.repeat(np.arange(1, k + 1), model.d),
        "column": np.tile(columns, k),
    }
    return table | {VALUES[name]: values.T.ravel() for name, values in zip(names, found, strict=True)}


def check_columns(model: Model, names: Sequence[str]) -> None:
    """Raise `UsageError` if kinds of values in `names`, such as correlations, are not defined for the model.

    For a kernel model none is defined.
    """
    _refuse(str(model.meta.get("method", "pca")), model.basis.shape[1] == 0, names)


def table_entries(model: Model, names: Sequence[str], first: int | None) -> list[dict[str, Any]]:
    """Return the rows of `component_table` as dicts, for JSON."""
    table = component_table(model, names, first)
    return [dict(zip(table, row, strict=True)) for row in zip(*(c.tolist() for c in table.values()), strict=True)]


CAPTIONS = {
    "loadings": "loadings",
    "correlations": "correlations of columns and scores",
    "contributions": "contributions of columns to components in per cent",
    "cos2": "cos2, the share of a column's variance that a component explains",
}


def table_caption(model: Model, names: Sequence[str], first: int | None) -> str:
    """Return the caption of a table: its values, the settings of the fit, and the number of components."""
    said = "; ".join(CAPTIONS[name] for name in names)
    k = components_shown(model, first)
    count = f"k = {k}" if k == model.k else f"the first {grouped(k)} of {grouped(model.k)} components"
    return f"{said}; {settings_text(model)}; {count}"


# --- a picture ---


def images_shown(model: Model, first: int | None) -> int:
    """Return the number of components in a picture: `first`, or by default at most PANELS; `DataError` for too many."""
    return components_shown(model, first if first is not None else min(model.k, PANELS))


def check_image(model: Model, shape: tuple[int, int]) -> None:
    """Raise `DataError` unless the columns of the model are the pixels of an image of this shape (height, width)."""
    check_columns(model, ("loadings",))
    pixels = shape[0] * shape[1]
    if model.d != pixels:
        only = "fit only the pixels: select them with -c, or exclude the other columns with -x"
        fit = "fit all pixels" if model.d < pixels else only
        raise DataError(
            f"an image of {shape[0]}x{shape[1]} has {counted(pixels, 'pixel')}, "
            f"but the model has {counted(model.d, 'column')}",
            f"give another shape with --image, or {fit}",
        )


def mean_to_draw(model: Model) -> Array | None:
    """Return the mean to draw, (d,); None for a model without centring or with labels."""
    return model.mean if model.centered and not is_supervised(model) else None


def components_picture(
    model: Model,
    shape: tuple[int, int],
    form: str,
    first: int | None = None,
    look: PictureOptions = PictureOptions(),  # noqa: B008
) -> bytes:
    """Return the mean and the components as images, as the bytes of a picture file.

    `shape` is the height and width of an image, `form` the format of the picture.
    """
    check_image(model, shape)
    H, W = shape
    k = images_shown(model, first)
    doing("drawing")
    count = counted(k, "component") if k == model.k else f"the first {grouped(k)} of {grouped(model.k)} components"
    return component_picture(
        mean_to_draw(model),
        model.basis[:, :k],
        model.variance.share[:k],
        shape=shape,
        form=form,
        caption=(
            count,
            f"{counted(model.n_samples, 'image')} of {H}x{W} pixels",
            *settings_text(model).split("; "),
            share_words(model),
        ),
        picture=look,
    )


def share_words(model: Model) -> str:
    """Return the caption of the shares of the components, such as "shares in per cent of the variance"."""
    if is_supervised(model):
        return "shares in per cent of the dependence on the label"
    return f"shares in per cent of the {'variance' if model.centered else 'sum of squares'}"


def fit_and_write(job: Job, output: str, make: Callable[[Model], str | bytes], *, no_clobber: bool) -> Model:
    """Load or fit the model of a job, cut it to -k, write `make(model)` to a file, and return the model.

    An output that cannot be written is refused before the fit.
    """
    inputs = open_model_or_data(job)
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    model = model_or_fit_of(job, inputs).shown_model
    write(make(model), output, no_clobber=no_clobber, inputs=inputs.paths)
    return model


def write(data: str | bytes, output: str, *, no_clobber: bool = False, inputs: Sequence[str] = ()) -> None:
    """Write text or bytes to a file, or to standard output if `output` is "-"; `inputs` may not be replaced."""
    with open_sink(output, no_clobber=no_clobber, inputs=inputs) as sink:
        sink.write(data.encode() if isinstance(data, str) else data)
