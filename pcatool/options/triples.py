"""Tables with one line for each cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pcatool.errors import UsageError
from pcatool.options.flags import option, require

__all__ = ["ABSENT", "TriplesOptions"]

ABSENT = ("missing", "zero")


@dataclass(frozen=True)
class TriplesOptions:
    """What the lines of the input are, and what the cells that none of them gives."""

    triples: str | None = option(
        None,
        "--triples",
        group="input",
        metavar="COLS",
        help="One line for each cell: the columns of user, item and value, as in --triples user,item,rating. "
        "A row for each user, a column for each item.",
    )
    absent: str | None = option(
        None,
        "--absent",
        group="input",
        help="With --triples: cells that no line gives are missing, or zero (counts, words of documents).",
        choices=lambda: ABSENT,
        shown_default="missing, or as the model was fitted",
    )

    def check_triples(self, others: dict[str, Any]) -> None:
        """Refuse what makes no sense with triples, or without."""
        if self.absent is not None:
            require(self.absent, lambda: ABSENT, "--absent")
        if not self.triples:
            if self.absent is not None:
                raise UsageError("--absent would change nothing here", "it belongs to --triples")
            return
        given = [flag for flag, used in others.items() if used]
        if given:
            raise UsageError(f"{given[0]} does not go with --triples", f"leave out {given[0]}")
