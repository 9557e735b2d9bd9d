"""Slips of the hand and of the clipboard in a call: what was typed, and what was meant."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from glob import glob
from pathlib import Path

from pcatool.errors import UsageError, near_file, show
from pcatool.registry import READERS
from pcatool.stores.uri import is_remote

__all__ = ["COMMANDS", "refuse_apart", "refuse_pasted", "refuse_short_equals", "refuse_truth"]

# How others call commands, or what they are taken for.
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
    "fit-transform": "fit",
    "svd": "fit",
    "denoise": "reconstruct",
    "impute": "reconstruct",
    "variance": "explain-variance",
    "screeplot": "scree",
    "biplot": "plot",
    "draw": "plot",
    "version": "--version",
}

# What word processors and web pages make of hyphens and of quotation marks.
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"


# Values that options of other tools take where an option here takes none.
TRUTH = ("true", "false", "yes", "no", "on", "off", "0", "1", "2")

# Names of files end so, whether the file is there or not.
ENDINGS = (*(suffix for name in READERS for suffix in READERS[name].suffixes), ".npz", ".gz", ".bz2", ".zst", ".zstd")


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


def refuse_truth(words: Sequence[str], flags: Collection[str], valued: Collection[str]) -> None:
    """`--standardize true` would read the file true. `flags`: options that take no value; `valued`: those that do."""
    at, before = 0, ""
    while at < len(words) and words[at] != "--":
        word = words[at]
        if before and word.lower() in TRUTH and not os.path.lexists(word):
            raise UsageError(
                f"{show(word)} after {before} would be read as a file, and there is none",
                f"{before} takes no value: leave out {show(word)}, or both",
            )
        before = word if word in flags else ""
        at += _option_at(words, at, valued)[2]


def refuse_apart(
    words: Sequence[str], several: Mapping[str, tuple[str, str]], valued: Collection[str], choices: Collection[str]
) -> None:
    """`-c a b` would read the column a of the file b.

    `several`: options that take more than one value, with the mark between and a word for one; `valued`: all that take
    a value; `choices`: words with a meaning of their own where they stand.
    """
    at = 0
    while at < len(words) and words[at] != "--":
        flag, value, taken = _option_at(words, at, valued)
        at += taken
        if flag not in several:
            continue
        more = at
        while more < len(words) and words[more] not in choices and not _is_input(words[more]):
            more += 1
        if more > at:
            _refuse_more(flag, value, words[at:more], several[flag])


def _option_at(words: Sequence[str], at: int, valued: Collection[str]) -> tuple[str, str, int]:
    """The option that begins at a word, its value, and how many words both are; no option where the word is none."""
    word = words[at]
    if word in valued:
        return word, words[at + 1] if at + 1 < len(words) else "", 2
    name, equals, value = word.partition("=")
    if equals and name in valued:
        return name, value, 1
    if word[:1] == "-" and word[1:2] != "-" and word[:2] in valued:
        return word[:2], word[2:], 1
    return "", "", 1


def _is_input(word: str) -> bool:
    """May a word be the name of a file, or an option?"""
    folder = os.path.dirname(word)  # noqa: PTH120
    named = word.lower().endswith(ENDINGS) or (folder and os.path.isdir(folder)) or is_remote(word)  # noqa: PTH112
    return word[:1] == "-" or bool(named) or os.path.lexists(word) or bool(glob(word)) or bool(near_file(word))


def _refuse_more(flag: str, value: str, more: Sequence[str], kind: tuple[str, str]) -> None:
    mark, one = kind
    terms = [part for part in (word.strip(",") for word in (value, *more)) if part]
    what = f"it looks like a {one}" if len(more) == 1 else f"they look like {one}s"
    raise UsageError(
        f"{', '.join(show(word) for word in more)} after {flag} {shlex.quote(value)} would be read as a file, and "
        "there is none",
        f"{what}: write {flag} {shlex.quote(mark.join(terms))}",
    )
