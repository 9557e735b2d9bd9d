"""Explained variance of a loaded or fitted model: the smallest k for a share, rules for k, and scree charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pcatool.errors import RefusedError
from pcatool.model.description import name_of_total, settings_text
from pcatool.model.model import Model
from pcatool.options import PictureOptions
from pcatool.pipeline.fit import Fitted, Job, model_or_fit_of, open_model_or_data
from pcatool.progress import doing
from pcatool.render.figures import check_room, picture_form
from pcatool.render.scree import ScreeLook, scree_picture
from pcatool.rules.base import ALL_EIGENVALUES, Evidence, Verdict, compare
from pcatool.wording import counted, grouped
from pcatool.writers.sink import check_target, write_whole

__all__ = ["ScreeRequest", "draw_scree", "fit_and_draw", "rule_choices", "smallest_k"]


def smallest_k(fitted: Fitted, share: float) -> int:
    """Return the smallest number of components that keep this share (0 to 1) of the variance.

    The number may exceed the k of the model. Raises `RefusedError` when the known eigenvalues do not reach the share.
    """
    table = fitted.shown_variance
    found = table.smallest_k(share)
    if found is None:
        known = len(table.component)
        of_model = f"the {counted(known, 'known eigenvalue')}"
        there = of_model if fitted.shown_k is None else f"the {counted(known, 'component')} that -k asks for"
        keep = "keeps" if known == 1 else "keep"
        shows_too_few = fitted.model.variance.smallest_k(share) is not None
        larger = "give a larger -k" if shows_too_few else "fit with a larger -k"
        method = fitted.model.meta.get("method")
        if not shows_too_few and method == "pca":
            larger += f", or with {ALL_EIGENVALUES}"
        total = name_of_total(method, fitted.model.centered)
        raise RefusedError(f"{there} {keep} {table.cumulative[-1]:.6g} of the {total}, not {share}", larger)
    return found


class ScreeRequest(NamedTuple):
    """Options of a scree picture."""

    scree: ScreeLook = ScreeLook()
    rules: Sequence[str] | None = ()  # rules whose choices are marked; None: all
    seed: int = 0
    look: PictureOptions = PictureOptions()


def draw_scree(
    fitted: Fitted, output: str, request: ScreeRequest, *, no_clobber: bool = False, inputs: Sequence[str] = ()
) -> None:
    """Draw a scree chart of the eigenvalues of a model, and write it to the file `output`."""
    form, model, table = picture_form(output), fitted.model, fitted.shown_variance
    check_room(request.look)
    shown = request.scree.shown(len(table.component))
    which = f"the first {grouped(shown)} of " if shown < model.directions else ""
    rows = counted(model.n_samples, "row")
    title = f"{which}{counted(model.directions, 'eigenvalue')} of {rows}, "
    title += f"{counted(model.d, 'column')}; {settings_text(model)}"
    verdicts = rule_choices(fitted, request.rules, request.seed) if request.rules is None or request.rules else ()
    doing("drawing")
    picture = scree_picture(
        table, kept=model.k, form=form, title=title, scree=request.scree, verdicts=verdicts, picture=request.look
    )
    write_whole(output, picture, no_clobber=no_clobber, inputs=inputs)


def fit_and_draw(job: Job, output: str, request: ScreeRequest, *, no_clobber: bool) -> Model:
    """Load or fit the model of a job, write a scree chart of its eigenvalues to a file, and return the model.

    A picture that cannot be drawn or written is refused before the fit.
    """
    picture_form(output)
    check_room(request.look)
    inputs = open_model_or_data(job)
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    fitted = model_or_fit_of(job, inputs)
    draw_scree(fitted, output, request, no_clobber=no_clobber, inputs=inputs.paths)
    return fitted.model


def rule_choices(fitted: Fitted, names: Sequence[str] | None, seed: int) -> list[Verdict]:
    """Return the verdicts of the rules for k in `names`, by default of all rules.

    Rules that need the rows can choose only for a model fitted in this run; `seed` serves a loaded model.
    """
    return compare(fitted.evidence or _evidence_of(fitted.model, seed), names)


def _evidence_of(model: Model, seed: int) -> Evidence:
    """Return the facts for the rules for k that a model holds; the rows of the fit are missing."""
    meta, method = model.meta, model.meta.get("method", "pca")
    rank = int(meta.get("rank", np.count_nonzero(model.eigenvalues)))
    directions = model.directions
    idle = {"pca": int(meta.get("constant_columns", 0)), "kernel": 0, "supervised": directions - rank}[method]
    return Evidence(
        eigenvalues=np.sort(model.eigenvalues)[::-1],  # alignment may have changed their order
        total_variance=model.total_variance,
        n=model.n_samples,
        d=directions,
        rank=rank,
        centered=model.centered,
        standardized=model.standardized,
        ddof=model.ddof,
        seed=seed,
        constant=idle,
        whole=name_of_total(method, model.centered),
        method="probabilistic" if "em" in meta else method,
    )
