"""The rows of a picture: read, and projected where they are no scores yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pcatool.arrays import Array, Runner, recut
from pcatool.engines.threads import Threads
from pcatool.errors import DataError, UsageError, show
from pcatool.model.model import Model
from pcatool.options import ApplyOptions
from pcatool.pipeline.apply import transform_opened
from pcatool.pipeline.incomplete import policy_for_rows
from pcatool.pipeline.job import Job
from pcatool.pipeline.plots.asked import Asked
from pcatool.pipeline.results import Results, results_of
from pcatool.pipeline.scoring import Placed, Scorer
from pcatool.readers.base import Column
from pcatool.readers.inputs import Inputs
from pcatool.readers.labels import Texts, texts_of
from pcatool.readers.row_counts import Tally
from pcatool.readers.rows import Checked, checked_batches
from pcatool.readers.schema import Wanted
from pcatool.render.plots.points import Cloud, Hue

__all__ = ["cloud_of", "color_of", "names_of", "projected"]

# Of more texts their names and counts would take memory as the rows do; nobody tells so many apart.
MOST_TEXTS = 10_000


class Colored(NamedTuple):
    """Scores of some rows, and what colours them: numbers, or texts."""

    scores: Array
    color: Array | Texts | None


def cloud_of(
    job: Job, asked: Asked, axes: tuple[int, ...], model: Model | None, inputs: Inputs, spreads: Array | None = None
) -> Cloud:
    """All rows that have scores of these components, divided by `spreads` if they are given."""
    color = color_of(asked, job, inputs)
    by_texts = color is not None and color.kind in ("text", "boolean")
    cloud = Cloud(len(axes), None if color is None else Hue(color.name, not by_texts))
    codes: dict[str, int] = {}
    colors = _Colors(color, by_texts, job.table.null_value)
    with Threads(job.engine.threads) as pool:
        if model is None:
            parts = _of_scores(names_of(axes), inputs, colors, pool.map)
        else:
            parts = _of_rows(job, axes, model, inputs, colors, pool.map)
        drawn = (_drawn(part, codes, spreads, cloud) for part in parts)
        for block in recut(drawn, cloud.width):
            cloud.add(block)
    cloud.words = list(codes)
    if not cloud.rows:
        missing = f", for missing cells in all {cloud.left_out}" if cloud.left_out else ""
        raise DataError(f"{inputs.first.name}: no row has scores{missing}", "there is nothing to draw")
    return cloud


class _Colors(NamedTuple):
    """What is read of the column that colours rows."""

    column: Column | None
    by_texts: bool
    nulls: tuple[str, ...]

    @property
    def number(self) -> tuple[str, ...]:
        return () if self.column is None or self.by_texts else (self.column.name,)

    @property
    def kept(self) -> tuple[str, ...]:
        return (self.column.name,) if self.column is not None and self.by_texts else ()

    def of(self, kept: Sequence[Any], numbers: Array | None) -> Array | Texts | None:
        return texts_of(kept[0], self.nulls) if self.by_texts else numbers


def color_of(asked: Asked, job: Job, inputs: Inputs) -> Column | None:
    if asked.color is None:
        return None
    if job.options.triples:
        raise UsageError("--color is for tables with a line for each row, not for --triples", "leave out --color")
    column = inputs.columns.single(asked.color, "--color")
    if column.kind == "vector":
        raise DataError(f"{inputs.first.name}: --color {show(column.name)} is a vector column", "name one of one value")
    if column.kind == "dressed":
        raise DataError(
            f"{inputs.first.name}, column {show(column.name)}: {show(column.example)} is a number but for its marks",
            column.remedy,
        )
    return column


def names_of(axes: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"PC{number}" for number in axes)


def _of_scores(names: tuple[str, ...], inputs: Inputs, colors: _Colors, run: Runner) -> Iterator[Colored]:
    """Rows of a table that holds scores."""
    more = tuple(name for name in colors.number if name not in names)
    wanted = Wanted((*names, *more), frozenset(), kept=colors.kept)

    def colored(batch: Checked) -> Colored:
        at = wanted.names.index(colors.number[0]) if colors.number else None
        return Colored(batch.X[:, : len(names)], colors.of(batch.kept, None if at is None else batch.X[:, at]))

    return map(colored, checked_batches(inputs, wanted, Tally(), eager=True, run=run))


def _of_rows(
    job: Job, axes: tuple[int, ...], model: Model, inputs: Inputs, colors: _Colors, run: Runner
) -> Iterator[Colored]:
    """Rows that are projected; one that lacks only its colour has scores."""
    results = projected(job, axes, model, inputs, colors.kept)
    plan = results.plan
    names = plan.wanted.names
    more = tuple(name for name in colors.number if name not in names)
    results = results_of(
        plan._replace(wanted=plan.wanted._replace(names=(*names, *more))), inputs, job.engine, job.notices
    )
    at = [(*names, *more).index(name) for name in colors.number]
    columns = [number - 1 for number in axes]
    work = partial(_scored, scorer=plan.scorer, width=len(names), columns=columns, at=at, colors=colors)
    return run(work, results.placed(run), ready=inputs.ready)


def _scored(placed: Placed, scorer: Scorer, width: int, columns: list[int], at: list[int], colors: _Colors) -> Colored:
    batch = placed.batch
    numbers = batch.X[:, at[0]] if at else None
    if batch.X.shape[1] > width:
        X = batch.X[:, :width]
        holes = None if batch.incomplete is None else np.asarray(np.isnan(X).any(axis=1))
        batch = batch._replace(X=X, incomplete=holes if holes is not None and holes.any() else None)
    scored = scorer.score(Placed(batch, placed.first_row))
    return Colored(scored.values[:, columns], colors.of(batch.kept, numbers))


def projected(job: Job, axes: tuple[int, ...], model: Model, inputs: Inputs, kept: tuple[str, ...]) -> Results:
    """Scores up to the last component that is needed; of a row with holes those that the model can give, or none."""
    policy = policy_for_rows(model, None, fill=False, back=False)
    options = ApplyOptions(
        components=max(axes), missing="keep" if policy == "error" else policy, keep=kept, triples=job.options.triples
    )
    return transform_opened(model, inputs, options, job.engine, job.notices)


def _drawn(part: Colored, codes: dict[str, int], spreads: Array | None, cloud: Cloud) -> Array:
    """What is added to the cloud; texts are numbered as they first appear."""
    columns = [part.scores if spreads is None else part.scores / spreads]
    if isinstance(part.color, np.ndarray):
        columns.append(part.color[:, None])
    elif part.color is not None:
        if len(codes) + len(part.color.distinct) > MOST_TEXTS and len(codes.keys() | part.color.distinct) > MOST_TEXTS:
            raise DataError(
                f"--color {show(str(cloud.hue and cloud.hue.name))} has more than {MOST_TEXTS} different values",
                "colours tell a few classes apart: name a column of classes, or of numbers",
            )
        table = np.array([*(codes.setdefault(text, len(codes)) for text in part.color.distinct), np.nan])
        columns.append(table[part.color.which][:, None])
    whole = np.asarray(~np.isnan(part.scores).any(axis=1))
    cloud.left_out += int(len(whole) - whole.sum())
    return np.hstack(columns)[whole]
