"""Options and arguments as short texts, for the shells whose script reads a table of such.

`-o|--output=@any` has two names and takes a file; `*-c|--columns=` can be given again, and nothing is known of its
value; `--whiten=none pca zca` takes one of these words, `--values=+loadings cos2` some of these.
"""

from __future__ import annotations

from pcatool.cli.completion.table import Argument, Option, Value

__all__ = ["of_argument", "of_option"]


def of_option(option: Option) -> str:
    names = starred("|".join(option.names), option.repeatable)
    return names if option.metavar is None else f"{names}={of_value(option.value)}"


def of_argument(argument: Argument) -> str:
    return starred(of_value(argument.value), argument.repeatable)


def of_value(value: Value) -> str:
    files = "".join(f"@{kind}" for kind in value.files)
    return files or f"{'+' if value.listed else ''}{' '.join(value.words)}"


def starred(text: str, repeatable: bool) -> str:
    return f"*{text}" if repeatable else text
