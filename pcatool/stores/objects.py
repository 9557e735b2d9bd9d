"""The bytes of one object, any part of them at a time, and a check that they were of one and the same object."""

from __future__ import annotations

from typing import Any, Protocol

from pcatool.errors import BlamelessError, FileError, LostError, show
from pcatool.stores.calls import patiently
from pcatool.stores.place import place_of
from pcatool.stores.trouble import ERRORS

__all__ = ["Ranges", "StoreObject", "changed", "state_of"]

# What tells one state of an object from another, where the store says it.
MARKS = ("etag", "generation", "last-modified", "content-length")


class Ranges(Protocol):
    """Bytes by their place; threads may ask at the same time."""

    size: int

    def part(self, offset: int, size: int) -> bytes: ...

    def check_unchanged(self) -> None:
        """Raise an error where the name does no longer mean what was opened."""
        ...

    def close(self) -> None: ...


class StoreObject:
    """An object of a store, open for reading."""

    def __init__(self, path: str) -> None:
        self._place = place_of(path)
        self._file, self._state = self._open()
        self.size = int(self._state["size"])

    @property
    def state(self) -> tuple[tuple[str, Any], ...]:
        return tuple(self._state.items())

    def _open(self) -> tuple[Any, dict[str, Any]]:
        """The object, and what tells its state."""

        def ask() -> tuple[Any, dict[str, Any]]:
            file = self._place.files.open_input_file(self._place.path)
            found = {str(key).lower(): value for key, value in (file.metadata() or {}).items()}
            return file, {key: found[key] for key in MARKS if key in found} | {"size": file.size()}

        try:
            return patiently(ask)
        except ERRORS as error:
            raise self._place.trouble("read", error) from None

    def part(self, offset: int, size: int) -> bytes:
        try:
            data = patiently(lambda: bytes(self._file.read_at(size, offset)))
        except ERRORS as error:
            trouble = self._place.trouble("read", error)
            if not isinstance(trouble, LostError):
                self.check_unchanged()
            raise trouble from None
        if len(data) < min(size, self.size - offset):
            raise changed(self._place.name)
        return data

    def check_unchanged(self) -> None:
        try:
            now, state = self._open()
        except BlamelessError:
            raise
        except FileError:  # it is there no more
            raise changed(self._place.name) from None
        now.close()
        if state != self._state:
            raise changed(self._place.name)

    def close(self) -> None:
        self._file.close()


def state_of(path: str) -> tuple[tuple[str, Any], ...] | None:
    """What tells an object from another of its name; None where there is none, or it cannot be told."""
    try:
        return StoreObject(path).state
    except FileError:  # reading it says why
        return None


def changed(name: str) -> FileError:
    return BlamelessError(f"cannot read {show(name)}: it changed while it was read", "run again when nobody writes it")
