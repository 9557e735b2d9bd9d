"""README.md and the help topics, and their fenced blocks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Block(NamedTuple):
    """A fenced block, and the block of text that directly follows it, if there is one.

    `file` is the name of the file of which the block is the content: then the text before ends with "file `NAME`:".
    """

    language: str
    code: str
    shown: str
    file: str


PATTERN = re.compile(
    r"(?:file\s+`([\w.-]+)`:\n\n)?^```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)


class Document:
    """A file of Markdown, or a section of one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks = [Block(language, code, shown, file) for file, language, code, shown in PATTERN.findall(text)]

    @property
    def prose(self) -> str:
        """The text without the fenced blocks."""
        return re.sub(r"^```.*?^```$", "", self.text, flags=re.MULTILINE | re.DOTALL)

    def commands(self, language: str) -> list[Block]:
        """The blocks of a language that are typed; blocks that are files are left out."""
        return [block for block in self.blocks if block.language == language and not block.file]

    def section(self, name: str) -> Document:
        """The part below the heading `## name`, to the next heading of this level."""
        return Document(self.text.partition(f"\n## {name}\n")[2].partition("\n## ")[0])

    def sections(self) -> list[str]:
        return re.findall(r"^## (.*)$", self.prose, re.MULTILINE)

    def table(self, heading: str) -> list[list[str]]:
        """The cells of the table whose first row is `| heading`, without that row and the line below it."""
        (found,) = re.findall(rf"^\| {re.escape(heading)}\n\|[-:| ]*\n((?:\|.*\n)+)", self.text, re.MULTILINE)
        # "\|" is a bar inside a cell
        return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in found.splitlines()]


PATHS = {"README": ROOT / "README.md"} | {path.stem: path for path in sorted((ROOT / "pcatool" / "help").glob("*.md"))}
DOCUMENTS = {name: Document(path.read_text(encoding="utf-8")) for name, path in PATHS.items()}
README = DOCUMENTS["README"]
TOPICS = {name: document for name, document in DOCUMENTS.items() if name != "README"}
