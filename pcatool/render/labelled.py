"""Lines with labels: in a column of their own on a terminal, at the head of each line in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from pcatool.errors import printable
from pcatool.render.text import fold, paint

__all__ = ["Line", "labelled"]

BOLD = "\x1b[1m"
LABEL = 13  # where words begin, and further on where a label is long

Line = tuple[str, str]  # a label, and what is said under it


def labelled(lines: Sequence[Line], width: int | None, color: bool) -> str:
    """Without a width every line has its label, so that it can be found by it."""
    if width is None:
        return "".join(f"{label}: {printable(text)}\n" for label, text in lines)
    if not lines:
        return ""
    made = []
    begin = max(LABEL, *(len(label) + 2 for label, _ in lines))
    last = ""
    for label, text in lines:
        head = paint(label, BOLD, color) + " " * (begin - len(label)) if label != last else " " * begin
        first, *others = fold(printable(text), max(width - begin, 20))
        made += [head + first, *(" " * begin + other for other in others)]
        last = label
    return "".join(f"{line}\n" for line in made)
