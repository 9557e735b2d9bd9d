"""The whole report page: sections that are readable without scripts, data for the scripts, scripts and styles.

All HTML is made by `element` and `join`, which escape every text that is not `Html`.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from pcatool.model.description import name_of_total
from pcatool.model.model import component_name
from pcatool.render.figures import CLASS_COLORS, MARKERS, NUMBERS, PAGE, PAGE_DARK, signed
from pcatool.render.inspection import fact_lines, proof_lines
from pcatool.render.report.sentences import PROOFS, caveats, lead_sentence, verdict
from pcatool.wording import counted, grouped, percent, printable

__all__ = ["page_html"]

# Scripts in the order in which they are joined; each may use earlier ones.
SCRIPTS = ("common", "copy", "scree", "loadings", "markers", "arrows", "scores")

# Content security policy: the page loads nothing, and only its own style and script are active.
POLICY = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'"
)


def page_html(facts: Mapping[str, Any]) -> str:
    """Return the report page as HTML, from the facts of `pipeline.report_page`; equal facts give equal bytes."""
    style = color_styles() + read_asset("page.css")
    script = "(() => {\n" + '"use strict";\n' + "".join(read_script(name) for name in SCRIPTS) + "})();\n"
    page_sections = sections(facts)
    links = [element("li", element("a", title, href=f"#{name}")) for name, title, _ in page_sections]
    policy = POLICY.format(style=_policy_hash(style), script=_policy_hash(script))
    return fill_template(
        read_asset("page.html"),
        policy=Html(policy),
        title=f"pcatool report: {facts['name']}",
        name=facts["name"],
        lead=lead_sentence(facts),
        links=join(*links),
        sections=join(*(section for _, _, section in page_sections)),
        facts=json_block("facts", _script_data(facts)),
        style=Html(style),
        script=Html(script),
    )


def color_styles() -> str:
    """Return CSS variables for the colours of PAGE, and of PAGE_DARK for screens in dark mode, never for print."""
    light, dark = (" ".join(f"--{name}: {color};" for name, color in palette.items()) for palette in (PAGE, PAGE_DARK))
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def read_asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return (files("pcatool.render.report") / name).read_text(encoding="utf-8")


def read_script(name: str) -> str:
    """Return the script `name`.js of this folder without its comment lines."""
    return re.sub(r"^ *//.*\n", "", read_asset(f"{name}.js"), flags=re.MULTILINE)


def fill_template(template: str, **parts: str) -> str:
    """Return the template with each mark `@name@` replaced by the part of this name, escaped unless it is `Html`.

    Marks inside the parts stay unchanged.
    """
    return re.sub("@([a-z]+)@", lambda match: join(parts[match[1]]), template)


def _policy_hash(text: str) -> str:
    """Return the hash by which a content security policy allows a script or style."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode("ascii")


def _script_data(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON values that the scripts read: scree chart, loadings, scores, colours and marks.

    `scores` is None for a page without rows, `loadings` for a model without loadings.
    """
    page = facts["page"]
    total_name = name_of_total(facts["method"], facts["centered"])
    shares = [percent(row["share"]) for row in facts["variance"]]
    return {
        "scree": {**page["scree"], "again": facts["commands"]["again"], "what": total_name},
        "loadings": _with_shares(page["loadings"], shares),
        "scores": page["scores"],
        "palette": {"classes": CLASS_COLORS, "markers": MARKERS, "numbers": NUMBERS},
    }


def _with_shares(loadings: Mapping[str, Any], shares: list[str]) -> dict[str, Any] | None:
    if "reason" in loadings:
        return None
    return {**loadings, "shares": shares[: len(loadings["loadings"][0])]}


# --- elements of HTML ---


class Html(str):
    """Text that is already HTML, so that `element` and `join` do not escape it."""

    __slots__ = ()


def element(name: str, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """Return the element <name attributes>children</name>; children that are not `Html`, and attributes, are escaped.

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
    """Return the children concatenated; children that are not `Html` are escaped, and None is omitted."""
    return Html("".join(child if isinstance(child, Html) else escape(printable(child)) for child in children if child))


def json_block(name: str, facts: Any) -> Html:
    """Return a script element with the id `name` and the facts as JSON, escaped so that no text can end the element."""
    text = json.dumps(facts, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')


# Most components in the static tables of the page.
MAX_TABLE_COMPONENTS = 100


def template(name: str) -> Html:
    """Return an HTML file of this folder as `Html`; a script of the page fills its empty elements."""
    return Html(read_asset(name))


def bullet_list(items: Sequence[str]) -> Html:
    return element("ul", *(element("li", item) for item in items), class_="plain")


def table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], class_: str | None = None) -> Html:
    """Return a table in a scrollable region; the first cell of each row is the header of the row.

    `titles` are the headings of the columns, `class_` is the CSS class of the table.
    """
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    content = element(
        "table", element("caption", caption), element("thead", head), element("tbody", *body), class_=class_
    )
    return element("div", content, class_="scroll tall", role="region", aria_label=caption, tabindex=0)


