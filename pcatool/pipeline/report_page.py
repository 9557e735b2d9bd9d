"""Build the HTML page of `report` from a model and a sample of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, PcatoolError, UsageError
from pcatool.methods.base import why_not_updatable
from pcatool.model.model import SCIKIT_LEARN, Model
from pcatool.options import NULLS, ApplyOptions, EngineOptions, PageOptions, TableOptions
from pcatool.options.fields import given_flags
from pcatool.options.showing import VALUES
from pcatool.pipeline import apply as applying
from pcatool.pipeline.describe import inspect
from pcatool.pipeline.fit_command import DATA, TRIPLES, as_shell_line, fit_command
from pcatool.pipeline.loadings import (
    CAPTIONS,
    PANELS,
    check_columns,
    check_component_number,
    check_image,
    column_spread,
    components_shown,
    mean_to_draw,
    share_words,
)
from pcatool.pipeline.results import Sample, TextCounts, sample_of
from pcatool.progress import Reporter
from pcatool.readers.paths import STDIN, are_paths
from pcatool.render.component_images import image_facts
from pcatool.render.figures import distinct_names
from pcatool.render.plots.marks import CLIPPED_PERCENT
from pcatool.render.plots.points import CLASSES, classes_with_colors
from pcatool.render.report.document import page_html
from pcatool.stores.uri import shown
from pcatool.wording import grouped, printable, show
from pcatool.writers.sink import check_target, open_sink

__all__ = ["POINTS", "ReportRows", "report", "report_to"]

# Limits that keep a page at a few hundred kilobytes: eigenvalues; loadings, their columns and components; pixels of
# all images together, but at least FEWEST_IMAGES images.
EIGENVALUES = 3_000
LOADINGS, COLUMNS, LOADING_COMPONENTS = 24_000, 500, 100
PIXELS, FEWEST_IMAGES = 150_000, 4

# Most characters of a text from the data; of a name beside an arrow, on a wide page and on a phone.
LONGEST, SHORT = 200, (24, 12)

# Placeholder for the number of components at which a command is cut in two.
K_PLACEHOLDER = 987_654_321


def text(value: object) -> str:
    """Return a value as text for the page: control characters escaped, at most LONGEST characters."""
    plain = printable(str(value))
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 3] + "..."


def rounded(values: NDArray[Any], digits: int) -> list[Any]:
    """Return numbers, rounded to `digits` significant digits, as nested lists; None for a value that is not finite."""
    if values.ndim > 1:
        return [rounded(row, digits) for row in values]
    return [float(f"{value:.{digits}g}") + 0.0 if np.isfinite(value) else None for value in values.tolist()]


def scree(model: Model) -> dict[str, Any]:
    """Return the numbers for the scree chart: at most EIGENVALUES eigenvalues and lost shares, total variance, slack.

    Eigenvalues keep all digits, and `slack` is that of `VarianceTable`, so that the page finds the same k for a share
    as the program. `known` is the number of all known eigenvalues.
    """
    table, m = model.variance, min(len(model.eigenvalues), EIGENVALUES)
    return {
        "eigenvalues": table.eigenvalue[:m].tolist(),
        "lost": table.lost_share[:m].tolist(),
        "total": model.total_variance,
        "slack": table.slack,
        "known": len(model.eigenvalues),
    }


def loadings(model: Model, first: int | None) -> dict[str, Any]:
    """Return the loadings of the columns with the largest loadings, and the numbers to compute correlations from them.

    `first` limits the components. For a model without loadings, return only the `reason`; for a model without
    correlations, `lacks` has the reason.
    """
    try:
        check_columns(model, ("loadings",))
    except PcatoolError as error:
        return {"reason": error.message}
    k = min(components_shown(model, first), LOADING_COMPONENTS)
    rows = _leading(model.basis[:, :k], min(model.d, COLUMNS, max(LOADINGS // k, 1)))
    found = {
        "columns": [text(model.columns[i]) for i in rows],
        "short": [distinct_names([model.columns[i] for i in rows], most) for most in SHORT],
        "places": [int(i) + 1 for i in rows],
        "loadings": rounded(model.basis[rows, :k], 6),
        "eigenvalues": rounded(model.eigenvalues[:k], 9),
        "of": model.d,
        "said": CAPTIONS,
    }
    spread, reason = _spread(model)
    if spread is None:
        names = [name for name in VALUES if name not in ("correlations", "cos2")]
        return {**found, "values": names, "lacks": reason}
    return {**found, "values": list(VALUES), "spread": rounded(spread[rows], 9)}


def _spread(model: Model) -> tuple[Array | None, str]:
    """Return the standard deviations (d,) of the columns, for correlations, and ""; or None and why there are none."""
    try:
        check_columns(model, ("correlations",))
        return column_spread(model), ""
    except PcatoolError as error:
        return None, error.message


def _leading(B: Array, most: int) -> NDArray[np.intp]:
    """Return the indices of at most `most` rows of B (d, k), ascending.

    The rows with the largest |value| of a column of B are taken first, then those with the second largest, and so on.
    """
    if len(B) <= most:
        return np.arange(len(B))
    places = np.argsort(np.argsort(-np.abs(B), axis=0, kind="stable"), axis=0, kind="stable").min(axis=1)
    return np.sort(np.argsort(places, kind="stable")[:most])


def images(model: Model, shape: tuple[int, int], first: int | None) -> dict[str, Any]:
    """Return the mean and the components as images of `shape` (height, width); `first` limits the components."""
    check_image(model, shape)
    pixels = shape[0] * shape[1]
    k = components_shown(model, first or min(model.k, PANELS, max(PIXELS // pixels, FEWEST_IMAGES)))
    found = image_facts(mean_to_draw(model), model.basis[:, :k], model.variance.share[:k], shape)
    return {**found, "of": model.k, "share": share_words(model)}


# --- commands ---


def commands(model: Model, name: str, asked_k: int | None, can: Sequence[str]) -> dict[str, Any]:
    """Return a dict of commands for the page: `fit`, `remarks` on it, `uses` of the model, and `again`.

    `fit` is the command that fits the model, None if there is none; `uses` are pairs of purpose and command; `again` is
    the result of `_again`. `name` is the file of the model, `asked_k` the -k of the report, `can` the commands that the
    model supports.
    """
    made = fit_command(model, name)
    k = [] if asked_k is None else ["-k", str(asked_k)]
    uses = [("scores of new rows", ["pcatool", "transform", name, DATA, *k, "-o", "scores.csv"])]
    if "absent" in model.meta:
        uses[0][1][4:4] = ["--triples", TRIPLES]
    if "reconstruct" in can and "absent" not in model.meta:
        source = [DATA, "--preimage"] if "kernel" in model.meta else ["scores.csv"]
        uses.append(("rows from scores", ["pcatool", "reconstruct", name, *source, *k, "-o", "approx.csv"]))
    if "kernel" in model.meta and len(uses) > 1:
        uses[1] = ("rows reconstructed from the components", uses[1][1])
    uses.append(("everything in the model", ["pcatool", "inspect", name]))
    return {
        "fit": None if made.command is None else as_shell_line(made.command),
        "remarks": made.remarks,
        "uses": [(what, as_shell_line(words)) for what, words in uses],
        "again": _again(model, name),
    }


def _again(model: Model, name: str) -> list[str] | None:
    """Return a command for a model with another k, cut into the texts between which the page puts k.

    The command is `refit` if the model keeps sums, else `fit`; None if neither is possible.
    """
    output = f"{PurePath(name).name.removesuffix('.npz')}-k{K_PLACEHOLDER}.npz"
    if why_not_updatable(model) is None:
        return as_shell_line(["pcatool", "refit", name, "-k", str(K_PLACEHOLDER), "-o", output]).split(
            str(K_PLACEHOLDER)
        )
    if model.meta.get("solver") == SCIKIT_LEARN:
        return None
    made = fit_command(model, output, K_PLACEHOLDER)
    return None if made.command is None else as_shell_line(made.command).split(str(K_PLACEHOLDER))


# Limits of a page: rows; scores beside those of the axes asked for; components to choose axes from.
POINTS = 5_000
SCORES, SCORE_COMPONENTS = 60_000, 50


def check_axes(axes: tuple[int, int] | None, count: int) -> None:
    """Raise `DataError` for axes above `count`, the number of components."""
    if axes is not None:
        check_component_number(f"--axes {axes[0]},{axes[1]}", max(axes), count)


def columns_shown(count: int, most: int | None, axes: tuple[int, int] | None) -> list[int]:
    """Return the indices of the components to offer as axes: the first `most` (None: 50) of `count`, and `axes`."""
    first = range(min(count, SCORE_COMPONENTS if most is None else most))
    return sorted({*first, *(axis - 1 for axis in axes or ())})


def points(
    model: Model,
    sample: Sample,
    places: Sequence[int],
    wanted_axes: tuple[int, int] | None,
    counted: TextCounts | None,
    nulls: Collection[str],
) -> dict[str, Any]:
    """Return the data of the scatter plot of a sample: scores, names, shares, other columns, arrows, colours.

    With many rows only the first components are included, at least 10, and those of `wanted_axes`. `places` are the
    components in the sample, counted from 0; the other result columns follow the components. `counted` has the counts
    of the texts in the column of --color, None without --color; `nulls` are the spellings of a missing cell.
    """
    rows = len(sample.numbers)
    most = max(SCORES // max(rows, 1), 10)
    axes = [axis - 1 for axis in wanted_axes or (1, 2)]
    chosen = [at for at, place in enumerate(places) if at < most or place in axes]
    own = len(places)
    shares = [] if model.whitening == "zca" else rounded(model.variance.share[[places[at] for at in chosen]], 4)
    return {
        "rows": sample.numbers.tolist(),
        "arrows": _arrows(model, [places[at] for at in chosen]),
        "of": sample.seen,
        "names": [text(sample.names[at]) for at in chosen],
        "shares": shares,
        "scores": [rounded(sample.values[:, at], 6) for at in chosen],
        "more": {sample.names[at]: rounded(sample.values[:, at], 6) for at in range(own, len(sample.names))},
        "kept": [(text(name), [_text(cell) for cell in cells]) for name, cells in sample.passthrough.items()],
        "axes": [([places[at] for at in chosen].index(axis) if axis in places else -1) for axis in axes],
        "color": None if counted is None else _colored(counted, sample, {null.lower() for null in nulls}),
    }


def _arrows(model: Model, places: Sequence[int]) -> dict[str, Any] | None:
    """Return `components`, their numbers from 1, and `spreads`, the factors from loadings to the arrows of a biplot.

    `places` are the indices of the components. A factor is the standard deviation of the component for a whitened
    model, else 1; `said` names the product. Return None for models without loadings and for ZCA models.
    """
    if model.whitening == "zca" or not model.basis.shape[1]:
        return None
    white = model.whitening != "none"
    spreads = np.sqrt(model.eigenvalues[list(places)] + model.epsilon) if white else np.ones(len(places))
    return {
        "components": [place + 1 for place in places],
        "spreads": rounded(spreads, 6),
        "said": "loadings x standard deviation of the component" if white else "loadings",
    }


def _colored(counted: TextCounts, sample: Sample, nulls: Collection[str]) -> dict[str, Any]:
    """Return the classes or the numbers that colour the sample; `nulls` are spellings of a missing cell, in lower case.

    Texts and few whole numbers are classes; other numbers are shades. All rows decide, as in `pcatool plot`; if they
    have more distinct texts than `counted` can hold, the rows of the sample decide.
    """
    cells = [
        None if cell is None or cell.strip().lower() in nulls else cell for cell in sample.passthrough[counted.name]
    ]
    counts = Counter(cell for cell in cells if cell is not None) if counted.texts is None else counted.texts
    name, numbers = text(counted.name), [_number(cell) for cell in counts]
    numeric = bool(counts) and None not in numbers
    if numeric and (len(set(numbers)) > CLASSES or any(number % 1 for number in numbers if number is not None)):
        values = [_number(cell) for cell in cells]
        there = np.array([value for value in values if value is not None])
        ends = np.percentile(there, [CLIPPED_PERCENT, 100 - CLIPPED_PERCENT]) if len(there) else np.zeros(2)
        return {"name": name, "numbers": values, "ends": rounded(ends, 6)}
    keys = {cell: _name_of(cell) if numeric else cell for cell in {*counts, *cells} if cell is not None}
    rows: Counter[str] = Counter()
    for cell, count in counts.items():
        rows[keys[cell]] += count
    labels = classes_with_colors({key: (key, count) for key, count in rows.items()}, len(rows))
    place = {label: i for i, label in enumerate(labels)}
    return {
        "name": name,
        "labels": [text(label) for label in labels],
        "codes": [-1 if cell is None else place.get(keys[cell], -1) for cell in cells],
        "others": len(rows) - len(labels),
    }


def _name_of(cell: str) -> str:
    """Return a cell that holds a number as the name of a class: "1" for the cells 1 and 1.0, which are one class."""
    return repr(float(cell) + 0.0).removesuffix(".0")


def _text(cell: str | None) -> str | None:
    return None if cell is None else text(cell)


def _number(cell: str | None) -> float | None:
    """Return a cell as a number; None for a cell that is not a finite number."""
    try:
        number = float(cell or "")
    except ValueError:
        return None
    return number if isfinite(number) else None


# File name, in commands, for a model without a file.
MODEL = "model.npz"


class ReportRows(NamedTuple):
    """Rows to show beside the model, and the options to read and score them."""

    data: Any  # paths, or a table in memory; None without rows
    table: TableOptions
    apply: ApplyOptions
    engine: EngineOptions


class ReportPage(NamedTuple):
    """The page of a report, with facts for the summary."""

    html: str
    model: Model  # cut to -k
    rows_read: int | None  # None without data
    rows_shown: int | None  # rows in the sample; None without data


def report_to(
    output: str | None,
    model: Model,
    path: str | None,
    rows: ReportRows,
    options: PageOptions,
    reporter: Reporter,
    *,
    no_clobber: bool = False,
) -> ReportPage:
    """Like `report`, with the page written to `output`; an output that cannot be written is refused before the work."""
    inputs = [name for name in (path, *_paths(rows.data)) if name not in (None, STDIN)]
    check_target(output, no_clobber=no_clobber, inputs=inputs)
    page = report(model, path, rows, options, reporter)
    with open_sink(output, no_clobber=no_clobber, inputs=inputs) as sink:
        sink.write(page.html.encode())
    return page


def _paths(data: Any) -> list[str]:
    """Return the data if they are paths, else an empty list."""
    return data if are_paths(data) else []


def report(model: Model, name: str | None, rows: ReportRows, options: PageOptions, reporter: Reporter) -> ReportPage:
    """Return the page of a model, with a plot of the scores of `rows` if there are rows; `name` is the model's path."""
    _check_options(rows, options)
    kept, model = model, model.truncated(rows.apply.components)
    scores = len(model.score_names())
    components_shown(model, options.first)
    check_axes(options.axes, scores)
    if options.image is not None:
        check_image(model, options.image)
    file = MODEL if name in (None, STDIN) else shown(str(name))
    facts = inspect(model)
    facts["name"] = file
    if model.k < kept.k:
        facts["choice"] = f"the first {grouped(model.k)} of the {grouped(kept.k)} components in the model"
    facts["page"] = {
        "scree": {**scree(model), "kept": model.k},
        "loadings": loadings(model, options.first),
        "images": None if options.image is None else images(model, options.image, options.first),
        "scores": None,
    }
    facts["commands"] = commands(model, file, rows.apply.components, list(facts["can"]))
    if rows.data is None:
        return ReportPage(page_html(facts), model, None, None)
    places = columns_shown(scores, options.first, options.axes)
    facts["page"]["scores"] = found = _scores(model, rows, places, options, reporter)
    return ReportPage(page_html(facts), model, found["of"], len(found["rows"]))


