"""Models by name, and which of them can be added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pcatool.errors import MissingColumns, ModelError, UsageError, listed, show
from pcatool.linalg.row_sums import Statistic
from pcatool.methods.base import reason_against
from pcatool.methods.sums import options_of
from pcatool.model.model import Model
from pcatool.model.npz import load_model
from pcatool.options.fields import given_flags
from pcatool.progress import Notices, doing
from pcatool.readers.opener import MODEL, Opened
from pcatool.readers.paths import STDIN, Input, resolve, resolve_models

__all__ = ["Named", "Watch", "are_models", "in_order_of", "model_paths", "models_of", "refuse_reading", "statistic_of"]

# What makes two models models of different things.
SETTINGS = {
    "method": "--method",
    "center": "--center",
    "standardize": "--standardize",
    "ddof": "--ddof",
    "center_rows": "--center-rows",
    "weights": "--weights",
    "weights_kind": "--weights-kind",
    "labels": "--label",
    "label_kernel": "--label-kernel",
    "whiten": "--whiten",
    "epsilon": "--epsilon",
}

# Those that another fit of the same sums can change.
REFITTED = ("center", "standardize", "ddof", "whiten", "epsilon")

Named = tuple[str, Model]  # as the user knows it


def model_paths(paths: Sequence[str]) -> list[str]:
    """Models by name, those of folders and globs among them."""
    return [item.path for item in resolve_models(paths)]


def models_of(paths: Sequence[str]) -> Iterator[Named]:
    """Models as they are asked for, each with its name."""
    found = model_paths(paths)
    for number, path in enumerate(found, 1):
        doing(f"model {number} of {len(found)}")
        yield Input(path).name, load_model(path)


def are_models(paths: Sequence[str]) -> bool:
    """Is the first of them a model? Then the others must be models, too."""
    if not paths or paths[0] == STDIN:
        return False
    first = resolve(paths[:1])[0]
    if first.flows:
        return False
    opened = Opened(first, None, "utf-8")
    opened.close()
    return opened.format == MODEL


def refuse_reading(*records: Any) -> None:
    """Models are not read as tables are: what says how must not be passed over in silence."""
    given = given_flags(*records, leaving_out="align_to")
    if given:
        raise UsageError(f"{', '.join(given)} would change nothing where models are subtracted", "leave it out")


def statistic_of(named: Named) -> Statistic:
    """The sums that a model keeps; a model without them is refused with the reason."""
    name, model = named
    if model.statistic is None:
        what = f"{show(name)} keeps no sums over its rows: {reason_against(model)}"
        raise ModelError(what, "fit all rows together")
    return model.statistic


def in_order_of(first: Model, named: Named, name: str) -> Statistic:
    """The sums of a model with its columns in the order of the first; what cannot be added to it is refused."""
    other, model = named
    statistic = statistic_of(named)
    if model is first:
        return statistic
    for (here, there), lacks, has in (((other, name), model, first), ((name, other), first, model)):
        missing = [column for column in has.columns if column not in lacks.columns]
        if missing:
            raise MissingColumns(missing, lacks.columns, here, f"{show(there)} has it: fit both with the same columns")
    for setting, flag in SETTINGS.items():
        a, b = (_setting(setting, of) for of in (first, model))
        if a != b and (a or b):
            remedy = f"pcatool refit makes one like the other ({flag})" if setting in REFITTED else "fit both alike"
            raise ModelError(f"{show(name)} and {show(other)} differ in {flag}: {_said(a)} against {_said(b)}", remedy)
    _check_labels(first, model, name, other)
    places = {column: i for i, column in enumerate(model.columns)}
    return statistic.take(np.array([places[column] for column in first.columns], dtype=np.intp))


def _check_labels(first: Model, model: Model, name: str, other: str) -> None:
    """Which classes there are depends on whether a label is a number."""
    numbers = [set(of.meta.get("label_numbers", ())) for of in (first, model)]
    differing = [label for label in model.meta.get("labels", ()) if (label in numbers[0]) != (label in numbers[1])]
    if not differing or not all("label_numbers" in of.meta for of in (first, model)):
        return
    number, text = (other, name) if differing[0] in numbers[1] else (name, other)
    raise ModelError(
        f"label {show(differing[0])} is a number in {show(number)} and text in {show(text)}: 7 and 07 are one class "
        "there and two here",
        f"pcatool update {show(text)} takes the rows of the other with the label as text",
    )


def _setting(name: str, model: Model) -> Any:
    """As it was given: an epsilon that was not differs from model to model."""
    return options_of(model).epsilon if name == "epsilon" else model.meta.get(name)


def _said(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return show(", ".join(value) if isinstance(value, list) else value)


class Watch:
    """Looks for what may be a slip: rows that count twice, and another number of components."""

    def __init__(self, first: Named, notices: Notices) -> None:
        self._name, self._wish = first[0], first[1].meta.get("components")
        self._notices = notices
        self._otherwise: list[str] = []
        self._seen: dict[bytes, str] = {}
        self.see(first)

    def see(self, named: Named) -> None:
        name, model = named
        if model.meta.get("components") != self._wish:
            self._otherwise.append(name)
        centre = statistic_of(named).centre
        key = b"".join(part.tobytes() for part in (centre.high, centre.low, statistic_of(named).sums.squares))
        if key in self._seen:
            self._notices.warn(f"{show(self._seen[key])} and {show(name)} are of the same rows, which count twice now")
        self._seen.setdefault(key, name)

    def tell(self) -> None:
        if self._otherwise:
            self._notices.note(
                f"-k {self._wish} is taken from {show(self._name)}; another one in {listed(self._otherwise)}"
            )
