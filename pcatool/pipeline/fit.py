"""Read -> batches -> blocks -> solve -> model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from pcatool import modelfile
from pcatool.blocks import recut
from pcatool.errors import DataError, UsageError
from pcatool.memory import free_bytes, parse_size
from pcatool.methods.base import Supply
from pcatool.model import Array, Model
from pcatool.notices import Notices
from pcatool.options import FitOptions, SelectOptions, TableOptions
from pcatool.readers.rows import Tally, complete_rows
from pcatool.readers.source import read_whole
from pcatool.readers.tables import Inputs, Wanted
from pcatool.registry import METHODS
from pcatool.rules.base import Evidence
from pcatool.solvers.plan import Plan
from pcatool.writers.sink import check_target

__all__ = ["Fitted", "fit", "fit_and_save", "model_or_fit", "model_or_fit_of", "plan_fit"]


# What is never refused unasked: on a small machine such a fit is better tried.
SMALL_JOB = 256 << 20


@dataclass(frozen=True)
class Fitted:
    """A model, and what was read for it."""

    model: Model
    tally: Tally
    evidence: Evidence | None = None  # of data just fitted; a model read from a file has its own


def fit(data: Any, table: TableOptions, select: SelectOptions, options: FitOptions, notices: Notices) -> Fitted:
    """A model of the data: paths, or something in memory."""
    return _fit(Inputs(data, table, notices), select, options, notices)


def _fit(inputs: Inputs, select: SelectOptions, options: FitOptions, notices: Notices) -> Fitted:
    tally = Tally()
    wanted, features, blocks = _blocks(inputs, select, options, tally)
    method = METHODS.load(options.method)(options, notices)
    try:
        fitted = method.fit(blocks, features, supply=_supply(inputs, select, options))
    except DataError:
        if options.missing == "drop" and tally.rows and tally.incomplete == tally.rows:
            raise tally.error("no complete row is left") from None
        raise
    model = fitted.model
    if tally.incomplete:
        notices.warn(f"dropped {tally.incomplete} of {tally.rows} rows for missing cells")
    if wanted.booleans:
        model = model.with_meta(booleans=sorted(wanted.booleans))
    return Fitted(model, tally, fitted.evidence)


def _blocks(
    inputs: Inputs, select: SelectOptions, options: FitOptions, tally: Tally
) -> tuple[Wanted, tuple[str, ...], Iterator[Array]]:
    """What is read, the features' names, and the rows in blocks; with weights, the last column holds them."""
    weighted = options.weights is not None
    wanted = inputs.choose(select, options.weights)
    rows = complete_rows(inputs, wanted, options.missing, tally, weighted=weighted)
    return wanted, wanted.names[:-1] if weighted else wanted.names, recut(rows, len(wanted.names))


def _supply(inputs: Inputs, select: SelectOptions, options: FitOptions) -> Supply:
    """How much memory there is, and how to read the rows again."""
    limit = parse_size(options.memory) if options.memory is not None else max(free_bytes() // 2, SMALL_JOB)

    def reread() -> Iterator[Array]:
        return _blocks(inputs.again(), select, options, Tally())[2]

    return Supply(limit, reread if inputs.can_reread() else None, inputs.expected_rows)


def plan_fit(data: Any, table: TableOptions, select: SelectOptions, options: FitOptions, notices: Notices) -> Plan:
    """What a fit would do and need."""
    inputs = Inputs(data, table, notices)
    _, features, blocks = _blocks(inputs, select, options, Tally())
    method = METHODS.load(options.method)(options, notices)
    plan: Plan = method.plan(blocks, features, supply=_supply(inputs, select, options))[2]
    return plan


def fit_and_save(
    data: Any,
    table: TableOptions,
    select: SelectOptions,
    options: FitOptions,
    output: str,
    no_clobber: bool,
    notices: Notices,
) -> Fitted:
    """Fit and write the model; a place that cannot be written is refused before the work."""
    inputs = Inputs(data, table, notices)
    check_target(output, no_clobber=no_clobber, inputs=inputs.paths)
    fitted = _fit(inputs, select, options, notices)
    modelfile.save_model(fitted.model, output, no_clobber=no_clobber, inputs=inputs.paths)
    return fitted


def model_or_fit(
    data: Any, table: TableOptions, select: SelectOptions, options: FitOptions, notices: Notices
) -> Fitted:
    """The model that the input is, or a fit of the table that it is; the content tells."""
    return model_or_fit_of(Inputs(data, table, notices), select, options, notices)


def model_or_fit_of(inputs: Inputs, select: SelectOptions, options: FitOptions, notices: Notices) -> Fitted:
    if inputs.model is not None:
        _refuse_settings(inputs.model.name, select, options)
        return Fitted(modelfile.loads(read_whole(inputs.model.stream), inputs.model.name), Tally())
    return _fit(inputs, select, options, notices)


def _refuse_settings(name: str, *records: Any) -> None:
    """A model was fitted as it was: what would need its data must not be passed over in silence."""
    given = [
        f.metadata["flag"].names[0]
        for record in records
        for f in fields(record)
        if getattr(record, f.name) != f.default
    ]
    if given:
        raise UsageError(f"{name} is a model, fitted already: {', '.join(given)} would change nothing", "give the data")