# --- certificate ---


def certificate_section(facts: Mapping[str, Any]) -> list[Html]:
    """Return the content of the section on the accuracy of the eigenvalues and the checks after the fit."""
    certificate = facts["certificate"] or {}
    proofs = [
        (title, f"{certificate[key]:.1e}" if certificate[key] else "0", meaning)
        for key, (title, meaning) in PROOFS.items()
        if certificate.get(key) is not None
    ]
    rows = [row for row in facts["variance"] if row["kept"] and "vouched" in row]
    first = verdict(facts)
    content = [element("p", first, class_="verdict")]
    # The table below has the residuals, and the caveats name eigenvalues that are too close to each other.
    elsewhere = (*PROOFS, "close_pairs")
    rest = {**facts, "certificate": {key: value for key, value in certificate.items() if key not in elsewhere}}
    detail = [
        text
        for _, text in proof_lines(rest)
        if f"{text}." != first and (";" in text or not text.startswith("eigenvalues are"))
    ]
    if rows and detail:
        content.append(bullet_list([f"{text[0].upper()}{text[1:]}" for text in detail]))
    if proofs:
        content.append(table("Checks after the fit", ("check", "value", "meaning"), proofs, "words"))
    if rows:
        content.append(
            element("details", element("summary", "Digits of each eigenvalue"), _digits(rows, by_em="em" in facts))
        )
    return content


def _digits(rows: Sequence[Mapping[str, Any]], *, by_em: bool) -> Html:
    """Return a table of the accuracy of the first MAX_TABLE_COMPONENTS eigenvalues, and a note on omitted ones.

    The column `accurate` is about rounding error, and is omitted for EM, whose steps limit the accuracy.
    """
    cells = [
        (
            component_name(row["component"]),
            f"{row['eigenvalue']:.15g}",
            "none" if row["relative_error"] is None else f"{row['relative_error']:.1e}",
            str(row["digits"]),
            *(() if by_em else ("yes" if row["vouched"] else "no",)),
        )
        for row in rows[:MAX_TABLE_COMPONENTS]
    ]
    omitted = len(rows) - len(cells)
    note = (
        [element("p", f"pcatool inspect -v prints {counted(omitted, 'more eigenvalue')}.", class_="quiet")]
        if omitted
        else []
    )
    titles = ("component", "eigenvalue", "largest relative error", "digits", *(() if by_em else ("accurate",)))
    caption = "Accuracy of each eigenvalue; the error is relative to the eigenvalue"
    return join(table(caption, titles, cells), *note)


# --- commands ---


def commands_section(facts: Mapping[str, Any]) -> list[Html]:
    """Return the content of the section on commands: those that made and use the model, and those that refuse it.

    A refused command has its reason. A remark replaces the command that made the model if there is no such command.
    """
    commands = facts["commands"]
    content = [element("h3", "Command that made this model")]
    if commands["fit"] is None:
        content.append(
            element("p", f"There is no pcatool command that makes this model: {'; '.join(commands['remarks'])}.")
        )
    else:
        content.append(_command(commands["fit"], "make this model"))
        content.append(
            element(
                "p",
                "Replace data.csv by the name of your file. A model does not store the options for reading files: "
                "add the options that you used.",
                class_="quiet",
            )
        )
        content += [element("p", f"{remark[0].upper()}{remark[1:]}.", class_="quiet") for remark in commands["remarks"]]
    for purpose, text in commands["uses"]:
        content += [element("h3", f"{purpose[0].upper()}{purpose[1:]}"), _command(text, purpose)]
    reasons: dict[str, list[str]] = {}
    for name, reason in facts["cannot"].items():
        reasons.setdefault(reason, []).append(name)
    if reasons:
        content.append(element("h3", "Commands that the model does not support"))
        content.append(bullet_list([f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]))
    return content


