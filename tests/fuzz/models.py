"""Model files changed at random: every command refuses them with exit 4, or works as on any other model.

`bytes_changed` damages the file, `contents_changed` what is in it, so that the archive itself is in order.
"""

from __future__ import annotations

import io
import json
import random
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from fuzz.calls import called, kept_to, reproducible, within, workplace
from pcatool.errors import ModelError
from pcatool.model.model import SCIKIT_LEARN
from pcatool.model.npz import dumps, loads
from pcatool.pipeline.fit_command import fit_command

DATA = Path(__file__).resolve().parents[1] / "data"
MODELS = sorted((DATA / "format_2").glob("*.npz"))

# Values that may stand where another is expected.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**6, 2**63, 10**400, 0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"),
    "", "x", "pca", "kernel", "\x1b[31m\n", "\ud800", "n" * 5000, [], {}, [1], ["a"], [None], [[]], {"a": 1},
    {"name": "rbf"}, {"name": "rbf", "gamma": "1"},
    # Right for one setting, and for no other.
    "reliability", "zca", "none", "em", "drop", "zero", "delta", "rbf", "svd", "randomized", "all", "ratio:0.1",
    "ratio:9", "supervised", "3", 3, 5, 0.99, 1.5, [1, 2, 3], [[1, 2]], [[5, 9]], ["c1"], {"c1": 3},
)  # fmt: skip

NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e-160, 1e160, 1.7e308, float("nan"), float("inf"), 0.1)


# --- taking a model apart ---


class Parts:
    """The arrays and the settings of a model file."""

    def __init__(self, data: bytes) -> None:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            self.arrays = {name: archive[name] for name in archive.files if name != "meta"}
            self.meta: dict[str, Any] = json.loads(str(archive["meta"]))

    def packed(self, *, listed: bool = True) -> bytes:
        meta = dict(self.meta)
        if listed:
            meta["arrays"] = {name: [array.dtype.str, list(array.shape)] for name, array in self.arrays.items()}
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w") as archive:
            for name, array in {**self.arrays, "meta": np.array(json.dumps(meta))}.items():
                member = io.BytesIO()
                npy.write_array(member, np.asarray(array), version=(1, 0))
                archive.writestr(f"{name}.npy", member.getvalue())
        return body.getvalue()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a JSON value, and every key in it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


# --- changes ---


def change_setting(parts: Parts, rng: random.Random) -> None:
    where, key = rng.choice([place for place in places(parts.meta) if place[1] != "arrays"])
    if isinstance(where, dict) and rng.random() < 0.1:
        del where[key]
    else:
        where[key] = deepcopy(rng.choice(VALUES))


def add_setting(parts: Parts, rng: random.Random) -> None:
    """One that other kinds of model have."""
    other = Parts(rng.choice(MODELS).read_bytes()).meta
    key = rng.choice([key for key in other if key != "arrays"])
    parts.meta[key] = other[key]
    if rng.random() < 0.5:
        parts.meta[key] = deepcopy(rng.choice(VALUES))


def change_number(parts: Parts, rng: random.Random) -> None:
    name = rng.choice([name for name, array in parts.arrays.items() if array.dtype.kind == "f" and array.size])
    array = np.array(parts.arrays[name])
    value = rng.choice(NUMBERS)
    array.flat[rng.randrange(array.size)] = value if rng.random() < 0.5 else array.flat[0] * (1 + 1e-9)
    if rng.random() < 0.1:
        with np.errstate(all="ignore"):
            array = array * value
    parts.arrays[name] = array


def change_shape(parts: Parts, rng: random.Random) -> None:
    name = rng.choice(list(parts.arrays))
    array = parts.arrays[name]
    match rng.randrange(5):
        case 0:
            parts.arrays[name] = array[..., :-1] if array.ndim else array[None]
        case 1:
            parts.arrays[name] = array.T.copy()
        case 2:
            parts.arrays[name] = array.ravel()
        case 3:
            parts.arrays[name] = array.astype(rng.choice(["f4", "i8", "U5", "c16", ">f8", "u1", "?"]))
        case _:
            parts.arrays[name] = np.concatenate([array, array]) if array.ndim else array[None, None]


def change_names(parts: Parts, rng: random.Random) -> None:
    names = parts.arrays["columns"].tolist()
    odd = ("", " ", "\x1b]0;x\x07", "a\nb", "PC1", "nan", "\u202e", "n" * 3000, "\ud800", names[0], "squared_error")
    names[rng.randrange(len(names))] = rng.choice(odd)
    parts.arrays["columns"] = np.array(names)


def other_array(parts: Parts, rng: random.Random) -> None:
    other = Parts(rng.choice(MODELS).read_bytes()).arrays
    name = rng.choice(list(other))
    if rng.random() < 0.3 and name in parts.arrays:
        del parts.arrays[name]
    else:
        parts.arrays[name] = other[name]


CHANGES = (change_setting, change_setting, change_setting, add_setting, change_number, change_shape, change_names,
           other_array)  # fmt: skip


