"""Model files: the same bytes for the same model, readable by numpy alone, and nothing in one is trusted."""

from __future__ import annotations

import io
import json
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.lib import format as npy

import pcatool
from fuzz.models import VALUES, Parts, places
from often import often
from pcatool.errors import FileError, ModelError
from pcatool.model.model import FORMAT_VERSION, Model
from pcatool.model.npz import dumps, load_model, loads, save_model
from pcatool.pipeline.fit_command import fit_command
from solvers.cases import CASES, by_name, fit, rows_of

SUMS = ("means", "rounding", "scatter")
NAMES = ("mean", "std", "basis", "eigenvalues", "total_variance", "n_samples", "columns", "meta")

MODEL = fit(rows_of(by_name("tall")), components=3, standardize=True, ddof=1)
GOOD = dumps(MODEL)


# --- files taken apart and put together ---


def members(data: bytes = GOOD) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def packed(parts: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return body.getvalue()


def changed(name: str, data: bytes) -> bytes:
    """The good file with other bytes for one array."""
    return packed({**members(), f"{name}.npy": data})


def npy_bytes(array: Any, version: tuple[int, int] = (1, 0)) -> bytes:
    body = io.BytesIO()
    npy.write_array(body, np.asarray(array), version=version)
    return body.getvalue()


def npy_claiming(header: str, body: bytes) -> bytes:
    """An array file with this header text, true or not."""
    text = header.encode("latin1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def claim(shape: object, dtype: str = "<f8", fortran: object = False) -> str:
    return f"{{'descr': {dtype!r}, 'fortran_order': {fortran!r}, 'shape': {shape!r}, }}"


def meta_of(data: bytes = GOOD) -> dict[str, Any]:
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        found: dict[str, Any] = json.loads(str(archive["meta"]))
        return found


def with_meta(**settings: Any) -> bytes:
    """The good file with other settings; ... takes one out."""
    meta = {key: value for key, value in {**meta_of(), **settings}.items() if value is not ...}
    return changed("meta", npy_bytes(json.dumps(meta)))


def with_array(name: str, array: Any) -> bytes:
    """The good file with another array, listed as it is: only its values can be wrong."""
    array = np.asarray(array)
    listed = {**meta_of()["arrays"], name: [array.dtype.str, list(array.shape)]}
    meta = npy_bytes(json.dumps({**meta_of(), "arrays": listed}))
    return packed({**members(), f"{name}.npy": npy_bytes(array), "meta.npy": meta})


def unlisted(name: str, array: Any) -> bytes:
    """The good file with another array that differs from its entry in meta."""
    return changed(name, npy_bytes(array))


def without(name: str) -> bytes:
    return packed({member: data for member, data in members().items() if member != f"{name}.npy"})


def refusal(data: bytes) -> str:
    with pytest.raises(ModelError) as caught:
        loads(data, "x.npz")
    assert caught.value.exit_code == 4
    assert "x.npz" in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- good files ---


@pytest.mark.parametrize("case", [case for case in CASES if not case.exit_code], ids=lambda case: case.name)
def test_round_trip(case: Any) -> None:
    model = fit(rows_of(case), components="all")
    again = loads(dumps(model))
    for name in ("mean", "std", "basis", "eigenvalues"):
        one, other = getattr(model, name), getattr(again, name)
        assert one.tobytes() == other.tobytes()
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert not other.flags.writeable
    assert (again.total_variance, again.n_samples, again.columns) == (
        model.total_variance,
        model.n_samples,
        model.columns,
    )
    assert again.meta == model.meta
    assert dumps(again) == dumps(model)


def test_same_bytes_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 4e9)
    again = fit(rows_of(by_name("tall")), components=3, standardize=True, ddof=1)
    assert dumps(again) == dumps(MODEL) == GOOD


def test_order_of_settings_does_not_show() -> None:
    backwards = replace(MODEL, meta=dict(reversed(list(MODEL.meta.items()))))
    assert dumps(backwards) == GOOD


def test_numpy_alone_reads_it() -> None:
    with np.load(io.BytesIO(GOOD), allow_pickle=False) as archive:
        assert sorted(archive.files) == sorted([*NAMES, "variances", *SUMS])
        np.testing.assert_array_equal(archive["basis"], MODEL.basis)
        assert archive["basis"].shape == (6, 3)
        assert archive["n_samples"].dtype == np.int64
        assert archive["n_samples"].shape == archive["total_variance"].shape == ()
        assert archive["columns"].tolist() == list(MODEL.columns)
        assert archive["columns"].dtype.kind == "U"
        meta = json.loads(str(archive["meta"]))
    assert meta["format_version"] == FORMAT_VERSION
    assert (meta["method"], meta["ddof"], meta["standardize"], meta["center"]) == ("pca", 1, True, True)
    assert {"solver", "reason", "certificate"} <= meta.keys()
    for name in set(NAMES) - {"meta"}:
        with np.load(io.BytesIO(GOOD)) as archive:
            assert meta["arrays"][name] == [archive[name].dtype.str, list(archive[name].shape)]


def test_nothing_of_the_clock_is_in_it() -> None:
    with zipfile.ZipFile(io.BytesIO(GOOD)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


NAMINGS = [
    ("a", "b", "c", "d", "e", "f"),
    ("größe", "花びら", "a b", "'\"\\", "x,y", "\t"),
    ("1", "2", "3", " ", "", "🙂"),
    ("n" * 5000, "N", "mean", "meta", "PC1", "PC2"),
]


@pytest.mark.parametrize("names", NAMINGS, ids=["plain", "letters", "odd", "long"])
def test_names_of_any_kind(names: tuple[str, ...]) -> None:
    assert loads(dumps(replace(MODEL, columns=names))).columns == names


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    save_model(MODEL, path)
    assert path.read_bytes() == GOOD
    assert dumps(load_model(path)) == GOOD
    with pytest.raises(FileError):
        load_model(tmp_path / "missing.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_packed_anew_by_another_program(method: int) -> None:
    assert dumps(loads(packed(members(), method))) == GOOD


def test_arrays_as_numpy_may_also_write_them() -> None:
    """Column order, header version 2, and an array that a later version may add."""
    parts = members()
    parts["basis.npy"] = npy_bytes(np.asfortranarray(MODEL.basis))
    parts["mean.npy"] = npy_bytes(MODEL.mean, version=(2, 0))
    assert dumps(loads(packed(parts))) == GOOD
    assert dumps(loads(with_array("extra", np.arange(3.0)))) == GOOD


# --- refusals ---

CUT = MODEL.basis.copy()
CUT[:, 1] = CUT[:, 0]

SUPERVISED = {"method": "supervised", "labels": ["w"], "label_kernel": "linear"}
STEPS = {"steps": 3, "converged": True, "noise_variance": 0.1, "log_likelihood": -1.0}

REFUSED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "text": (b"a,b\n1,2\n", "archive"),
    "an array": (npy_bytes(np.ones(3)), "archive"),
    "an empty archive": (packed({}), "no array"),
    **{f"without {name}": (without(name), name) for name in NAMES},
    **{f"{name} listed otherwise": (unlisted(name, np.ones(17)), name) for name in NAMES[:-1]},
    "mean as float32": (unlisted("mean", MODEL.mean.astype(np.float32)), "mean"),
    "mean of another length": (with_array("mean", np.ones(5)), "mean"),
    "mean as integers": (with_array("mean", np.ones(6, np.int64)), "mean"),
    "n_samples as float": (with_array("n_samples", 40.0), "n_samples"),
    "n_samples as an array": (with_array("n_samples", np.array([40])), "'n_samples' has 1 dimension, not 0"),
    "n_samples zero": (with_array("n_samples", 0), "rows"),
    "total_variance as an array": (with_array("total_variance", np.array([6.0])), "_variance' has 1 dimension, not 0"),
    "columns as numbers": (with_array("columns", np.arange(6)), "columns"),
    "columns twice": (with_array("columns", np.array(list("abcabc"))), "same name"),
    "columns in two dimensions": (with_array("columns", np.array([list("abcdef")])), "columns' has 2 dimensions, not"),
    "basis in one dimension": (with_array("basis", MODEL.basis[:, 0]), "'basis' has 1 dimension, not 2"),
    "basis transposed": (with_array("basis", MODEL.basis.T), ""),
    "basis oblique": (with_array("basis", CUT), "orthonormal"),
    "basis huge": (with_array("basis", MODEL.basis * 1e300), "orthonormal"),
    "basis of no columns": (with_array("basis", MODEL.basis[:, :0]), "components"),
    "std zero": (with_array("std", np.zeros(6)), "std"),
    "eigenvalues negative": (with_array("eigenvalues", np.array([6.0, 1, 1, 1, 1, -1])), "eigenvalues"),
    "eigenvalues ascending": (with_array("eigenvalues", MODEL.eigenvalues[::-1]), "descending"),
    "eigenvalues too few": (with_array("eigenvalues", MODEL.eigenvalues[:2]), "eigenvalues"),
    "eigenvalues above the trace": (with_array("eigenvalues", MODEL.eigenvalues * 2), "total_variance"),
    **{
        f"{name} holds {value}": (with_array(name, np.where(np.arange(6) == 2, value, MODEL.mean)), name)
        for name in ("mean", "std", "eigenvalues")
        for value in (np.nan, np.inf)
    },
    "basis holds nan": (with_array("basis", MODEL.basis * np.nan), "basis"),
    "total_variance nan": (with_array("total_variance", np.nan), "total_variance"),
    # Objects would be unpickled, which runs code.
    "objects": (changed("mean", npy_claiming(claim((1,), "|O"), b"cos\nsystem\n")), "mean"),
    "records": (changed("mean", npy_bytes(np.zeros(6, [("a", "<f8")]))), "mean"),
    "complex numbers": (changed("mean", npy_bytes(np.zeros(6, complex))), "mean"),
    "bytes": (changed("columns", npy_bytes(np.array([b"a"] * 6))), "columns"),
    "dates": (changed("mean", npy_bytes(np.zeros(6, "<M8[s]"))), "mean"),
    # Headers that do not hold together.
    "terabytes claimed": (changed("mean", npy_claiming(claim((2**45,)), b"")), "mean"),
    "names of terabytes": (changed("columns", npy_claiming(claim((6,), f"<U{2**28}"), b"")), "columns"),
    "a type too large to be": (changed("columns", npy_claiming(claim((6,), f"<U{2**60}"), b"")), "columns"),
    "a shape below zero": (changed("mean", npy_claiming(claim((-6,)), bytes(48))), "mean"),
    "a shape below zero twice": (changed("mean", npy_claiming(claim((-1, -6)), bytes(48))), "mean"),
    "nothing times a huge length": (changed("mean", npy_claiming(claim((0, 10**30)), b"")), "mean"),
    "a hundred dimensions": (changed("mean", npy_claiming(claim((1,) * 100), bytes(8))), "mean"),
    "a header cut off": (changed("mean", npy_claiming("{'descr': (", b"")), "mean"),
    "a header too deep": (changed("mean", npy_claiming("-" * 9000 + "1", b"")), "mean"),
    "a header of parentheses": (changed("mean", npy_claiming("(" * 9000, b"")), "mean"),
    "a header of another kind": (changed("mean", npy_claiming("[1, 2]", b"")), "mean"),
    "a header that calls": (changed("mean", npy_claiming("__import__('os')", b"")), "mean"),
    "no header": (changed("mean", b""), "mean"),
    "an unknown header version": (changed("mean", b"\x93NUMPY\x09\x00"), "mean"),
    "a body cut off": (changed("mean", members()["mean.npy"][:-1]), "mean"),
    "a body too long": (changed("mean", members()["mean.npy"] + b"\0"), "mean"),
    # Letters past the end of Unicode.
    "letters that are none": (changed("columns", npy_claiming(claim((6,), "<U2"), b"\xff" * 48)), "columns"),
    "letters beyond Unicode": (changed("columns", npy_claiming(claim((6,), "<U1"), b"\0\0\x11\0" * 6)), "columns"),
    "a mean that is not subtracted": (with_meta(center=False), "mean"),
    "no word on the divisor": (with_meta(ddof=...), "ddof"),
    "half a letter": (with_array("columns", np.array(list("abcde\ud800"))), "columns"),
    "meta of letters that are none": (changed("meta", npy_claiming(claim((), "<U1"), b"\xff" * 4)), "meta"),
    # Members.
    "a member of another kind": (packed({**members(), "readme.txt": b"hello"}), "readme.txt"),
    "a member in a folder": (packed({**members(), "a/b.npy": npy_bytes(1.0)}), "a/b.npy"),
    "a member above": (packed({**members(), "../b.npy": npy_bytes(1.0)}), "../b.npy"),
    "a member that meta does not list": (changed("b", npy_bytes(1.0)), "it has an array 'b', which the file's list"),
    # Settings.
    "meta as numbers": (changed("meta", npy_bytes(np.ones(3))), "meta"),
    "meta no JSON": (changed("meta", npy_bytes("{")), "meta"),
    "meta a list": (changed("meta", npy_bytes("[]")), "meta"),
    "meta too deep": (changed("meta", npy_bytes("[" * 100_000)), "meta"),
    "a format of 0": (with_meta(format_version=0), "is '0', not a whole number of at least 1"),
    "a method to come": (
        with_meta(method="magic"),
        "the setting 'method' is 'magic', which this version of pcatool does not know; install a newer pcatool",
    ),
    "a format to come": (with_meta(format_version=FORMAT_VERSION + 1), "install a newer pcatool"),
    **{
        f"format version {version!r}": (with_meta(format_version=version), "format_version")
        for version in (0, -1, True, "1", 1.0, None, [1], ...)
    },
    "arrays not listed": (with_meta(arrays=...), "lists no arrays"),
    "arrays listed as a list": (with_meta(arrays=[]), "lists no arrays"),
    "an array listed and not there": (
        with_meta(arrays={**meta_of()["arrays"], "more": ["<f8", []]}),
        "array 'more' is missing, but the file's list of arrays (in 'meta') names it",
    ),
    # Settings that are used later on.
    "ddof a word": (with_meta(ddof="many"), "ddof"),
    "ddof two": (with_meta(ddof=2), "ddof"),
    "center a word": (with_meta(center="no"), "center"),
    "standardize a number": (with_meta(standardize=0), "standardize"),
    "certificate a word": (with_meta(certificate="fine"), "certificate"),
    "certificate of words": (with_meta(certificate={"eigen_residual": "small"}), "certificate"),
    "booleans a number": (with_meta(booleans=5), "booleans"),
    "booleans of columns that are none": (with_meta(booleans=["zzz"]), "booleans"),
    **{
        f"{name} = {value!r:.20}": (with_meta(**{name: value}), name)
        for name, values in {
            "method": (None, [], "magic"),
            "whiten": (None, [], "much", "PCA", True),
            "missing": (None, [], "em?"),
            "absent": (1, "none"),
            "rank": (None, 0, -1, 1.0, True, "6", [], 7, 10**6),
            "constant_columns": (None, -1, 6, 0.5, "none"),
            "squared_shares": (None, 0, -0.5, "1"),
            "eigenvalues": (None, 5, "most"),
            "labels": ("kind", [1], [None]),
            "classes": (None, -1, "two"),
            "landmarks": (None, "5"),
            "kernel": ({}, "rbf", {"name": "rbf"}, {"gamma": []}),
            "hsic": (None, "1", [1]),
            "weights": (None, 1),
            "weights_kind": (None, [], "whatever", "frequency"),
            "label_kernel": (None, 7, "gauss", "delta"),
            "label_gamma": (None, 0, -1.0, "1", 1.0),
            "label_numbers": (None, ["w"], []),
            "components": (None, True, 0, -1, 1.5, 3.0, 1.0, "3", "0.99", "al", "ratio:9", "mle:3", 7, 10**6, [3]),
            "epsilon": (0.0, 1e-5),
            "seed": (None, -1, 1.5, "3", True),
            "vectors": (None, [], {"c": 0}, {"c": "3"}, {"c": None}),
            "aligned": (None, [], [0], [1, 1], [2, 3], ["1"]),
            "choice": (None, 7),
            "solver": (None, {}, "arpack", ""),
            "reason": (None, []),
            "em": (None, {}, {"steps": 1}, {"steps": "1", "converged": 1, "noise_variance": 0, "log_likelihood": 0}),
        }.items()
        for value in values
    },
    **{
        f"certificate of {of!r:.60}": (with_meta(certificate={**meta_of()["certificate"], **of}), "certificate")
        for of in (
            {"eigen_residual": None}, {"trace_closure": True}, {"vouched": None}, {"vouched": [True]},
            {"vouched": ["yes"] * 3}, {"relative_error": None}, {"relative_error": [None] * 3},
            {"relative_error": ["small"] * 3}, {"relative_error": []}, {"close_pairs": None}, {"close_pairs": [1]},
            {"relative_error": [-1.0] * 3}, {"close_pairs": [[1]]}, {"close_pairs": [["a", "b"]]},
            {"close_pairs": [[1, 1]]}, {"close_pairs": [[0, 1]]}, {"close_pairs": [[1, 99]]}, {"eigen_residual": -1.0},
            {"vouched": [True], "relative_error": [1e-9]},
        )
    },
    # Settings that exclude or need each other.
    **{
        word: (with_meta(**more), word)
        for word, more in {
            "a supervised model needs the settings 'labels' and 'label_kernel'": {"method": "supervised"},
            "the setting 'whiten' is 'pca', which a supervised model cannot have": {
                **SUPERVISED,
                "whiten": "pca",
                "epsilon": 0.0,
            },
            "the setting 'missing' is 'mean', which a supervised model cannot have": {**SUPERVISED, "missing": "mean"},
            "the setting 'label_gamma' is '1.0', but the setting 'label_kernel' is not rbf": {
                **SUPERVISED,
                "label_gamma": 1.0,
            },
            "the setting 'label_numbers' is '['v']', but not all of these are labels of the model": {
                **SUPERVISED,
                "label_numbers": ["v"],
            },
            "the setting 'weights_kind' is 'reliability', but the setting 'weights' is missing": {
                "weights_kind": "reliability"
            },
            "the setting 'epsilon' is '0.5', but the setting 'whiten' is missing": {"epsilon": 0.5},
            "the model whitens, but the setting 'epsilon' is missing": {"whiten": "pca"},
            "the setting 'constant_columns' is 6, but must be at most 5": {"constant_columns": 6},
            "the setting 'booleans' is '['zzz']', but not all of these are columns of the model": {"booleans": ["zzz"]},
            "the setting 'aligned' lists 1 component, but must list 3 to": {"aligned": [1]},
            "the setting 'missing' is 'error', but the model was fitted by EM": {"em": STEPS},
        }.items()
    },
    # What no setting may be, known or not.
    **{
        f"more = {value!r:.20}": (with_meta(more=value), "plain JSON")
        for value in (np.nan, np.inf, -np.inf, 10**30, "\ud800", {"\ud800": 1}, [[[[[[[[[[]]]]]]]]]])
    },
    "a number of many digits": (changed("meta", npy_bytes('{"format_version": 1, "n": 1' + "0" * 9999 + "}")), "meta"),
    "ddof one of one row": (with_array("n_samples", 1), ""),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    data, word = REFUSED[what]
    assert word in refusal(data)


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 4, 7], "b": [3.0, 1, 2, 2], "kind": ["x", "y", "x", "y"]})
    model = pcatool.fit(frame, method="supervised", label="kind")
    assert model.statistic is not None
    broken = replace(model, statistic=model.statistic._replace(classes=("x", "x")))
    path = tmp_path / "m.npz"
    save_model(model, path)
    with pytest.raises(
        ModelError,
        match="the model file would be invalid: array 'class_names' has two equal names; fit with --no-updatable",
    ):
        save_model(broken, path)
    assert load_model(path) == model


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_member_twice_is_refused() -> None:
    body = io.BytesIO(GOOD)
    with zipfile.ZipFile(body, "a") as archive:
        archive.writestr("mean.npy", npy_bytes(MODEL.mean + 1))
    assert "two arrays of the same name" in refusal(body.getvalue())


