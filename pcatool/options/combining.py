"""How models are fitted again from the sums they keep: with other rows, or otherwise."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pcatool.errors import UsageError
from pcatool.options.fitting import WHITENINGS, parse_components
from pcatool.options.flags import option, require
from pcatool.options.kernels import numbered
from pcatool.options.wanted import MODEL, word_of
from pcatool.registry import RULES

__all__ = ["AlignOptions", "RefitOptions", "UpdateOptions"]


@dataclass(frozen=True)
class AlignOptions:
    """What the components are to be compared with."""

    align_to: Any = option(  # noqa: RUF009  (a path, or from Python a model)
        None,
        "--align-to",
        group="model",
        metavar="OLD",
        help="Give components the signs that they have in this older model, and nearly equal ones its order.",
        wanted=MODEL,
    )


@dataclass(frozen=True)
class UpdateOptions(AlignOptions):
    """How rows are read that a model gains or loses."""

    missing: str | None = option(
        None,
        "--missing",
        group="input",
        help="Rows with missing cells: an error, or dropped.",
        choices=lambda: ("error", "drop"),
        shown_default="as the model was fitted",
    )

    def __post_init__(self) -> None:
        if self.missing is not None:
            require(self.missing, lambda: ("error", "drop"), "--missing")


@dataclass(frozen=True)
class RefitOptions(AlignOptions):
    """What is to be otherwise in a model; all else stays as it was fitted."""

    components: int | float | str | None = option(
        None,
        "-k",
        "--components",
        group="model",
        metavar="K",
        help="How many components: a number, a share of the variance, all, or a rule, as in fit.",
        shown_default="as the model was fitted",
        wanted=word_of(*RULES),
    )
    standardize: bool | None = option(
        None,
        "--standardize/--no-standardize",
        "-s",
        group="model",
        help="Divide each column by its standard deviation, or do not.",
        shown_default="as the model was fitted",
    )
    center: bool | None = option(
        None,
        "--center/--no-center",
        group="model",
        help="Subtract the column means, or do not.",
        shown_default="as the model was fitted",
    )
    ddof: int | None = option(
        None,
        "--ddof",
        group="model",
        metavar="0|1",
        help="Divide by n (0) or by n - 1 (1).",
        shown_default="as the model was fitted",
        wanted=word_of("0", "1"),
    )
    whiten: str | None = option(
        None,
        "--whiten",
        group="model",
        help="Scores of variance 1: pca, or turned back to the original columns: zca.",
        choices=lambda: WHITENINGS,
        shown_default="as the model was fitted",
    )
    epsilon: float | None = option(
        None,
        "--epsilon",
        group="model",
        metavar="E",
        help="Whitening divides by the root of eigenvalue + E; 0 is allowed.",
        shown_default="as the model was fitted",
    )
    columns: tuple[str, ...] = option(
        (),
        "-c",
        "--columns",
        group="model",
        metavar="COLS",
        help="Keep these columns of the model only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; "
        "repeatable.",
        shown_default="all in the model",
    )
    exclude: tuple[str, ...] = option(
        (), "-x", "--exclude", group="model", metavar="COLS", help="Drop these columns; same terms; repeatable."
    )

    def __post_init__(self) -> None:
        if self.components is not None:
            parse_components(self.components)
        if self.ddof is not None:
            word = str(self.ddof)
            if word not in ("0", "1"):
                raise UsageError(f"--ddof {word} is neither 0 nor 1", "0 divides by n, 1 by n - 1")
            object.__setattr__(self, "ddof", int(word))
        if self.whiten is not None:
            require(self.whiten, lambda: WHITENINGS, "--whiten")
        numbered(self, "epsilon", "--epsilon")

    @property
    def changes(self) -> dict[str, Any]:
        """What was asked to be otherwise, by the names of the options of a fit."""
        named = ("components", "standardize", "center", "ddof", "whiten", "epsilon")
        given = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        return {"epsilon": None, **given} if "whiten" in given else given

    @property
    def changes_nothing(self) -> bool:
        return all(getattr(self, f.name) == f.default for f in fields(self))
