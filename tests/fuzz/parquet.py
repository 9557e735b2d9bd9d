"""Parquet files changed at random: every command ends with an exit code of the table, whatever Arrow makes of them."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from fuzz.calls import called, kept_to, reproducible, workplace

MODEL = Path(__file__).resolve().parents[1] / "data" / "format_2" / "pca.npz"
ROWS = 60

WRITTEN: tuple[Mapping[str, Any], ...] = (
    {},
    {"compression": "none", "use_dictionary": False},
    {"compression": "zstd", "row_group_size": 7},
    {"compression": "gzip", "data_page_version": "2.0"},
    {"use_byte_stream_split": ["a", "b"], "use_dictionary": False},
    {"write_page_checksum": True, "data_page_size": 64},
    {"column_encoding": {"c": "DELTA_BINARY_PACKED"}, "use_dictionary": False},
)  # fmt: skip


def table() -> pa.Table:
    """A column of every type that a table may hold; a to d are those of the model."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, 4))
    words = [f"w{i % 5}" for i in range(ROWS)]
    holes = [None if i % 9 == 4 else float(i) for i in range(ROWS)]
    return pa.table(
        {
            "a": X[:, 0],
            "b": X[:, 1].astype(np.float32),
            "c": (100 * X[:, 2]).astype(np.int64),
            "d": (100 * X[:, 3]).astype(np.uint8),
            "holes": pa.array(holes),
            "words": words,
            "few": pa.array(words).dictionary_encode(),
            "grades": pa.array([i % 3 for i in range(ROWS)], pa.int32()).dictionary_encode(),
            "prices": pa.array([i % 5 / 4 for i in range(ROWS)]).dictionary_encode(),
            "flags": [i % 2 == 0 for i in range(ROWS)],
            "half": X[:, 0].astype(np.float16),
            "money": pa.array([Decimal(i) / 4 for i in range(ROWS)], pa.decimal128(9, 2)),
            "day": [date(2024, 1, 1 + i % 28) for i in range(ROWS)],
            "time": [datetime(2024, 1, 1, i % 24) for i in range(ROWS)],
            "vector": pa.array([row.tolist() for row in X], pa.list_(pa.float32(), 4)),
            "list": pa.array([row.tolist() for row in X], pa.list_(pa.float64())),
            "pair": [{"x": i, "y": None} for i in range(ROWS)],
            "map": pa.array([[("k", i)] for i in range(ROWS)], pa.map_(pa.string(), pa.int32())),
            "null": pa.nulls(ROWS),
            "bytes": [b"x" * (i % 4) for i in range(ROWS)],
        }
    )


@cache
def written() -> tuple[bytes, ...]:
    """The table, and its plain part, as they may be written."""
    whole, files = table(), []
    for settings in WRITTEN:
        for some in (whole, whole.select(["a", "b", "c", "d"])):
            body = io.BytesIO()
            parquet.write_table(some, body, **settings)
            files.append(body.getvalue())
    return tuple(files)


def changed(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed, taken out, put in: in the pages, or in the table of contents at the end."""
    body = bytearray(data)
    contents = int.from_bytes(body[-8:-4], "little") + 8
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = len(body) - 1 - rng.randrange(min(contents, len(body))) if rng.random() < 0.6 else rng.randrange(len(body))
        match rng.randrange(10):
            case 0:
                del body[at : at + rng.choice((1, 3, 100))]
            case 1:
                body[at:at] = rng.randbytes(rng.choice((1, 3, 100)))
            case 2:
                body[at : at + 4] = rng.choice((b"\xff\xff\xff\x7f", b"\0\0\0\0", b"PAR1"))
            case 3 if rng.random() < 0.2:
                del body[at:]
            case _:
                body[at] = body[at] ^ (1 << rng.randrange(8)) if rng.random() < 0.5 else rng.randrange(256)
        if len(body) < 12:
            break
    return bytes(body)


def commands(path: Path, good: Path, folder: Path) -> Iterator[tuple[object, ...]]:
    output, model = folder / "out.parquet", folder / "out.npz"
    yield "fit", path, "-o", model, "-k", "1"
    yield "fit", path, "-o", model, "-c", "a-d,vector", "--missing", "drop"
    yield "fit", path, "-o", model, "-c", "a,b,holes,half,money,flags", "--missing", "em", "-k", "1"
    yield "fit", path, "-o", model, "--method", "supervised", "--label", "words", "-c", "a-d", "-k", "1"
    yield "fit", path, "-o", model, "--triples", "words,few,a", "-k", "1"
    yield "transform", MODEL, path, "--keep-all", "-o", output
    yield "transform", MODEL, path, "--missing", "project", "-o", folder / "out.csv"
    yield "reconstruct", MODEL, path, "--keep", "words,pair", "-o", folder / "out.jsonl"
    yield "fit", path, "-o", model, "-c", "a,grades,prices", "--missing", "mean", "-k", "1"
    # As one of several small files, each of which is read whole.
    yield "fit", good, path, "-o", model, "-c", "a-d,grades,prices", "--missing", "drop", "-k", "1"
    yield "fit", good, path, "-o", model, "-c", "prices", "--skip-bad", "-k", "1"
    yield "transform", MODEL, good, path, "--keep-all", "-o", output
    yield "transform", MODEL, good, path, "--keep", "few,grades,words", "-o", folder / "out.csv"
    yield "explain-variance", path, "-c", "list", "--json"


def files(rng: random.Random, count: int) -> int:
    """Damaged files."""
    with workplace() as folder:
        for _ in range(count):
            seed = rng.getrandbits(64)
            own = random.Random(seed)
            data = changed(own.choice(written()), own)
            path, good = folder / "x.parquet", folder / "good.parquet"
            path.write_bytes(data)
            good.write_bytes(written()[0])
            command = own.choice(list(commands(path, good, folder)))
            with reproducible(f"seed {seed}, {' '.join(map(str, command))}", parquet=data):
                kept_to(called(*command))
    return count