def flagged(data: bytes, flags: int) -> bytes:
    """The same archive whose members all claim these flags, in both places."""
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        parts = data.split(magic)
        data = magic.join(
            [parts[0], *(part[: at - 4] + struct.pack("<H", flags) + part[at - 2 :] for part in parts[1:])]
        )
    return data


def sized(data: bytes, size: int) -> bytes:
    """The same archive whose table claims another size for every member, packed and not."""
    parts = data.split(b"PK\x01\x02")
    claimed = struct.pack("<LL", size, size)
    return b"PK\x01\x02".join([parts[0], *(part[:16] + claimed + part[24:] for part in parts[1:])])


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: flagged(GOOD, 1), "cannot be read"),  # encrypted
        (lambda: flagged(GOOD, 0x20), "cannot be read"),  # patches
        (lambda: flagged(GOOD, 0x40), "cannot be read"),  # strong encryption
        (lambda: sized(GOOD, 2**31), ""),
        (lambda: sized(GOOD, 2**32 - 1), ""),  # zip64, without its sizes
        (lambda: packed({**members(), "mean.npy": GOOD}), "mean"),
        (lambda: packed({**members(), "more.npz": GOOD}), "more.npz"),
        (lambda: packed({**members(), "more.npy": GOOD}), "more"),
        (lambda: packed({**members(), "/etc/passwd.npy": npy_bytes(1.0)}), "/etc/passwd"),
        (lambda: packed({**members(), "\x1b[2J.npy": npy_bytes(1.0)}), "\\x1b[2J"),
        (lambda: packed({**members(), "\n.npy": npy_bytes(1.0)}), "\\n"),
        (lambda: packed({**members(), "MEAN.npy": npy_bytes(1.0)}), "MEAN"),
    ],
)
def test_odd_archives_are_refused(make: Callable[[], bytes], word: str) -> None:
    data = make()
    tracemalloc.start()
    try:
        assert word in refusal(data)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_what_has_no_end_is_refused_by_its_beginning(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^'/dev/zero' is not a usable model: it is not an \.npz"):
        load_model("/dev/zero")
    huge = tmp_path / "huge.csv"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ModelError, match=r"it is not an \.npz archive"):
        load_model(huge)


