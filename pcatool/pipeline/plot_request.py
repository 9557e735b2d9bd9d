"""The request of a plot, checked before any data are read, and the model or rows that the plot shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import DataError, ModelError, UsageError
from pcatool.model import npz
from pcatool.model.model import Model
from pcatool.options import FitOptions, PictureOptions, PlotOptions
from pcatool.pipeline.combine import are_models
from pcatool.pipeline.fit import (
    Job,
    fit_opened,
    model_or_fit_of,
    older_model,
    open_model_or_data,
    refuse_settings,
    refuse_updatable,
    split_off_components,
)
from pcatool.pipeline.fit_and_score import with_copies
from pcatool.pipeline.loadings import check_columns, check_component_number, check_method
from pcatool.readers.inputs import Inputs
from pcatool.readers.paths import MODEL_SUFFIX, STDIN, are_paths
from pcatool.registry import PLOTS
from pcatool.render.figures import check_room, is_picture, picture_form, plain_matplotlib
from pcatool.stores.uri import plain_name, shown
from pcatool.wording import listed, show
from pcatool.writers.sink import check_target

__all__ = ["PlotRequest", "Subject", "is_model", "subject_of"]


class PlotRequest(NamedTuple):
    """Request of one plot, as a picture or as a table of its numbers; made by the command `plot` and `pcatool.plot`."""

    kind: str  # name in PLOTS, such as "biplot"
    plot: PlotOptions
    look: PictureOptions = PictureOptions()
    output: str | None = None
    no_clobber: bool = False
    form: str = "picture"  # "picture", or the format of a table

    @property
    def plot_class(self) -> Any:
        """The class that draws this kind of plot."""
        return PLOTS.load(self.kind)

    @property
    def wants_picture(self) -> bool:
        """Whether to draw a picture; if not, the numbers of the plot are written as a table."""
        return self.form == "picture"

    @property
    def needs_rows(self) -> bool:
        """Whether the plot needs rows: not if it shows columns alone, as `loadings` and the table of a biplot do."""
        return bool(self.plot_class.rows and (self.wants_picture or not self.plot_class.columns))

    @property
    def color(self) -> str | None:
        return self.plot.color

    def check(self, options: FitOptions) -> None:
        """Raise `UsageError`, before any work, for settings that do not suit this plot; `options` are those of the fit.

        Also raises `UsageError` if a picture is wanted and matplotlib is not installed.
        """
        kind, plot = self.plot_class, self.plot
        if self.wants_picture:
            if self.output is None:
                raise UsageError("a picture needs a file", f"name the file with -o, such as -o {self.kind}.png")
            picture_form(self.output)
            check_room(self.look)
            with plain_matplotlib():
                pass  # raises if matplotlib is not installed
        else:
            self._check_table()
        for flag, given in (("--color", plot.color), ("--from", plot.source), ("--scaling", plot.scaling)):
            if given is not None and flag in PLOTS[self.kind].unsuited:
                raise UsageError(f"{flag} has no effect in plot {self.kind}", f"leave out {flag}")
        if plot.axes is not None and len(plot.axes) > kind.max_count:
            most = f"{kind.max_count} components" if kind.max_count > 1 else "1 component"
            raise UsageError(
                f"--axes names {len(plot.axes)} components, but plot {self.kind} shows at most {most}",
                "name fewer components with --axes",
            )
        if plot.axes is not None and kind.rows and kind.columns and len(plot.axes) < kind.max_count:
            raise UsageError(
                f"a {self.kind} needs two components, but --axes names only one",
                "name two components, such as --axes 1,2",
            )
        if kind.columns:
            check_method(options, ("loadings",))

    def _check_table(self) -> None:
        """Raise `UsageError` for options and formats that do not suit the numbers of a plot."""
        if is_picture(self.output):
            raise UsageError(
                f"{show(shown(str(self.output)))} is the name of a picture, but --format {self.form} gives numbers",
                "leave out --format, or give another name with -o",
            )
        if self.look.given is not None:
            raise UsageError(
                f"{self.look.given} has no effect without a picture", f"leave out {self.look.given} or --format"
            )
        if not self.plot_class.columns and self.form != "csv":
            raise UsageError(
                f"--format {self.form} is for small tables, but scores can have many rows",
                "give --format csv, or run pcatool transform for other formats",
            )

    def components_to_show(self, model: Model) -> tuple[int, ...]:
        """Return the numbers, from 1, of the components of the model to show.

        Raises `DataError` when the model has too few, and `UsageError` when its components have no loadings.
        """
        if self.plot_class.columns:
            check_columns(model, ("loadings",))
        axes = self.plot.axes
        if axes is None:
            if self.plot_class.rows and self.plot_class.columns and model.k < 2:
                remedy = "fit with -k 2" if model.d > 1 else "to draw one component, run pcatool plot scores"
                raise DataError("a biplot needs two components, but the model has 1 component", remedy)
            return tuple(range(1, min(self.plot_class.default_count, model.k) + 1))
        named = ",".join(map(str, axes))
        check_component_number(f"--axes {named}", max(axes), model.k, model.directions)
        return axes

    def scaling(self, model: Model) -> str:
        """Return the scaling of a biplot, "rows" or "columns"; always "columns" for a whitened model.

        Raises `UsageError` for --scaling rows with a whitened model, whose scores all have variance 1.
        """
        if model.whitening == "none":
            return self.plot.scaling or "rows"
        if self.plot.scaling == "rows":
            raise UsageError(
                "--scaling rows does not suit a whitened model, because whitening gives all scores about the same "
                "variance",
                "leave out --scaling, or fit without --whiten",
            )
        return "columns"

    def refuse_zca(self, model: Model) -> None:
        """Raise `UsageError` for a plot of rows of a ZCA model, which has no scores of components."""
        if self.needs_rows and model.whitening == "zca":
            raise UsageError(
                "a ZCA model gives whitened columns, not scores of components",
                "fit with --whiten pca, or without --whiten",
            )

    def refuse_rows(self, names: list[str]) -> None:
        """Raise `UsageError` if `names`, the inputs after the model, is not empty and the plot needs no rows."""
        if names and not self.needs_rows:
            what = f"plot {self.kind}" + ("" if self.wants_picture else f" --format {self.form}")
            has = "has" if len(names) == 1 else "have"
            raise UsageError(
                f"{what} needs no rows: {listed(map(shown, names))} {has} no effect", "name only the model"
            )


class Subject(NamedTuple):
    """The model and the rows that a plot shows."""

    model: Model | None  # None for a table of scores
    inputs: Inputs | None  # open inputs with the rows; None if the plot needs no rows
    holds: str = "rows"  # content of the inputs, "rows" or "scores"
    paths: tuple[str, ...] = ()  # paths of all inputs, including the model


def subject_of(job: Job, request: PlotRequest, model: Model | None = None) -> Subject:
    """Return the model, loaded or fitted, and the open rows of a plot; check first that the output can be written.

    With `model`, the data of the job are rows. Without, the first path of the job may be a model, and the other paths
    are then rows.
    """
    if model is not None:
        first = _first_of_model("the model", job, request)
        return _with_model(job, request, model.truncated(first), ())
    if are_paths(job.data) and job.data:
        first, rest = job.data[0], job.data[1:]
        if (first == STDIN and rest) or (first != STDIN and is_model(first)):
            if job.engine.in_other_processes and request.needs_rows:
                raise _cluster_refused(job)
            cluster = [job.engine] if job.engine.in_other_processes else []
            k = _first_of_model(shown(first), job, request, *cluster)
            request.refuse_rows(rest)
            return _with_model(job._replace(data=rest), request, _load(first, request).truncated(k), (first,))
        for late in rest:
            if plain_name(late).endswith(MODEL_SUFFIX):
                raise UsageError(
                    f"{shown(late)} is a model, but comes after {shown(first)}",
                    "name the model first, then the rows",
                )
    return _without_model(job, request)


def _first_of_model(name: str, job: Job, request: PlotRequest, *more: object) -> int | None:
    """Return the number of components of a model to show, None for all; `UsageError` for other settings of a fit.

    For a plot of rows, options of reading tables are allowed, and so is --triples. `name` is the model in messages;
    `more` are further option records that must hold no setting.
    """
    first, others = split_off_components(job.options)
    if request.needs_rows:
        refuse_settings(name, job.select, replace(others, triples=None), *more)
    else:
        refuse_settings(name, job.table, job.select, others, *more)
    return first


def is_model(path: str) -> bool:
    """Whether a path is a model file, by a name that ends with .npz or by its content."""
    return plain_name(path).endswith(MODEL_SUFFIX) or are_models([path])


def _load(path: str, request: PlotRequest) -> Model:
    """Load a model; if standard input holds no model, the error says how to name rows from standard input."""
    try:
        return npz.load_model(path)
    except ModelError as error:
        if path == STDIN:
            error.add_remedy(
                "if standard input holds rows, give the model first and then '-', "
                f"as in pcatool plot {request.kind} model.npz -"
            )
        raise


def _with_model(job: Job, request: PlotRequest, model: Model, names: tuple[str, ...]) -> Subject:
    """Return the model with the rows of the job, opened if the plot needs rows.

    `names` holds the path of the model, or is empty for a model in memory. Raises `UsageError` for a ZCA model or a
    cluster if the plot needs rows, and `DataError` or `UsageError` as `components_to_show` does.
    """
    request.refuse_zca(model)
    request.components_to_show(model)
    if not request.needs_rows:
        check_target(request.output, no_clobber=request.no_clobber, inputs=names)
        return Subject(model, None, paths=names)
    if job.engine.in_other_processes:
        raise _cluster_refused(job)
    inputs = job.open()
    if inputs.model is not None:
        raise UsageError(f"{inputs.model.name} is a model, not a table of rows", "give one model, then a table of rows")
    paths = (*names, *inputs.paths)
    check_target(request.output, no_clobber=request.no_clobber, inputs=paths)
    there = [column.name for column in inputs.columns.file_columns]
    holds = request.plot.source or ("scores" if "PC1" in there and not {*model.columns} <= {*there} else "rows")
    return Subject(model, inputs, holds, paths)


def _without_model(job: Job, request: PlotRequest) -> Subject:
    """Return the subject of a plot whose data are not a model file followed by rows.

    A plot of rows gets the opened table of scores, or a model fitted to the data, and the data opened again. A plot
    without rows gets the model that the data hold, or a model fitted to the data.
    """
    old = older_model(job) if request.needs_rows else None
    if request.needs_rows:
        if job.engine.in_other_processes:
            raise _cluster_refused(job)
        job = job._replace(data=with_copies(job.data, job.table))
    inputs = open_model_or_data(job)
    paths = tuple(inputs.paths)
    check_target(request.output, no_clobber=request.no_clobber, inputs=paths)
    if not request.needs_rows:
        job = _with_enough_components(job, request, inputs)
        model = model_or_fit_of(job, inputs).shown_model
        request.components_to_show(model)
        return Subject(model, None, paths=paths)
    if inputs.model is not None:
        raise UsageError(
            f"{inputs.model.name} holds a model, but the command names no rows to draw",
            f"name the rows after the model, as in pcatool plot {request.kind} - rows.csv",
        )
    if _are_scores(inputs, request):
        refuse_settings(
            inputs.first.name,
            job.select,
            job.options,
            what="holds scores",
            remedy="give --from rows to read the scores as rows of data",
        )
        return Subject(None, inputs, "scores", paths)
    refuse_updatable(job.options)
    job = _with_enough_components(job, request, inputs)
    if request.color is not None and not job.options.triples:
        inputs.columns.single(request.color, "--color")  # refuses a missing column before the fit
    model = fit_opened(job, inputs, old).model
    request.refuse_zca(model)
    request.components_to_show(model)
    again = Inputs(inputs.remaining_data, replace(job.table, skip_bad=False), job.reporter.silent())
    return Subject(model, again, "rows", paths)


def _cluster_refused(job: Job) -> UsageError:
    """Return the error for a plot of rows with --engine dask or spark."""
    return UsageError(
        f"--engine {job.engine.engine} cannot draw rows",
        "fit and transform on the cluster, then plot the scores without --engine",
    )


def _are_scores(inputs: Inputs, request: PlotRequest) -> bool:
    """Whether the table holds scores as `transform` writes them: as --from says, else if a column is called PC1.

    Raises `UsageError` if scores are to be drawn in a plot that also shows columns.
    """
    scores = "PC1" in [column.name for column in inputs.columns.file_columns]
    if request.plot_class.columns:
        if request.plot.source == "scores" or (scores and request.plot.source is None):
            raise UsageError(
                f"{inputs.first.name} holds scores, but a {request.kind} also shows the loadings of a model",
                "name the model first, then the rows or their scores",
            )
        return False
    return request.plot.source == "scores" or (request.plot.source is None and scores)


def _with_enough_components(job: Job, request: PlotRequest, inputs: Inputs) -> Job:
    """Return the job with -k set to the highest component that the plot shows, if -k has its default.

    The default keeps 99% of the variance, which may be one component. The job is returned unchanged for loadings
    without --axes, for supervised PCA, with --skip-bad, and if the input holds a model.
    """
    o = job.options
    usual = FitOptions().components
    axes = request.plot.axes or ((1, 2) if request.plot_class.rows else ())
    if o.components != usual or not axes or job.table.skip_bad or inputs.model is not None:
        return job
    if o.method == "supervised":  # one label may give one component
        return job
    if o.triples:  # the columns of triples are not counted yet
        return job._replace(options=replace(o, components=max(axes)))
    there = len(inputs.columns.choose(job.select, o.weights, o.label, o.label_kernel).features)
    most = max(axes) if o.kernel is not None else min(max(axes), there)
    return job._replace(options=replace(o, components=most))