def _scores(
    model: Model, rows: ReportRows, places: list[int], options: PageOptions, reporter: Reporter
) -> dict[str, Any]:
    """Score the rows, and return the data of the scatter plot of a sample; `places` are the components to include."""
    apply = rows.apply
    if options.color is not None:
        apply = replace(apply, keep=(*apply.keep, options.color))
    results = applying.transform(model, rows.data, rows.table, apply, rows.engine, reporter)
    color = None
    if options.color is not None:
        named = results.inputs.columns.keep((options.color,), False)
        if len(named) != 1:
            raise UsageError(f"--color {show(options.color)} names {len(named)} columns", "name one column")
        color = named[0]
    more = range(len(model.score_names()), len(results.names))
    counted = None if color is None else TextCounts(color, rows.table.null_value)
    sample = sample_of(results, POINTS, [*places, *more], counted)
    if not sample.seen:
        raise DataError("the input has no rows to show", "give a table with rows, or only the model")
    row_counts = results.row_counts
    lacking = (
        row_counts.left_empty if apply.triples else max(row_counts.incomplete, row_counts.left_empty)
    )  # few users have all items
    found = points(model, sample, places, options.axes, counted, (*NULLS, *rows.table.null_value))
    return {**found, "incomplete": lacking, "empty": row_counts.left_empty}


def _check_options(rows: ReportRows, options: PageOptions) -> None:
    """Raise `UsageError` for options that have no effect, and for options that exclude each other."""
    if rows.engine.in_other_processes:
        raise UsageError(
            f"--engine {rows.engine.engine} does not go with a report, which samples the rows on this machine",
            "leave out --engine",
        )
    if options.color is not None and rows.apply.triples:
        raise UsageError("--color does not go with --triples", "leave out --color")
    if rows.data is not None:
        return
    own = {"--color": options.color, "--axes": options.axes}
    given = [flag for flag, value in own.items() if value is not None]
    given += given_flags(rows.apply, rows.table, rows.engine, leaving_out="components")
    if given:
        raise UsageError(f"{given[0]} has no effect without rows", "name the data after the model")
