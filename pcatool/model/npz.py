"""Read and write models as `.npz` files: plain arrays and a JSON text, which `numpy.load` can open."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from pcatool.errors import ModelError, UsageError, check_memory
from pcatool.linalg.row_sums import KINDS as SUMS
from pcatool.linalg.row_sums import Statistic
from pcatool.model.model import FORMAT_VERSION, Model
from pcatool.model.validate import OPTIONAL
from pcatool.options.fields import is_number
from pcatool.progress import doing
from pcatool.readers.opener import ZIP, read_beginning, read_file
from pcatool.readers.paths import Input
from pcatool.resources import free_bytes
from pcatool.wording import counted, show
from pcatool.writers.sink import write_whole

__all__ = ["ArrayInfo", "check_beginning", "contents", "dumps", "load_model", "loads", "read_model", "save_model"]

# Zip members carry a date; a fixed one makes equal models equal files.
FIXED_DATE = (1980, 1, 1, 0, 0, 0)

# Largest ratio of unpacked to packed size. Arrays of a model are dense numbers, so a larger ratio is a zip bomb.
MAX_COMPRESSION = 100

# Bytes. With so much memory free, reading the short header of an array does not fail for lack of memory.
ENOUGH_MEMORY = 64 << 20

# Bound of integers in `meta` in either direction, so that they fit 64 bits.
MAX_INTEGER = 2**63

# Deepest nesting of JSON values. A certificate holds lists of lists, and nothing is nested deeper.
MAX_DEPTH = 8

# Required arrays -> numpy kind.
KINDS = {
    "mean": "f",
    "std": "f",
    "basis": "f",
    "eigenvalues": "f",
    "total_variance": "f",
    "n_samples": "i",
    "columns": "U",
}

# Number of dimensions of arrays that are checked before the model is built.
DIMENSIONS = {"total_variance": 0, "n_samples": 0, "columns": 1, "basis": 2}

# Settings that every model file must have.
SETTINGS = ("method", "center", "standardize", "ddof")

# Words for `meta["arrays"]` in messages.
LIST_OF_ARRAYS = "the file's list of arrays (in 'meta')"

# Array that only kernel models have.
KERNEL_ARRAY = "dual_vectors"


def dumps(model: Model) -> bytes:
    """Return the bytes of an `.npz` file of the model; equal models give equal bytes."""
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "mean": model.mean,
        "std": model.std,
        "basis": model.basis,
        "eigenvalues": model.eigenvalues,
        "total_variance": np.array(model.total_variance),
        "n_samples": np.array(model.n_samples, dtype=np.int64),
        "columns": np.array(model.columns, dtype=np.str_),
    }
    arrays |= {name: getattr(model, name) for name in OPTIONAL if getattr(model, name) is not None}
    arrays |= {name: getattr(model, name) for name in model.EXTRA_ARRAYS}
    arrays |= {} if model.statistic is None else model.statistic.arrays()
    meta = dict(model.meta)
    meta["arrays"] = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    text = json.dumps(meta, sort_keys=True, ensure_ascii=False, allow_nan=False)
    arrays["meta"] = np.array(text, dtype=np.str_)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", FIXED_DATE)
            member.external_attr = 0o644 << 16
            member.file_size = array.nbytes
            body = np.ascontiguousarray(array).reshape(array.shape)
            with archive.open(member, "w") as file:
                npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(body))
                file.write(body.data)
    return packed.getvalue()


def save_model(model: Model, path: str | Path, *, no_clobber: bool = False, inputs: Sequence[str] = ()) -> None:
    """Write the model to a file or to an object of a store; if that fails, an older file stays as it was.

    With `no_clobber`, an existing file is not replaced, and `FileError` is raised. `inputs` names files that must not
    be replaced, because data were read from them. Raises `FileError` if the file cannot be written, `ModelError` if it
    could not be read again, and `UsageError` unless a model and a path are given, in this order.

    >>> import pcatool
    >>> model = pcatool.fit("sample_data/houses.csv", components=1)
    >>> pcatool.save_model(model, "houses.npz")
    >>> pcatool.load_model("houses.npz") == model
    True
    """
    if not isinstance(model, Model):
        raise UsageError(
            f"an object of type {type(model).__name__} is not a model",
            "give the model first, as in save_model(model, 'model.npz')",
        )
    name = _path_text(path, "save_model(model, 'model.npz')")
    doing("writing")
    _check_readable(model)
    write_whole(name, dumps(model), no_clobber=no_clobber, inputs=inputs)


def _check_readable(model: Model) -> None:
    """Raise `ModelError` if the sums over rows of a model could not be read again from its file."""
    try:
        if model.statistic is not None:
            Statistic.of(model.statistic.arrays(), model.n_samples)
    except ModelError as error:
        raise ModelError(f"the model file would be invalid: {error.message}", "fit with --no-updatable") from None


def load_model(path: str | Path) -> Model:
    """Read a model that `save_model` or the command line has written, and check everything in its file.

    Raises `FileError` if the file cannot be read, `ModelError` if it is not a model or is damaged, and `UsageError` for
    an object that is not a path.

    >>> import pcatool
    >>> pcatool.save_model(pcatool.fit("sample_data/houses.csv", components=1), "houses.npz")
    >>> pcatool.load_model("houses.npz").k
    1
    """
    return read_model(path)[0]


def read_model(path: str | Path) -> tuple[Model, bytes]:
    """Read and check a model like `load_model`; return the model, and the bytes of its file."""
    source = Input(_path_text(path, "load_model('model.npz')"))
    data = read_file(source, ZIP)
    return loads(data, source.name), data


def _path_text(path: object, example: str) -> str:
    """Return a path as text; raise `UsageError` for any other object. `example` is a correct call, for the error."""
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"an object of type {type(path).__name__} is not a path", f"give a path, as in {example}")
    return os.fspath(path)


class ArrayInfo(NamedTuple):
    """Facts about one array of a model file, for `pcatool inspect`."""

    name: str
    type: str  # numpy's name, such as float64; "text" for strings
    shape: tuple[int, ...]
    bytes: int  # size of the array, uncompressed


def contents(data: bytes) -> list[ArrayInfo]:
    """Return facts about each array in the bytes of a model file, in the order of the file.

    The bytes must have been read by `loads` without an error.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        arrays = [(name, _member(archive, name, "the model")) for name in _members(archive, "the model")]
    return [
        ArrayInfo(name, "text" if array.dtype.kind == "U" else array.dtype.name, array.shape, array.nbytes)
        for name, array in arrays
    ]