def test_cut_off_anywhere_is_refused() -> None:
    assert "it is empty" in refusal(b"")
    assert "it is not an .npz archive;" in refusal(GOOD[:3])
    for length in range(50, len(GOOD), 50):
        assert "it is a damaged or incomplete .npz archive;" in refusal(GOOD[:length])


def test_what_stands_before_or_behind_does_not_matter_or_is_refused() -> None:
    for data in (b"junk" + GOOD, GOOD + b"junk", GOOD + GOOD):
        equal_or_refused(data)


def equal_or_refused(data: bytes) -> bool:
    """Never anything but a refusal, or the model itself; True when refused."""
    try:
        model = loads(data, "x.npz")
    except ModelError as error:
        assert error.exit_code == 4
        return True
    assert dumps(model) == GOOD
    return False


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
    ids=["stored", "deflated", "bzip2", "lzma"],
)
def test_damaged_files_are_refused(method: int) -> None:
    """Bytes changed, taken out, put in: what the check sums do not see, the reader must."""
    rng = np.random.default_rng(method)
    whole = packed(members(), method)
    refused = 0
    for _ in range(500):
        data = bytearray(whole)
        for _ in range(int(rng.integers(1, 4))):
            damage(data, rng)
        refused += equal_or_refused(bytes(data))
    assert refused > 250  # the rest hit what does not matter: dates, modes, the name of the system


