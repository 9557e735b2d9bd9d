"""Pieces that several sections are made of."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from pcatool.render.report.page_html import Html, element

__all__ = ["COMPONENTS", "bullets", "skeleton", "table"]

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