def bytes_changed(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed, taken out, put in, doubled, cut off."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5, 20))):
        at = rng.randrange(len(changed) or 1) if rng.random() < 0.5 else max(len(changed) - 1 - rng.randrange(900), 0)
        length = rng.choice((1, 2, 4, 30, 500))
        match rng.randrange(8):
            case 0:
                del changed[at : at + length]
            case 1:
                changed[at:at] = rng.randbytes(length)
            case 2:
                changed[at:at] = changed[at : at + length]
            case 3 if rng.random() < 0.2:
                del changed[at:]
            case 4:
                changed[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"PK\x03\x04", b"PK\x01\x02"))
            case _ if changed:
                changed[at] = rng.randrange(256)
    return bytes(changed)


def contents_changed(data: bytes, rng: random.Random) -> bytes:
    parts = Parts(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        # A change before may have taken away what this one is about.
        with suppress(KeyError, IndexError, ValueError), warnings.catch_warnings(action="ignore"):
            rng.choice(CHANGES)(parts, rng)
    return parts.packed(listed=rng.random() < 0.95)


# --- what must hold ---


def check_model(name: str, data: bytes, folder: Path, rng: random.Random | None = None) -> None:
    """A refusal with exit 4, or a model that every command can use; with a generator, only one of them."""
    try:
        with within(30):
            model = loads(data, "changed.npz")
    except ModelError as error:
        assert error.exit_code == 4
        assert "\n" not in str(error)
        return
    assert dumps(loads(dumps(model))) == dumps(model)
    assert model.meta.get("solver") == SCIKIT_LEARN or fit_command(model).command, (
        "its settings are not valid for a fit"
    )
    path = folder / "changed.npz"
    path.write_bytes(data)
    calls = list(commands(name, path, folder))
    for command in calls if rng is None else [rng.choice(calls)]:
        kept_to(called(*command), {0, 2, 3, 4, 6})


def commands(name: str, model: Path, folder: Path) -> Iterator[tuple[object, ...]]:
    """Every use of a model."""
    table = DATA / "format_2" / table_of(name)
    triples = ("--triples", "user,item,value") if name.startswith("triples") else ()
    scores, back = folder / "scores.csv", folder / "back.csv"
    for path in (scores, back):
        path.unlink(missing_ok=True)
    yield "transform", model, table, *triples, "-o", scores, "-v"
    yield "transform", model, table, *triples, "--with-error", "-k", "1", "--output-format", "jsonl", "-o", scores
    yield "transform", model, DATA / "format_2" / "holes.csv", "--missing", "project", "--with-coverage", "-o", scores
    yield "transform", model, DATA / "format_2" / "holes.csv", "--json", "-o", scores
    yield "reconstruct", model, DATA / "format_2" / f"{name}.csv", "-o", back, "-v"
    yield "reconstruct", model, table, *triples, "--preimage", "-o", back
    yield "reconstruct", model, DATA / "format_2" / "holes.csv", "--fill", "-o", back
    yield "explain-variance", model, "-v"
    yield "explain-variance", model, "--json"
    yield "explain-variance", model, "--threshold", "0.9"
    yield "explain-variance", model, "--format", "table"
    yield "scree", model, "-v"
    yield "scree", model, "--format", "markdown"
    yield "scree", model, "--rules", "all"
    yield "inspect", model
    yield "inspect", model, "-v"
    yield "inspect", model, "--json"
    yield "diff", model, DATA / "format_2" / f"{name}.npz"
    yield "diff", DATA / "format_2" / f"{name}.npz", model, "--format", "csv"
    again = folder / "again.npz"
    yield "refit", model, "-k", "1", "-o", again
    yield "update", model, table, "-o", again
    yield "subtract", model, table, "-o", again
    yield "merge", model, DATA / "format_2" / f"{name}.npz", "-o", again
    yield "components", model, "-v"
    yield "components", model, "--json"
    yield "components", model, "--values", "loadings,correlations,contributions,cos2", "--format", "table"


def table_of(name: str) -> str:
    """The rows that a kept model is applied to."""
    if name.startswith("triples"):
        return "cells.csv"
    return "square.csv" if name == "kernel_precomputed" else "rows.csv"


def files(rng: random.Random, count: int) -> int:
    """Damaged files."""
    return _many(rng, count, bytes_changed)


def contents(rng: random.Random, count: int) -> int:
    """Files in order with wrong contents."""
    return _many(rng, count, contents_changed)


def _many(rng: random.Random, count: int, change: Any) -> int:
    with workplace() as folder:
        for _ in range(count):
            seed = rng.getrandbits(64)
            own = random.Random(seed)
            kept = own.choice(MODELS)
            data = change(kept.read_bytes(), own)
            with reproducible(f"{change.__name__} of {kept.name}, seed {seed}", model=data):
                check_model(kept.stem, data, folder, own)
    return count


def settings(rng: random.Random, count: int) -> int:
    """Every setting of every kept model in turn, each with every value; from a place that is drawn."""
    every = [(kept, at, value) for kept in MODELS for at in range(_count(kept)) for value in range(len(VALUES))]
    start = rng.randrange(len(every))
    with workplace() as folder:
        for kept, at, value in (every[start:] + every[:start])[:count]:
            parts = Parts(kept.read_bytes())
            where, key = list(places(parts.meta))[at]
            where[key] = deepcopy(VALUES[value])
            with reproducible(f"{kept.name}, {key} = {VALUES[value]!r:.60}", model=(data := parts.packed())):
                check_model(kept.stem, data, folder)
    return min(count, len(every))


def _count(kept: Path) -> int:
    return sum(1 for _ in places(Parts(kept.read_bytes()).meta))
