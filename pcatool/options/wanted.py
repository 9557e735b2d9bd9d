"""What a value on the command line is the name of: shells complete it by this, and documents may say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["ANY_FILE", "DATA", "MODEL", "MODEL_OR_DATA", "NOTHING", "Wanted", "some_of", "word_of"]


class Wanted(NamedTuple):
    """Files of some kinds, words that are known, or nothing that could be told beforehand."""

    files: tuple[str, ...] = ()  # kinds of files: model, data, any
    words: Callable[[], tuple[str, ...]] = tuple  # other values may be right, too: a number of components, and a rule
    listed: bool = False  # several of the words, with commas between


NOTHING = Wanted()
MODEL = Wanted(("model",))
DATA = Wanted(("data",))
MODEL_OR_DATA = Wanted(("model", "data"))
ANY_FILE = Wanted(("any",))


def word_of(*words: str) -> Wanted:
    return Wanted(words=lambda: words)


def some_of(*words: str) -> Wanted:
    return Wanted(words=lambda: words, listed=True)