def damage(data: bytearray, rng: np.random.Generator) -> None:
    """One change, half of the time in the archive's own tables at the end."""
    at = int(rng.integers(len(data))) if rng.random() < 0.5 else len(data) - 1 - int(rng.integers(700))
    match int(rng.integers(10)):
        case 8:
            del data[at : at + int(rng.integers(1, 30))]
        case 9:
            data[at:at] = rng.bytes(int(rng.integers(1, 30)))
        case _:
            data[at] = int(rng.integers(256))


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header parsing")
def test_arrays_damaged_under_a_good_check_sum() -> None:
    """Now the archive is in order and its contents are not; what loads must be a model all the same."""
    rng = np.random.default_rng(8)
    refused = 0
    for _ in range(1000):
        parts = members()
        name = f"{NAMES[int(rng.integers(len(NAMES)))]}.npy"
        data = bytearray(parts[name])
        at = int(rng.integers(len(data))) if rng.random() < 0.3 else int(rng.integers(min(len(data), 128)))
        match int(rng.integers(4)):
            case 0:
                data[at] = int(rng.integers(256))
            case 1:
                data[at] = ord("0123456789-,()'<>fiuU{}[]: \""[int(rng.integers(27))])
            case 2:
                del data[at : at + int(rng.integers(1, 10))]
            case 3:
                data[at:at] = rng.bytes(int(rng.integers(1, 10)))
        try:
            model = loads(packed({**parts, name: bytes(data)}), "x.npz")
        except ModelError:
            refused += 1
        else:
            assert isinstance(model, Model)
            assert dumps(loads(dumps(model))) == dumps(model)
    assert refused > 500


