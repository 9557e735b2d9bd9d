"""What a model, or data fitted first, has to tell: how many components, and pictures of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcatool.errors import RefusedError
from pcatool.model import Model
from pcatool.pipeline.fit import Fitted, model_or_fit_of, open_subject
from pcatool.pipeline.job import Job
from pcatool.render.choices import how_fitted, whole
from pcatool.render.pictures import picture_form, scree_picture
from pcatool.rules.base import Evidence
from pcatool.rules.compare import Verdict, compare
from pcatool.stages import doing
from pcatool.writers.sink import check_target, write_whole

__all__ = ["draw_scree", "fit_and_draw", "judge", "smallest_k"]


def smallest_k(model: Model, share: float) -> int:
    """How many components keep this share; known even when the model keeps fewer, unknown only past its eigenvalues."""
    found = model.variance.smallest_k(share)
    if found is None:
        known = len(model.eigenvalues)
        raise RefusedError(
            f"the {known} eigenvalues known keep {model.variance.cumulative[-1]:.6g} of the variance, not {share:g}",
            "fit with a larger -k",
        )
    return found


def draw_scree(model: Model, output: str, *, no_clobber: bool = False, inputs: Sequence[str] = ()) -> None:
    """Write a picture of the eigenvalues."""
    form = picture_form(output)
    doing("drawing")
    title = f"{len(model.eigenvalues)} eigenvalues of {model.n_samples} rows, {model.d} columns; {how_fitted(model)}"
    picture = scree_picture(model.variance, kept=model.k, form=form, title=title)
    write_whole(output, picture, no_clobber=no_clobber, inputs=inputs)


def fit_and_draw(job: Job, output: str, *, no_clobber: bool) -> Model:
    """The same for a model or data by name; what cannot be drawn or written is refused before the work."""
    picture_form(output)
    inputs = open_subject(job)
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    model = model_or_fit_of(job, inputs).model
    draw_scree(model, output, no_clobber=no_clobber, inputs=inputs.paths)
    return model


def judge(fitted: Fitted, names: Sequence[str] | None, seed: int) -> list[Verdict]:
    """What the rules for k make of data, or of what a model knows of its data."""
    return compare(fitted.evidence or _evidence_of(fitted.model, seed), names)


def _evidence_of(model: Model, seed: int) -> Evidence:
    meta, method = model.meta, model.meta.get("method", "pca")
    rank = int(meta.get("rank", np.count_nonzero(model.eigenvalues)))
    directions = model.directions
    idle = {"pca": int(meta.get("constant_columns", 0)), "kernel": 0, "supervised": directions - rank}[method]
    return Evidence(
        eigenvalues=np.sort(model.eigenvalues)[::-1],  # those of an aligned model may have traded places
        total_variance=model.total_variance,
        n=model.n_samples,
        d=directions,
        rank=rank,
        centered=model.centered,
        standardized=model.standardized,
        ddof=model.ddof,
        seed=seed,
        constant=idle,
        whole=whole(method, model.centered),
        method="probabilistic" if "em" in meta else method,
    )
