"""What every method has to say of its components before they are trusted, in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pcatool.errors import UsageError, listed, show
from pcatool.linalg.spectrum import Wish
from pcatool.progress import Notices
from pcatool.rules.base import SPECTRAL_RULES, split_rule

__all__ = ["check_rule", "listed_components", "span", "tell_constant", "warn_past_rank", "warn_unsure"]

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
