"""List folders and expand patterns in stores, by the same rules as for local files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from glob import has_magic
from typing import Any, NamedTuple

from pcatool.errors import FileError, show
from pcatool.stores.calls import ERRORS, interruptible
from pcatool.stores.objects import ObjectPlace, place_of
from pcatool.stores.uri import HTTP, parse, shown, with_options

__all__ = ["FoundObjects", "expand", "names_in", "size_of", "written"]

# One element of a pattern: a class in brackets, whose first character may be ], or a single character.
SIGN = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)
# Sizes in bytes of objects already listed, by name, so that they are not requested again.
SIZES: dict[str, int | None] = {}


class FoundObjects(NamedTuple):
    """Names of objects that a path means."""

    paths: list[str]  # sorted
    root: str = ""  # the folder that was searched; empty where the path names an object itself


def expand(path: str, is_table: Callable[[str], bool]) -> FoundObjects:
    """Return the objects that a name, folder or pattern means.

    Of a folder these are the objects that are not hidden and whose names `is_table` accepts. Raise `FileError` where
    nothing is found.
    """
    uri = parse(path)
    if uri.kind == HTTP:
        return FoundObjects([path])
    place = place_of(path)
    if has_magic(uri.key):
        found = _matching(place, is_table)
        if not found.paths and not _is(place.info(), "File"):
            raise place.no_bucket() or FileError(f"no object matches {show(place.name)}", "check the pattern")
        return found if found.paths else FoundObjects([path])
    about = place.info()
    if _is(about, "File") and not uri.key.endswith("/"):
        SIZES[path] = int(about.size)
        return FoundObjects([path])
    if not _is(about, "Directory"):
        if is_table(uri.key):
            return FoundObjects([path])  # opening it reports the error; --skip-bad may then leave it out
        what = f"cannot read {show(place.name)}: there is no such object or folder"
        raise place.no_bucket() or FileError(what, "check its name")
    return _in_folder(place, is_table)


def _is(about: Any, kind: str) -> bool:
    """Return whether a FileInfo is of a kind: "File", "Directory" or "NotFound"."""
    return bool(about.type.name == kind)


def _in_folder(place: ObjectPlace, is_table: Callable[[str], bool]) -> FoundObjects:
    folder = place.path.rstrip("/") + "/"
    inner = {about.path: about for about in _objects(place, folder, deep=True)}
    taken = [path for path in inner if _is_data(path.removeprefix(folder), is_table)]
    if not taken:
        raise FileError(
            f"no data files in folder {show(place.name)}", "files in a folder are recognised by their ending"
        )
    return FoundObjects(_noted(place, [inner[path] for path in taken]), _root(place, folder))


def _is_data(name: str, is_table: Callable[[str], bool]) -> bool:
    """Return whether a name has a known ending and no part that begins with a dot or underscore, such as _SUCCESS."""
    return not any(part.startswith((".", "_")) for part in name.split("/")) and is_table(name)


def names_in(path: str, is_table: Callable[[str], bool]) -> list[str]:
    """Return the names, relative to a folder, of the objects that reading the folder would use; empty for none."""
    place = place_of(path)
    folder = place.path.rstrip("/") + "/"
    names = (about.path.removeprefix(folder) for about in _objects(place, folder, deep=True))
    return sorted(name for name in names if _is_data(name, is_table))


def _matching(place: ObjectPlace, is_table: Callable[[str], bool]) -> FoundObjects:
    """Return the objects that match a pattern; where only folders match, such as partitions, the files in them."""
    parts = place.path.split("/")
    plain = next(i for i, part in enumerate(parts) if has_magic(part))
    folder = "/".join(parts[:plain]) + "/"
    whole = _regex(parts)
    # Where only the last part of the pattern has wildcards, its folder is listed without the folders below.
    flat = plain == len(parts) - 1 and parts[plain] != "**"
    matching = [about for about in _objects(place, folder, deep=not flat) if whole.fullmatch(about.path)]
    if not matching:
        objects = _objects(place, folder, deep=True)
        below = re.compile(f"(?:{whole.pattern.rstrip('/')})/(?P<inner>.*)", re.DOTALL)
        inner = ((about, below.fullmatch(about.path)) for about in objects)
        matching = [about for about, found in inner if found and _is_data(found["inner"], is_table)]
    return FoundObjects(_noted(place, matching), _root(place, folder))


def _regex(parts: list[str]) -> re.Pattern[str]:
    """Compile a pattern: `*` and `?` match anything but a slash and a leading dot, `**` any folders not hidden."""
    texts = []
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if part == "**":
            texts.append(r"(?:[^/.][^/]*/)*" + (r"[^/.][^/]*" if last else ""))
            continue
        visible = "(?!\\.)" if part[:1] in ("*", "?", "[") else ""
        texts.append(visible + SIGN.sub(_sign, part) + ("" if last else "/"))
    return re.compile("".join(texts), re.DOTALL)


def _sign(found: re.Match[str]) -> str:
    """Return the regular expression for one element of a pattern; none matches a slash but the slash itself."""
    match found[0]:
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case sign if len(sign) > 2 and sign[0] == "[":
            within = sign[1:-1].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
            return f"(?!/)[^{within[1:]}]" if within[0] == "!" else f"(?!/)[{within}]"
        case letter:
            return re.escape(letter)


def _objects(place: ObjectPlace, folder: str, *, deep: bool) -> Iterable[Any]:
    """Return the FileInfo of the objects in a folder and, if `deep`, in all folders below."""
    from pyarrow.fs import FileSelector

    try:
        selector = FileSelector(folder.rstrip("/"), allow_not_found=True, recursive=deep)
        listed = interruptible(lambda: place.files.get_file_info(selector))
    except ERRORS as error:
        raise place.trouble("list", error) from None
    return (about for about in listed if _is(about, "File"))


def _noted(place: ObjectPlace, objects: Iterable[Any]) -> list[str]:
    """Return the sorted names of objects, with the user and the options of the folder, and note their sizes."""
    sizes = {_named(place, about.path): int(about.size) for about in objects}
    SIZES.update(sizes)
    return sorted(sizes)


def _named(place: ObjectPlace, path: str) -> str:
    """Return the name of a path in the same bucket, with the user and the options of `place`."""
    return with_options(_bare(place, path), place.uri.query)


def _bare(place: ObjectPlace, path: str) -> str:
    """Return the name of a path in the same bucket, with the user but without the options of `place`."""
    uri = place.uri
    whole = f"{uri.stem}{path.partition('/')[2]}"
    if uri.user:
        from urllib.parse import quote

        secret = f":{quote(uri.password, safe='')}" if uri.password else ""
        whole = whole.replace("://", f"://{quote(uri.user, safe='')}{secret}@", 1)
    return whole


def _root(place: ObjectPlace, folder: str) -> str:
    return _bare(place, folder).rstrip("/")


def written(path: str) -> int | None:
    """Return the modification time of an object in nanoseconds; None for no object, no known time, and web pages."""
    about = place_of(path).info() if parse(path).kind != HTTP else None
    if about is None or not _is(about, "File") or about.mtime_ns is None:
        return None
    return int(about.mtime_ns)


def size_of(path: str) -> int | None:
    """Return the size of an object in bytes; None where the object cannot be read, or a server does not tell."""
    if path not in SIZES:
        try:
            SIZES[path] = _asked(path)
        except FileError:
            return None  # opening the object reports the error
    return SIZES[path]


def _asked(path: str) -> int | None:
    if parse(path).kind == HTTP:
        from pcatool.stores.http_client import size_of_page

        return size_of_page(path)
    about = place_of(path).info()
    if not _is(about, "File"):
        raise FileError(f"cannot read {show(shown(path))}: there is no such object")
    return int(about.size)
