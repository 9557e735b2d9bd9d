"""What a run is doing, in a word or two: said where it is done, heard by whoever shows it on a terminal.

It goes around the arguments of all that computes: nothing there depends on who listens, and most often nobody does.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["doing", "listen"]

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