def _words(text: str) -> list[Html]:
    """Return each word of a command as a span element, so that lines break only between words."""
    spans = [element("span", word) for word in text.split(" ")]
    return [join(" ", span) if i else span for i, span in enumerate(spans)]


def _command(text: str, purpose: str) -> Html:
    code = element("pre", element("code", *_words(text)), tabindex=0, aria_label=f"Command: {purpose}")
    button = element(
        "button",
        "Copy",
        type="button",
        class_="copy needs-script",
        hidden=True,
        aria_label=f"Copy the command: {purpose}",
    )
    return element("div", code, button, class_="command")


# Rows and components in the tables for browsers without scripts.
TABLE_ROWS, TABLE_COMPONENTS = 20, 5


# --- loadings ---


def loadings(data: Mapping[str, Any]) -> list[Html]:
    """Return the content of the section on loadings; for a model without loadings, a paragraph with the reason."""
    if "reason" in data:
        return [element("p", f"There are no loadings: {data['reason']}.")]
    rows = sorted(range(len(data["columns"])), key=lambda i: -abs(data["loadings"][i][0]))[:TABLE_ROWS]
    component_count = len(data["loadings"][0][:TABLE_COMPONENTS])
    cells = [(data["columns"][i], *(signed(value, 4) for value in data["loadings"][i][:component_count])) for i in rows]
    caption = f"The {counted(len(rows), 'column')} with the largest loadings on PC1"
    noscript_table = table(caption, ("column", *(component_name(j + 1) for j in range(component_count))), cells)
    return [template("loadings.html"), element("noscript", noscript_table)]


# --- scores ---


def scores(data: Mapping[str, Any] | None) -> list[Html]:
    """Return the content of the section on scores; if `data` is None, a sentence that tells how to get scores."""
    if data is None:
        text = "This page has no rows. To see scores, give the data after the model: pcatool report MODEL DATA -o FILE."
        return [element("p", text)]
    shown, total = len(data["rows"]), data["of"]
    which = (
        f"a random sample of {grouped(shown)} of {grouped(total)} rows"
        if shown < total
        else f"all {grouped(total)} rows"
        if total > 1
        else "the only row"
    )
    text = element("p", f"The page shows {which}.{_incomplete(data)}")
    return [text, template("scores.html"), element("noscript", _scores_table(data))]


def _incomplete(data: Mapping[str, Any]) -> str:
    """Return a sentence on the numbers of rows with missing cells and of rows without scores, after a space.

    Empty if no row has missing cells.
    """
    incomplete, empty, total = data["incomplete"], data["empty"], data["of"]
    if not incomplete:
        return ""
    if total == 1:
        return f" The row has missing cells{', and no scores' if empty else ''}."
    has = "has" if incomplete == 1 else "have"
    some_empty = f"; {counted(empty, 'row')} {'has' if empty == 1 else 'have'} no scores"
    without = ", and no scores" if empty == incomplete else some_empty if empty else ""
    return f" {grouped(incomplete)} of all {grouped(total)} rows {has} missing cells{without}."


def _scores_table(data: Mapping[str, Any]) -> Html:
    """Return a table of the scores of the first rows, for browsers without scripts."""
    names = [*(name for name, _ in data["kept"]), *data["names"][:TABLE_COMPONENTS]]
    columns = [*(cells for _, cells in data["kept"]), *data["scores"][:TABLE_COMPONENTS]]
    cells = [
        (str(row), *("missing" if column[i] is None else str(column[i]) for column in columns))
        for i, row in enumerate(data["rows"][:TABLE_ROWS])
    ]
    return table(f"The first {counted(len(cells), 'row')}", ("row", *names), cells)


