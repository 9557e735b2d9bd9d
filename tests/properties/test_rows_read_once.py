"""A fit of several passes reads its input once, and keeps the rows in memory or in a file: the bytes are the same."""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pcatool
from pcatool.cli import app
from pcatool.errors import RefusedError
from pcatool.model.npz import dumps
from pcatool.progress import KeptRows
from pcatool.readers.inputs import Inputs
from pcatool.render.summary import kept_rows_line
from pcatool.resources import parse_size
from pcatool.solvers.rows import Rows

N, D = 3000, 60
ROWS = 8 * N * D

# Fits that pass over the rows several times.
FITS: dict[str, dict[str, Any]] = {
    "randomized": {"solver": "randomized", "components": 2},
    "randomized, weighted": {"solver": "randomized", "components": 2, "weights": "c0", "standardize": True},
    "randomized, rows centred": {"solver": "randomized", "components": 2, "center_rows": True},
    "randomized, not centred": {"solver": "randomized", "components": 2, "center": False},
    "filled with means": {"missing": "mean", "solver": "randomized", "components": 2},
    "filled with means, held": {"missing": "mean", "solver": "svd", "components": 2},
    "em": {"missing": "em", "components": 1},
    "landmarks": {"method": "kernel", "landmarks": 20, "components": 2},
}
fits = pytest.mark.parametrize("options", FITS.values(), ids=FITS)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table of 1.4 MB 100 kB are read before a solver is chosen, in blocks of 64 rows."""
    monkeypatch.setattr("pcatool.arrays.MOST_ROWS", 64)
    monkeypatch.setattr("pcatool.solvers.rows.SMALL_BYTES", 100_000)
    monkeypatch.setattr("pcatool.solvers.rows.HELD_BYTES", 10_000)
    monkeypatch.setattr("pcatool.solvers.plan.HELD_BYTES", 10_000)
    monkeypatch.setattr("pcatool.render.summary.HELD_BYTES", 10_000)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "t.csv", missing=False)


def write(path: Path, *, missing: bool) -> Path:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3)) @ rng.normal(size=(3, D)) + 0.1 * rng.normal(size=(N, D)) + 1e3
    X[:, 0] = rng.integers(1, 4, N)
    names = ",".join(f"c{j}" for j in range(D))
    lines = [",".join("" if missing and (i + j) % 50 == 1 else f"{X[i, j]:.5f}" for j in range(D)) for i in range(N)]
    path.write_text("\n".join([names, *lines, ""]))
    return path


def through_pipe(path: Path, use: Callable[[Path], Any]) -> Any:
    pipe = path.with_suffix(".pipe")
    os.mkfifo(pipe)

    def feed() -> None:
        with suppress(BrokenPipeError):  # a plan reads the first rows
            pipe.write_bytes(path.read_bytes())

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        return use(pipe)
    finally:
        feeder.join(30)
        pipe.unlink()


@fits
@pytest.mark.filterwarnings("ignore::pcatool.errors.PcatoolWarning")
def test_the_bytes_are_those_of_a_table_in_memory(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the rows are kept in memory, in a file or in both, from a file or a pipe, on one thread or several."""
    path = write(tmp_path / "t.csv", missing="missing" in options)
    plan = pcatool.plan(path, threads=1, **options)
    least = pcatool.plan(path, threads=1, memory=str(plan["peak_bytes"] - 10), **options)["peak_bytes"]  # in a file
    monkeypatch.delattr(Inputs, "reopened")  # nothing is read twice
    expected = dumps(pcatool.fit(path, threads=1, **options))
    for memory in (least, least + ROWS // 2, plan["peak_bytes"]) if "rows_kept" in plan else ():
        for threads in (1, 3):
            more = {"threads": threads, "memory": str(memory + (threads - 1) * (32 << 20))}
            assert dumps(pcatool.fit(path, **more, **options)) == expected
            assert through_pipe(path, lambda pipe, more=more: dumps(pcatool.fit(pipe, **more, **options))) == expected
    assert through_pipe(path, lambda pipe: dumps(pcatool.fit(pipe, threads=3, **options))) == expected


@pytest.mark.filterwarnings("ignore::pcatool.errors.PcatoolWarning")
def test_a_table_in_memory_is_not_kept_again() -> None:
    X = np.random.default_rng(1).normal(size=(N, D))
    assert "rows_kept" not in pcatool.plan(X, solver="randomized", components=2)
    assert "rows_kept" in pcatool.plan(X, missing="em", components=1)  # many passes, faster over blocks


def test_all_rows_stay_in_memory_or_all_go_to_a_file(table: Path) -> None:
    options = FITS["randomized"] | {"threads": 1}
    roomy = pcatool.plan(table, **options)
    assert roomy["rows_kept"]["file_bytes"] == 0
    assert abs(roomy["rows_kept"]["memory_bytes"] - ROWS) < 0.02 * ROWS
    enough = pcatool.plan(table, memory=str(roomy["peak_bytes"]), **options)
    assert enough["rows_kept"] == roomy["rows_kept"]
    tight = pcatool.plan(table, memory=str(roomy["peak_bytes"] - 10), **options)
    assert (tight["rows_kept"]["memory_bytes"], tight["rows_kept"]["folder"]) == (0, tempfile.gettempdir())
    assert abs(tight["rows_kept"]["file_bytes"] - ROWS) < 0.02 * ROWS
    assert 0.9 * ROWS < roomy["peak_bytes"] - tight["peak_bytes"] < 1.1 * ROWS
    assert roomy["passes"] == tight["passes"] == "2 and a few more"


def test_rows_of_a_pipe_begin_in_memory(table: Path) -> None:
    options = FITS["randomized"] | {"threads": 1}
    known = pcatool.plan(table, **options)["peak_bytes"]
    plan = through_pipe(table, lambda pipe: pcatool.plan(pipe, memory=str(known), **options))
    kept = plan["rows_kept"]
    assert ROWS <= kept["memory_bytes"] <= 1.1 * ROWS
    assert (kept["file_bytes"], kept["folder"]) == (None, tempfile.gettempdir())
    assert plan["peak_grows"]
    assert plan["peak_bytes"] < known


@pytest.mark.parametrize("memory", [None, "110MB"])
def test_the_plan_and_the_summary_say_where_the_rows_are(
    memory: str | None, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", str(table), "--solver", "randomized", "-k", "2", "--threads", "1"]
    if memory:
        plan = pcatool.plan(table, threads=1, **FITS["randomized"])
        words += ["--memory", str(plan["peak_bytes"] - 10)]
    where = (
        f"in a temporary file of about 1.4[0-9] MB in '{tempfile.gettempdir()}'"
        if memory
        else "in memory, about 1.4[0-9] MB"
    )
    assert app.run([*words, "--plan"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[3] == "passes over the rows: 2 and a few more"
    assert re.fullmatch(f"rows kept for later passes: {where}", told[4])
    assert app.run([*words, "-v", "-o", str(table.with_name("m.npz"))]) == 0
    assert re.search(f"^pcatool: rows kept for later passes: {where}$", capsys.readouterr().err, re.MULTILINE)
    assert app.run([*words, "--json", "-o", str(table.with_name("m.npz"))]) == 0
    kept = json.loads(capsys.readouterr().out)["rows_kept"]
    assert kept["memory_bytes"] + kept["file_bytes"] == ROWS
    assert (kept["file_bytes"] > 0.9 * ROWS) == bool(memory)


def test_a_fit_of_one_pass_keeps_nothing(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["fit", str(table), "-v", "-o", str(table.with_name("m.npz"))]) == 0
    assert "rows kept" not in capsys.readouterr().err
    assert "rows_kept" not in pcatool.plan(table)


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        (KeptRows(8 * 10**8, 0), "in memory, about 800 MB"),
        (KeptRows(0, 8 * 10**10, "/tmp"), "in a temporary file of about 80 GB in '/tmp'"),
        (KeptRows(0, None, "/tmp"), "in a temporary file in '/tmp'"),
        (KeptRows(2 * 10**9, None, "/tmp"), "in memory, up to 2 GB; further rows in a temporary file in '/tmp'"),
        (KeptRows(2 * 10**9, 10**9, "/tmp"), "in memory, about 2 GB; about 1 GB in a temporary file in '/tmp'"),
    ],
)
def test_words(kept: KeptRows, line: str) -> None:
    assert kept_rows_line(kept._asdict()) == f"rows kept for later passes: {line}"


@pytest.mark.parametrize("name", ["randomized", "em", "landmarks"])
def test_too_little_disk_is_told_before_the_fit(name: str, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedies work: another folder, and more memory."""
    options, other = FITS[name] | {"threads": 1}, table.parent / "roomy"
    other.mkdir()
    free = {str(other): 1 << 40}
    monkeypatch.setattr("pcatool.solvers.plan.free_disk", lambda folder: free.get(folder, 1_000_000))
    memory = str(pcatool.plan(table, **options)["peak_bytes"] - 10)
    refusal = pcatool.plan(table, memory=memory, **options)["refusal"]
    with pytest.raises(RefusedError) as refused:
        pcatool.fit(table, memory=memory, **options)
    assert str(refused.value) == refusal
    found = re.fullmatch(
        rf"the fit keeps its rows in a temporary file of about 1\.4. MB, but '{tempfile.gettempdir()}' has only 1 MB "
        r"of free space; set the variable TMPDIR to a folder on a disk with 1\.4. MB of free space, or give "
        'memory="(.*)"',
        refusal,
    )
    assert found, refusal
    more = pcatool.fit(table, memory=found[1], **options)
    assert parse_size(found[1]) < 1.02 * int(memory) + 1_000_000
    monkeypatch.setattr(tempfile, "tempdir", str(other))
    assert "refusal" not in pcatool.plan(table, memory=memory, **options)
    assert dumps(pcatool.fit(table, memory=memory, **options)) == dumps(more)


def test_a_limit_for_another_solver_does_not_refuse_a_fit(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are read to choose between `dual` and `randomized` go to the file where `dual` would not do."""
    monkeypatch.setattr("pcatool.methods.pca.SCATTER_COLUMNS", D - 1)
    monkeypatch.setattr("pcatool.solvers.plan.SCATTER_COLUMNS", D - 1)
    monkeypatch.setattr("pcatool.methods.pca.DUAL_ROWS", 2000)
    options: dict[str, Any] = {"components": 2, "threads": 1}
    expected = dumps(pcatool.fit(table, **options))
    plan = pcatool.plan(table, **options)
    assert plan["solver"] == "randomized"
    tight = str(pcatool.plan(table, memory=str(plan["peak_bytes"] - 10), **options)["peak_bytes"])
    assert pcatool.plan(table, memory=tight, **options)["rows_kept"]["memory_bytes"] == 0
    assert dumps(pcatool.fit(table, memory=tight, **options)) == expected


@pytest.mark.parametrize("more", [10_000, 1_000_000])
def test_rows_before_a_single_pass_leave_memory_if_there_is_no_room(
    more: int, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a share of the variance `covariance` is chosen; 2,000 rows were read by then, 0.96 MB."""
    monkeypatch.setattr("pcatool.methods.pca.SCATTER_COLUMNS", D - 1)
    monkeypatch.setattr("pcatool.solvers.plan.SCATTER_COLUMNS", D - 1)
    monkeypatch.setattr("pcatool.methods.pca.DUAL_ROWS", 2000)
    options: dict[str, Any] = {"components": 0.9, "threads": 1}
    roomy = pcatool.plan(table, **options)
    assert roomy["solver"] == "covariance"
    assert "rows_kept" not in roomy
    alone = pcatool.plan(table, solver="covariance", **options)["peak_bytes"]
    assert alone + 900_000 < roomy["peak_bytes"] < alone + 1_100_000
    left: list[bool] = []
    leave = Rows.leave_memory
    monkeypatch.setattr(Rows, "leave_memory", lambda rows: (left.append(True), leave(rows))[1])
    fitted = pcatool.fit(table, memory=str(roomy["peak_bytes"] - 1_000_000 + more), **options)
    assert bool(left) == (more < 1_000_000)
    assert dumps(fitted) == dumps(pcatool.fit(table, **options))
