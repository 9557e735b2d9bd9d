"""Protocol of a method: what a fit takes and gives, what is said of its components, whether its sums are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pcatool.arrays import Array, Runner, in_turn
from pcatool.errors import UsageError, listed, show
from pcatool.linalg.spectrum import Wish
from pcatool.model.from_sklearn import SCIKIT_LEARN
from pcatool.model.model import Model
from pcatool.options import MOST_KEPT
from pcatool.progress import Notices
from pcatool.registry import RULES
from pcatool.rules.base import SPECTRAL_RULES, Evidence, split_rule
from pcatool.solvers.base import Solution

__all__ = [
    "NOTHING_MORE",
    "Fit",
    "Labels",
    "Supply",
    "check_rule",
    "linear_model",
    "listed_components",
    "reason_against",
    "rule_with_rows",
    "tell_constant",
    "warn_past_rank",
    "warn_unsure",
]


class Labels(NamedTuple):
    """What supervises: columns that follow the features in every block."""

    names: tuple[str, ...]
    classes: bool  # one column with the number of the row's class, 0, 1, ... as they first appear; else numbers
    width: int  # of the columns
    levels: Callable[[], list[str]]  # names of the classes, once the rows were read


class Supply(NamedTuple):
    """What a fit may ask of where its rows come from, and of who works on them.

    `scoring` takes the number of components and the bytes of the model; it gives 0 where nothing is scored.
    """

    limit: int | None = None  # bytes of memory
    reread: Callable[[], Iterable[Array]] | None = None  # all blocks once more
    expected: Callable[[], int | None] = lambda: None  # about how many rows there are
    run: Runner = in_turn  # who works on the blocks
    threads: int = 1  # at how many of them at a time
    labels: Labels | None = None
    reading: Callable[[], int] = lambda: 0  # bytes that the input takes while it is read, beside blocks
    scoring: Callable[[int, int], int] = lambda k, model: 0  # bytes at the peak while the same rows are scored
    small: int | None = None  # bytes of rows that are held, to know their number before a solver is chosen


NOTHING_MORE = Supply()


class Fit(NamedTuple):
    """A model, and what the rules for k looked at."""

    model: Model
    evidence: Evidence


def linear_model(solution: Solution, basis: Array, columns: tuple[str, ...], meta: Mapping[str, Any]) -> Model:
    """The model of what a solver found."""
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


# Components named one by one; more are counted.
FEW = 5


def span(first: int, last: int) -> str:
    return f"PC{first}" if first == last else f"PC{first} to PC{last}"


def listed_components(indices: Sequence[int]) -> str:
    """PC2, PC5 and 3 more, of components counted from 0."""
    shown = ", ".join(f"PC{j + 1}" for j in indices[:FEW])
    return shown if len(indices) <= FEW else f"{shown} and {len(indices) - FEW} more"


def tell_constant(notices: Notices, columns: Sequence[str], constant: Iterable[int], so: str) -> None:
    names = [columns[j] for j in constant]
    if names:
        notices.note(f"constant {'column' if len(names) == 1 else 'columns'}, {so}: {listed(names)}")


def warn_past_rank(notices: Notices, rank: int, k: int, of: str, zero: str) -> None:
    """Components past the rank: what they carry nothing of, and what is 0 there."""
    if k > rank:
        carries = "carries" if k == rank + 1 else "carry"
        notices.warn(f"{span(rank + 1, k)} {carries} nothing{of} rank {rank}; {zero} are 0 (-k all keeps {rank})")


def warn_unsure(notices: Notices, unsure: Sequence[int], more: str) -> None:
    """Components whose eigenvalue may be rounding."""
    if unsure:
        noun = "eigenvalue is" if len(unsure) == 1 else "eigenvalues are"
        notices.warn(f"{span(unsure[0], unsure[-1])}: the {noun} not told from rounding to 8 digits{more}")


def check_rule(wish: Wish, method: str) -> None:
    """Refuse the rules that reckon with noise in rows of columns, or leave cells out."""
    if isinstance(wish, str) and split_rule(wish)[0] not in SPECTRAL_RULES:
        raise UsageError(
            f"-k {show(wish)} does not go with --method {method}: it reckons with the covariance of rows",
            f"give a number, a share such as 0.99, or one of {', '.join(SPECTRAL_RULES)}",
        )


def rule_with_rows(wish: object) -> str | None:
    """The rule for k that cannot be asked of sums, if the wish is one."""
    rule = split_rule(wish)[0] if isinstance(wish, str) else ""
    return rule if rule and not RULES[rule].alone else None


def reason_against(model: Model) -> str | None:
    """Why rows cannot be added to a model, nor taken from it, nor its settings changed; None where they can."""
    if model.statistic is not None:
        return None
    meta = model.meta
    reasons = {
        "kernel PCA keeps rows, not sums over them": meta.get("method") == "kernel",
        "with --kernel the labels are compared with all rows at once": "kernel" in meta,
        "the label kernel rbf compares all rows with all": meta.get("label_kernel") == "rbf",
        "single cells were fitted, not whole rows": "absent" in meta,
        "what stands in for missing cells depends on all rows": meta.get("missing") in ("mean", "em"),
        "solver randomized forms no sums that add up": meta.get("solver") == "randomized",
        "it was taken from scikit-learn, which has none": meta.get("solver") == SCIKIT_LEARN,
        f"it has more than {MOST_KEPT} columns, and --updatable was not given": model.d > MOST_KEPT,
    }
    other = "it was fitted with --no-updatable, or by a pcatool that kept no sums"
    return next((reason for reason, true in reasons.items() if true), other)
