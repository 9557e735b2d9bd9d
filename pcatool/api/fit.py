"""Functions `fit`, `plan` and `compare_rules`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pcatool.api.arguments import job_of, texts
from pcatool.api.keywords import FitSettings
from pcatool.api.messages import errors_name_settings, with_settings
from pcatool.errors import UsageError
from pcatool.model.model import Model
from pcatool.options import (
    ScoreOptions,
)
from pcatool.pipeline import fit as fitting
from pcatool.pipeline import scree as reporting
from pcatool.readers.row_counts import RowCounts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare_rules", "fit", "plan"]


@errors_name_settings
def fit(
    data: Any,
    *,
    scores: str | Path | None = None,
    keep: str | Sequence[str] = (),
    keep_all: bool = False,
    **settings: Unpack[FitSettings],
) -> Model:
    """Fit a model to `data`: a path or several, a DataFrame, an Arrow table, or a two-dimensional array.

    Settings: those of `pcatool fit`, such as components=0.99, standardize=True, center=False, ddof=1, solver="svd",
    missing="drop", columns=["a", "b"], exclude=["c"], and how a file is read, such as delimiter=";". With `scores`,
    the scores of the rows are also written to that file, after the input columns named in `keep`, or after all input
    columns with `keep_all`. Raises `UsageError` for invalid settings, before any data are read; `DataError` for data
    without variance or with missing cells (unless `missing` allows them); `RefusedError` if memory would not suffice.

    >>> import pcatool
    >>> model = pcatool.fit("sample_data/houses.csv", components=1)
    >>> model.columns, model.n_samples, model.k
    (('price', 'area'), 5, 1)
    """
    job = job_of(data, settings)
    request = ScoreOptions(None if scores is None else str(scores), texts(keep), bool(keep_all))
    if request.scores is None:
        return fitting.fit(job).model
    from pcatool.pipeline.fit_and_score import fit_and_score

    return fit_and_score(job, None, request).fitted.model


@errors_name_settings
def plan(data: Any, **settings: Unpack[FitSettings]) -> dict[str, Any]:
    """Return the plan of a fit of `data` as a dict, without fitting: solver, reason, rows, columns, passes, peak_bytes.

    `rows_kept` is in the dict only if the fit keeps its rows for several passes: the bytes in memory and in a temporary
    file, and the folder of the file. `refusal` is in the dict only if `fit` would refuse to use so much memory or disk:
    the text of the error. `parts` is the number of tasks for the workers of a cluster, and `peak_grows` is True if the
    memory grows with the rows, beyond peak_bytes; else these are not in the dict. Settings: those of `fit`.

    >>> import pcatool
    >>> pcatool.plan("sample_data/houses.csv")["solver"]
    'covariance'
    """
    from pcatool.render.summary import plan_facts

    facts = plan_facts(fitting.plan_fit(job_of(data, settings)))
    return facts | {"refusal": with_settings(facts["refusal"])} if "refusal" in facts else facts


@errors_name_settings
def compare_rules(
    model: Any, rules: str | Sequence[str] | None = None, **settings: Unpack[FitSettings]
) -> pd.DataFrame:
    """Return a DataFrame with a row for each rule: its name, the number of components k that it chooses, its reason.

    `model` is a model, the path of a model, or data to fit with the settings of `fit`. `rules` names the rules, in
    a list or with commas; None takes all rules and the default share. A rule that does not apply has no k, and its
    reason says why. Raises `UsageError` for an unknown rule.

    >>> import pcatool
    >>> table = pcatool.compare_rules("sample_data/digits.csv", ["kaiser", "elbow"], exclude="digit")
    >>> table[["rule", "k"]].values.tolist()
    [['kaiser', 14], ['elbow', 3]]
    """
    import pandas as pd

    if isinstance(model, Model) and (others := [name for name in settings if name != "seed"]):
        raise UsageError(
            f"{fitting.no_effect(others)} on a model that is already fitted",
            f"give data instead of a model, or leave out {', '.join(others)}",
        )
    job = job_of(model, settings)
    fitted = fitting.Fitted(model, RowCounts()) if isinstance(model, Model) else fitting.model_or_fit(job)
    if fitted.shown_k is not None:
        what = f"components={settings['components']!r} has no effect: the rules use all eigenvalues"
        raise UsageError(what, "leave out the keyword components")
    asked = rules.split(",") if isinstance(rules, str) else rules
    return pd.DataFrame(reporting.rule_choices(fitted, asked, job.options.seed), columns=["rule", "k", "reason"])
