"""Slips of the hand and of the clipboard in a call: what was typed, and what was meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from pcatool.errors import UsageError, show

__all__ = ["COMMANDS", "OPTIONS", "refuse_pasted", "refuse_short_equals"]

# How others call what there is here: scikit-learn, pandas, csvkit, Miller.
OPTIONS = {
    "--n-components": "--components",
    "--scale": "--standardize",
    "--normalize": "--standardize",
    "--zscore": "--standardize",
    "--sep": "--delimiter",
    "--separator": "--delimiter",
    "--ifs": "--delimiter",
    "--fs": "--delimiter",
    "--na": "--null-value",
    "--na-values": "--null-value",
    "--skiprows": "--skip-lines",
    "--no-header-row": "--no-header",
    "--usecols": "--columns",
    "--select": "--columns",
    "--drop": "--exclude",
    "--out": "--output",
    "--precision": "--float-format",
}
COMMANDS = {
    "train": "fit",
    "learn": "fit",
    "pca": "fit",
    "predict": "transform",
    "apply": "transform",
    "project": "transform",
    "score": "transform",
    "scores": "transform",
    "inverse": "reconstruct",
    "inverse-transform": "reconstruct",
    "invert": "reconstruct",
    "eigenvalues": "explain-variance",
    "loadings": "components",
    "info": "inspect",
    "show": "inspect",
    "describe": "inspect",
    "compare": "diff",
    "add": "update",
    "partial-fit": "update",
    "combine": "merge",
    "version": "--version",
}

# What word processors and web pages make of hyphens and of quotation marks.
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"


def refuse_pasted(words: Sequence[str]) -> None:
    """Words that a web page has set in type; a file may be called so, however odd that is."""
    for word in words:
        if word[:1] in (*DASHES, *QUOTES) and not Path(word).exists():
            if word[0] in DASHES:
                stem = word.lstrip(DASHES + "-")
                dashes = "-" if len(re.split(r"[=:]", stem)[0]) == 1 else "--"
                raise UsageError(f"{show(word)} begins with a dash that is no hyphen", f"type it anew: {dashes}{stem}")
            raise UsageError(
                f"{show(word)} is in quotation marks that no shell knows", "type them anew: plain ' or \", or none"
            )


def refuse_short_equals(words: Sequence[str], options: Collection[str]) -> None:
    """`-k=3` would be read as the value `=3`. `options`: the short ones that take a value."""
    for word in words:
        short, equals, value = word.partition("=")
        if equals and value and short in options:
            raise UsageError(f"{show(word)}: a short option takes no =", f"write {short} {value}")
