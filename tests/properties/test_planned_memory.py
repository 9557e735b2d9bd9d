"""`--plan` tells no less than a fit takes, nor much more; a fit that is admitted stays below its limit."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pcatool
from benchmarks.memory import LEAST, Found, Job, Table, jobs
from pcatool import resources as memory
from pcatool.arrays import block_rows
from pcatool.errors import RefusedError
from pcatool.linalg.spectrum import Wish
from pcatool.registry import SOLVERS
from pcatool.solvers.base import Problem
from pcatool.solvers.estimate import blocks_bytes, total_bytes
from pcatool.solvers.plan import HOLDS_ROWS, make_plan
from pcatool.solvers.rows import Rows

pytestmark = pytest.mark.long

SEED, COUNT, CELLS = 5, 12, 2.5e6

FITS = (
    Job(Table("parquet", 100, 20_000), ("-k", "10")),
    Job(Table("parquet", 120, 12_000, group=50), ("-k", "10", "--solver", "randomized")),
    Job(Table("csv", 1500, 1500), ("-k", "10", "--solver", "randomized")),
    Job(Table("parquet", 300, 15_000), ("-k", "10", "--no-center")),
    Job(Table("parquet", 300, 15_000), ("-k", "10", "--center-rows")),
    Job(Table("holed", 300, 15_000), ("-k", "10", "--missing", "mean")),
    Job(Table("csv", 100_000, 20), ("-k", "cross-validation")),
    Job(Table("parquet", 40_000, 300), ("-k", "10", "--keep", "f3"), scores=True),
    Job(Table("parquet", 300_000, 40), ("-k", "10", "--threads", "1")),
    Job(Table("parquet", 20, 12_000, files=6), ("-k", "10", "--solver", "randomized")),
    Job(Table("parquet", 20, 12_000, files=5), ("-k", "10")),
    Job(Table("parquet", 14, 29_671, files=3), ("-k", "30", "-s", "--solver", "randomized", "--threads", "1")),
    Job(Table("csv", 1000, 1000, files=3), ("-k", "10", "--solver", "svd")),
    Job(Table("csv", 5000, 400, 2), ("-k", "400"), scores=True),
    Job(Table("csv", 20_000, 220), ("-k", "10", "--whiten", "zca", "--epsilon", "0.1"), scores=True),
    Job(Table("holes", 1500, 700), ("--missing", "em", "-k", "3")),
    Job(Table("triples", 6000, 1000), ("--triples", "row,column,value", "--missing", "em", "-k", "3")),
    *jobs(SEED, COUNT, CELLS),
)


@pytest.fixture(scope="module")
def program(plain_environment: dict[str, str]) -> str:
    found = shutil.which("pcatool", path=plain_environment["PATH"])
    if found is None:
        pytest.skip("pcatool is not installed")
    return found


def run_apart(job: Job, folder: Path, program: str) -> Found:
    """Run the job from a process that holds little: the peak of a process is no less than its parent held."""
    code = "import pickle, sys; from benchmarks.memory import run; found = run(*pickle.load(sys.stdin.buffer)); "
    code += "sys.stdout.buffer.write(pickle.dumps(found))"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    words = pickle.dumps((job, folder, program))
    done = subprocess.run(
        [sys.executable, "-c", code], input=words, env=environment, stdout=subprocess.PIPE, check=True
    )
    found: Found = pickle.loads(done.stdout)
    return found


@pytest.mark.parametrize("job", FITS, ids=str)
def test_no_fit_takes_more_than_was_planned(job: Job, program: str, tmp_path: Path) -> None:
    found = run_apart(job, tmp_path, program)
    assert found.good, found


def test_the_rows_of_a_text_are_counted_though_all_of_it_was_read(tmp_path: Path, program: str) -> None:
    """The plan is made when the rows that are held are known; of a file just larger than these nothing is left then."""
    [table] = Table("csv", 22_000, 200, 2).make(tmp_path)
    command = [program, "fit", str(table), "--solver", "svd", "--plan"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = int(done.stdout.split("rows: about ")[1].split(";")[0].replace(",", ""))
    assert abs(rows - 22_000) < 500


def test_rows_of_several_files_are_counted_though_some_were_read(tmp_path: Path, program: str) -> None:
    """The plan is made when the rows that are held are known: two of four files were read by then."""
    tables = Table("csv", 10_000, 200, 2, files=4).make(tmp_path)
    command = [program, "fit", *map(str, tables), "--solver", "svd", "--plan", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert abs(json.loads(done.stdout)["rows"] - 40_000) < 800


def test_scores_that_would_take_too_much_are_refused_before_the_fit(tmp_path: Path, program: str) -> None:
    [table] = Table("csv", 5000, 400, 2).make(tmp_path)
    command = [program, "fit", str(table), "-k", "400", "--scores", str(tmp_path / "s.csv")]
    words = ["--memory", "160MB", "--threads", "1", "-o", str(tmp_path / "m.npz")]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    assert done.returncode == 6
    assert "scoring the rows needs about" in done.stderr
    assert "leave out --scores" in done.stderr
    assert not (tmp_path / "m.npz").exists()
    plan = subprocess.run([*command, "--plan", "--json"], capture_output=True, text=True, check=True)
    alone = subprocess.run([*command[:-2], "--plan", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(plan.stdout)["peak_bytes"] > json.loads(alone.stdout)["peak_bytes"]
    assert not (tmp_path / "s.csv").exists()


def test_scores_are_no_remedy_where_the_fit_alone_takes_too_much(tmp_path: Path, program: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n2,5\n4,4\n")
    command = [program, "fit", str(table), "--memory", "50MB", "--scores", str(tmp_path / "s.csv"), "--threads", "1"]
    done = subprocess.run([*command, "-o", str(tmp_path / "m.npz")], capture_output=True, text=True)
    assert done.returncode == 6
    found = re.search("scoring the rows needs about .*; give --memory ([0-9.]+MB)$", done.stderr)
    assert found is not None
    command[4] = found[1]
    subprocess.run([*command, "-o", str(tmp_path / "m.npz")], check=True)


def test_rows_of_a_pipe_are_refused_when_they_are_too_many(tmp_path: Path, program: str) -> None:
    """Nobody can count them beforehand; what has come is weighed as the fit that it would be."""
    data = Table("csv", 40_000, 200, 2).make(tmp_path)[0].read_bytes()
    command = [program, "fit", "--solver", "svd", "--memory", "250MB", "--threads", "1", "-o", str(tmp_path / "m.npz")]
    done = subprocess.run(command, input=data, capture_output=True)
    assert done.returncode == 6
    assert b"a fit of the first " in done.stderr
    assert b"; give --solver covariance, or " in done.stderr
    assert not (tmp_path / "m.npz").exists()


def test_solvers_that_need_as_much_are_no_remedy() -> None:
    """A scatter of 5,000 columns takes more memory than the first rows."""
    X = np.random.default_rng(0).normal(size=(900, 5000))
    with pytest.raises(RefusedError, match=r"solver dual needs about .* for 900 rows of 5,000 columns;") as refused:
        pcatool.fit(X, memory="130MB", components=3, threads=1)
    assert "covariance" not in str(refused.value)
    assert "randomized" not in str(refused.value)
    assert refused.value.remedy.startswith('give memory="')


@pytest.mark.parametrize(
    ("words", "said"), [("--solver svd", "more than"), ("", "about"), ("--solver dual", "more than")]
)
def test_of_a_pipe_the_plan_says_that_more_rows_may_take_more(
    words: str, said: str, tmp_path: Path, program: str
) -> None:
    data = Table("csv", 26_000, 200, 2).make(tmp_path)[0].read_bytes()
    done = subprocess.run([program, "fit", "--plan", *words.split()], input=data, capture_output=True, check=True)
    assert b"rows: unknown" in done.stdout
    assert f"memory at the peak: {said} ".encode() in done.stdout
    assert (b"growing with the number of rows" in done.stdout) == (said == "more than")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_first_plan_is_the_last(kind: str, tmp_path: Path, program: str) -> None:
    """A fit with just the memory that was planned is not refused."""
    found = run_apart(Job(Table(kind, 3000, 40), ("--method", "kernel", "-k", "3")), tmp_path, program)
    assert not found.trouble
    assert found.ratio > LEAST


def problem(d: int, wish: Wish, n: int | None = None) -> Problem:
    return Problem(tuple(f"c{j}" for j in range(d)), n, wish)


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_plan_grows_with_all_that_takes_memory(solver: str) -> None:
    def peak(d: int = 3000, n: int = 2500, wish: Wish = 10, threads: int = 1, reading: int = 0) -> int:
        return make_plan(solver, "", problem(d, wish), n, threads, reading).peak_bytes

    assert peak(d=4000) > peak()
    assert peak(wish=500) >= peak()
    assert peak(threads=4) >= peak()
    assert peak(reading=1 << 33) > 1 << 33
    assert peak(wish=0.99) >= peak(wish=100)  # a share may take all that there are
    if solver in HOLDS_ROWS:
        assert peak(n=2900) > peak()


@pytest.mark.parametrize("solver", HOLDS_ROWS)
@pytest.mark.parametrize("other", [{"center": False}, {"rows_centered": True}])
def test_copies_of_the_rows_that_are_held_are_planned(solver: str, other: dict[str, Any]) -> None:
    plain = Problem(tuple(f"c{j}" for j in range(3000)), None, 10)
    usual, more = (make_plan(solver, "", p, 2500, 1).peak_bytes for p in (plain, plain._replace(**other)))
    assert more >= usual + (8 * 3000 * 2500 if solver == "dual" and not plain._replace(**other).center else 0)
    assert more >= 8 * 3000 * 2500 * 3


def test_few_rows_fill_few_blocks() -> None:
    d = 1000
    whole = 8 * d * block_rows(d)
    assert blocks_bytes(d, None, threads=2, copies=3) == blocks_bytes(d, 1 << 20, threads=2, copies=3) == 10 * whole
    assert blocks_bytes(d, block_rows(d), threads=2, copies=3) == 5 * whole


def test_a_plan_has_a_margin_over_what_data_take() -> None:
    """The program is the same for all; what is beyond it lies in pieces, and a fit that is admitted stays below."""
    assert total_bytes(10, 1 << 30) - total_bytes(10, 0) >= 1.05 * (1 << 30) - 1


@pytest.mark.parametrize("high", [0, 1 << 20])
def test_holes_of_rows_that_are_held_are_filled_in_place(high: int) -> None:
    """Some rows at a time, whether the rows are few or many; and the source is not changed."""
    X = np.random.default_rng(0).normal(size=(400, 6))
    X[X > 1.5] = np.nan
    given = X.copy()
    given.flags.writeable = False
    rows = Rows(iter([given[:150], given[150:]]), small=high)
    values, origin = np.arange(6.0), np.full(6, 0.25)
    rows.several_passes()
    rows.center_and_fill(values, origin)
    filled, _ = rows.matrix()
    np.testing.assert_array_equal(filled, np.where(np.isnan(X), values, X - origin))


def test_what_is_free_is_given_back_where_the_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    library: Any = SimpleNamespace(malloc_trim=given.append)
    monkeypatch.setattr(memory, "_c_library", lambda: library)
    memory.release_free_memory()
    assert given == [0]
    monkeypatch.setattr(memory, "_c_library", SimpleNamespace)
    memory.release_free_memory()


def test_a_wide_file_is_let_go_of_once_it_was_read(tmp_path: Path) -> None:
    from pcatool.options import TableOptions
    from pcatool.progress import Reporter
    from pcatool.readers.base import Feature
    from pcatool.readers.inputs import Inputs

    parquet.write_table(pa.table({f"c{j}": np.arange(5.0) for j in range(9)}), tmp_path / "t.parquet")
    table: Any = Inputs([str(tmp_path / "t.parquet")], TableOptions(), Reporter()).first
    list(table.parts([Feature("c3", 3)], ()))
    assert table._data.file is None
    assert table.ended()
    assert table.expected_rows() == 5


@pytest.mark.parametrize("fit", [lambda X, **o: pcatool.fit(X, components=3, **o), pcatool.plan])
def test_a_plan_is_told_whatever_the_limit(fit: Callable[..., Any]) -> None:
    X = np.random.default_rng(0).normal(size=(60, 9))
    if fit is pcatool.plan:
        plan = fit(X, memory="1MB")
        assert plan["peak_bytes"] > 1 << 20
        assert 'the limit is 1 MB (set by memory; by default half of the free memory); give memory="' in plan["refusal"]
        assert "refusal" not in fit(X, memory="4GB")
    else:
        with pytest.raises(RefusedError, match="the limit is 1 MB"):
            fit(X, memory="1MB")
