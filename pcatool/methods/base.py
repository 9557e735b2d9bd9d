"""Protocol of a method: labels, resources and result of a fit; warnings about components; checks of rules and sums."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import SERIAL, Array, LocalEngine
from pcatool.errors import UsageError
from pcatool.linalg.spectrum import Wish
from pcatool.model.model import SCIKIT_LEARN, Model, component_name
from pcatool.options import MAX_UPDATABLE_COLUMNS
from pcatool.options.fitting import SumSettings, why_no_sums
from pcatool.progress import Reporter
from pcatool.registry import RULES
from pcatool.rules.base import Evidence, rules_for_any_method, split_rule
from pcatool.solvers.base import Problem, Solution
from pcatool.wording import leave_out_all, listed, show

__all__ = [
    "UNLIMITED",
    "Fit",
    "FitResources",
    "Identifiers",
    "Labels",
    "check_rule",
    "linear_model",
    "listed_components",
    "note_constant",
    "rule_with_rows",
    "warn_past_rank",
    "warn_uncertain",
    "why_not_updatable",
]


class Labels(NamedTuple):
    """Label columns of a supervised fit; in every block they follow the features."""

    names: tuple[str, ...]
    classes: bool  # one column with the class number of the row, 0, 1, ... in order of appearance; else numbers
    width: int  # number of label columns
    levels: Callable[[], list[str]]  # returns the names of the classes, after the rows were read


class FitResources(NamedTuple):
    """Limits and resources of a fit, labels, and what is known about its input beside the rows.

    `scoring` takes the number of columns of scores and the bytes of the model; it returns 0 if nothing is scored.
    """

    limit: int | None = None  # memory limit in bytes
    reread: Callable[[], Iterable[Array]] | None = None  # returns all blocks of a table in memory again; else None
    expected: Callable[[], int | None] = lambda: None  # returns the approximate number of rows; None if unknown
    engine: LocalEngine = SERIAL  # adds up over the blocks
    threads: int = 1  # number of blocks that the engine works on at a time
    labels: Labels | None = None  # None unless the fit is supervised
    reading: Callable[[int], int] = lambda threads: 0  # bytes for reading the input with some threads, besides blocks
    scoring: Callable[[int, int], int] = lambda k, model: 0  # bytes at the peak of scoring the same rows
    small: int | None = None  # bytes of rows to hold, so that their number is known before a solver is chosen
    at_least: int = 0  # rows that will come for certain


UNLIMITED = FitResources()


class Fit(NamedTuple):
    """A fitted model, and the evidence by which its number of components was chosen."""

    model: Model
    evidence: Evidence


def linear_model(solution: Solution, basis: Array, columns: tuple[str, ...], meta: Mapping[str, Any]) -> Model:
    """Return the model with this basis (d, k) and metadata, and with the means, scales and sums of the solution."""
    return Model(
        mean=solution.mean,
        std=solution.std,
        basis=basis,
        eigenvalues=solution.eigenvalues,
        total_variance=solution.total_variance,
        n_samples=solution.n,
        columns=columns,
        meta=meta,
        variances=solution.variances,
        statistic=solution.statistic,
    )


# Most components named one by one; more are counted.
FEW = 5


def component_range(first: int, last: int) -> str:
    return component_name(first) if first == last else f"{component_name(first)} to {component_name(last)}"


def listed_components(indices: Sequence[int]) -> str:
    """Return a text such as `PC2, PC5 and 3 more`, with at most FEW names; `indices` count from 0."""
    shown = ", ".join(component_name(j + 1) for j in indices[:FEW])
    return shown if len(indices) <= FEW else f"{shown} and {len(indices) - FEW} more"


def note_constant(reporter: Reporter, columns: Sequence[str], constant: Iterable[int], adding: str) -> None:
    """Report a note with the names of constant columns, if there are any.

    `constant` are their indices; `adding` ends the phrase "which add", for example with "no variance".
    """
    names = [columns[j] for j in constant]
    if names:
        noun, add = ("column", "adds") if len(names) == 1 else ("columns", "add")
        reporter.note(f"kept constant {noun} {listed(names)}, which {add} {adding}")


# Names of identifiers; names of row numbers; names of whole numbers in steps of one that are no identifiers.
IDENTIFIER = re.compile(r"(?:(?:^|[\W_])(?i:id)|[a-z]I[dD])$")
ROW_NUMBER = re.compile(r"(?:^|[\W_])(?:key|index|idx|row|nr|no)$|^unnamed: 0$", re.IGNORECASE)
QUANTITY = re.compile(
    r"(?:^|[\W_])(?:year|quarter|month|week|day|hour|minute|second|time|date|step|t|age|rank)s?(?:[\W_]|$)",
    re.IGNORECASE,
)

# Least number of rows for `numbering`: with fewer rows, a quantity may take each value once.
NUMBERED_ROWS = 100


class Identifiers(NamedTuple):
    """Names of features that look like identifiers of the rows."""

    named: list[str]  # columns with a name such as "user_id"
    numbering: list[str]  # at most one column, whose values are the row numbers from 0 or 1, in any order

    @classmethod
    def of(cls, columns: Sequence[str], solution: Solution, problem: Problem, codes: NDArray[np.bool_]) -> Identifiers:
        """Return the columns that look like identifiers by name or values; `codes` (d,) masks columns of whole numbers.

        A column numbers the rows if its mean and its variance are those of consecutive whole numbers.
        """
        n, found = solution.n, cls([], [])
        codes = codes & (solution.variances > 0)
        first = solution.mean - (n - 1) / 2
        steps = (n - 1) / 12 * (n + 1) * n / max(n - problem.ddof, 1)
        in_steps = codes & (np.abs(solution.variances - steps) <= 1e-9 * steps)
        in_steps &= np.abs(first - np.rint(first)) <= 1e-6
        if problem.weights is not None or not problem.center or problem.rows_centered:
            in_steps[:] = False
        others = []
        for j in np.flatnonzero(codes).tolist():
            name = columns[j]
            if IDENTIFIER.search(name) or (in_steps[j] and ROW_NUMBER.search(name)):
                found.named.append(name)
            elif in_steps[j] and n >= NUMBERED_ROWS and round(first[j]) in (0, 1) and not QUANTITY.search(name):
                others.append(name)
        # Several such columns are ranks.
        return found._replace(numbering=others if len(others) == 1 else [])

    def note(self, reporter: Reporter) -> None:
        """Report notes that name these columns, and say how to leave the columns out."""
        names = self.named
        if names:
            what = (
                "is used as a feature, but holds whole numbers and is named like an identifier"
                if len(names) == 1
                else ("are used as features, but hold whole numbers and are named like identifiers")
            )
            reporter.note(f"{listed(names)} {what}; {leave_out_all(names)}")
        for name in self.numbering:
            what = "is used as a feature, but its values look like row numbers"
            reporter.note(f"{show(name)} {what}; {leave_out_all([name])}")


def warn_past_rank(reporter: Reporter, rank: int, k: int, subject: str, *, label: bool = False) -> None:
    """Warn if k components are more than the rank.

    `subject` stands before "rank" in the warning, with a verb, such as "the data have". With `label`, the words are
    those for supervised PCA: components explain nothing about the label.
    """
    if k > rank:
        one = k == rank + 1
        nothing = f"{'explains' if one else 'explain'} {'nothing about the label' if label else 'no variance'}"
        zero = f"{'its eigenvalue' if one else 'their eigenvalues'}{'' if label else ' and scores'}"
        reporter.warn(
            f"{component_range(rank + 1, k)} {nothing}: {zero} {'is' if one and label else 'are'} 0, "
            f"because {subject} rank {rank} (-k all keeps {rank})"
        )


def warn_uncertain(reporter: Reporter, uncertain: Sequence[int], more: str) -> None:
    """Warn about components whose eigenvalue has fewer than 8 accurate digits, if there are any.

    `uncertain` are their numbers, from 1; `more` is appended to the warning.
    """
    if uncertain:
        noun = "eigenvalue is" if len(uncertain) == 1 else "eigenvalues are"
        names = listed_components([number - 1 for number in uncertain])
        if uncertain[-1] - uncertain[0] == len(uncertain) - 1:
            names = component_range(uncertain[0], uncertain[-1])
        reporter.warn(f"{names}: the {noun} accurate to fewer than 8 digits{more}")


def check_rule(wish: Wish, option: str) -> None:
    """Raise `UsageError` if `wish` is a rule that does not suit every method.

    `option` of the fit, such as `--missing em`, allows only rules that suit every method.
    """
    if isinstance(wish, str) and not RULES[split_rule(wish)[0]].any_method:
        raise UsageError(
            f"-k {show(wish)} does not go with {option}: the rule needs --method pca, and rows that are complete or "
            "filled with means",
            f"give a number, a share such as 0.99, or one of {rules_for_any_method()}",
        )


def rule_with_rows(wish: object) -> str | None:
    """Return the name of the rule in `wish`, the value of -k, if that rule needs the rows, not only sums; else None."""
    rule = split_rule(wish)[0] if isinstance(wish, str) else ""
    return rule if rule and not RULES[rule].needs_spectrum_only else None


def why_not_updatable(model: Model) -> str | None:
    """Return the reason why no rows can be added to or removed from a model, and no settings changed; else None."""
    if model.statistic is not None:
        return None
    meta = model.meta
    settings = SumSettings(
        method=meta.get("method"),
        kernel="kernel" in meta,
        label_kernel=meta.get("label_kernel"),
        triples="absent" in meta,
        missing=meta.get("missing"),
        solver=meta.get("solver"),
    )
    if (reason := why_no_sums(settings)) is not None:
        return reason
    if meta.get("solver") == SCIKIT_LEARN:
        return "the model was imported from scikit-learn, which keeps no sums"
    if model.d > MAX_UPDATABLE_COLUMNS:
        return f"the model has more than {MAX_UPDATABLE_COLUMNS} columns, and --updatable was not given"
    return "the model was fitted with --no-updatable, or by an older pcatool that kept no sums"
