"""An object in a store as an output: looked at before the work, written when all of it is there."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pcatool.errors import FileError, UsageError, show
from pcatool.resources import cannot_spool
from pcatool.stores.uri import HTTP, is_remote, parse, shown
from pcatool.writers.compression import Compressor
from pcatool.writers.sink import Sink
from pcatool.writers.target import exists, unwritable

__all__ = ["RemoteSink", "look_at_object"]


def look_at_object(output: str, no_clobber: bool, inputs: Sequence[str]) -> None:
    """Every reason not to write an object that can be known early, and cheaply."""
    from pcatool.stores.objects import place_of
    from pcatool.stores.providers import OneName

    uri, label = parse(output), shown(output)
    if uri.kind == HTTP:
        raise UsageError(f"{show(label)}: a web server is only read from", "give a file, s3://, gs:// or abfs://")
    one_name = OneName()
    for name in inputs:
        if is_remote(name) and one_name(name) == one_name(output):
            raise UsageError(
                f"the output {show(label)} is the same object as the input {show(shown(name))}", "write to another one"
            )
    if not uri.key or uri.key.endswith("/"):
        raise unwritable(label, "it names a folder", "give the name of an object")
    if "" in uri.key.split("/"):  # which pyarrow does not take
        raise unwritable(label, "there is nothing between two of its slashes", "write one slash")
    place = place_of(output)
    try:
        bucket = place.info(place.bucket).type.name
    except FileError as error:
        # Who may write need not be allowed to look; what else is wrong is wrong for writing, too.
        if "access denied" not in error.message or no_clobber:
            raise unwritable(label, error.message.partition(": ")[2], error.remedy) from None
        return
    if bucket == "NotFound":
        raise unwritable(label, "there is no such bucket", "check its name, or create it first")
    if no_clobber and place.info().type.name == "File":
        raise exists(label)


class RemoteSink(Sink):
    """Bytes to a nameless temporary file, and at the end from there to the store."""

    def __init__(self, output: str, compressor: Compressor | None, no_clobber: bool) -> None:
        from tempfile import TemporaryFile

        self._output = output
        self._no_clobber = no_clobber
        try:
            with TemporaryFile(buffering=0) as spool:
                super().__init__(shown(output), os.dup(spool.fileno()), compressor, owned=True)
        except OSError as error:
            raise cannot_spool(error, "the output") from None

    def _write_some(self, data: memoryview) -> int:
        try:
            return super()._write_some(data)
        except OSError as error:
            raise cannot_spool(error, "the output") from None

    def _finish(self) -> None:
        from pcatool.stores.objects import place_of, upload

        place = place_of(self._output)

        def look_again() -> None:
            if self._no_clobber and place.info().type.name == "File":
                raise exists(self.label)

        upload(place, self._descriptor, look_again)
        self._close()
