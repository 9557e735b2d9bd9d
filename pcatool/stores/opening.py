"""An object opened, by whoever knows its kind."""

from __future__ import annotations

from pcatool.stores.objects import Ranges, StoreObject
from pcatool.stores.uri import HTTP, parse

__all__ = ["open_object"]


def open_object(path: str) -> Ranges | int:
    """The object that a path names; or the descriptor of a copy, where its parts cannot be asked for."""
    if parse(path).kind != HTTP:
        return StoreObject(path)
    from pcatool.stores.http_client import open_page

    return open_page(path)
