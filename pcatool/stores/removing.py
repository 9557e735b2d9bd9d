"""An object that is to be no more."""

from __future__ import annotations

from contextlib import suppress

from pcatool.stores.calls import patiently
from pcatool.stores.place import place_of
from pcatool.stores.trouble import ERRORS

__all__ = ["remove"]


def remove(path: str) -> None:
    """Remove it, if it is there."""
    place = place_of(path)
    try:
        with suppress(FileNotFoundError):
            patiently(lambda: place.files.delete_file(place.path))
    except ERRORS as error:
        raise place.trouble("remove", error) from None
