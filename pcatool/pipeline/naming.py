"""What the outputs in a folder are called: as their inputs are, below the folder that those were found in."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

from pcatool.readers.hive_partitions import partitions_of
from pcatool.readers.paths import COMPRESSED, Input
from pcatool.registry import READERS, WRITERS
from pcatool.stores.uri import is_remote, plain_name, with_options

__all__ = ["is_folder", "lies_in", "name_below", "real", "renamed", "within"]

# The ending under which a compression is written, where it has two.
WRITTEN = {".zstd": ".zst"}


def name_below(item: Input) -> str:
    """The name relative to where the input was found, or its last alone; folders of partitions above stay, too."""
    path = plain_name(item.path)
    inner = os.path.relpath(path, item.root) if item.root else path.rpartition("/")[2]
    folders = (os.path.normpath(item.root) if item.root else path.rpartition("/")[0]).split("/")
    kept = [*reversed(list(takewhile(lambda folder: partitions_of(f"{folder}/"), reversed(folders)))), inner]
    return "/".join(kept)


def is_folder(name: str) -> bool:
    """Does a name mean a folder, as it is written or because there is one?"""
    return plain_name(name).endswith("/") or (not is_remote(name) and Path(name).is_dir())


def within(folder: str, name: str) -> str:
    """What is called so in a folder, the options of a store behind it."""
    plain = plain_name(folder)
    return with_options(f"{plain.rstrip('/')}/{name}", folder[len(plain) :])


def lies_in(name: str, folder: str) -> bool:
    """Is it below the folder, however deep, by whatever name?"""
    return real(name).startswith(f"{real(folder).rstrip('/')}/")


def real(name: str) -> str:
    """A file or folder by the one name that it has."""
    return plain_name(name).rstrip("/") if is_remote(name) else os.path.realpath(name)


def renamed(name: str, form: str | None) -> str:
    """The name with the ending of an output format; without one it says what it said, compression included."""
    packed = next((name[-len(ending) :] for ending in COMPRESSED if name.lower().endswith(ending)), "")
    stem = name.removesuffix(packed)
    written = WRITTEN.get(packed.lower(), packed)
    if form is None or WRITERS.by_suffix(stem) == form:
        return stem + written
    known = (ending for table in (READERS, WRITERS) for entry in table.entries.values() for ending in entry.suffixes)
    ending = next((stem[-len(e) :] for e in known if stem.lower().endswith(e)), "")
    return stem.removesuffix(ending) + WRITERS[form].suffixes[0] + ("" if form == "parquet" else written)
