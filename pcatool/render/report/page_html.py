"""Elements of HTML in which text from outside is text alone, and pieces that several sections use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from pcatool.errors import printable

__all__ = ["COMPONENTS", "Html", "bullets", "data_block", "element", "join", "skeleton", "table"]


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


# Components in tables that stand in the page as they are.
COMPONENTS = 100


def skeleton(name: str) -> Html:
    """What a script fills, without anything from outside in it."""
    return Html((files("pcatool.render.report") / name).read_text(encoding="utf-8"))


def bullets(items: Sequence[str]) -> Html:
    return element("ul", *(element("li", item) for item in items), class_="plain")


def table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], class_: str | None = None) -> Html:
    """The first cell of each row names it; a table may be wider than the window."""
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    made = element("table", element("caption", caption), element("thead", head), element("tbody", *body), class_=class_)
    return element("div", made, class_="scroll tall", role="region", aria_label=caption, tabindex=0)
