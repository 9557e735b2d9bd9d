"""List folders and expand patterns in stores, by the same rules as for local files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from glob import has_magic
from typing import Any, NamedTuple

from pcatool.errors import FileError
from pcatool.stores.failures import ERRORS
from pcatool.stores.interruptible_calls import interruptible
from pcatool.stores.objects import ObjectPlace, place_of
from pcatool.stores.uri import HTTP, parse, shown, with_options
from pcatool.wording import show

__all__ = ["FoundObjects", "expand", "modified_ns", "names_in", "size_of"]

# One element of a pattern: a class in brackets, whose first character may be ], or a single character.
PATTERN_ELEMENT = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)
# Sizes in bytes of objects already listed, by name, so that they are not requested again.
KNOWN_SIZES: dict[str, int | None] = {}


class FoundObjects(NamedTuple):
    """The objects to read for a path, which is a name, a folder or a pattern."""

    paths: list[str]  # full names, sorted
    root: str = ""  # the folder that was searched; empty if the path names an object itself


def expand(path: str, is_table: Callable[[str], bool]) -> FoundObjects:
    """Return the objects to read for a path, which is a name, a folder or a pattern.

    In a folder these are all objects that are not hidden and whose names `is_table` accepts; for a pattern, those that
    match, or are in folders that match. Raise `FileError` if there are none; but a web address, and a name that
    `is_table` accepts, are returned even if the object does not exist.
    """
    uri = parse(path)
    if uri.kind == HTTP:
        return FoundObjects([path])
    place = place_of(path)
    if has_magic(uri.key):
        matching = _match_pattern(place, is_table)
        if not matching.paths and not _is_kind(place.info(), "File"):
            raise place.missing_bucket() or FileError(f"no object matches {show(place.name)}", "check the pattern")
        return matching if matching.paths else FoundObjects([path])
    info = place.info()
    if _is_kind(info, "File") and not uri.key.endswith("/"):
        KNOWN_SIZES[path] = int(info.size)
        return FoundObjects([path])
    if not _is_kind(info, "Directory"):
        if is_table(uri.key):
            return FoundObjects([path])  # opening it reports the error; --skip-bad may then leave it out
        message = f"cannot read {show(place.name)}: there is no such object or folder"
        raise place.missing_bucket() or FileError(message, "check the name of the object or folder")
    return _in_folder(place, is_table)


def _is_kind(info: Any, kind: str) -> bool:
    """Return whether a FileInfo is of a kind: "File", "Directory" or "NotFound"."""
    return bool(info.type.name == kind)


def _in_folder(place: ObjectPlace, is_table: Callable[[str], bool]) -> FoundObjects:
    folder = place.path.rstrip("/") + "/"
    infos = {info.path: info for info in _list_objects(place, folder, recursive=True)}
    data_paths = [path for path in infos if _is_data(path.removeprefix(folder), is_table)]
    if not data_paths:
        raise FileError(
            f"no data files in folder {show(place.name)}",
            "name a data file, or a folder of files such as x.csv or x.parquet",
        )
    return FoundObjects(_remember_sizes(place, [infos[path] for path in data_paths]), _folder_name(place, folder))


def _is_data(name: str, is_table: Callable[[str], bool]) -> bool:
    """Return whether `is_table` accepts a name in which no file or folder begins with a dot or underscore."""
    return not any(part.startswith((".", "_")) for part in name.split("/")) and is_table(name)


def names_in(path: str, is_table: Callable[[str], bool]) -> list[str]:
    """Return the sorted names, relative to the folder `path`, of the objects in it that are tables; [] if none.

    These are the objects that are not hidden and whose names `is_table` accepts.
    """
    place = place_of(path)
    folder = place.path.rstrip("/") + "/"
    names = (info.path.removeprefix(folder) for info in _list_objects(place, folder, recursive=True))
    return sorted(name for name in names if _is_data(name, is_table))


def _match_pattern(place: ObjectPlace, is_table: Callable[[str], bool]) -> FoundObjects:
    """Return the objects whose names match the pattern `place.path`, whether or not `is_table` accepts the names.

    If no object matches, but folders do, return the objects in these folders that are not hidden and that `is_table`
    accepts. The result may have no paths.
    """
    parts = place.path.split("/")
    first_magic = next(i for i, part in enumerate(parts) if has_magic(part))
    folder = "/".join(parts[:first_magic]) + "/"
    pattern = _pattern_regex(parts)
    # Where only the last part of the pattern has wildcards, its folder is listed without the folders below.
    only_last = first_magic == len(parts) - 1 and parts[first_magic] != "**"
    matching = [info for info in _list_objects(place, folder, recursive=not only_last) if pattern.fullmatch(info.path)]
    if not matching:
        objects = _list_objects(place, folder, recursive=True)
        below = re.compile(f"(?:{pattern.pattern.rstrip('/')})/(?P<inner>.*)", re.DOTALL)
        inner = ((info, below.fullmatch(info.path)) for info in objects)
        matching = [info for info, match in inner if match and _is_data(match["inner"], is_table)]
    return FoundObjects(_remember_sizes(place, matching), _folder_name(place, folder))


def _pattern_regex(parts: list[str]) -> re.Pattern[str]:
    """Return the regular expression of a pattern, given its elements between slashes.

    `?` matches one character and `*` any number, but neither a slash nor a dot that begins a name. `**` matches any
    number of folders that are not hidden; as the last element, all objects in and below such folders.
    """
    texts = []
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if part == "**":
            texts.append(r"(?:[^/.][^/]*/)*" + (r"[^/.][^/]*" if last else ""))
            continue
        visible = "(?!\\.)" if part[:1] in ("*", "?", "[") else ""
        texts.append(visible + PATTERN_ELEMENT.sub(_element_regex, part) + ("" if last else "/"))
    return re.compile("".join(texts), re.DOTALL)


def _element_regex(match: re.Match[str]) -> str:
    """Return the regular expression for one element of a pattern: `*`, `?`, a class in brackets, or a character.

    Only the character / matches a slash.
    """
    match match[0]:
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case element if len(element) > 2 and element[0] == "[":
            within = element[1:-1].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
            return f"(?!/)[^{within[1:]}]" if within[0] == "!" else f"(?!/)[{within}]"
        case letter:
            return re.escape(letter)


def _list_objects(place: ObjectPlace, folder: str, *, recursive: bool) -> Iterable[Any]:
    """Return pyarrow's FileInfo of each object in a folder and, if `recursive`, in all folders below.

    Empty if there is no such folder. Raise FileError if the store refuses.
    """
    from pyarrow.fs import FileSelector

    try:
        selector = FileSelector(folder.rstrip("/"), allow_not_found=True, recursive=recursive)
        listed = interruptible(lambda: place.files.get_file_info(selector))
    except ERRORS as error:
        raise place.error_for("list", error) from None
    return (info for info in listed if _is_kind(info, "File"))


def _remember_sizes(place: ObjectPlace, objects: Iterable[Any]) -> list[str]:
    """Return the sorted full names of objects, given as FileInfo, and store their sizes in KNOWN_SIZES."""
    sizes = {_full_name(place, info.path): int(info.size) for info in objects}
    KNOWN_SIZES.update(sizes)
    return sorted(sizes)


def _full_name(place: ObjectPlace, path: str) -> str:
    """Return the full name, such as s3://user@bucket/key?region=x, of the path bucket/key in the store of `place`.

    User, password and options are those of `place`.
    """
    return with_options(_name_without_options(place, path), place.uri.query)


def _name_without_options(place: ObjectPlace, path: str) -> str:
    """Return the name, such as s3://user@bucket/key, of the path bucket/key, with the login of `place`, but no options.

    The login is user and password, if `place` has a user.
    """
    uri = place.uri
    name = f"{uri.stem}{path.partition('/')[2]}"
    if uri.user:
        from urllib.parse import quote

        secret = f":{quote(uri.password, safe='')}" if uri.password else ""
        name = name.replace("://", f"://{quote(uri.user, safe='')}{secret}@", 1)
    return name


def _folder_name(place: ObjectPlace, folder: str) -> str:
    return _name_without_options(place, folder).rstrip("/")


def modified_ns(path: str) -> int | None:
    """Return the modification time of an object in nanoseconds since 1970; None if unknown, and for web pages.

    None also if there is no such object.
    """
    info = place_of(path).info() if parse(path).kind != HTTP else None
    if info is None or not _is_kind(info, "File") or info.mtime_ns is None:
        return None
    return int(info.mtime_ns)


def size_of(path: str) -> int | None:
    """Return the size of an object in bytes; None if the object cannot be read or the size is unknown.

    A size that a listing or an earlier call has found is not requested again.
    """
    if path not in KNOWN_SIZES:
        try:
            KNOWN_SIZES[path] = _ask_size(path)
        except FileError:
            return None  # opening the object reports the error
    return KNOWN_SIZES[path]


def _ask_size(path: str) -> int | None:
    if parse(path).kind == HTTP:
        from pcatool.stores.http_client import size_of_page

        return size_of_page(path)
    info = place_of(path).info()
    if not _is_kind(info, "File"):
        raise FileError(f"cannot read {show(shown(path))}: there is no such object")
    return int(info.size)
