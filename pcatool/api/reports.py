"""Functions `explain_variance`, `scree`, `components`, `inspect` and `diff`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from pcatool.api.arguments import fitted_of, model_or_fit, model_or_path, texts
from pcatool.api.keywords import FitSettings
from pcatool.api.messages import errors_name_settings
from pcatool.errors import UsageError
from pcatool.model.model import Model
from pcatool.pipeline import scree as reporting

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["components", "diff", "explain_variance", "inspect", "scree"]

# Remedy for `image` without `output`, for `output` without `image`, and for `size` and `dpi` without a picture.
PICTURE_REMEDY = "give image and output, as in image=(8, 8), output='components.png'"


@overload
def explain_variance(model: Any, *, threshold: None = None, **settings: Unpack[FitSettings]) -> pd.DataFrame: ...
@overload
def explain_variance(model: Any, *, threshold: float, **settings: Unpack[FitSettings]) -> int: ...
@errors_name_settings
def explain_variance(
    model: Any, *, threshold: float | None = None, **settings: Unpack[FitSettings]
) -> pd.DataFrame | int:
    """Return a DataFrame with the variance that each number of components keeps and loses.

    `model` is a model, the path of a model, or data to fit with the settings of `fit`. With `threshold`, return the
    smallest number of components that keep this share of the variance. Raises `UsageError` for a threshold that is not
    between 0 and 1, and `RefusedError` if the known eigenvalues do not add up to this share.

    >>> import pcatool
    >>> pcatool.explain_variance("sample_data/digits.csv", exclude="digit", threshold=0.9)
    21
    """
    import pandas as pd

    fitted = fitted_of(model, settings)
    if threshold is not None:
        if not 0 < threshold < 1:
            raise UsageError(f"threshold {threshold} is not a share", "give a number between 0 and 1, such as 0.95")
        return reporting.smallest_k(fitted, threshold)
    return pd.DataFrame(fitted.shown_variance.columns())


@overload
def scree(model: Any, *, output: None = None, width: int | None = None, **settings: Unpack[FitSettings]) -> str: ...
@overload
def scree(
    model: Any,
    *,
    output: str | Path,
    log: bool = False,
    log_components: bool = False,
    all_components: bool = False,
    rules: str | Sequence[str] = (),
    size: tuple[float, float] | str | None = None,
    dpi: float | None = None,
    **settings: Unpack[FitSettings],
) -> None: ...
@errors_name_settings
def scree(
    model: Any,
    *,
    output: str | Path | None = None,
    width: int | None = None,
    log: bool = False,
    log_components: bool = False,
    all_components: bool = False,
    rules: str | Sequence[str] = (),
    size: tuple[float, float] | str | None = None,
    dpi: float | None = None,
    **settings: Unpack[FitSettings],
) -> str | None:
    """Return the chart of the eigenvalues (scree chart) as text, or draw it as a picture to the file `output`.

    `model` is a model, the path of a model, or data to fit with the settings of `fit`. Text is `width` characters wide,
    or 80. A picture is png, svg or pdf, by the ending of the file name, and shows the first 30 components, or all with
    `all_components`. In a picture, the axis of the eigenvalues is logarithmic with `log`; the horizontal axis, the
    number of the component, is logarithmic with `log_components`. `rules` names the rules for k whose choices are
    marked in a picture, or is "all". `size` is the width and height of a picture in inches, with `dpi` pixels per
    inch. Raises `UsageError` for options of a picture without `output`, for `width` with `output`, and for a picture if
    matplotlib is not installed.

    >>> import pcatool
    >>> print(pcatool.scree("sample_data/digits.csv", exclude="digit", components=2, width=40).splitlines()[0])
    PC  eigenvalue  cumulative
    """
    from pcatool.options import PictureOptions
    from pcatool.render.scree import ScreeLook, scree_chart

    picture, names = PictureOptions(size, dpi), texts(rules)  # type: ignore[arg-type]  # the record parses it
    scales = ScreeLook(bool(log), bool(log_components), bool(all_components))
    if output is None and (scales != ScreeLook() or names or picture.given is not None):
        raise UsageError(
            "log, log_components, all_components, rules, size and dpi need a picture",
            "give output, as in output='scree.png'",
        )
    if output is not None and width is not None:
        raise UsageError(
            "width has no effect on a picture", "give the width and height of the picture in inches, as in size=(8, 6)"
        )
    fitted = fitted_of(model, settings)
    if output is not None:
        named = None if names == ("all",) else tuple(name for text in names for name in text.split(","))
        asked = reporting.ScreeRequest(scales, named, int(settings.get("seed", 0)), picture)
        reporting.draw_scree(fitted, str(output), asked)
        return None
    made = fitted.model
    columns = 80 if width is None else width
    return scree_chart(
        fitted.shown_variance, kept=made.k, width=columns, color=False, unicode=True, total_components=made.directions
    )


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
@errors_name_settings
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
    """Return loadings, or other values of columns and components, as a DataFrame.

    `model` is a model, the path of a model, or data to fit with the settings of `fit`. `values` is "loadings",
    "correlations", "contributions" or "cos2"; several of these give a row for each pair of component and column.
    `first` limits the number of components. If the columns are the pixels of images, `image=(height, width)` and
    `output` draw the mean and the components as images to that file instead, and return None; `size` is the width and
    height of this picture in inches, with `dpi` pixels per inch. Raises `UsageError` for a kernel model, whose
    components have no loadings.

    >>> import pcatool
    >>> table = pcatool.components("sample_data/houses.csv", components=1)
    >>> table.round(4).values.tolist()
    [['price', 0.7071], ['area', 0.7071]]
    """
    import pandas as pd

    from pcatool.options import PictureOptions
    from pcatool.options.showing import parse_first, parse_image, parse_values
    from pcatool.pipeline import loadings
    from pcatool.render.figures import picture_form

    names, first, shape = parse_values(values), parse_first(first), parse_image(image)
    picture = PictureOptions(size, dpi)  # type: ignore[arg-type]  # the record parses it
    if shape is None and picture.given is not None:
        raise UsageError("size and dpi need a picture", PICTURE_REMEDY)
    if (shape is None) != (output is None):
        raise UsageError("a picture needs both image and output", PICTURE_REMEDY)
    form = picture_form(output) if output is not None else ""
    fitted = model_or_fit(model, settings)
    if shape is None:
        return pd.DataFrame(loadings.component_table(fitted, names, first))
    loadings.write(loadings.components_picture(fitted, shape, form, first, picture), str(output))
    return None


@errors_name_settings
def inspect(model: Model | str | Path) -> dict[str, Any]:
    """Return facts about a model, or about a model file, as a dict: the JSON of `pcatool inspect --json`.

    >>> import pcatool
    >>> facts = pcatool.inspect(pcatool.fit("sample_data/houses.csv", components=1))
    >>> facts["rows"], facts["columns"], facts["settings"]
    (5, ['price', 'area'], 'centred, not standardised, divisor n (ddof 0)')
    """
    from pcatool.pipeline.describe import inspect

    return inspect(model_or_path(model))


@errors_name_settings
def diff(a: Model | str | Path, b: Model | str | Path) -> dict[str, Any]:
    """Return the differences between two models, or model files, as a dict: the JSON of `pcatool diff --json`.

    >>> import pcatool
    >>> a = pcatool.fit("sample_data/houses.csv", components=1)
    >>> b = pcatool.fit("sample_data/houses.csv", components=1, ddof=1)
    >>> pcatool.diff(a, b)["settings"]
    [{'setting': 'ddof', 'a': 0, 'b': 1}]
    """
    from pcatool.pipeline.describe import diff

    return diff(model_or_path(a), model_or_path(b))
