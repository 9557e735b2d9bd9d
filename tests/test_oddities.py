"""The help topic `oddities`: each of its sections has an example folder, and each folder a section."""

from __future__ import annotations

from documents import ROOT, TOPICS

FOLDERS = ROOT / "tests" / "cases" / "oddities"


def test_every_section_has_its_example() -> None:
    topic = TOPICS["oddities"]
    named = [heading.lower().replace(" ", "_") for heading in topic.sections()]
    assert sorted(named) == sorted(path.parent.name for path in FOLDERS.glob("*/cmd"))
    lines = [topic.section(heading).table("oddity | what happens |") for heading in topic.sections()]
    assert all(lines)
    assert sum(map(len, lines)) > 60
