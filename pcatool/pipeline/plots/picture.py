"""What is given -> model -> rows -> a picture, or its numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pcatool.errors import DataError, listed
from pcatool.model.model import Model
from pcatool.options import OutputOptions
from pcatool.pipeline.job import Job
from pcatool.pipeline.loadings import whose_share
from pcatool.pipeline.plot import cloud_of
from pcatool.pipeline.plot_request import Subject, subject_of
from pcatool.pipeline.plots.asked import Asked
from pcatool.pipeline.plots.table import flow_of
from pcatool.pipeline.results import Flow, write
from pcatool.progress import Notices
from pcatool.readers.inputs import Inputs
from pcatool.render.facts import how_fitted, in_brief
from pcatool.render.figures import drawn_as_boxes, figure_file, picture_form, plain_matplotlib
from pcatool.render.plots.base import View
from pcatool.render.plots.points import CLASSES, Cloud
from pcatool.render.text import render_table
from pcatool.writers.sink import write_whole

__all__ = ["Drawn", "draw", "rows_of", "table_of", "tell"]


class Drawn(NamedTuple):
    """What was drawn or written."""

    model: Model | None
    view: View


def draw(job: Job, asked: Asked, model: Model | None = None) -> Drawn:
    """The picture in its file, or the numbers where they were asked for."""
    subject = subject_of(job, asked, model)
    if not asked.draws and asked.of_rows:
        flow, view = _flow(job, asked, subject)
        output = OutputOptions(output=asked.output, output_format=asked.form, no_clobber=asked.no_clobber)
        write(flow, output, subject.paths[0] if subject.model is not None and subject.paths else None)
        return Drawn(subject.model, view)
    view = _view(job, asked, subject)
    if asked.draws:
        form = picture_form(str(asked.output))
        with plain_matplotlib():
            figure = asked.drawer().draw(view, asked.look)
            picture = figure_file(figure, form, asked.look)
            boxes = drawn_as_boxes(figure)
        tell_letters(boxes, job.notices)
        write_whole(asked.output, picture, no_clobber=asked.no_clobber, inputs=subject.paths)
    elif asked.output not in (None, "-"):
        text = render_table(asked.drawer().table(view), asked.form, caption=view.caption)
        write_whole(asked.output, text.encode(), no_clobber=asked.no_clobber, inputs=subject.paths)
    return Drawn(subject.model, view)


def table_of(job: Job, asked: Asked, model: Model | None) -> dict[str, Any]:
    """The numbers of a picture of columns."""
    table: dict[str, Any] = asked.drawer().table(_view(job, asked, subject_of(job, asked, model)))
    return table


def rows_of(job: Job, asked: Asked, model: Model | None) -> Flow:
    """The numbers of a picture of rows."""
    return _flow(job, asked, subject_of(job, asked, model))[0]


def _flow(job: Job, asked: Asked, subject: Subject) -> tuple[Flow, View]:
    assert subject.inputs is not None
    axes = _axes(asked, subject)
    model = subject.model if subject.holds == "rows" else None
    return flow_of(job, asked, axes, model, subject.inputs), View(axes, "")


def _axes(asked: Asked, subject: Subject) -> tuple[int, ...]:
    """The components to show; of a table of scores, those that are there."""
    if subject.holds == "rows" and subject.model is not None:
        return asked.wanted(subject.model)
    assert subject.inputs is not None
    there = {column.name for column in subject.inputs.columns.own}
    if "PC1" not in there and asked.plot.axes is None:
        raise DataError(f"{subject.inputs.first.name}: no columns of scores (PC1, ...)", "give what transform writes")
    return asked.plot.axes or ((1, 2) if "PC2" in there else (1,))


def _view(job: Job, asked: Asked, subject: Subject) -> View:
    axes, model = _axes(asked, subject), subject.model
    view = View(axes, "")
    if model is not None:
        columns = [number - 1 for number in axes]
        linear = model.basis.shape[1] > 0
        view = View(
            axes,
            caption=_caption(model),
            brief=in_brief(model),
            shares=model.variance.share[columns],
            columns=model.columns,
            loadings=model.basis[:, columns] if linear else np.empty((0, 0)),
            spreads=np.sqrt(model.eigenvalues[columns] + (model.epsilon if model.whitening != "none" else 0.0)),
            scaling=asked.scaling(model) if asked.drawer.rows and asked.drawer.columns else "rows",
        )
    if not asked.of_rows:
        return view
    assert subject.inputs is not None
    cloud = _cloud(job, asked, subject, subject.inputs, view)
    tell(cloud, asked, job.notices)
    return View(**{**vars(view), "cloud": cloud})


def _cloud(job: Job, asked: Asked, subject: Subject, inputs: Inputs, view: View) -> Cloud:
    model = subject.model
    spreads = None
    if view.scaling == "columns" and model is not None and model.whitening == "none":
        spreads = np.where(view.spreads > 0, view.spreads, 1.0)
    return cloud_of(job, asked, view.axes, model if subject.holds == "rows" else None, inputs, spreads)


def _caption(model: Model) -> str:
    share = whose_share(model).removeprefix("per cent: ")
    return f"{how_fitted(model)}; per cent {share}"


def tell(cloud: Cloud, asked: Asked, notices: Notices) -> None:
    """What the picture leaves out."""
    if cloud.left_out:
        has = "has" if cloud.left_out == 1 else "have"
        notices.note(f"{cloud.left_out} of {cloud.rows + cloud.left_out} rows {has} no scores, for missing cells, and "
                     f"{'is' if cloud.left_out == 1 else 'are'} not drawn")  # fmt: skip
    if cloud.axes == 1 and cloud.hue is not None and not cloud.by_class:
        notices.note("numbers do not colour bars: --color changes nothing in a picture of one component")
    if cloud.by_class:
        values = sum(1 for code in cloud.counts if code >= 0)
        if values > CLASSES:
            among = f" of {cloud.most_counted}" if cloud.is_dense and values > cloud.most_counted else ""
            which = f"the {CLASSES - 1} most frequent{among} have colours of their own"
            if max(cloud.counts.values()) == 1:
                which = "none of them occurs twice: name a column of classes, or of numbers"
            notices.note(f"--color {asked.color}: {values} values; {which}")


def tell_letters(boxes: list[str], notices: Notices) -> None:
    if boxes:
        said = f"the font of pictures lacks {listed(boxes)}: boxes stand in their place"
        notices.warn(f"{said}; --format csv has the names")