# --- memory ---


@pytest.mark.parametrize(
    "make",
    [
        lambda: changed("mean", npy_claiming(claim((2**45,)), b"")),
        lambda: changed("columns", npy_claiming(claim((2**40,), "<U100"), b"")),
        lambda: packed({**members(), "mean.npy": bytes(200 << 20)}, zipfile.ZIP_DEFLATED),
        lambda: packed({**members(), "junk.npy": bytes(200 << 20)}, zipfile.ZIP_DEFLATED),
        lambda: packed({**members(), "mean.npy": bytes(200 << 20)}, zipfile.ZIP_BZIP2),
    ],
    ids=["terabytes claimed", "names of terabytes claimed", "deflated bomb", "deflated bomb beside", "bzip2 bomb"],
)
def test_refused_without_taking_the_memory(make: Callable[[], bytes]) -> None:
    data = make()
    tracemalloc.start()
    try:
        refusal(data)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_bomb_that_lies_about_its_size_is_refused() -> None:
    """The size in the table says small, the stream unpacks to much."""
    honest = packed({**members(), "mean.npy": bytes(64 << 20)}, zipfile.ZIP_DEFLATED)
    lying = honest.replace(struct.pack("<L", 64 << 20), struct.pack("<L", 176))
    assert lying != honest
    tracemalloc.start()
    try:
        refusal(lying)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_files_of_earlier_formats_load() -> None:
    """Written by the program as it was then."""
    model = load_model(Path(__file__).parents[1] / "data" / "houses_format_1.npz")
    assert model.meta["format_version"] == 1
    assert model.variances is None
    np.testing.assert_allclose(model.project(np.array([[10.0, 10.0]])), [[5 * 2**0.5, 0]], atol=1e-14)


