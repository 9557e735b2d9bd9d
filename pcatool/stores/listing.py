"""List folders and expand patterns in stores, by the rules for local ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from glob import has_magic
from typing import Any, NamedTuple

from pcatool.errors import FileError, show
from pcatool.stores.calls import ERRORS, patiently
from pcatool.stores.objects import ObjectPlace, place_of
from pcatool.stores.uri import HTTP, parse, shown, with_options

__all__ = ["FoundObjects", "expand", "names_in", "size_of", "written"]

# A sign of a pattern: a letter for itself, or a class in brackets, which may begin with one that closes.
SIGN = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)
# Bytes of what was listed or looked at already, which need not be asked for again.
SIZES: dict[str, int] = {}


class FoundObjects(NamedTuple):
    """Objects in order, and the folder below which they were found; nothing when named itself."""

    paths: list[str]
    root: str = ""


def expand(path: str, is_table: Callable[[str], bool]) -> FoundObjects:
    """The objects that a path means. In folders those are meant whose names `is_table` takes, and no hidden ones."""
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
            return FoundObjects([path])  # opening it says why: it may be one of many, to be left out
        what = f"cannot read {show(place.name)}: there is no such object or folder"
        raise place.no_bucket() or FileError(what, "check its name")
    return _in_folder(place, is_table)


def _is(about: Any, kind: str) -> bool:
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
    """A known ending, and not hidden or marked as not data (`_SUCCESS`)."""
    return not any(part.startswith((".", "_")) for part in name.split("/")) and is_table(name)


def names_in(path: str, is_table: Callable[[str], bool]) -> list[str]:
    """Names, below a folder, of the objects that reading it would take; none where there is nothing."""
    place = place_of(path)
    folder = place.path.rstrip("/") + "/"
    names = (about.path.removeprefix(folder) for about in _objects(place, folder, deep=True))
    return sorted(name for name in names if _is_data(name, is_table))


def _matching(place: ObjectPlace, is_table: Callable[[str], bool]) -> FoundObjects:
    """The objects that match; where only folders do, as those of partitions, the files in them."""
    parts = place.path.split("/")
    plain = next(i for i, part in enumerate(parts) if has_magic(part))
    folder = "/".join(parts[:plain]) + "/"
    whole = _regex(parts)
    # One folder is listed alone where the pattern ends in it, and files match.
    flat = plain == len(parts) - 1 and parts[plain] != "**"
    matching = [about for about in _objects(place, folder, deep=not flat) if whole.fullmatch(about.path)]
    if not matching:
        objects = _objects(place, folder, deep=True)
        below = re.compile(f"(?:{whole.pattern.rstrip('/')})/(?P<inner>.*)", re.DOTALL)
        inner = ((about, below.fullmatch(about.path)) for about in objects)
        matching = [about for about, found in inner if found and _is_data(found["inner"], is_table)]
    return FoundObjects(_noted(place, matching), _root(place, folder))


def _regex(parts: list[str]) -> re.Pattern[str]:
    """`*` and `?` take all but a slash and a leading dot, `**` any folders that are not hidden."""
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
    """What a sign of a pattern takes, which is never a slash."""
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
    from pyarrow.fs import FileSelector

    try:
        selector = FileSelector(folder.rstrip("/"), allow_not_found=True, recursive=deep)
        listed = patiently(lambda: place.files.get_file_info(selector))
    except ERRORS as error:
        raise place.trouble("list", error) from None
    return (about for about in listed if _is(about, "File"))


def _noted(place: ObjectPlace, objects: Iterable[Any]) -> list[str]:
    """The names of objects, sorted; they lead where the folder's does."""
    sizes = {_named(place, about.path): int(about.size) for about in objects}
    SIZES.update(sizes)
    return sorted(sizes)


def _named(place: ObjectPlace, path: str) -> str:
    """The name of what lies elsewhere in the same bucket: with the user and the options of the first."""
    return with_options(_bare(place, path), place.uri.query)


def _bare(place: ObjectPlace, path: str) -> str:
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
    """When an object was, in nanoseconds; None where there is none, and on the web, which need not say."""
    about = place_of(path).info() if parse(path).kind != HTTP else None
    if about is None or not _is(about, "File") or about.mtime_ns is None:
        return None
    return int(about.mtime_ns)


def size_of(path: str) -> int | None:
    """Bytes of an object; None where nothing tells."""
    if path not in SIZES:
        try:
            SIZES[path] = _asked(path)
        except FileError:
            return None  # opening it says why
    return SIZES[path]


def _asked(path: str) -> int:
    if parse(path).kind == HTTP:
        from pcatool.stores.http_client import size_of_page

        return size_of_page(path)
    about = place_of(path).info()
    if not _is(about, "File"):
        raise FileError(f"cannot read {show(shown(path))}: there is no such object")
    return int(about.size)
