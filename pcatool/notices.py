"""Where a run says what it noticed. The library collects; whoever started the run decides what is shown."""

from __future__ import annotations

__all__ = ["Notices"]


class Notices:
    """Collects notes (for information) and warnings (look at this), each said once."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            self.show("note", text)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
            self.show("warning", text)

    def show(self, kind: str, text: str) -> None:
        """Called for each new notice; the command line prints it, the Python API turns it into a warning."""
