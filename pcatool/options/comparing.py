"""How the difference of two models is printed."""

from __future__ import annotations

from dataclasses import dataclass

from pcatool.options.flags import option, require

__all__ = ["DiffOptions"]

FORMS = ("text", "csv", "json", "markdown")


@dataclass(frozen=True)
class DiffOptions:
    """Words and tables to read, or one row for each thing compared."""

    format: str = option(
        "text",
        "--format",
        group="output",
        help="Text to read, or one row for each thing compared: what, name, a, b, change.",
        choices=lambda: FORMS,
    )

    def __post_init__(self) -> None:
        require(self.format, lambda: FORMS, "--format")
