"""The pages of the whole program, and the files they go to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pcatool.cli.completion.table import table
from pcatool.cli.manual.page import page

__all__ = ["PAGES", "write_all", "written"]

PAGES = Path(__file__).parent / "pages"


def written() -> Iterator[tuple[str, str]]:
    """The name of each file, and what is in it."""
    tree = table()
    yield "pcatool.1", page(tree.program, tree)
    for entry in tree.subcommands:
        yield f"pcatool-{entry.name}.1", page(entry, tree)


def write_all(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in written():
        (folder / name).write_text(text, encoding="ascii")
