"""Measures the engines beside each other on the same files: `python tests/benchmarks/engines.py [--help]`.

The bounds the project holds itself to: a fit by two Dask workers takes at most 1.3 of the time of two threads, the
start of the cluster aside, and the program's memory at 2,000 parts is within 100 MB of that at 20. Start-up is what a
fit of a few rows takes with the same engine. MB are those of the largest process of the program, Java's among them. It
needs pcatool[dask,spark], Java, and some 4 GB below the folder that is named.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

WORKERS = 2
SCRIPTS = Path(sys.executable).parent


def files(folder: Path, count: int, rows: int, columns: int) -> Path:
    """A folder of Parquet files."""
    made = folder / f"{count}x{rows}x{columns}"
    if made.is_dir():
        return made
    partial = made.with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((columns, columns)) * np.logspace(0, -1, columns)
    for number in range(count):
        X = rng.standard_normal((rows, columns)) @ mix + 100
        parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(columns)}), partial / f"part-{number:05}.parquet")
    partial.rename(made)
    return made


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A Dask scheduler and its workers, each a process with one thread; its address."""
    told = folder / "scheduler.json"
    told.unlink(missing_ok=True)
    dask, alike = str(SCRIPTS / "dask"), ["--scheduler-file", str(told), "--host", "127.0.0.1", "--no-dashboard"]
    words = [[dask, "scheduler", "--port", "0", *alike]]
    words += [[dask, "worker", "--nthreads", "1", "--memory-limit", "0", *alike]] * WORKERS
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    quiet = subprocess.DEVNULL
    processes = [subprocess.Popen(each, stdout=quiet, stderr=quiet, env=environment) for each in words]
    try:
        while not told.exists():
            time.sleep(0.1)
        time.sleep(4)  # for the workers
        yield json.loads(told.read_text())["address"]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()


def measure(words: Sequence[str]) -> tuple[float, float]:
    """Seconds and MB at the peak of the program itself, a cold process."""
    start = time.perf_counter()
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    _, error = process.communicate()
    if process.returncode:
        sys.exit(f"failed: {' '.join(words)}\n{error}")
    return time.perf_counter() - start, peak_of(error)


def peak_of(report: str) -> float:
    return int(report.split()[-1]) / 1024


def fit(data: Path, engine: Sequence[str]) -> list[str]:
    pcatool = str(SCRIPTS / "pcatool")
    return ["/usr/bin/time", "-f", "%M", pcatool, "fit", str(data), "-q", "-k", "5", "-o", "/dev/null", *engine]


def engines(address: str) -> dict[str, list[str]]:
    return {
        f"threads, {WORKERS}": ["--threads", str(WORKERS)],
        f"dask, {WORKERS} workers there": ["--engine", "dask", "--scheduler", address],
        "dask, workers of its own": ["--engine", "dask"],
        f"spark, local[{WORKERS}]": ["--engine", "spark", "--scheduler", f"local[{WORKERS}]"],
    }


def compare(title: str, data: Path, few: Path, rows: int, rounds: int, address: str) -> None:
    """In turn; the best of each, and of its start-up."""
    best: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, engine in engines(address).items():
            figures = [*measure(fit(data, engine)), measure(fit(few, engine))[0]]
            best[name] = [min(pair) for pair in zip(figures, best.get(name, figures), strict=True)]
    base = None
    for name, (seconds, peak, start) in best.items():
        work = seconds - start
        base = base or work
        print(
            f"| {title} | {name} | {seconds:.2f} | {start:.2f} | {work:.2f} | {work / base:.2f} "
            f"| {rows / work / WORKERS / 1e6:.2f} | {peak:.0f} |",
            flush=True,
        )


def bytes_of_parts(data: Path) -> float:
    """MB that a part sends to be merged, whatever its rows."""
    import pcatool

    model = pcatool.fit(str(data), solver="covariance")
    return len(pickle.dumps(model.statistic)) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(".benchmarks/engines"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of rows, for a trial [1]")
    given = parser.parse_args()
    sizes = [(20, int(250_000 * given.scale), 50), (20, int(20_000 * given.scale), 500)]
    print("| fit of | engine | s | start-up s | work s | of threads | million rows/s a core | program's MB |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    given.folder.mkdir(parents=True, exist_ok=True)
    with cluster(given.folder) as address:
        for count, rows, columns in sizes:
            data, few = files(given.folder, count, rows, columns), files(given.folder, 2, 10, columns)
            title = f"{count} files, {count * rows:,} x {columns}"
            compare(title, data, few, count * rows, given.rounds, address)
        print("\n| parts | engine | s | program's MB |\n|---|---|---:|---:|")
        for count in (20, 2_000):
            data = files(given.folder, count, 100, 50)
            for name, engine in engines(address).items():
                seconds, peak = map(min, zip(*(measure(fit(data, engine)) for _ in range(given.rounds)), strict=True))
                print(f"| {count} | {name} | {seconds:.2f} | {peak:.0f} |", flush=True)
    print("\n| columns | MB a part sends |\n|---|---:|")
    for columns in (50, 500, 1000):
        print(f"| {columns} | {bytes_of_parts(files(given.folder, 2, 10, columns)):.2f} |")


if __name__ == "__main__":
    main()