# --- images ---


def images(data: Mapping[str, Any]) -> list[Html]:
    """Return the content of the section with the mean and the components as images, from `image_facts`."""
    H, W = data["shape"]
    figures = [
        element(
            "li",
            element(
                "figure",
                element("img", src=component["png"], alt=f"{component['name']} as an image of {H} by {W} pixels"),
                element("figcaption", element("span", component["name"]), element("span", component["share"])),
            ),
        )
        for component in data["components"]
    ]
    shown, total = len(figures), data["of"]
    which = f"the first {shown} of {total} components"
    if shown == total:
        which = f"all {shown} components" if shown > 1 else "the only component"
    text = (
        f"The images show {which}, with {H} by {W} pixels each and the same colour scale for all. "
        f"The numbers below the images are {data['share']}."
    )
    return [element("p", text), element("div", *_keys(data), class_="keys"), element("ul", *figures, class_="images")]


def _keys(data: Mapping[str, Any]) -> list[Html]:
    """Return the image of the mean with its grey scale, if `data` has a mean, and the colour scale of the loadings."""
    peak = data["peak"]
    ends = element("span", element("i", f"\N{MINUS SIGN}{peak}"), element("i", "0"), element("i", peak))
    scale = element(
        "p",
        "loading",
        element("img", src=data["scale"], alt="from blue through white to orange"),
        ends,
        class_="scale",
    )
    mean = data["mean"]
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
    """Return the sections of the page in order; images only if `facts` has some, caveats only if there are any."""
    page = facts["page"]
    result = [
        _section("summary", "Summary", _tiles(facts), _facts(facts)),
        _section("scree", "Scree", template("scree.html"), _variances(facts)),
        _section("loadings", "Loadings", *loadings(page["loadings"])),
        _section("scores", "Scores", *scores(page["scores"])),
    ]
    if page["images"] is not None:
        result.append(_section("images", "Images", *images(page["images"])))
    sentences = caveats(facts)
    if sentences:
        result.append(_section("caveats", "Caveats", bullet_list(sentences)))
    result.append(_section("certificate", "Certificate", *certificate_section(facts)))
    result.append(_section("commands", "Commands", *commands_section(facts)))
    return result


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
        *(element("div", element("dt", label), element("dd", value)) for label, value in tiles.items()),
        class_="tiles",
    )


def _facts(facts: Mapping[str, Any]) -> Html:
    """Return the lines of `fact_lines` as a definition list, without those on the file and the rows."""
    lines = [line for line in fact_lines(facts) if line[0] not in ("file", "rows")]
    entries = [join(element("dt", label), element("dd", text)) for label, text in lines]
    return element("dl", *entries, class_="facts")


# --- scree ---


def _variances(facts: Mapping[str, Any]) -> Html:
    """Return a table of eigenvalues, shares, and the variance that each number of components captures and loses.

    The table has at most MAX_TABLE_COMPONENTS rows, is folded into a details element, and has a note on omitted rows.
    """
    rows = facts["variance"][:MAX_TABLE_COMPONENTS]
    titles = ("component", "eigenvalue", "share", "cumulative", "captured", "lost", "kept")
    cells = [
        (
            component_name(row["component"]),
            *(f"{row['eigenvalue']:.6g}", percent(row["share"]), percent(row["cumulative"])),
            *(f"{row['captured']:.6g}", f"{row['lost']:.6g}", "yes" if row["kept"] else "no"),
        )
        for row in rows
    ]
    omitted = len(facts["variance"]) - len(rows)
    total_name = name_of_total(facts["method"], facts["centered"])
    caption = (
        f"The row of PCk shows the {total_name} that the first k components capture and lose (ddof {facts['ddof']})"
    )
    note = (
        [element("p", f"pcatool explain-variance prints {counted(omitted, 'more component')}.", class_="quiet")]
        if omitted
        else []
    )
    return element(
        "details", element("summary", "Table of eigenvalues and shares"), table(caption, titles, cells), *note
    )
