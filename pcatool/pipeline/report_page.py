"""What a page shows of a model: numbers for its drawings, no more of them than a page can hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import PcatoolError, printable
from pcatool.methods.base import reason_against
from pcatool.model.from_sklearn import SCIKIT_LEARN
from pcatool.model.model import Model
from pcatool.options.showing import VALUES
from pcatool.pipeline.fit_command import DATA, TRIPLES, fit_command, spelled
from pcatool.pipeline.loadings import (
    PANELS,
    SAID,
    check_columns,
    check_image,
    column_spread,
    drawn_mean,
    shown,
    whose_share,
)
from pcatool.render.component_images import image_facts
from pcatool.render.figures import told_apart

__all__ = ["commands", "images", "loadings", "rounded", "scree", "text"]

# What a page holds at most, so that it stays a few hundred kilobytes: eigenvalues, loadings, columns, components, and
# the pixels of all images together.
EIGENVALUES = 3_000
LOADINGS, COLUMNS, COMPONENTS = 24_000, 500, 100
PIXELS, FEWEST_IMAGES = 150_000, 4

# Letters of a name that comes from outside, and of one beside an arrow, on a wide page and on a telephone.
LONGEST, SHORT = 200, (24, 12)

# Stands for a number of components where a command is cut in two.
SOME_K = 987_654_321


def text(value: object) -> str:
    """Text from outside: it does not steer the page, nor fill it."""
    plain = printable(str(value))
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 3] + "..."


def rounded(values: NDArray[Any], digits: int) -> list[Any]:
    """Numbers with so many digits; None for one that is not there."""
    if values.ndim > 1:
        return [rounded(row, digits) for row in values]
    return [float(f"{value:.{digits}g}") + 0.0 if np.isfinite(value) else None for value in values.tolist()]


def scree(model: Model) -> dict[str, Any]:
    """Every digit, so that the page finds the same k for a share as the program."""
    table, m = model.variance, min(len(model.eigenvalues), EIGENVALUES)
    return {
        "eigenvalues": table.eigenvalue[:m].tolist(),
        "lost": table.lost_share[:m].tolist(),
        "total": model.total_variance,
        "slack": table.slack,
        "known": len(model.eigenvalues),
    }


def loadings(model: Model, first: int | None) -> dict[str, Any]:
    """Loadings of the columns that matter most, and what makes correlations of them; or why there are none."""
    try:
        check_columns(model, ("loadings",))
    except PcatoolError as error:
        return {"reason": error.message}
    k = min(shown(model, first), COMPONENTS)
    rows = _leading(model.basis[:, :k], min(model.d, COLUMNS, max(LOADINGS // k, 1)))
    found = {
        "columns": [text(model.columns[i]) for i in rows],
        "short": [told_apart([model.columns[i] for i in rows], most) for most in SHORT],
        "places": [int(i) + 1 for i in rows],
        "loadings": rounded(model.basis[rows, :k], 6),
        "eigenvalues": rounded(model.eigenvalues[:k], 9),
        "of": model.d,
        "said": SAID,
    }
    spread, reason = _spread(model)
    if spread is None:
        names = [name for name in VALUES if name not in ("correlations", "cos2")]
        return {**found, "values": names, "lacks": reason}
    return {**found, "values": list(VALUES), "spread": rounded(spread[rows], 9)}


def _spread(model: Model) -> tuple[Array | None, str]:
    """What correlations are divided by, or why there is none."""
    try:
        check_columns(model, ("correlations",))
        return column_spread(model), ""
    except PcatoolError as error:
        return None, error.message


def _leading(B: Array, most: int) -> NDArray[np.intp]:
    """In their order, the columns that stand highest in any component: its largest first, then its second largest."""
    if len(B) <= most:
        return np.arange(len(B))
    places = np.argsort(np.argsort(-np.abs(B), axis=0, kind="stable"), axis=0, kind="stable").min(axis=1)
    return np.sort(np.argsort(places, kind="stable")[:most])


def images(model: Model, shape: tuple[int, int], first: int | None) -> dict[str, Any]:
    """The mean and the components as pictures of their own."""
    check_image(model, shape)
    pixels = shape[0] * shape[1]
    k = shown(model, first or min(model.k, PANELS, max(PIXELS // pixels, FEWEST_IMAGES)))
    found = image_facts(drawn_mean(model), model.basis[:, :k], model.variance.share[:k], shape)
    return {**found, "of": model.k, "share": whose_share(model)}


# --- commands ---


def commands(model: Model, name: str, asked_k: int | None, can: Sequence[str]) -> dict[str, Any]:
    """The command that made the model, and those that use it; with what should be known of them."""
    made = fit_command(model, name)
    k = [] if asked_k is None else ["-k", str(asked_k)]
    uses = [("scores of new rows", ["pcatool", "transform", name, DATA, *k, "-o", "scores.csv"])]
    if "absent" in model.meta:
        uses[0][1][4:4] = ["--triples", TRIPLES]
    if "reconstruct" in can and "absent" not in model.meta:
        source = [DATA, "--preimage"] if "kernel" in model.meta else ["scores.csv"]
        uses.append(("rows from scores", ["pcatool", "reconstruct", name, *source, *k, "-o", "approx.csv"]))
    if "kernel" in model.meta and len(uses) > 1:
        uses[1] = ("rows as the components see them", uses[1][1])
    uses.append(("all that is in the model", ["pcatool", "inspect", name]))
    return {
        "fit": None if made.command is None else spelled(made.command),
        "remarks": made.remarks,
        "uses": [(what, spelled(words)) for what, words in uses],
        "again": _again(model, name),
    }


def _again(model: Model, name: str) -> list[str] | None:
    """A command that keeps another number of components, cut where that stands."""
    output = f"{PurePath(name).name.removesuffix('.npz')}-k{SOME_K}.npz"
    if reason_against(model) is None:
        return spelled(["pcatool", "refit", name, "-k", str(SOME_K), "-o", output]).split(str(SOME_K))
    if model.meta.get("solver") == SCIKIT_LEARN:
        return None
    made = fit_command(model, output, SOME_K)
    return None if made.command is None else spelled(made.command).split(str(SOME_K))
