"""Fit a model and score its own rows in one run: both outputs are written, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from pcatool.errors import DataError, FileError, PcatoolError, UsageError
from pcatool.model import npz
from pcatool.model.model import Model
from pcatool.options import ApplyOptions, OutputOptions, ScoreOptions, TableOptions
from pcatool.pipeline.apply import transform
from pcatool.pipeline.fit import Fitted, Job, fit_opened, older_model
from pcatool.pipeline.output_parts import remove
from pcatool.pipeline.results import Results, write
from pcatool.progress import doing
from pcatool.readers.input_files import ResolvedInputs
from pcatool.readers.paths import are_paths
from pcatool.readers.streams import PipeCopy
from pcatool.registry import WRITERS
from pcatool.resources import release_free_memory
from pcatool.stores.uri import is_remote, shown
from pcatool.wording import show
from pcatool.writers.base import format_name
from pcatool.writers.sink import Sink, check_target, open_sink
from pcatool.writers.target import Target, descriptor_of, inspect_target

__all__ = ["FittedAndScored", "fit_and_score", "with_copies"]


class FittedAndScored(NamedTuple):
    """The fitted model, and the scores of its rows."""

    fitted: Fitted
    results: Results  # for the counts; the scores are already written


def fit_and_score(
    job: Job, output: str | None, score_options: ScoreOptions, *, no_clobber: bool = False
) -> FittedAndScored:
    """Fit a model, read the rows again to score them, and write the scores to the file that `score_options` names.

    `output` is the path of the model; with None the scores are written, but no model. The model is saved just before a
    local file of scores gets its name, or after the upload of the scores to a store. Return the fitted model, and the
    results, which are already written. Outputs that cannot be written, or are the same, and the engines dask and spark
    are refused before the fit.
    """
    o = job.options
    if job.engine.in_other_processes:
        raise UsageError(
            f"--scores does not go with --engine {job.engine.engine}",
            "leave out --scores, then run pcatool transform with the model",
        )
    old = older_model(job)
    apply = ApplyOptions(triples=o.triples, keep=score_options.keep, keep_all=score_options.keep_all)
    scores = OutputOptions(output=str(score_options.scores), no_clobber=no_clobber)
    _check_ending(scores)
    job = job._replace(data=with_copies(job.data, job.table), scored=True)
    inputs = job.open()
    older = o.align_to if isinstance(o.align_to, str) else None
    check_target(scores.output, no_clobber=no_clobber, inputs=[*inputs.paths, *([older] if older else [])])
    if output is not None:
        check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
        _refuse_one_place(output, str(score_options.scores))
    if not o.triples:
        inputs.columns.keep(score_options.keep, score_options.keep_all)  # refuses a missing column before the fit
    paths = inputs.paths
    fitted = fit_opened(job, inputs, old)._replace(evidence=None)  # the evidence may hold the rows
    release_free_memory()

    def save() -> None:
        if output is not None:
            npz.save_model(fitted.model, output, no_clobber=no_clobber, inputs=paths)

    table = replace(job.table, skip_bad=False)  # bad files are already left out
    results = transform(fitted.model, inputs.remaining_data, table, apply, job.engine, job.reporter.silent())
    try:
        if output is None or not is_remote(scores.output or ""):
            write(results, scores, older, before_end=save)
        else:
            with _put_last(open_sink(output, no_clobber=no_clobber, inputs=paths, compress=False), scores) as place:
                write(results, scores, older, before_end=lambda: _hand_over(fitted.model, place))
    except BrokenPipeError:
        if descriptor_of(scores.output) is not None:  # the reader of the scores has read enough
            save()
        raise
    except DataError as error:
        if not error.of_input:
            raise
        raise DataError(
            error.message,
            "run again without this file, or with other columns in --keep; "
            "--skip-bad cannot leave the file out, since the fit used its rows",
        ) from None
    return FittedAndScored(fitted, results)


@contextmanager
def _put_last(place: Sink, scores: OutputOptions) -> Iterator[Sink]:
    """Yield the sink of a model whose scores go to a store; the model gets its name after the upload of the scores.

    An upload may fail until it has ended; a finished local file only needs to be renamed. If the renaming fails all the
    same, the scores are removed.
    """
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
    """Write the model to its sink; the file gets its name when the sink is closed."""
    doing("writing")
    place.write(npz.dumps(model))


def _take_back(scores: str, error: BaseException) -> None:
    """Remove scores whose model could not be written; if that fails too, add to `error` a hint to remove the scores."""
    try:
        remove(scores)
    except FileError:
        if isinstance(error, PcatoolError):
            error.add_remedy(f"and remove {show(shown(scores))}: the model of these scores was not saved")


def _check_ending(scores: OutputOptions) -> None:
    """Raise `UsageError` if the name of the file of scores does not tell a format that can be written."""
    try:
        format_name(scores)
    except UsageError as error:
        raise UsageError(error.message, f"end the name in one of .{', .'.join(WRITERS)}") from None


def with_copies(data: Any, table: TableOptions) -> Any:
    """Return the data, changed so that all inputs can be read twice: a pipe is copied while it is read.

    A table in memory is returned unchanged.
    """
    if not are_paths(data):
        return data
    found = ResolvedInputs.of(data, table)
    return found.with_inputs(item._replace(copy=PipeCopy()) if item.is_stream else item for item in found.inputs)


def _refuse_one_place(output: str, scores: str) -> None:
    """Raise `UsageError` if the model and the scores would go to the same stream, file or object."""
    stream = descriptor_of(output)
    if stream != descriptor_of(scores):
        return
    if stream is not None:
        raise UsageError("the model and the scores cannot both go to standard output", "name a file with --scores")
    one, other = (inspect_target(name, False, ()) for name in (output, scores))
    if (one.path, _object(one)) == (other.path, _object(other)) and not one.is_special:
        raise UsageError(
            f"-o and --scores both name {show(shown(scores))}", "give different names with -o and --scores"
        )


def _object(target: Target) -> str:
    """Return the canonical name of an object in a store; an empty text for a file."""
    if not target.remote:
        return ""
    from pcatool.stores.providers import CanonicalName

    return CanonicalName()(target.remote)
