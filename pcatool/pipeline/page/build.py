"""Model -> facts; rows -> a sample of their scores; both -> one page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import DataError, UsageError, show
from pcatool.model.model import Model
from pcatool.options import NULLS, ApplyOptions, EngineOptions, PageOptions, TableOptions
from pcatool.options.fields import given_flags
from pcatool.pipeline import apply as applying
from pcatool.pipeline import report_page
from pcatool.pipeline.inspection import inspect
from pcatool.pipeline.loadings import check_image, shown
from pcatool.pipeline.page.points import POINTS, check_axes, columns_shown, points
from pcatool.pipeline.sample import Counted, sample_of
from pcatool.progress import Notices
from pcatool.readers.paths import STDIN
from pcatool.render.report.document import page_html
from pcatool.stores.uri import shown as shown_name
from pcatool.writers.sink import check_target, open_sink

__all__ = ["MODEL", "Page", "Rows", "report", "report_to"]

# How a model is called that has no name.
MODEL = "model.npz"


class Rows(NamedTuple):
    """Rows to show beside the model, and how they are read."""

    data: Any  # paths or something in memory; None where there are none
    table: TableOptions
    apply: ApplyOptions
    engine: EngineOptions


class Page(NamedTuple):
    """The page, and of which rows it is."""

    html: str
    model: Model
    rows_read: int | None  # None without data
    rows_shown: int | None


def report_to(
    output: str | None,
    model: Model,
    path: str | None,
    rows: Rows,
    asked: PageOptions,
    notices: Notices,
    *,
    no_clobber: bool = False,
) -> Page:
    """The same, written; a place that cannot be is refused before the work."""
    inputs = [name for name in (path, *_paths(rows.data)) if name not in (None, STDIN)]
    check_target(output, no_clobber=no_clobber, inputs=inputs)
    page = report(model, path, rows, asked, notices)
    with open_sink(output, no_clobber=no_clobber, inputs=inputs) as sink:
        sink.write(page.html.encode())
    return page


def _paths(data: Any) -> list[str]:
    return data if isinstance(data, list) and all(isinstance(item, str) for item in data) else []


def report(model: Model, name: str | None, rows: Rows, asked: PageOptions, notices: Notices) -> Page:
    """The page of a model, and of rows that are applied to it."""
    _check(rows, asked)
    kept, model = model, model.truncated(rows.apply.components)
    scores = len(model.score_names())
    shown(model, asked.first)
    check_axes(asked.axes, scores)
    if asked.image is not None:
        check_image(model, asked.image)
    file = MODEL if name in (None, STDIN) else shown_name(str(name))
    facts = inspect(model)
    facts["name"] = file
    if model.k < kept.k:
        facts["choice"] = f"the first of {kept.k} that the model keeps"
    facts["page"] = {
        "scree": {**report_page.scree(model), "kept": model.k},
        "loadings": report_page.loadings(model, asked.first),
        "images": None if asked.image is None else report_page.images(model, asked.image, asked.first),
        "scores": None,
    }
    facts["commands"] = report_page.commands(model, file, rows.apply.components, list(facts["can"]))
    if rows.data is None:
        return Page(page_html(facts), model, None, None)
    places = columns_shown(scores, asked.first, asked.axes)
    facts["page"]["scores"] = found = _scores(model, rows, places, asked, notices)
    return Page(page_html(facts), model, found["of"], len(found["rows"]))


def _scores(model: Model, rows: Rows, places: list[int], asked: PageOptions, notices: Notices) -> dict[str, Any]:
    apply = rows.apply
    if asked.color is not None:
        apply = replace(apply, keep=(*apply.keep, asked.color))
    results = applying.transform(model, rows.data, rows.table, apply, rows.engine, notices)
    color = None
    if asked.color is not None:
        named = results.inputs.columns.keep((asked.color,), False)
        if len(named) != 1:
            raise UsageError(f"--color {show(asked.color)} names {len(named)} columns", "name one")
        color = named[0]
    more = range(len(model.score_names()), len(results.names))
    counted = None if color is None else Counted(color, rows.table.null_value)
    sample = sample_of(results, POINTS, [*places, *more], counted)
    if not sample.seen:
        raise DataError("the input has no rows to show", "leave it out, or give some")
    tally = results.tally
    lacking = tally.left_empty if apply.triples else max(tally.incomplete, tally.left_empty)  # few have all items
    found = points(model, sample, places, asked.axes, counted, (*NULLS, *rows.table.null_value))
    return {**found, "incomplete": lacking, "empty": tally.left_empty}


def _check(rows: Rows, asked: PageOptions) -> None:
    """Refuse what would change nothing, and what cannot be."""
    if rows.engine.far:
        raise UsageError(
            f"--engine {rows.engine.engine} does not go with a report: it takes few of the rows, on this machine",
            "leave out --engine",
        )
    if asked.color is not None and rows.apply.triples:
        raise UsageError("--color does not go with --triples", "leave out --color")
    if rows.data is not None:
        return
    own = {"--color": asked.color, "--axes": asked.axes}
    given = [flag for flag, value in own.items() if value is not None]
    given += given_flags(rows.apply, rows.table, rows.engine, leaving_out="components")
    if given:
        raise UsageError(f"{given[0]} would change nothing here: there are no rows", "name data after the model")
