"""Elements of HTML, in which text from outside is text and nothing else."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from pcatool.errors import printable

__all__ = ["Html", "data_block", "element", "join"]


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """<name attributes>children</name>. `class_` is class, `aria_label` is aria-label; None and False are left out."""
    said = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if name in ("img", "input", "meta"):
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{join(*children)}</{name}>")


def _attribute(key: str, value: str | int | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(printable(str(value)))}"'


def join(*children: str | None) -> Html:
    """One after the other; what is no markup yet is made text."""
    return Html("".join(child if isinstance(child, Html) else escape(printable(child)) for child in children if child))


def data_block(name: str, facts: Any) -> Html:
    """Facts for a script. No text in them can end the block, whatever it says."""
    text = json.dumps(facts, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')