# --- every setting of every kind of model ---

KEPT = sorted((Path(__file__).parents[1] / "data" / "format_2").glob("*.npz"))


def test_each_setting_is_refused_or_as_good_as_any_other() -> None:
    """What loads is told of by every report, gives the command of a fit, and can be fitted again or says why not."""
    rng = random.Random(22)
    refused, taken = 0, 0
    for _ in range(often(500)):
        kept = rng.choice(KEPT)
        parts = Parts(kept.read_bytes())
        listed = parts.meta.pop("arrays")
        where, key = rng.choice(list(places(parts.meta)))
        before, where[key] = where[key], deepcopy(rng.choice(VALUES))
        said = f"{kept.stem}: {key} = {where[key]!r:.60}, not {before!r:.60}"
        parts.meta["arrays"] = listed
        try:
            model = loads(parts.packed(), "x.npz")
        except ModelError as error:
            assert error.exit_code == 4, said
            assert "\n" not in str(error), said
            refused += 1
            continue
        taken += 1
        assert dumps(loads(dumps(model))) == dumps(model), said
        assert pcatool.inspect(model)["fitted_with"] is not None, said
        assert model.meta.get("solver") == "scikit-learn" or fit_command(model).command, said
        if model.statistic is not None:
            assert pcatool.refit(model, components=1).k == 1, said
    assert refused > 5 * taken > 0


