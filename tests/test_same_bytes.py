"""The same rows give the same bytes, whatever the route: through the installed program, at 20 and at 784 columns."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PROGRAM = str(Path(sys.executable).with_name("pcatool"))
SHAPES = {20: 20_000, 784: 1_500}  # columns: rows, for more than one block of each


@pytest.fixture(scope="module", params=SHAPES, ids=lambda d: f"d={d}")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table by every route that leads to a file."""
    place = tmp_path_factory.mktemp("bytes")
    d, n = request.param, SHAPES[request.param]
    rng = np.random.default_rng(d)
    X = np.round(rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 1e3, 6)
    names = [f"f{j}" for j in range(d)]
    header, rows = ",".join(names), [",".join(map(repr, row)) for row in X.tolist()]
    (place / "x.csv").write_text("\n".join([header, *rows]) + "\n")
    (place / "a.csv").write_text("\n".join([header, *rows[: n // 3]]) + "\n")
    (place / "b.csv").write_text("\r\n".join([header, *rows[n // 3 :]]) + "\r\n")
    (place / "x.csv.gz").write_bytes(gzip.compress((place / "x.csv").read_bytes()))
    table = pa.table({name: X[:, j] for j, name in enumerate(names)})
    pq.write_table(table, place / "x.parquet", row_group_size=777)
    subprocess.run([PROGRAM, "fit", "x.csv", "-k", "5", "-o", "x.npz"], cwd=place, check=True)
    subprocess.run([PROGRAM, "transform", "x.npz", "x.csv", "-o", "scores.csv"], cwd=place, check=True)
    return place


def piped(data: bytes, arguments: list[str], place: Path, seed: int) -> bytes:
    """What the program makes of data that come in pieces of odd sizes, with pauses."""
    rng = np.random.default_rng(seed)
    process = subprocess.Popen([PROGRAM, *arguments], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    chunks: list[bytes] = []
    reader = threading.Thread(target=lambda out: chunks.append(out.read()), args=(process.stdout,))
    reader.start()
    at = 0
    while at < len(data):
        size = int(rng.integers(1, 400_000))
        process.stdin.write(data[at : at + size])
        process.stdin.flush()
        at += size
        if rng.random() < 0.2:
            time.sleep(0.01)
    process.stdin.close()
    reader.join()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    return chunks[0]


@pytest.mark.parametrize("inputs", [["x.csv.gz"], ["x.parquet"], ["a.csv", "b.csv"]], ids=" ".join)
def test_model_of_other_files(folder: Path, inputs: list[str]) -> None:
    done = subprocess.run([PROGRAM, "fit", *inputs, "-k", "5", "-o", "-"], cwd=folder, check=True, capture_output=True)
    assert done.stdout == (folder / "x.npz").read_bytes()


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.parquet"])
def test_model_of_a_pipe_with_pauses(folder: Path, name: str) -> None:
    found = piped((folder / name).read_bytes(), ["fit", "-k", "5", "-o", "-"], folder, 1)
    assert found == (folder / "x.npz").read_bytes()


@pytest.mark.parametrize("seed", [1, 2])
def test_scores_of_a_pipe_with_pauses(folder: Path, seed: int) -> None:
    found = piped((folder / "x.csv").read_bytes(), ["transform", "x.npz"], folder, seed)
    assert found == (folder / "scores.csv").read_bytes()


def test_scores_of_parquet(folder: Path) -> None:
    done = subprocess.run([PROGRAM, "transform", "x.npz", "x.parquet"], cwd=folder, check=True, capture_output=True)
    assert done.stdout == (folder / "scores.csv").read_bytes()