def check_beginning(path: str) -> None:
    """Read the first bytes of a file, and raise `ModelError` unless they are the beginning of a zip archive."""
    source = Input(path)
    head = read_beginning(source, len(ZIP))
    if head != ZIP:
        loads(head, source.name)


def loads(data: bytes, name: str = "the model") -> Model:
    """Return the model in the bytes of a file; `name` is the name of the file in messages.

    Raises `ModelError` if the bytes are not a usable model, or have a newer format version.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            arrays = {member: _member(archive, member, name) for member in _members(archive, name)}
    except ModelError:
        raise
    except Exception as error:  # untrusted bytes: the parser may raise anything
        check_memory(error)
        raise _unusable(name, _why_no_archive(data)) from None
    meta = _meta(arrays, name)
    kind = _kind(arrays)
    _check_arrays(arrays, meta, name, {**KINDS, **dict.fromkeys(OPTIONAL, "f"), **SUMS, **kind.EXTRA_ARRAYS})
    more = [member for member in kind.EXTRA_ARRAYS if member not in arrays]
    if more:
        raise _unusable(name, f"it has no array {show(more[0])}")
    missing = [key for key in SETTINGS if key not in meta]
    if missing:
        raise _unusable(name, f"the setting {show(missing[0])} is missing")
    try:
        settings = {key: value for key, value in meta.items() if key != "arrays"}
        model = kind(
            mean=arrays["mean"],
            std=arrays["std"],
            basis=arrays["basis"],
            eigenvalues=arrays["eigenvalues"],
            total_variance=float(arrays["total_variance"]),
            n_samples=int(arrays["n_samples"]),
            columns=_names(arrays["columns"], name),
            meta=settings,
            statistic=Statistic.of(arrays, int(arrays["n_samples"])) if kind is Model else None,
            **{member: arrays.get(member) for member in OPTIONAL},
            **{member: arrays[member] for member in kind.EXTRA_ARRAYS},
        )
    except ModelError as error:
        raise _unusable(name, error.message, error.remedy) from None
    return model


def _names(array: np.ndarray[Any, Any], name: str) -> tuple[str, ...]:
    """Return the column names; raise `ModelError` for code points beyond Unicode, which a damaged file may have.

    `name` is the name of the file, for the error.
    """
    try:
        return tuple(array.tolist())
    except (SystemError, ValueError):  # code points beyond Unicode
        raise _unusable(name, "a name in array 'columns' is not valid text") from None


def _kind(arrays: Mapping[str, Any]) -> type[Model]:
    """Return the class of the model in a file: `KernelModel` if the file has dual vectors, else `Model`."""
    if KERNEL_ARRAY not in arrays:
        return Model
    from pcatool.kernels.model import KernelModel

    return KernelModel


def _why_no_archive(data: bytes) -> str:
    """Return why these bytes cannot be opened as a zip archive, as a clause."""
    if not data:
        return "it is empty"
    return "it is a damaged or incomplete .npz archive" if data.startswith(ZIP) else "it is not an .npz archive"


def _unusable(name: str, why: str, remedy: str = "") -> ModelError:
    """Return the error for the file `name`, which is not a usable model; `why` is a clause with the reason."""
    remedy = remedy or "give a model file written by pcatool fit -o"
    return ModelError(f"{show(name)} is not a usable model: {why}", remedy)


def _members(archive: zipfile.ZipFile, name: str) -> list[str]:
    """Return the names of the arrays in an archive; `name` is the name of the file, for errors.

    Raise `ModelError` for members that are not arrays, for duplicates, and if a required array is missing.
    """
    found = [info.filename for info in archive.infolist()]
    stems = [member.removesuffix(".npy") for member in found]
    odd = [m for m in found if not m.endswith(".npy") or "/" in m or "\\" in m]
    if odd:
        raise _unusable(name, f"it contains {show(odd[0])}, which is not an array")
    if len(set(stems)) < len(stems):
        raise _unusable(name, "it has two arrays of the same name")
    missing = [key for key in (*KINDS, "meta") if key not in stems]
    if missing:
        raise _unusable(name, f"it has no array {show(missing[0])}")
    return stems


def _member(archive: zipfile.ZipFile, member: str, name: str) -> np.ndarray[Any, Any]:
    """Return the array `member` of the archive; `name` is the name of the file, for errors.

    Raise `ModelError` if the array cannot be read. A wrong type, and a declared shape too large for the bytes of the
    member, are found before memory is allocated.
    """
    info = archive.getinfo(f"{member}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Other methods unpack a whole block at a time, however little is read.
        raise _unusable(name, f"array {show(member)} is compressed by a method that numpy does not use")
    try:
        with archive.open(info) as stream:
            version = npy.read_magic(stream)
            shape, fortran, dtype = _header(stream, version)
            size = dtype.itemsize * math.prod(shape)
            if dtype.kind not in "fiU" or dtype.itemsize == 0:
                raise _unusable(name, f"array {show(member)} has the wrong type {dtype}")
            if len(shape) > 2 or min(shape, default=0) < 0 or size > MAX_COMPRESSION * info.compress_size + (1 << 20):
                raise _unusable(
                    name, f"array {show(member)} has shape {shape}, which does not match its {info.compress_size} bytes"
                )
            data = stream.read(size + 1)
        if len(data) != size:
            raise _unusable(name, f"array {show(member)} has shape {shape}, which does not match its {len(data)} bytes")
        return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    except ModelError:
        raise
    except Exception as error:  # untrusted bytes: numpy and zipfile may raise anything
        if not isinstance(error, ValueError):
            check_memory(error)
        raise _unusable(name, f"array {show(member)} cannot be read ({type(error).__name__})") from None


def _header(stream: Any, version: tuple[int, int]) -> Any:
    """Return (shape, whether in Fortran order, dtype) of an array, read from its header in this `version` of npy.

    Raise `ValueError` for an invalid header. For a deeply nested header Python's parser raises `MemoryError`; raise
    `ValueError` in its place unless memory is really short.
    """
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        return read(stream)
    except MemoryError:
        if free_bytes() < ENOUGH_MEMORY:
            raise
        raise ValueError("nested too deeply") from None


def _meta(arrays: Mapping[str, np.ndarray[Any, Any]], name: str) -> dict[str, Any]:
    """Return the settings, parsed from the array `meta`; `name` is the name of the file, for errors.

    Raise `ModelError` if the text is not plain JSON, or has no format version or a newer one than this program reads.
    """
    if arrays["meta"].shape != () or arrays["meta"].dtype.kind != "U":
        raise _unusable(name, "array 'meta' is not text")
    try:
        # Code points beyond Unicode pass `encode`, but not `decode`.
        meta = json.loads(str(arrays["meta"]).encode().decode())
        version = meta["format_version"]
        _check_json(meta)
    except MemoryError:
        raise
    except Exception:
        raise _unusable(name, "array 'meta' is not plain JSON, or lacks the setting 'format_version'") from None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _unusable(name, f"the setting 'format_version' is {show(version)}, not a whole number of at least 1")
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{show(name)} has format version {version}, but this pcatool reads versions up to {FORMAT_VERSION}",
            "install a newer pcatool",
        )
    return dict(meta)


def _check_json(value: Any, depth: int = 0) -> None:
    """Raise `ValueError` if a value is not plain JSON that pcatool can write.

    Integers must fit 64 bits, other numbers must be finite, keys must be texts, text must be encodable as UTF-8, and
    lists and dicts may be nested at most MAX_DEPTH levels deep. `depth` is the level of `value`.
    """
    match value:
        case None | bool():
            return
        case int():
            sound = -MAX_INTEGER <= value < MAX_INTEGER
        case float():
            sound = is_number(value)
        case str():
            value.encode()
            return
        case list():
            sound = depth < MAX_DEPTH
        case dict():
            sound = depth < MAX_DEPTH and all(isinstance(key, str) for key in value)
            "".join(map(str, value)).encode()
        case _:
            sound = False
    if not sound:
        raise ValueError("a value that is not plain JSON")
    for inner in (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_json(inner, depth + 1)


def _check_arrays(
    arrays: Mapping[str, np.ndarray[Any, Any]], meta: Mapping[str, Any], name: str, kinds: Mapping[str, str]
) -> None:
    """Raise `ModelError` if names, types or shapes of the arrays differ from the list in `meta`.

    Raise it also if the numpy kind of an array differs from `kinds` (name -> kind), or its number of dimensions is
    wrong. `name` is the name of the file.
    """
    listed = meta.get("arrays")
    if not isinstance(listed, dict):
        raise _unusable(name, "array 'meta' lists no arrays")
    for key, array in arrays.items():
        if key == "meta":
            continue
        if key not in listed:
            raise _unusable(name, f"it has an array {show(key)}, which {LIST_OF_ARRAYS} does not name")
        if listed[key] != [array.dtype.str, list(array.shape)]:
            raise _unusable(name, f"the type or shape of array {show(key)} differs from {LIST_OF_ARRAYS}")
        if key in kinds and array.dtype.kind != kinds[key]:
            raise _unusable(name, f"array {show(key)} has the wrong type {array.dtype}")
    for key in listed:
        if key not in arrays:
            raise _unusable(name, f"array {show(key)} is missing, but {LIST_OF_ARRAYS} names it")
    for key, dimensions in DIMENSIONS.items():
        if arrays[key].ndim != dimensions:
            raise _unusable(name, f"array {show(key)} has {counted(arrays[key].ndim, 'dimension')}, not {dimensions}")
