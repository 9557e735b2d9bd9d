"""A nameless temporary file for what is kept but would not fit into memory; it is gone with the object."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pcatool.errors import FileError

__all__ = ["Spool", "cannot_spool"]


class Spool:
    """Bytes by their place. Threads may write and read different places at the same time."""

    def __init__(self) -> None:
        from tempfile import TemporaryFile

        try:
            self._file = TemporaryFile(buffering=0)
        except OSError as error:
            raise cannot_spool(error) from None

    def put(self, pieces: Sequence[memoryview], place: int) -> None:
        """The pieces, no more than 1024 (IOV_MAX), one after the other."""
        try:
            done = os.pwritev(self._file.fileno(), pieces, place)
            # A disk that is full takes a part, and says so at the next.
            rest = memoryview(b"".join(pieces))[done:] if done < sum(piece.nbytes for piece in pieces) else None
            while rest:
                place += done
                done = os.pwrite(self._file.fileno(), rest, place)
                rest = rest[done:]
        except OSError as error:
            raise cannot_spool(error) from None

    def get(self, into: memoryview, place: int) -> None:
        """Fill `into` with what was put there."""
        while into:
            count = os.preadv(self._file.fileno(), [into], place)
            assert count > 0, "only what was put is asked for"
            into, place = into[count:], place + count

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def cannot_spool(error: OSError, what: str = "rows") -> FileError:
    from tempfile import gettempdir

    try:
        folder = gettempdir()
    except OSError:  # there is none that can be written to
        folder = os.environ.get("TMPDIR", "/tmp")
    return FileError.from_os(folder, f"spool {what} to", error)
