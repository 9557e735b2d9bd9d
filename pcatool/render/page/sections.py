"""The sections of a page, each readable without a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from pcatool.render.inspection import fact_lines, proof_lines
from pcatool.render.missing import counted
from pcatool.render.page.markup import Html, element, join
from pcatool.render.page.words import PROOFS, caveats, verdict

__all__ = ["sections"]

# Rows of tables that stand in the page as they are, beside what scripts draw.
COMPONENTS, COLUMNS, FIRST = 100, 20, 5

Section = tuple[str, str, Html]  # its name, its title, and all of it


def sections(facts: Mapping[str, Any]) -> list[Section]:
    page = facts["page"]
    made = [
        _section("summary", "Summary", _tiles(facts), _facts(facts)),
        _section("scree", "Scree", _skeleton("scree.html"), _variances(facts)),
        _section("loadings", "Loadings", *_loadings(page["loadings"])),
        _section("scores", "Scores", *_scores(page["scores"])),
    ]
    if page["images"] is not None:
        made.append(_section("images", "Images", *_images(page["images"])))
    said = caveats(facts)
    if said:
        made.append(_section("caveats", "Caveats", _list(said)))
    made.append(_section("certificate", "Certificate", *_certificate(facts)))
    made.append(_section("commands", "Commands", *_commands(facts)))
    return made


def _section(name: str, title: str, *children: str | None) -> Section:
    heading = element("h2", title, id=f"{name}-title")
    return name, title, element("section", heading, *children, id=name, aria_labelledby=f"{name}-title")


def _skeleton(name: str) -> Html:
    """What a script fills, without anything from outside in it."""
    return Html((files("pcatool.render.page") / name).read_text(encoding="utf-8"))


def _list(items: Sequence[str]) -> Html:
    return element("ul", *(element("li", item) for item in items), class_="plain")


def _table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], class_: str | None = None) -> Html:
    """The first cell of each row names it; a table may be wider than the window."""
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    table = element(
        "table", element("caption", caption), element("thead", head), element("tbody", *body), class_=class_
    )
    return element("div", table, class_="scroll tall", role="region", aria_label=caption, tabindex=0)


# --- summary ---


def _tiles(facts: Mapping[str, Any]) -> Html:
    tiles = {
        "rows": f"{facts['rows']:,}",
        "columns": f"{len(facts['columns']):,}",
        "components": f"{facts['components']:,}",
        "kept": f"{facts['cumulative']:.2%}",
    }
    return element(
        "dl",
        *(element("div", element("dt", what), element("dd", value)) for what, value in tiles.items()),
        class_="tiles",
    )


def _facts(facts: Mapping[str, Any]) -> Html:
    lines = [line for line in fact_lines(facts) if line[0] not in ("file", "rows")]
    said = [join(element("dt", label), element("dd", text)) for label, text in lines]
    return element("dl", *said, class_="facts")


# --- scree ---


def _variances(facts: Mapping[str, Any]) -> Html:
    rows = facts["variance"][:COMPONENTS]
    titles = ("component", "eigenvalue", "share", "cumulative", "captured", "lost", "kept")
    cells = [
        (
            f"PC{row['component']}",
            *(f"{row['eigenvalue']:.6g}", f"{row['share']:.4%}", f"{row['cumulative']:.4%}"),
            *(f"{row['captured']:.6g}", f"{row['lost']:.6g}", "yes" if row["kept"] else "no"),
        )
        for row in rows
    ]
    left = len(facts["variance"]) - len(rows)
    caption = f"What each number of components captures and loses; ddof {facts['ddof']}"
    more = [element("p", f"And {left} more, which pcatool explain-variance prints.", class_="quiet")] if left else []
    return element("details", element("summary", "The numbers"), _table(caption, titles, cells), *more)


# --- loadings ---


def _loadings(found: Mapping[str, Any]) -> list[Html]:
    if "reason" in found:
        return [element("p", f"There are none: {found['reason']}.")]
    rows = sorted(range(len(found["columns"])), key=lambda i: -abs(found["loadings"][i][0]))[:COLUMNS]
    first = len(found["loadings"][0][:FIRST])
    cells = [(found["columns"][i], *(f"{value:.4f}" for value in found["loadings"][i][:first])) for i in rows]
    caption = f"The {counted(len(rows), 'column')} with the largest loadings on PC1"
    table = _table(caption, ("column", *(f"PC{j + 1}" for j in range(first))), cells)
    return [_skeleton("loadings.html"), element("noscript", table)]


# --- scores ---


def _scores(found: Mapping[str, Any] | None) -> list[Html]:
    if found is None:
        said = "There are no rows in this page: name data after the model to see their scores, too."
        return [element("p", said)]
    shown, of = len(found["rows"]), found["of"]
    which = (
        f"{shown:,} of {of:,} rows, chosen evenly by their numbers"
        if shown < of
        else f"All {of:,} rows"
        if of > 1
        else "The only row"
    )
    lacking = sum(score is None for score in found["scores"][0])
    empty = (
        f" {counted(lacking, 'row')} with missing cells {'has' if lacking == 1 else 'have'} no scores."
        if lacking
        else ""
    )
    return [element("p", f"{which}.{empty}"), _skeleton("scores.html"), element("noscript", _some_scores(found))]


def _some_scores(found: Mapping[str, Any]) -> Html:
    names = [*(name for name, _ in found["kept"]), *found["names"][:FIRST]]
    columns = [*(cells for _, cells in found["kept"]), *found["scores"][:FIRST]]
    cells = [
        (str(row), *("missing" if column[i] is None else str(column[i]) for column in columns))
        for i, row in enumerate(found["rows"][:COLUMNS])
    ]
    return _table(f"The first {counted(len(cells), 'row')}", ("row", *names), cells)


# --- images ---


def _images(found: Mapping[str, Any]) -> list[Html]:
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


# --- certificate ---


def _certificate(facts: Mapping[str, Any]) -> list[Html]:
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
        made.append(_list([f"{text[0].upper()}{text[1:]}" for text in detail]))
    if proofs:
        made.append(_table("What was measured after the fit", ("proof", "value", "what it says"), proofs, "words"))
    if rows:
        made.append(element("details", element("summary", "Digits of each eigenvalue"), _digits(rows)))
    return made


def _digits(rows: Sequence[Mapping[str, Any]]) -> Html:
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
    return join(_table(caption, titles, cells), *more)


# --- commands ---


def _commands(facts: Mapping[str, Any]) -> list[Html]:
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
        made.append(_list([f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]))
    return made


def _words(text: str) -> list[Html]:
    """Word by word, so that lines break between words."""
    spans = [element("span", word) for word in text.split(" ")]
    return [join(" ", span) if i else span for i, span in enumerate(spans)]


def _command(text: str, what: str) -> Html:
    code = element("pre", element("code", *_words(text)), tabindex=0, aria_label=f"Command: {what}")
    button = element(
        "button", "Copy", type="button", class_="copy needs-script", hidden=True, aria_label=f"Copy the command: {what}"
    )
    return element("div", code, button, class_="command")