def test_a_setting_that_is_not_known_is_kept() -> None:
    """A later version may add one, and so may whoever made the file; `format_version` tells what must be known."""
    model = loads(dumps(MODEL.with_meta(note=["x", {"y": 1}])), "m.npz")
    assert model.meta["note"] == ["x", {"y": 1}]


def test_a_scale_is_what_the_settings_say() -> None:
    X = np.random.default_rng(3).normal(size=(30, 4)) * [1, 5, 1e-3, 1e5]
    model = pcatool.fit(X, standardize=True)
    with pytest.raises(
        ModelError, match="the model is standardised, but array 'std' does not match the column variances"
    ):
        replace(model, std=model.std * [1, 1, 1, 1.5], statistic=None)
    with pytest.raises(ModelError, match="array 'std' is not 1"):
        model.with_meta(standardize=False)
    plain = pcatool.fit(X)
    with pytest.raises(ModelError, match="array 'std' does not match the column variances"):
        plain.with_meta(standardize=True)
    with pytest.raises(ModelError, match="array 'std' is not 1, but the model is not standardised"):
        replace(plain, std=plain.std * 2, statistic=None)


def test_want_of_memory_is_not_a_damaged_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*given: object, **more: object) -> None:
        raise MemoryError

    for name in ("frombuffer", "zipfile.ZipFile", "json.loads"):
        with monkeypatch.context() as patched:
            patched.setattr(f"pcatool.model.npz.{'np.' * (name == 'frombuffer')}{name}", short)
            with pytest.raises(MemoryError):
                loads(GOOD)
