"""The sections that say how right a model is, and what made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pcatool.render.inspection import proof_lines
from pcatool.render.report.page_html import Html, element, join
from pcatool.render.report.pieces import COMPONENTS, bullets, table
from pcatool.render.report.words import PROOFS, verdict

__all__ = ["certificate_section", "commands_section"]


# --- certificate ---


def certificate_section(facts: Mapping[str, Any]) -> list[Html]:
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
    """Word by word, so that lines break between words."""
    spans = [element("span", word) for word in text.split(" ")]
    return [join(" ", span) if i else span for i, span in enumerate(spans)]


def _command(text: str, what: str) -> Html:
    code = element("pre", element("code", *_words(text)), tabindex=0, aria_label=f"Command: {what}")
    button = element(
        "button", "Copy", type="button", class_="copy needs-script", hidden=True, aria_label=f"Copy the command: {what}"
    )
    return element("div", code, button, class_="command")
