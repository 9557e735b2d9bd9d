"""The whole report page: sections, data for the scripts, scripts and styles."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any

from pcatool.errors import percent
from pcatool.model.description import name_of_total
from pcatool.render.figures import CLASS_COLORS, MARKERS, NUMBERS, PAGE, PAGE_DARK
from pcatool.render.report.html_elements import Html, element, join, json_block
from pcatool.render.report.sections import sections
from pcatool.render.report.words import lead_sentence

__all__ = ["page_html"]

# Scripts in the order in which they are joined; each may use earlier ones.
SCRIPTS = ("common", "copy", "scree", "loadings", "markers", "arrows", "scores")

# Content security policy: the page loads nothing, and only its own style and script are active.
POLICY = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'"
)


def page_html(facts: Mapping[str, Any]) -> str:
    """Return the report page of a model, with rows if the facts hold any; equal facts give equal bytes."""
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
    """Return the colours that pages share with pictures as CSS; dark colours apply to screens only, never to print."""
    light, dark = (" ".join(f"--{name}: {color};" for name, color in palette.items()) for palette in (PAGE, PAGE_DARK))
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def read_asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return (files("pcatool.render.report") / name).read_text(encoding="utf-8")


def read_script(name: str) -> str:
    """Return a script of this folder without its comment lines."""
    return re.sub(r"^ *//.*\n", "", read_asset(f"{name}.js"), flags=re.MULTILINE)


def fill_template(template: str, **parts: str) -> str:
    """Return the template with its marks `@name@` replaced; marks inside the replacements are left as they are."""
    return re.sub("@([a-z]+)@", lambda match: join(parts[match[1]]), template)


def _policy_hash(text: str) -> str:
    """Return the hash by which a content security policy allows a script or style."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode("ascii")


def _script_data(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data that the scripts draw."""
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
