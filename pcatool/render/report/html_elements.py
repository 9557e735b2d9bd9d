"""HTML elements with escaping of outside text, and pieces that several sections use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from pcatool.errors import printable

__all__ = ["MAX_TABLE_COMPONENTS", "Html", "bullet_list", "element", "join", "json_block", "table", "template"]


class Html(str):
    """Text that is already markup and is not escaped again."""

    __slots__ = ()


def element(name: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """Return the element <name attributes>children</name>, with text escaped.

    `class_` becomes class, and `aria_label` becomes aria-label. Attributes that are None or False are omitted.
    """
    markup = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if name in ("img", "input", "meta"):
        return Html(f"<{name}{markup}>")
    return Html(f"<{name}{markup}>{join(*children)}</{name}>")


def _attribute(key: str, value: str | int | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(printable(str(value)))}"'


def join(*children: str | None) -> Html:
    """Return the children concatenated; children that are not Html are escaped, None is omitted."""
    return Html("".join(child if isinstance(child, Html) else escape(printable(child)) for child in children if child))


def json_block(name: str, facts: Any) -> Html:
    """Return a script element with the facts as JSON, escaped so that no text can end the element."""
    text = json.dumps(facts, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')


# Most components in the static tables of the page.
MAX_TABLE_COMPONENTS = 100


def template(name: str) -> Html:
    """Return an HTML file of this folder that a script fills; trusted, so not escaped."""
    return Html((files("pcatool.render.report") / name).read_text(encoding="utf-8"))


def bullet_list(items: Sequence[str]) -> Html:
    return element("ul", *(element("li", item) for item in items), class_="plain")


def table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], class_: str | None = None) -> Html:
    """Return a table in a scrollable region; the first cell of each row is the header of the row."""
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    content = element(
        "table", element("caption", caption), element("thead", head), element("tbody", *body), class_=class_
    )
    return element("div", content, class_="scroll tall", role="region", aria_label=caption, tabindex=0)
