"""The sections of a page, each readable without a script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pcatool.render.inspection import fact_lines
from pcatool.render.report.page_html import Html, element, join
from pcatool.render.report.pieces import COMPONENTS, bullets, skeleton, table
from pcatool.render.report.proofs import certificate_section, commands_section
from pcatool.render.report.scripted import images, loadings, scores
from pcatool.render.report.words import caveats
from pcatool.render.shares import percent
from pcatool.render.words import grouped

__all__ = ["sections"]

Section = tuple[str, str, Html]  # its name, its title, and all of it


def sections(facts: Mapping[str, Any]) -> list[Section]:
    page = facts["page"]
    made = [
        _section("summary", "Summary", _tiles(facts), _facts(facts)),
        _section("scree", "Scree", skeleton("scree.html"), _variances(facts)),
        _section("loadings", "Loadings", *loadings(page["loadings"])),
        _section("scores", "Scores", *scores(page["scores"])),
    ]
    if page["images"] is not None:
        made.append(_section("images", "Images", *images(page["images"])))
    said = caveats(facts)
    if said:
        made.append(_section("caveats", "Caveats", bullets(said)))
    made.append(_section("certificate", "Certificate", *certificate_section(facts)))
    made.append(_section("commands", "Commands", *commands_section(facts)))
    return made


def _section(name: str, title: str, *children: str | None) -> Section:
    heading = element("h2", title, id=f"{name}-title")
    return name, title, element("section", heading, *children, id=name, aria_labelledby=f"{name}-title")


# --- summary ---


def _tiles(facts: Mapping[str, Any]) -> Html:
    tiles = {
        "rows": grouped(facts["rows"]),
        "columns": grouped(len(facts["columns"])),
        "components": grouped(facts["components"]),
        "kept": percent(facts["cumulative"]),
    }
    return element(
        "dl",
        *(element("div", element("dt", what), element("dd", value)) for what, value in tiles.items()),
        class_="tiles",
    )


def _facts(facts: Mapping[str, Any]) -> Html:
    lines = [line for line in fact_lines(facts) if line[0] not in ("file", "rows")]
    said = [join(element("dt", label), element("dd", per_cent(text))) for label, text in lines]
    return element("dl", *said, class_="facts")


def per_cent(text: str) -> str:
    """Lines of a terminal as pages and pictures write them."""
    return re.sub("(?<=[0-9])%", " %", text)


# --- scree ---


def _variances(facts: Mapping[str, Any]) -> Html:
    rows = facts["variance"][:COMPONENTS]
    titles = ("component", "eigenvalue", "share", "cumulative", "captured", "lost", "kept")
    cells = [
        (
            f"PC{row['component']}",
            *(f"{row['eigenvalue']:.6g}", percent(row["share"], 4), percent(row["cumulative"], 4)),
            *(f"{row['captured']:.6g}", f"{row['lost']:.6g}", "yes" if row["kept"] else "no"),
        )
        for row in rows
    ]
    left = len(facts["variance"]) - len(rows)
    caption = f"What each number of components captures and loses; ddof {facts['ddof']}"
    more = [element("p", f"And {left} more, which pcatool explain-variance prints.", class_="quiet")] if left else []
    return element("details", element("summary", "The numbers"), table(caption, titles, cells), *more)
