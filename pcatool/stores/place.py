"""Where an object is: the file system that has it, and its name there."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

from pcatool.errors import FileError, LostError, show
from pcatool.stores import azure, gs, providers
from pcatool.stores.calls import patiently
from pcatool.stores.trouble import ERRORS, in_words
from pcatool.stores.uri import HTTP, Uri, parse, shown

__all__ = ["Place", "place_of"]


class Place(NamedTuple):
    """A name, and what pyarrow needs to look there."""

    uri: Uri
    name: str  # as it is shown
    files: Any
    path: str

    @property
    def bucket(self) -> str:
        return self.path.partition("/")[0]

    def info(self, path: str | None = None) -> Any:
        """What is there, asked by one request or two."""
        try:
            return patiently(lambda: self.files.get_file_info(self.path if path is None else path))
        except ERRORS as error:
            raise self.trouble("read", error) from None

    def trouble(self, doing: str, error: Exception) -> FileError:
        if isinstance(error, FileNotFoundError):
            return self.no_bucket(doing) or in_words(self.name, doing, error)
        return in_words(self.name, doing, error)

    def no_bucket(self, doing: str = "read") -> FileError | None:
        """The error where not even the bucket is there, which is asked when something in it is not."""
        try:
            about = patiently(lambda: self.files.get_file_info(self.bucket))
        except ERRORS:  # who may read what is in it need not be allowed to ask for it
            return None
        if about.type.name != "NotFound":
            return None
        return FileError(f"cannot {doing} {show(self.name)}: there is no such bucket", "check its name")


def place_of(path: str) -> Place:
    """The place that a path in a store means; nothing is asked of the store, unless its region is to be found."""
    uri = parse(path)
    assert uri.kind != HTTP, "web servers have a way of their own"
    name = shown(path)
    try:
        files, bucket = patiently(lambda: FILE_SYSTEMS[uri.kind](uri))
    except (*ERRORS, ImportError) as error:  # pyarrow may be built without
        raise in_words(name, "reach", error) from None
    return Place(uri, name, files, f"{bucket}/{uri.key}".rstrip("/") if not uri.key else f"{bucket}/{uri.key}")


def _s3(uri: Uri) -> tuple[Any, str]:
    settings = providers.settings_of(uri)
    if settings.region and not settings.endpoint and "region" not in uri.options:
        settings = settings._replace(region=_region_of(settings, uri.authority) or settings.region)
    return _made_s3(settings), uri.authority


@cache
def _region_of(settings: providers.Settings, bucket: str) -> str:
    """Where the bucket is, if that is not where the environment leads: S3 says so of a bucket, not of an object."""
    try:
        _made_s3(settings).get_file_info(bucket)
    except ERRORS as error:
        if found := re.search(r"located in '([a-z0-9-]+)'", str(error)):
            return found[1]
        if isinstance(in_words(bucket, "reach", error), LostError):
            raise
    return ""


_made_s3 = lru_cache(maxsize=None)(providers.make)
FILE_SYSTEMS = {"s3": _s3, "gs": gs.find, "abfs": azure.find}
