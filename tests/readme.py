"""The fenced blocks of README.md, each with what stands around it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


class Block(NamedTuple):
    """A block, and the text block that directly follows it, if one does.

    `<!-- recipe: NAME -->` on the line before says that it needs other programs; `<!-- recipe: NAME; file: F -->`, that
    it is what the file F holds.
    """

    language: str
    code: str
    shown: str
    recipe: str
    file: str


PATTERN = re.compile(
    r"(?:^<!-- recipe: (\w+)(?:; file: ([\w.]+))? -->\n)?^```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
BLOCKS = tuple(
    Block(language, code, shown, recipe, file) for recipe, file, language, code, shown in PATTERN.findall(TEXT)
)


def blocks(language: str) -> list[Block]:
    """Those that need nothing but this package."""
    return [block for block in BLOCKS if block.language == language and not block.recipe]


def recipe(name: str) -> list[Block]:
    return [block for block in BLOCKS if block.recipe == name]


def section(name: str) -> str:
    """What stands below a heading, to the next one."""
    return TEXT.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
