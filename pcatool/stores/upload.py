"""A finished file to a store, where it appears whole or not at all.

Arrow completes an upload when its stream is closed, and closes it when the object goes, after an error, too: half a
file would appear. So the stream of an upload that is given up is never let go, and what was sent is no object.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from ctypes import py_object, pythonapi
from typing import Any

from pcatool.stores.calls import patiently
from pcatool.stores.place import Place
from pcatool.stores.trouble import ERRORS

__all__ = ["upload"]

# What is handed to the store at once, and how often until it is waited for: so much is in memory.
PIECE = 8 << 20
TOGETHER = 4


class Sending:
    """An upload that can be given up by another thread than the one that it runs in."""

    def __init__(self, place: Place, descriptor: int, before_end: Callable[[], None]) -> None:
        self._place = place
        self._descriptor = descriptor
        self._before_end = before_end
        self.given_up = False

    def run(self) -> None:
        files, path = self._place.files, self._place.path
        # Azure shows an object, empty, from the beginning.
        beside = f"{_hidden(path)}.{os.urandom(8).hex()}.pcatool-tmp" if self._place.uri.kind == "abfs" else ""
        stream = files.open_output_stream(beside or path, compression=None)
        pythonapi.Py_IncRef(py_object(stream))  # for good, unless all goes well
        self._copy(stream)
        try:
            self._before_end()
        except BaseException:
            if beside:
                files.delete_file(beside)
            raise
        if not self.given_up:
            stream.close()
            pythonapi.Py_DecRef(py_object(stream))
            if beside:
                _rename(files, beside, path)

    def _copy(self, stream: Any) -> None:
        at, pieces = 0, 0
        while not self.given_up and (data := os.pread(self._descriptor, PIECE, at)):
            stream.write(data)
            at, pieces = at + len(data), pieces + 1
            if pieces % TOGETHER == 0:
                stream.flush()
        stream.flush()


def _hidden(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}"


def _rename(files: Any, path: str, to: str) -> None:
    """In one step where the account has folders; else the store copies it, in one step, too."""
    try:
        files.move(path, to)
    except NotImplementedError:
        files.copy_file(path, to)
        files.delete_file(path)


def upload(place: Place, descriptor: int, before_end: Callable[[], None]) -> None:
    """Send a file from its beginning. What `before_end` raises, and a signal, ends it without an object."""
    sending = Sending(place, descriptor, before_end)
    try:
        patiently(sending.run)
    except ERRORS as error:
        raise place.trouble("write", error) from None
    except BaseException:
        sending.given_up = True
        raise
