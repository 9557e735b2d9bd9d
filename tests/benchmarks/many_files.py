"""Measures many files beside one with the same rows: `python tests/benchmarks/many_files.py [--help]`.

The bounds the project holds itself to: a fit of 200 Parquet files of 5 MB is at most 15 % slower than of one file, up
to 200 columns (.github/decisions/0012 tells why), and 10,000 tiny CSV files take less than 200 MB. It needs pcatool,
and some 2 GB for each number of columns below the folder that is named.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet


def parquet_files(folder: Path, files: int, columns: int, size: int) -> tuple[Path, Path]:
    """One file, and a folder of files with its rows, each of about so many bytes."""
    one, many = folder / f"one-{columns}.parquet", folder / f"many-{columns}"
    if many.is_dir():
        return one, many
    many.mkdir(parents=True)
    rng, rows = np.random.default_rng(0), max(2, size // 8 // columns)
    parts = []
    for i in range(files):
        parts.append(pa.table({f"x{j}": rng.normal(size=rows) for j in range(columns)}))
        parquet.write_table(parts[-1], many / f"part-{i:05}.parquet")
    parquet.write_table(pa.concat_tables(parts), one)
    return one, many


def csv_files(folder: Path, files: int) -> tuple[Path, Path]:
    """The same of tiny files of text."""
    one, many = folder / "one.csv", folder / "many-csv"
    if many.is_dir():
        return one, many
    many.mkdir(parents=True)
    rng = np.random.default_rng(0)
    rows = ["".join(f"{a:.6f},{b:.6f},{c:.6f}\n" for a, b, c in rng.normal(size=(20, 3))) for _ in range(files)]
    for i, text in enumerate(rows):
        (many / f"{i:05}.csv").write_text(f"a,b,c\n{text}")
    one.write_text("a,b,c\n" + "".join(rows))
    return one, many


def measure(words: Sequence[str]) -> tuple[float, float]:
    """Seconds and MB at the peak of a cold process."""
    start = time.perf_counter()
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(words)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def side_by_side(title: str, made: Callable[[], tuple[Path, Path]], rounds: int, more: Sequence[str] = ()) -> None:
    """In turn, the best time and the highest peak of each."""
    with ProcessPoolExecutor(1, get_context("spawn")) as other:  # or its memory would count for what is measured
        one, many = other.submit(made).result()
    figures: dict[str, list[tuple[float, float]]] = {"one file": [], "many": []}
    for _ in range(rounds):
        for name, data in (("one file", one), ("many", many)):
            words = ["pcatool", "fit", str(data), "-o", str(one.with_suffix(f".{name[:3]}.npz")), *more]
            figures[name].append(measure(words))
    best = {name: min(seconds for seconds, _ in runs) for name, runs in figures.items()}
    for name, runs in figures.items():
        print(f"| {title} | {name} | {best[name]:.2f} | {max(peak for _, peak in runs):.0f} |")
    print(f"| {title} | many / one | {best['many'] / best['one file']:.2f} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(".benchmarks/many"))
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--bytes", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, nargs="+", default=(2, 20, 50), metavar="D")
    parser.add_argument("--tiny", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print("| fit | of | best s | peak MB |\n|---|---|---:|---:|")
    for columns in given.columns:
        made = partial(parquet_files, given.folder, given.files, columns, given.bytes)
        side_by_side(f"{given.files} Parquet files, {columns} columns", made, given.rounds)
    side_by_side(f"{given.tiny} tiny CSV files", partial(csv_files, given.folder, given.tiny), given.rounds)


if __name__ == "__main__":
    main()
