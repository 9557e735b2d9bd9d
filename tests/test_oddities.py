"""The list of oddities: each of its lines has an example folder, and each folder a line."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ROOT / "tests" / "cases" / "oddities"


def test_every_line_has_its_example() -> None:
    text = (ROOT / ".github" / "ODDITIES.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    named = [re.fullmatch(r"\| .+ \| .+ \| `(\w+)` \|", line) for line in lines]
    assert None not in named, "a line is oddity, what it does, folder"
    assert {match[1] for match in named if match} == {path.parent.name for path in FOLDERS.glob("*/cmd")}
    assert len(lines) > 40
