"""Under a limit on memory, as `ulimit -v` or a batch system sets it: the program works, or says that it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from often import often

pytestmark = pytest.mark.long

SECONDS = 60
SHORT = "pcatool: error: out of memory; use fewer columns or threads, or a machine with more memory"

JOBS = (
    "fit tall.csv -k 3 -o o.npz",
    "fit tall.parquet -k 3 -o o.npz",
    "transform m.npz tall.csv -o o.csv",
    "transform m.npz tall.parquet -o o.parquet",
    "fit tall.csv --method kernel -k 2 -o o.npz",
    "fit wide.csv -k 3 -o o.npz",
    "fit holes.csv --missing em -k 2 -q -o o.npz",
    "fit cells.csv --triples user,item,value -k 2 -q -o o.npz",
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, plain_environment: dict[str, str]) -> Path:
    home = tmp_path_factory.mktemp("limits")
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(1500, 40)), rng.normal(size=(100, 2000))
    save(home / "tall.csv", X)
    parquet.write_table(pa.table({f"c{j}": X[:, j] for j in range(40)}), home / "tall.parquet")
    save(home / "wide.csv", W)
    save(home / "holes.csv", np.where(rng.random((1500, 8)) < 0.05, np.nan, X[:, :8]))
    cells = [f"u{i},i{j},{rng.integers(1, 6)}" for i in range(300) for j in range(20) if (i + j) % 3]
    (home / "cells.csv").write_text("\n".join(["user,item,value", *cells, ""]))
    command = ["pcatool", "fit", "tall.csv", "-k", "3", "-o", "m.npz"]
    subprocess.run(command, cwd=home, env=plain_environment, check=True, timeout=SECONDS)
    return home


def save(path: Path, X: np.ndarray) -> None:
    np.savetxt(path, X, "%.4f", ",", header=",".join(f"c{j}" for j in range(X.shape[1])), comments="")


def limited(arguments: str, megabytes: int, home: Path, environment: dict[str, str]) -> tuple[int, list[str]]:
    """Exit code and the lines on standard error, under a limit on the address space."""
    script = f"ulimit -v {megabytes * 1024} && exec pcatool {arguments}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, timeout=SECONDS,
    )  # fmt: skip
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize("job", JOBS)
def test_it_works_or_says_that_memory_is_short(job: str, home: Path, plain_environment: dict[str, str]) -> None:
    limits = (200, 400, 4000)
    call = partial(limited, job, home=home, environment=plain_environment)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(limits, pool.map(call, limits), strict=True))
    assert found[4000] == (0, [])
    for code, said in found.values():
        # A library may have had its own word before.
        assert (code, said[-1:]) in ((0, []), (6, [SHORT])), found
        assert not any("Traceback" in line for line in said), found


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz"])
def test_no_file_is_left_out_for_want_of_memory(kind: str, home: Path, plain_environment: dict[str, str]) -> None:
    """At every limit either all files are read, or none is blamed."""
    rng = np.random.default_rng(1)
    names = [f"many{i}.{kind}" for i in range(4)]
    for name in names:
        frame = pd.DataFrame(rng.normal(size=(300, 400)).round(4)).rename(columns=lambda j: f"c{j}")
        frame.to_parquet(home / name) if kind == "parquet" else frame.to_csv(home / name, index=False)
    call = partial(limited, home=home, environment=plain_environment)
    wanted = f"fit {' '.join(names)} --skip-bad -k 2 -o {kind}.npz"
    limits = rng.choice(np.arange(200, 460), often(8), replace=False).tolist()
    assert call(wanted, 4000) == (0, [])
    whole = (home / f"{kind}.npz").read_bytes()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = [home / f"{kind}{limit}.npz" for limit in limits]
        jobs = [f"fit {' '.join(names)} --skip-bad -k 2 -o {output.name}" for output in outputs]
        found = dict(zip(limits, pool.map(call, jobs, limits), strict=True))
    for output, (limit, (code, said)) in zip(outputs, found.items(), strict=True):
        assert (code, said[-1:]) in ((0, []), (6, [SHORT])), (limit, said)
        assert output.exists() == (code == 0)
        assert code or output.read_bytes() == whole, limit


def test_an_error_that_no_handler_saw_is_want_of_memory() -> None:
    """As when Python itself has no memory for the error that it should raise."""
    fails = "from pcatool.cli import main, signals; signals.stoppable = lambda: exec('raise SystemError'); main()"
    script = f'ulimit -v 4000000 && exec "{sys.executable}" -c "{fails}" help'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stderr.splitlines()) == (6, [SHORT])


@pytest.mark.parametrize(("name", "code"), [("TERM", 143), ("INT", 130), ("HUP", 129)])
def test_signals_reach_the_run(name: str, code: int, home: Path, plain_environment: dict[str, str]) -> None:
    script = "ulimit -v 4000000 && exec pcatool transform m.npz -o signalled.csv"
    with subprocess.Popen(
        ["bash", "-c", script], cwd=home, env=plain_environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write((home / "tall.csv").read_bytes()[:400_000])  # more than a pipe holds: it is being read
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert process.wait(SECONDS) == code
        assert process.stderr.read() == b""
    assert not [path.name for path in home.iterdir() if "signalled" in path.name]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux alone tells children, and ends them")
def test_the_run_ends_with_its_parent(home: Path, plain_environment: dict[str, str]) -> None:
    script = "ulimit -v 4000000 && exec pcatool transform m.npz"
    with subprocess.Popen(
        ["bash", "-c", script], cwd=home, env=plain_environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write((home / "tall.csv").read_bytes()[:400_000])
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(process.pid, signal.SIGKILL)
        process.stdout.read()  # to its end: nobody holds it any more
    assert len(children) == 1
