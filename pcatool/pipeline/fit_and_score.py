"""Fit a model and score its own rows in one run: both are written, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import DataError, FileError, PcatoolError, UsageError, show
from pcatool.model import npz
from pcatool.model.model import Model
from pcatool.options import ApplyOptions, OutputOptions, ScoreOptions, TableOptions
from pcatool.pipeline.apply import transform
from pcatool.pipeline.fit import Fitted, fit_opened, older_model
from pcatool.pipeline.job import Job
from pcatool.pipeline.output_parts import remove
from pcatool.pipeline.results import Results, write
from pcatool.progress import doing
from pcatool.readers.input_files import Found
from pcatool.readers.streams import Copy
from pcatool.registry import WRITERS
from pcatool.resources import give_back
from pcatool.stores.uri import is_remote, shown
from pcatool.writers.base import format_name
from pcatool.writers.sink import Sink, check_target, open_sink
from pcatool.writers.target import Target, descriptor_of, look_at

__all__ = ["Both", "fit_and_score", "with_copies"]


class Both(NamedTuple):
    """What was fitted, and what was scored."""

    fitted: Fitted
    results: Results


def fit_and_score(job: Job, output: str | None, asked: ScoreOptions, *, no_clobber: bool = False) -> Both:
    """Fit, score what was read again, and save the model, if it has a place, when the scores are ready for theirs."""
    o = job.options
    if job.engine.far:
        raise UsageError(
            f"--scores does not go with --engine {job.engine.engine}", "fit first, then transform with the model"
        )
    old = older_model(job)
    apply = ApplyOptions(triples=o.triples, keep=asked.keep, keep_all=asked.keep_all)
    scores = OutputOptions(output=str(asked.scores), no_clobber=no_clobber)
    _check_ending(scores)
    job = job._replace(data=with_copies(job.data, job.table), scored=True)
    inputs = job.open()
    older = o.align_to if isinstance(o.align_to, str) else None
    check_target(scores.output, no_clobber=no_clobber, inputs=[*inputs.paths, *([older] if older else [])])
    if output is not None:
        check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
        _refuse_one_place(output, str(asked.scores))
    if not o.triples:
        inputs.columns.keep(asked.keep, asked.keep_all)  # what is not there is told before the work
    paths = inputs.paths
    fitted = fit_opened(job, inputs, old)._replace(evidence=None)  # which may hold the rows
    give_back()

    def save() -> None:
        if output is not None:
            npz.save_model(fitted.model, output, no_clobber=no_clobber, inputs=paths)

    table = replace(job.table, skip_bad=False)  # what was bad was left out by now
    results = transform(fitted.model, inputs.good, table, apply, job.engine, job.notices.silent())
    try:
        if output is None or not is_remote(scores.output or ""):
            write(results, scores, older, before_end=save)
        else:
            with _put_last(open_sink(output, no_clobber=no_clobber, inputs=paths, compress=False), scores) as place:
                write(results, scores, older, before_end=lambda: _hand_over(fitted.model, place))
    except BrokenPipeError:
        if descriptor_of(scores.output) is not None:  # whoever read the scores has what they wanted
            save()
        raise
    except DataError as error:
        if not error.of_input:
            raise
        raise DataError(error.message, "the model is of its rows, too: leave that file out, or the column") from None
    return Both(fitted, results)


@contextmanager
def _put_last(place: Sink, scores: OutputOptions) -> Iterator[Sink]:
    """The place of a model whose scores go to a store: an upload may fail until it has ended, a file with all that it
    holds is put in place by a name. What fails thereafter takes the scores back."""
    ended = False
    try:
        with place:
            yield place
            ended = True
    except BaseException as error:
        if ended:
            _take_back(str(scores.output), error)
        raise


def _hand_over(model: Model, place: Sink) -> None:
    doing("writing")
    place.write(npz.dumps(model))


def _take_back(scores: str, error: BaseException) -> None:
    try:
        remove(scores)
    except FileError:
        if isinstance(error, PcatoolError):
            error.add_remedy(f"and remove {show(shown(scores))}: these scores are of a model that is not there")


def _check_ending(scores: OutputOptions) -> None:
    try:
        format_name(scores)
    except UsageError as error:
        raise UsageError(error.message, f"name it .{', .'.join(WRITERS)}") from None


def with_copies(data: Any, table: TableOptions) -> Any:
    """The inputs, those that can be read only once with a place for a copy of them."""
    if not (isinstance(data, list) and all(isinstance(item, str) for item in data)):
        return data
    found = Found.of(data, table)
    return found.some(item._replace(copy=Copy()) if item.flows else item for item in found.inputs)


def _refuse_one_place(output: str, scores: str) -> None:
    """Model and scores in one stream or one file would be neither."""
    stream = descriptor_of(output)
    if stream != descriptor_of(scores):
        return
    if stream is not None:
        raise UsageError("the model and the scores cannot both go to standard output", "name a file for one of them")
    one, other = (look_at(name, False, ()) for name in (output, scores))
    if (one.path, _object(one)) == (other.path, _object(other)) and not one.straight:
        raise UsageError(f"-o and --scores both name {show(scores)}", "name two files")


def _object(target: Target) -> str:
    if not target.remote:
        return ""
    from pcatool.stores.providers import OneName

    return OneName()(target.remote)
