"""The whole report page: sections, data for the scripts, scripts and styles."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any

from pcatool.model.description import whole
from pcatool.render.figures import COLORS, MARKERS, NUMBERS, PAGE, PAGE_DARK
from pcatool.render.report.page_html import Html, data_block, element, join
from pcatool.render.report.sections import sections
from pcatool.render.report.words import in_a_sentence
from pcatool.render.text import percent

__all__ = ["page_html"]

# Scripts in the order in which they are joined; each may use earlier ones.
SCRIPTS = ("common", "copy", "scree", "loadings", "markers", "arrows", "scores")

# Content security policy: the page loads nothing, and only its own style and script are active.
POLICY = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'"
)


def page_html(facts: Mapping[str, Any]) -> str:
    """Return the report page of a model, with rows if the facts hold any; equal facts give equal bytes."""
    style = colors() + part("page.css")
    script = "(() => {\n" + '"use strict";\n' + "".join(part(f"{name}.js") for name in SCRIPTS) + "})();\n"
    made = sections(facts)
    links = [element("li", element("a", title, href=f"#{name}")) for name, title, _ in made]
    policy = POLICY.format(style=_source(style), script=_source(script))
    return filled(
        part("page.html"),
        policy=Html(policy),
        title=f"pcatool report: {facts['name']}",
        name=facts["name"],
        lead=in_a_sentence(facts),
        links=join(*links),
        sections=join(*(section for _, _, section in made)),
        facts=data_block("facts", _numbers(facts)),
        style=Html(style),
        script=Html(script),
    )


def colors() -> str:
    """Return the colours that pages share with pictures as CSS; dark colours apply to screens only, never to print."""
    light, dark = (" ".join(f"--{name}: {color};" for name, color in found.items()) for found in (PAGE, PAGE_DARK))
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def part(name: str) -> str:
    """Return the text of a file in this folder."""
    return (files("pcatool.render.report") / name).read_text(encoding="utf-8")


def filled(template: str, **parts: str) -> str:
    """Return the template with its marks `@name@` replaced; marks inside the replacements are left as they are."""
    return re.sub("@([a-z]+)@", lambda found: join(parts[found[1]]), template)


def _source(text: str) -> str:
    """Return the hash by which a content security policy allows a script or style."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode("ascii")


def _numbers(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data that the scripts draw."""
    page = facts["page"]
    what = whole(facts["method"], facts["centered"])
    shares = [percent(row["share"], 1) for row in facts["variance"]]
    return {
        "scree": {**page["scree"], "again": facts["commands"]["again"], "what": what},
        "loadings": _with_shares(page["loadings"], shares),
        "scores": page["scores"],
        "palette": {"classes": COLORS, "markers": MARKERS, "numbers": NUMBERS},
    }


def _with_shares(loadings: Mapping[str, Any], shares: list[str]) -> dict[str, Any] | None:
    if "reason" in loadings:
        return None
    return {**loadings, "shares": shares[: len(loadings["loadings"][0])]}
