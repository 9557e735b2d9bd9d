"""The sections of the report page; each is readable without scripts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pcatool.errors import counted
from pcatool.render.figures import signed
from pcatool.render.inspection import fact_lines, proof_lines
from pcatool.render.report.page_html import COMPONENTS, Html, bullets, element, join, skeleton, table
from pcatool.render.report.words import PROOFS, caveats, verdict
from pcatool.render.text import grouped, percent

__all__ = ["sections"]

# --- certificate ---


def certificate_section(facts: Mapping[str, Any]) -> list[Html]:
    """Return the section on the accuracy of the eigenvalues and the measured proofs."""
    certificate = facts["certificate"] or {}
    proofs = [
        (title, f"{certificate[key]:.1e}" if certificate[key] else "0", meaning)
        for key, (title, meaning) in PROOFS.items()
        if certificate.get(key) is not None
    ]
    rows = [row for row in facts["variance"] if row["kept"] and "vouched" in row]
    made = [element("p", verdict(facts), class_="verdict")]
    detail = [text for _, text in proof_lines(facts)[:-1] if ";" in text or not text.startswith("eigenvalues are")]
    if rows and detail:
        made.append(bullets([f"{text[0].upper()}{text[1:]}" for text in detail]))
    if proofs:
        made.append(table("What was measured after the fit", ("proof", "value", "what it says"), proofs, "words"))
    if rows:
        made.append(element("details", element("summary", "Digits of each eigenvalue"), _digits(rows)))
    return made


def _digits(rows: Sequence[Mapping[str, Any]]) -> Html:
    """Return the table of the accuracy of each eigenvalue."""
    cells = [
        (
            f"PC{row['component']}",
            f"{row['eigenvalue']:.15g}",
            "none" if row["relative_error"] is None else f"{row['relative_error']:.1e}",
            str(row["digits"]),
            "yes" if row["vouched"] else "no",
        )
        for row in rows[:COMPONENTS]
    ]
    left = len(rows) - len(cells)
    more = [element("p", f"And {left} more, which pcatool inspect -v prints.", class_="quiet")] if left else []
    titles = ("component", "eigenvalue", "off by at most", "digits", "vouched for")
    caption = "How far each eigenvalue can be relied on; the bound is a part of the eigenvalue itself"
    return join(table(caption, titles, cells), *more)


# --- commands ---


def commands_section(facts: Mapping[str, Any]) -> list[Html]:
    """Return the section with the command that made the model, commands to use it, and what it cannot do."""
    commands = facts["commands"]
    made = [element("h3", "What made this model")]
    if commands["fit"] is None:
        made.append(element("p", f"No command of pcatool: {'; '.join(commands['remarks'])}."))
    else:
        made.append(_command(commands["fit"], "what made this model"))
        made.append(
            element(
                "p",
                "data.csv stands for your rows. How they are read is not in a model: give it as you did.",
                class_="quiet",
            )
        )
        made += [element("p", f"{remark[0].upper()}{remark[1:]}.", class_="quiet") for remark in commands["remarks"]]
    for what, text in commands["uses"]:
        made += [element("h3", f"{what[0].upper()}{what[1:]}"), _command(text, what)]
    reasons: dict[str, list[str]] = {}
    for name, reason in facts["cannot"].items():
        reasons.setdefault(reason, []).append(name)
    if reasons:
        made.append(element("h3", "What it cannot do"))
        made.append(bullets([f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]))
    return made


def _words(text: str) -> list[Html]:
    """Return each word of a command in a span, so that lines break only between words."""
    spans = [element("span", word) for word in text.split(" ")]
    return [join(" ", span) if i else span for i, span in enumerate(spans)]


def _command(text: str, what: str) -> Html:
    code = element("pre", element("code", *_words(text)), tabindex=0, aria_label=f"Command: {what}")
    button = element(
        "button", "Copy", type="button", class_="copy needs-script", hidden=True, aria_label=f"Copy the command: {what}"
    )
    return element("div", code, button, class_="command")


# Rows and components in the tables for browsers without scripts.
COLUMNS, FIRST = 20, 5


# --- loadings ---


def loadings(found: Mapping[str, Any]) -> list[Html]:
    """Return the section of loadings, or the reason why there are none."""
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
    """Return the section of scores; None if the page has no rows."""
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
    """Return a sentence on how many of all rows have missing cells, and how many of these have no scores."""
    lacking, empty, of = found["incomplete"], found["empty"], found["of"]
    if not lacking:
        return ""
    if of == 1:
        return f" It has missing cells{', and no scores' if empty else ''}."
    has = "has" if lacking == 1 else "have"
    without = ", and no scores" if empty == lacking else f"; {grouped(empty)} of them no scores" if empty else ""
    return f" Of all {grouped(of)} rows {grouped(lacking)} {has} missing cells{without}."


def _some_scores(found: Mapping[str, Any]) -> Html:
    """Return a table of the scores of the first rows, for browsers without scripts."""
    names = [*(name for name, _ in found["kept"]), *found["names"][:FIRST]]
    columns = [*(cells for _, cells in found["kept"]), *found["scores"][:FIRST]]
    cells = [
        (str(row), *("missing" if column[i] is None else str(column[i]) for column in columns))
        for i, row in enumerate(found["rows"][:COLUMNS])
    ]
    return table(f"The first {counted(len(cells), 'row')}", ("row", *names), cells)


# --- images ---


def images(found: Mapping[str, Any]) -> list[Html]:
    """Return the section with the components as images, from `image_facts`."""
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
    """Return the image of the mean, if there is one, and the colour scale of the loadings."""
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


Section = tuple[str, str, Html]  # (id, title, whole section element)


def sections(facts: Mapping[str, Any]) -> list[Section]:
    """Return all sections of the page in order; images and caveats only if there are any."""
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
    """Return the large numbers of the summary: rows, columns, components, kept share."""
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
    """Return the lines of `inspect` on the model, without file and rows, as a definition list."""
    lines = [line for line in fact_lines(facts) if line[0] not in ("file", "rows")]
    said = [join(element("dt", label), element("dd", per_cent(text))) for label, text in lines]
    return element("dl", *said, class_="facts")


def per_cent(text: str) -> str:
    """Return a line of terminal text with a space before each per cent sign, as in pages and pictures."""
    return re.sub("(?<=[0-9])%", " %", text)


# --- scree ---


def _variances(facts: Mapping[str, Any]) -> Html:
    """Return the table of the variance that each number of components captures and loses."""
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
