"""What a run that wrote a page did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcatool.memory import size_text
from pcatool.model import Model
from pcatool.render.missing import counted
from pcatool.render.solution import model_facts
from pcatool.stores.uri import shown

__all__ = ["page_facts", "page_lines"]


def page_facts(model: Model, name: str, output: str, html: str, read: int | None, there: int | None) -> dict[str, Any]:
    facts = {"command": "report", "model": shown(name), "output": shown(output), "bytes": len(html.encode())}
    if read is not None:
        facts |= {"rows_read": read, "rows_shown": there}
    return facts | model_facts(model)


def page_lines(facts: Mapping[str, Any]) -> list[str]:
    where = "standard output" if facts["output"] == "-" else facts["output"]
    rows = f", {facts['rows_shown']} of {counted(facts['rows_read'], 'row')}" if "rows_read" in facts else ""
    components = counted(facts["components"], "component")
    return [f"{components}{rows}: a page of {size_text(facts['bytes'])} written to {where}"]
