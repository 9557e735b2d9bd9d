"""The scores of the rows of a fit, beside its model."""

from __future__ import annotations

from dataclasses import dataclass

from pcatool.errors import UsageError
from pcatool.options.flags import option
from pcatool.options.wanted import ANY_FILE

__all__ = ["ScoreOptions"]


@dataclass(frozen=True)
class ScoreOptions:
    """Where the scores go, and what goes with them."""

    scores: str | None = option(
        None,
        "--scores",
        group="output",
        metavar="OUT",
        help="Write the scores of the same rows here, too, as transform would; a pipe is read once, through a "
        "temporary file. - is standard output.",
        wanted=ANY_FILE,
    )
    keep: tuple[str, ...] = option(
        (),
        "--keep",
        group="output",
        metavar="COLS",
        help="With --scores: pass these input columns through, ahead of the scores; terms as in -c; repeatable.",
    )
    keep_all: bool = option(False, "--keep-all", group="output", help="With --scores: pass every input column through.")

    def __post_init__(self) -> None:
        given = "--keep-all" if self.keep_all else "--keep" if self.keep else None
        if given is not None and self.scores is None:
            raise UsageError(f"{given} would change nothing here", "it belongs to --scores")
