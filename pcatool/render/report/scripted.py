"""The sections that are made of numbers of their own: loadings, scores, images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcatool.render.report.page_html import Html, element
from pcatool.render.report.pieces import skeleton, table
from pcatool.render.theme import signed
from pcatool.render.words import counted, grouped

__all__ = ["images", "loadings", "scores"]

# Rows and components of tables for those who have no scripts.
COLUMNS, FIRST = 20, 5


# --- loadings ---


def loadings(found: Mapping[str, Any]) -> list[Html]:
    if "reason" in found:
        return [element("p", f"There are none: {found['reason']}.")]
    rows = sorted(range(len(found["columns"])), key=lambda i: -abs(found["loadings"][i][0]))[:COLUMNS]
    first = len(found["loadings"][0][:FIRST])
    cells = [(found["columns"][i], *(signed(value, 4) for value in found["loadings"][i][:first])) for i in rows]
    caption = f"The {counted(len(rows), 'column')} with the largest loadings on PC1"
    made = table(caption, ("column", *(f"PC{j + 1}" for j in range(first))), cells)
    return [skeleton("loadings.html"), element("noscript", made)]


# --- scores ---


def scores(found: Mapping[str, Any] | None) -> list[Html]:
    if found is None:
        said = "There are no rows in this page: name data after the model to see their scores, too."
        return [element("p", said)]
    shown, of = len(found["rows"]), found["of"]
    which = (
        f"{grouped(shown)} of {grouped(of)} rows, chosen evenly by their numbers"
        if shown < of
        else f"All {grouped(of)} rows"
        if of > 1
        else "The only row"
    )
    said = element("p", f"{which}.{_incomplete(found)}")
    return [said, skeleton("scores.html"), element("noscript", _some_scores(found))]


def _incomplete(found: Mapping[str, Any]) -> str:
    """How many of all rows have missing cells, in this page or not, and how many of them no scores."""
    lacking, empty, of = found["incomplete"], found["empty"], found["of"]
    if not lacking:
        return ""
    if of == 1:
        return f" It has missing cells{', and no scores' if empty else ''}."
    has = "has" if lacking == 1 else "have"
    without = ", and no scores" if empty == lacking else f"; {grouped(empty)} of them no scores" if empty else ""
    return f" Of all {grouped(of)} rows {grouped(lacking)} {has} missing cells{without}."


def _some_scores(found: Mapping[str, Any]) -> Html:
    names = [*(name for name, _ in found["kept"]), *found["names"][:FIRST]]
    columns = [*(cells for _, cells in found["kept"]), *found["scores"][:FIRST]]
    cells = [
        (str(row), *("missing" if column[i] is None else str(column[i]) for column in columns))
        for i, row in enumerate(found["rows"][:COLUMNS])
    ]
    return table(f"The first {counted(len(cells), 'row')}", ("row", *names), cells)


# --- images ---


def images(found: Mapping[str, Any]) -> list[Html]:
    H, W = found["shape"]
    figures = [
        element(
            "li",
            element(
                "figure",
                element("img", src=one["png"], alt=f"{one['name']} as an image of {H} by {W} pixels"),
                element("figcaption", element("span", one["name"]), element("span", one["share"])),
            ),
        )
        for one in found["components"]
    ]
    shown, of = len(figures), found["of"]
    which = f"The {shown} components" if shown == of else f"The first {shown} of {of} components"
    said = f"{which} as images of {H} by {W} pixels, in one scale of colours; {found['share']}."
    return [element("p", said), element("div", *_keys(found), class_="keys"), element("ul", *figures, class_="images")]


def _keys(found: Mapping[str, Any]) -> list[Html]:
    peak = found["peak"]
    ends = element("span", element("i", f"\N{MINUS SIGN}{peak}"), element("i", "0"), element("i", peak))
    scale = element(
        "p",
        "loading",
        element("img", src=found["scale"], alt="from blue through white to orange"),
        ends,
        class_="scale",
    )
    mean = found["mean"]
    if mean is None:
        return [scale]
    ends = element("span", element("i", mean["low"]), element("i", mean["high"]), class_="ends")
    figure = element(
        "figure",
        element("figcaption", "mean"),
        element("img", src=mean["png"], alt="the mean as an image"),
        ends,
        class_="mean",
    )
    return [figure, scale]
