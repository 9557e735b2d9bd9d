"""Notes, warnings, counts of rows and the present stage of a run.

The library collects; whoever started the run decides what is shown.

What a run is doing, in a word or two: said where it is done, heard by whoever shows it on a terminal.
It goes around the arguments of all that computes: nothing there depends on who listens, and most often nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import NamedTuple, Protocol

__all__ = ["Gauge", "Notices", "Taken", "Within", "doing", "listen"]


class Taken(NamedTuple):
    """What a fit took of its inputs, and what it did not."""

    rows_read: int
    rows_dropped: int
    columns_left_out: tuple[str, ...]


class Gauge(Protocol):
    """Tells how far reading is, at any moment and to any thread."""

    @property
    def several(self) -> bool:
        """Are there several inputs?"""
        ...

    @property
    def current(self) -> str:
        """The name of the input that is being read."""
        ...

    def share(self) -> float | None:
        """Of all that is to be read, from 0 to 1; None where that is not known."""
        ...

    def taken(self) -> int:
        """Bytes of the current input that were read."""
        ...


class Notices:
    """Collects notes (for information) and warnings (look at this), each said once."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.files_read = 0
        self.skipped: list[tuple[str, str]] = []  # files that were left out, and why
        self.taken: Taken | None = None
        self.spread: tuple[str, int] | None = None  # over which engine, and in how many parts

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            self.show("note", text)

    def warn(self, text: str, items: Sequence[str] = ()) -> None:
        """With items, a list of them."""
        whole = "\n  ".join([text, *items])
        if whole not in self.warnings:
            self.warnings.append(whole)
            self.show("warning", text, items)

    def at_file(self, number: int, of: int) -> None:
        """Called when an input is opened, the `number`-th from 1."""

    def at_part(self, done: int, of: int) -> None:
        """Called when so many parts of the inputs are done elsewhere."""

    def all_parts(self, engine: str, parts: int) -> None:
        """Called when all are done."""
        self.spread = engine, parts

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        """Called when reading begins, for each pass over the inputs anew; `further`: it goes on with another input."""

    def at_rows(self, count: int) -> None:
        """Called when so many more rows were read."""

    def all_read(self, files: int, skipped: Sequence[tuple[str, str]]) -> None:
        """Called when no more is read, with what was."""
        self.files_read, self.skipped = files, list(skipped)
        self.at_end()

    def at_end(self) -> None:
        """Called when no more is read."""

    def silent(self) -> Notices:
        """For inputs that are read once more: how far the run is may be shown, what there is to say was said."""
        return Silent(self)

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        """Called for each new notice; the command line prints it, the Python API turns it into a warning."""


class Silent(Notices):
    """Says nothing, but lets on how far a run is."""

    def __init__(self, outer: Notices) -> None:
        super().__init__()
        self._outer = outer

    def at_file(self, number: int, of: int) -> None:
        self._outer.at_file(number, of)

    def at_part(self, done: int, of: int) -> None:
        self._outer.at_part(done, of)

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        self._outer.at_reading(gauge, further=further)

    def at_rows(self, count: int) -> None:
        self._outer.at_rows(count)

    def all_read(self, files: int, skipped: Sequence[tuple[str, str]]) -> None:
        self.at_end()

    def at_end(self) -> None:
        self._outer.at_end()


class Within(Silent):
    """For one of many runs within a run: what it has to say is said, how far it is is told by the number of rows."""

    def note(self, text: str) -> None:
        self._outer.note(text)

    def warn(self, text: str, items: Sequence[str] = ()) -> None:
        self._outer.warn(text, items)

    def at_file(self, number: int, of: int) -> None:
        """It is the outer run that counts them."""

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        self._outer.at_reading(gauge, further=True)

    def at_end(self) -> None:
        """As above."""


Listener = Callable[[str], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def doing(what: str) -> None:
    """From here on it is this: `solving`, `pass 2`, `EM step 12`."""
    listener = _listener.get()
    if listener is not None:
        listener(what)


def listen(listener: Listener | None) -> None:
    """Hear of every stage from now on, in this context."""
    _listener.set(listener)
