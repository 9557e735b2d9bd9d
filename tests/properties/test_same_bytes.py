"""The same rows give the same bytes, whatever the route and however many threads: at 20 and at 784 columns.

The routes go through the installed program; the threads, of which there are many combinations, through the package.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pcatool
from pcatool.model.npz import dumps

pytestmark = pytest.mark.long(first=True)

PROGRAM = str(Path(sys.executable).with_name("pcatool"))
SHAPES = {20: 20_000, 784: 1_500}  # columns: rows, for more than one block of each


@pytest.fixture(scope="module", params=SHAPES, ids=lambda d: f"d={d}")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table by every route that leads to a file, and what one thread makes of it."""
    place = tmp_path_factory.mktemp("bytes")
    d, n = request.param, SHAPES[request.param]
    rng = np.random.default_rng(d)
    scales = 1 / np.arange(1, d + 1)  # the randomized solver needs few passes
    X = np.round(rng.normal(size=(n, d)) * scales @ rng.normal(size=(d, d)) + 1e3, 6)
    names = [f"f{j}" for j in range(d)]
    header, rows = ",".join(names), [",".join(map(repr, row)) for row in X.tolist()]
    (place / "x.csv").write_text("\n".join([header, *rows]) + "\n")
    (place / "a.csv").write_text("\n".join([header, *rows[: n // 3]]) + "\n")
    (place / "b.csv").write_text("\r\n".join([header, *rows[n // 3 :]]) + "\r\n")
    (place / "x.csv.gz").write_bytes(gzip.compress((place / "x.csv").read_bytes(), 1))
    table = pa.table({name: X[:, j] for j, name in enumerate(names)})
    pq.write_table(table, place / "x.parquet", row_group_size=777)
    (place / "holes.csv").write_text("\n".join([header + ",word", *with_holes(rows)]) + "\n")
    for command in ("fit x.csv -k 5 -o x.npz", "transform x.npz x.csv -o scores.csv"):
        subprocess.run([PROGRAM, *command.split(), "--threads", "1"], cwd=place, check=True)
    return place


def with_holes(rows: list[str]) -> list[str]:
    """The rows with a column of text, some of it quoted; in the first half, every third lacks its first cell."""
    lacking = range(0, len(rows) // 2, 3)
    cells = [row[row.index(",") :] if i in lacking else row for i, row in enumerate(rows)]
    return [f'{row},"a ""{i}"", b"' if i % 5 else f"{row},w{i}" for i, row in enumerate(cells)]


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


@pytest.mark.parametrize(("name", "threads"), [("x.csv", "3"), ("x.csv.gz", "8"), ("x.parquet", "2")])
def test_model_of_a_pipe_with_pauses(folder: Path, name: str, threads: str) -> None:
    found = piped((folder / name).read_bytes(), ["fit", "-k", "5", "-o", "-", "--threads", threads], folder, 1)
    assert found == (folder / "x.npz").read_bytes()


@pytest.mark.parametrize(("seed", "threads"), [(1, "2"), (2, "8")])
def test_scores_of_a_pipe_with_pauses(folder: Path, seed: int, threads: str) -> None:
    found = piped((folder / "x.csv").read_bytes(), ["transform", "x.npz", "--threads", threads], folder, seed)
    assert found == (folder / "scores.csv").read_bytes()


def test_scores_of_parquet(folder: Path) -> None:
    done = subprocess.run([PROGRAM, "transform", "x.npz", "x.parquet"], cwd=folder, check=True, capture_output=True)
    assert done.stdout == (folder / "scores.csv").read_bytes()


# --- threads ---

FITS: dict[str, dict[str, Any]] = {
    "x.csv": {},
    "x.csv.gz": {"solver": "covariance", "weights": "f0", "standardize": True},
    "x.parquet": {"solver": "randomized"},
    "a.csv b.csv": {"solver": "tsqr", "weights": "f1"},
    "holes.csv": {"solver": "tsqr", "missing": "drop"},
}


@pytest.fixture
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks, of which few are held: there is work for many threads, read and summed at the same time."""
    monkeypatch.setattr("pcatool.arrays.CELLS", 1 << 17)
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 1 << 10)
    monkeypatch.setattr("pcatool.solvers.rows.SMALL_BYTES", 1 << 18)


@pytest.mark.filterwarnings("ignore:dropped")
@pytest.mark.usefixtures("many_blocks")
@pytest.mark.parametrize("threads", [7])
@pytest.mark.parametrize("names", FITS)
def test_threads_change_no_byte_of_a_model(folder: Path, names: str, threads: int) -> None:
    assert model_by(threads, folder, names) == model_by(1, folder, names)


@cache
def model_by(threads: int, place: Path, names: str) -> bytes:
    paths = [place / name for name in names.split()]
    return dumps(pcatool.fit(paths, components=5, threads=threads, **FITS[names]))


APPLIED: dict[str, tuple[str, dict[str, Any]]] = {
    "x.csv csv": ("transform", {}),
    "x.csv.gz jsonl": ("transform", {"with_error": True}),
    "x.parquet parquet": ("reconstruct", {"with_error": True}),
    "holes.csv csv": ("transform", {"missing": "keep", "with_error": True, "keep": ["word", "f3"]}),
    "holes.csv jsonl": ("transform", {"missing": "keep", "keep": ["f3", "word"], "float_format": ".6g"}),
    "holes.csv parquet": ("transform", {"missing": "keep", "keep": ["word"]}),
    "scores.csv csv.gz": ("reconstruct", {"float_format": ".3f"}),
}


@pytest.mark.usefixtures("many_blocks")
@pytest.mark.parametrize("threads", [7])
@pytest.mark.parametrize("route", APPLIED)
def test_threads_change_no_byte_of_results(folder: Path, route: str, threads: int) -> None:
    assert results_by(threads, folder, route) == results_by(1, folder, route)


@cache
def results_by(threads: int, place: Path, route: str) -> bytes:
    name, ending = route.split()
    command, settings = APPLIED[route]
    output = place / f"{name}-{threads}.{ending}"
    getattr(pcatool, command)(place / "x.npz", place / name, output=output, threads=threads, **settings)
    return output.read_bytes()


def test_threads_change_nothing_that_the_program_reports(folder: Path) -> None:
    command = [PROGRAM, "transform", "x.npz", "holes.csv", "--missing", "keep", "--with-error", "--json", "--threads"]
    outputs = [subprocess.run([*command, n], cwd=folder, check=True, capture_output=True) for n in ("1", "8")]
    told = [json.loads(output.stderr) for output in outputs]
    for facts in told:
        assert facts.pop("seconds") > 0
    assert told[0] == told[1]
    assert outputs[0].stdout == outputs[1].stdout
