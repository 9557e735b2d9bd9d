"""Plot scores and loadings: read or project the rows, then draw the picture or write its numbers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pcatool.arrays import Array, Runner, recut
from pcatool.engines.threads import Threads
from pcatool.errors import DataError, UsageError
from pcatool.missing.project import policy_for_rows
from pcatool.model.description import settings_text, short_settings_text
from pcatool.model.model import Model, component_name
from pcatool.options import ApplyOptions, OutputOptions
from pcatool.pipeline.apply import transform_opened
from pcatool.pipeline.fit import Job
from pcatool.pipeline.loadings import share_words
from pcatool.pipeline.plot_request import PlotRequest, Subject, subject_of
from pcatool.pipeline.results import BatchTable, PlacedBatch, Results, Scorer, results_of, write
from pcatool.progress import Reporter
from pcatool.readers.base import Column
from pcatool.readers.inputs import Inputs
from pcatool.readers.labels import TextLabels, texts_of
from pcatool.readers.row_counts import RowCounts
from pcatool.readers.rows import CheckedBatch, checked_batches
from pcatool.readers.schema import ColumnChoice
from pcatool.render.figures import figure_file, missing_glyphs, picture_form, plain_matplotlib
from pcatool.render.plots.base import PlotData
from pcatool.render.plots.points import CLASSES, ColorColumn, RowCollector
from pcatool.render.text import render_table
from pcatool.wording import grouped, listed, show
from pcatool.writers.sink import write_whole

__all__ = ["PlotOutcome", "collect_rows", "draw", "note_omissions", "rows_of", "table_of"]

# Most distinct texts in the column of --color: more need as much memory as the rows, and no eye distinguishes them.
MOST_TEXTS = 10_000


class ColoredRows(NamedTuple):
    """Scores of some rows, and the values that colour the rows."""

    scores: Array  # (n, a), one column for each axis
    color: Array | TextLabels | None  # numbers (n,), or a text for each row; None without --color


def collect_rows(
    job: Job,
    request: PlotRequest,
    axes: tuple[int, ...],
    model: Model | None,
    inputs: Inputs,
    spreads: Array | None = None,
) -> RowCollector:
    """Return the collected scores of the components `axes` (numbers from 1), divided by `spreads` (a,) if given.

    Without a model the inputs hold the scores. Rows with missing scores are only counted. Raises `DataError` when no
    row has scores.
    """
    color = color_column(request, job, inputs)
    by_texts = color is not None and color.kind in ("text", "boolean")
    cloud = RowCollector(len(axes), None if color is None else ColorColumn(color.name, not by_texts))
    codes: dict[str, int] = {}
    colors = _Colors(color, by_texts, job.table.null_value)
    with Threads(job.engine.threads) as pool:
        if model is None:
            parts = _rows_of_scores(names_of(axes), inputs, colors, pool.map)
        else:
            parts = _projected_rows(job, axes, model, inputs, colors, pool.map)
        drawn = (_rows_to_collect(part, codes, spreads, cloud) for part in parts)
        for block in recut(drawn, cloud.width):
            cloud.add(block)
    cloud.words = list(codes)
    if not cloud.rows:
        several = len(inputs.paths) > 1
        where = f"the {grouped(len(inputs.paths))} inputs" if several else inputs.first.name
        if not cloud.left_out:
            raise DataError(f"{where} {'have' if several else 'has'} no rows to draw", "name a table with rows")
        raise DataError(
            f"{where}: no row has scores, because every row has missing cells",
            "name a table with complete rows",
        )
    return cloud


class _Colors(NamedTuple):
    """Reader of the column of --color: numbers are read like a feature, texts like a passthrough column."""

    column: Column | None  # None without --color
    by_texts: bool  # the column holds texts
    nulls: tuple[str, ...]  # further spellings of a missing cell

    @property
    def number(self) -> tuple[str, ...]:
        """Tuple with the name of the column if the column holds numbers; else an empty tuple."""
        return () if self.column is None or self.by_texts else (self.column.name,)

    @property
    def passthrough(self) -> tuple[str, ...]:
        """Tuple with the name of the column if the column holds texts; else an empty tuple."""
        return (self.column.name,) if self.column is not None and self.by_texts else ()

    def of(self, passthrough: Sequence[Any], numbers: Array | None) -> Array | TextLabels | None:
        """Return the texts or numbers that colour a batch, from its passthrough columns or from `numbers` (n,)."""
        return texts_of(passthrough[0], self.nulls) if self.by_texts else numbers


def color_column(request: PlotRequest, job: Job, inputs: Inputs) -> Column | None:
    """Return the column that colours the rows, None without --color.

    Raises `UsageError` with --triples, and `DataError` for vectors and for numbers with marks such as 12%.
    """
    if request.color is None:
        return None
    if job.options.triples:
        raise UsageError("--color does not go with --triples", "leave out --color")
    column = inputs.columns.single(request.color, "--color")
    if column.kind == "vector":
        raise DataError(
            f"{inputs.first.name}: --color {show(column.name)} is a vector column",
            "name a column with one value for each row",
        )
    if column.kind == "marked number":
        raise DataError(
            f"{column.place(inputs.first.name)}: {show(column.example)} is not a plain number", column.remedy
        )
    return column


def names_of(axes: Sequence[int]) -> tuple[str, ...]:
    return tuple(component_name(number) for number in axes)


def _rows_of_scores(names: tuple[str, ...], inputs: Inputs, colors: _Colors, run: Runner) -> Iterator[ColoredRows]:
    """Yield the rows of a table of scores, batch by batch; `names` are the columns of scores to read."""
    more = tuple(name for name in colors.number if name not in names)
    choice = ColumnChoice((*names, *more), frozenset(), passthrough=colors.passthrough)

    def colored(batch: CheckedBatch) -> ColoredRows:
        at = choice.names.index(colors.number[0]) if colors.number else None
        return ColoredRows(
            batch.X[:, : len(names)], colors.of(batch.passthrough, None if at is None else batch.X[:, at])
        )

    return map(colored, checked_batches(inputs, choice, RowCounts(), eager=True, run=run))


def _projected_rows(
    job: Job, axes: tuple[int, ...], model: Model, inputs: Inputs, colors: _Colors, run: Runner
) -> Iterator[ColoredRows]:
    """Yield the projected rows, batch by batch; a row that lacks only its cell in the column of --color has scores."""
    results = project_rows(job, axes, model, inputs, colors.passthrough)
    plan = results.plan
    names = plan.choice.names
    more = tuple(name for name in colors.number if name not in names)
    results = results_of(
        plan._replace(choice=plan.choice._replace(names=(*names, *more))), inputs, job.engine, job.reporter
    )
    at = [(*names, *more).index(name) for name in colors.number]
    columns = [number - 1 for number in axes]
    work = partial(_score_batch, scorer=plan.scorer, width=len(names), columns=columns, at=at, colors=colors)
    return run(work, results.placed(run), ready=inputs.ready)


def _score_batch(
    placed: PlacedBatch, scorer: Scorer, width: int, columns: list[int], at: list[int], colors: _Colors
) -> ColoredRows:
    """Project one batch, and return the scores of the components with the indices `columns`, and the colours.

    `at` holds the index of the number that colours, or is empty. If the number follows the `width` features, it is cut
    off before projecting, so that only missing features count as missing.
    """
    batch = placed.batch
    numbers = batch.X[:, at[0]] if at else None
    if batch.X.shape[1] > width:
        X = batch.X[:, :width]
        incomplete = None if batch.incomplete is None else np.asarray(np.isnan(X).any(axis=1))
        batch = batch._replace(X=X, incomplete=incomplete if incomplete is not None and incomplete.any() else None)
    scored = scorer.score(PlacedBatch(batch, placed.first_row))
    return ColoredRows(scored.values[:, columns], colors.of(batch.passthrough, numbers))


def project_rows(
    job: Job, axes: tuple[int, ...], model: Model, inputs: Inputs, passthrough: tuple[str, ...]
) -> Results:
    """Return the scores of the rows from PC1 to the last component in `axes`, with the passthrough columns.

    A row with missing cells has the scores that the policy of the model gives, or empty ones; no row is refused.
    """
    policy = policy_for_rows(model, None, fill=False, reconstructing=False)
    options = ApplyOptions(
        components=max(axes),
        missing="keep" if policy == "error" else policy,
        keep=passthrough,
        triples=job.options.triples,
    )
    return transform_opened(model, inputs, options, job.engine, job.reporter)


def _rows_to_collect(part: ColoredRows, codes: dict[str, int], spreads: Array | None, cloud: RowCollector) -> Array:
    """Return the rows to add to `cloud`: the scores, then the colour if there is one, (n, a) or (n, a + 1).

    Rows without scores are dropped, and counted in `cloud.left_out`. A text becomes its number in `codes`, to which new
    texts are added. Raises `DataError` for more than MOST_TEXTS texts.
    """
    columns = [part.scores if spreads is None else part.scores / spreads]
    if isinstance(part.color, np.ndarray):
        columns.append(part.color[:, None])
    elif part.color is not None:
        if len(codes) + len(part.color.distinct) > MOST_TEXTS and len(codes.keys() | part.color.distinct) > MOST_TEXTS:
            name = show(str(cloud.hue and cloud.hue.name))
            raise DataError(
                f"--color {name} has more than {grouped(MOST_TEXTS)} different values",
                "name a column with fewer values, or a column of numbers",
            )
        table = np.array([*(codes.setdefault(text, len(codes)) for text in part.color.distinct), np.nan])
        columns.append(table[part.color.codes][:, None])
    whole = np.asarray(~np.isnan(part.scores).any(axis=1))
    cloud.left_out += int(len(whole) - whole.sum())
    return np.hstack(columns)[whole]


Result = TypeVar("Result")


@dataclass(frozen=True)
class PlotTable:
    """Rows of a plot as a table to write: the column of --color, and the scores; follows the protocol `BatchTable`."""

    source: Results | None  # projected rows; None for a table of scores
    columns: tuple[int, ...]  # indices of the scores to write among those of `source`
    names: list[str]  # columns of scores, such as PC1
    passthrough: list[tuple[str, Any]]  # the column of --color with its Arrow type, if there is one
    inputs: Inputs
    job: Job
    by_users: bool = False

    def each(self, finish: Callable[[Sequence[Any], Array], Result]) -> Generator[Result]:
        """Yield `finish(passthrough columns, scores)` for each batch, in order; threads call `finish`."""
        if self.source is not None:
            yield from self.source.each(lambda passthrough, values: finish(passthrough, values[:, self.columns]))
            return
        choice = ColumnChoice(tuple(self.names), frozenset(), passthrough=tuple(name for name, _ in self.passthrough))
        with Threads(self.job.engine.threads) as pool:
            batches = checked_batches(self.inputs, choice, RowCounts(), eager=True, run=pool.map)
            yield from pool.map(lambda batch: finish(batch.passthrough, batch.X), batches, ready=self.inputs.ready)


def streamed_scores(
    job: Job, request: PlotRequest, axes: tuple[int, ...], model: Model | None, inputs: Inputs
) -> BatchTable:
    """Return a table of all rows: the column of --color, and the scores of `axes`; missing scores are empty cells."""
    color = color_column(request, job, inputs)
    passthrough = () if color is None else (color.name,)
    if model is None:
        return PlotTable(None, (), list(names_of(axes)), inputs.columns.passthrough_types(passthrough), inputs, job)
    results = project_rows(job, axes, model, inputs, passthrough)
    columns = tuple(number - 1 for number in axes)
    return PlotTable(results, columns, list(names_of(axes)), results.passthrough, inputs, job, results.by_users)


class PlotOutcome(NamedTuple):
    """Outcome of `draw`: the model, and the data that were drawn or written."""

    model: Model | None  # None for a table of scores
    plot_data: PlotData


def draw(job: Job, request: PlotRequest, model: Model | None = None) -> PlotOutcome:
    """Draw the picture to its file, or write the numbers of the plot if --format asks for a table.

    A table of columns (loadings or arrows) for standard output is not written: the caller prints `plot_data`.
    """
    subject = subject_of(job, request, model)
    if not request.wants_picture and request.needs_rows:
        flow, plot_data = _score_table(job, request, subject)
        output = OutputOptions(output=request.output, output_format=request.form, no_clobber=request.no_clobber)
        write(flow, output, subject.paths[0] if subject.model is not None and subject.paths else None)
        return PlotOutcome(subject.model, plot_data)
    plot_data = _plot_data(job, request, subject)
    if request.wants_picture:
        form = picture_form(str(request.output))
        with plain_matplotlib():
            figure = request.plot_class().draw(plot_data, request.look)
            picture = figure_file(figure, form, request.look)
            missing = missing_glyphs(figure)
        warn_missing_glyphs(missing, job.reporter)
        write_whole(request.output, picture, no_clobber=request.no_clobber, inputs=subject.paths)
    elif request.output not in (None, "-"):
        text = render_table(request.plot_class().table(plot_data), request.form, caption=plot_data.caption)
        write_whole(request.output, text.encode(), no_clobber=request.no_clobber, inputs=subject.paths)
    return PlotOutcome(subject.model, plot_data)


def table_of(job: Job, request: PlotRequest, model: Model | None) -> dict[str, Any]:
    """Return the loadings, or the arrows of a biplot, as a table: a dict from the names of its columns to arrays."""
    table: dict[str, Any] = request.plot_class().table(_plot_data(job, request, subject_of(job, request, model)))
    return table


def rows_of(job: Job, request: PlotRequest, model: Model | None) -> BatchTable:
    """Return the scores that a plot of rows shows, as a table whose rows are read and scored while it is iterated."""
    return _score_table(job, request, subject_of(job, request, model))[0]


def _score_table(job: Job, request: PlotRequest, subject: Subject) -> tuple[BatchTable, PlotData]:
    """Return the table of the scores of the rows, and plot data that hold only the numbers of the components."""
    assert subject.inputs is not None
    axes = _axes(request, subject)
    model = subject.model if subject.holds == "rows" else None
    return streamed_scores(job, request, axes, model, subject.inputs), PlotData(axes, "")


def _axes(request: PlotRequest, subject: Subject) -> tuple[int, ...]:
    """Return the numbers, from 1, of the components to show; for a table of scores, by default 1 and 2, or 1 alone.

    Raises `DataError` for components that the model or the table of scores does not have.
    """
    if subject.holds == "rows" and subject.model is not None:
        return request.components_to_show(subject.model)
    assert subject.inputs is not None
    there = {column.name for column in subject.inputs.columns.file_columns}
    if "PC1" not in there and request.plot.axes is None:
        raise DataError(
            f"{subject.inputs.first.name} has no columns of scores (PC1, ...)",
            "give the output of pcatool transform, or --from rows",
        )
    axes = request.plot.axes or ((1, 2) if "PC2" in there else (1,))
    if absent := [name for name in names_of(axes) if name not in there]:
        raise DataError(
            f"{subject.inputs.first.name} has no scores of {listed(absent)}",
            "name components of this table with --axes, or run pcatool transform with a model that has more components",
        )
    return axes


def _plot_data(job: Job, request: PlotRequest, subject: Subject) -> PlotData:
    """Return the data of the plot: loadings, shares and captions of the model, and the rows if the plot needs rows."""
    axes, model = _axes(request, subject), subject.model
    plot_data = PlotData(axes, "")
    if model is not None:
        columns = [number - 1 for number in axes]
        linear = model.basis.shape[1] > 0
        plot_data = PlotData(
            axes,
            caption=f"{settings_text(model)}; {share_words(model)}",
            brief=short_settings_text(model),
            shares=model.variance.share[columns],
            columns=model.columns,
            loadings=model.basis[:, columns] if linear else np.empty((0, 0)),
            spreads=np.sqrt(model.eigenvalues[columns] + (model.epsilon if model.whitening != "none" else 0.0)),
            scaling=request.scaling(model) if request.plot_class.rows and request.plot_class.columns else "rows",
        )
    if not request.needs_rows:
        return plot_data
    assert subject.inputs is not None
    cloud = _collected(job, request, subject, subject.inputs, plot_data)
    note_omissions(cloud, request, job.reporter)
    return PlotData(**{**vars(plot_data), "cloud": cloud})


def _collected(job: Job, request: PlotRequest, subject: Subject, inputs: Inputs, plot_data: PlotData) -> RowCollector:
    """Return the collected rows; with scaling "columns", scores are divided by their standard deviations.

    Whitened scores stay as they are, since their standard deviations are 1.
    """
    model = subject.model
    spreads = None
    if plot_data.scaling == "columns" and model is not None and model.whitening == "none":
        spreads = np.where(plot_data.spreads > 0, plot_data.spreads, 1.0)
    return collect_rows(job, request, plot_data.axes, model if subject.holds == "rows" else None, inputs, spreads)


def note_omissions(cloud: RowCollector, request: PlotRequest, reporter: Reporter) -> None:
    """Write notes on rows without scores, on a --color without effect, and on classes without a colour of their own."""
    if cloud.left_out:
        has, are = ("has", "is") if cloud.left_out == 1 else ("have", "are")
        rows = f"{grouped(cloud.left_out)} of {grouped(cloud.rows + cloud.left_out)} rows"
        reporter.note(f"{rows} {has} missing cells and no scores, and {are} not drawn")
    if cloud.axes == 1 and cloud.hue is not None and not cloud.by_class:
        reporter.note("--color has no effect: in a plot of one component, only a column of classes can colour the bars")
    if cloud.by_class:
        values = sum(1 for code in cloud.counts if code >= 0)
        if values > CLASSES:
            among = f" of the first {cloud.max_layers}" if cloud.is_dense and values > cloud.max_layers else ""
            which = f"only the {CLASSES - 1} most frequent{among} values have colours of their own"
            if max(cloud.counts.values()) == 1:
                which = "no value occurs twice; name a column of classes, or a column of numbers"
            reporter.note(f"--color {request.color} has {grouped(values)} values: {which}")


def warn_missing_glyphs(missing: list[str], reporter: Reporter) -> None:
    """Warn of the characters `missing` in the font of the picture; do nothing if there are none."""
    if missing:
        said = f"the font of the picture lacks {listed(missing)}, and shows boxes instead"
        reporter.warn(f"{said}; --format csv writes all characters")
