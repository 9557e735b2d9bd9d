"""Makes one table for `memory.py`: KIND ROWS COLUMNS FILE [SEED [DIGITS [GROUP]]].

A process of its own, since what the system tells of a child's peak is never below what its parent holds.
Kinds: csv, parquet, float32 (Parquet), vectors (Parquet, one column of lists), fixed (of lists of one length), holes
(CSV with empty cells), holed (Parquet with nulls), labels (CSV with a class, a number and a weight), triples (CSV).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

RANK = 20
AT_ONCE = 1 << 21  # cells
SHARE_MISSING = 0.05
CLASSES = 5

Numbers = NDArray[np.float64]


def pieces(n: int, d: int, seed: int, digits: int) -> list[tuple[int, Callable[[], Numbers]]]:
    """Parts of the rows, each with how to make it."""
    random = np.random.default_rng(seed)
    rank = min(RANK, max(d // 2, 1))
    directions = random.standard_normal((rank, d)) * np.geomspace(1, 0.2, rank)[:, None]
    step = max(1, AT_ONCE // d)

    def part(start: int) -> Numbers:
        mine, rows = np.random.default_rng([seed, start]), min(step, n - start)
        X = mine.standard_normal((rows, rank)) @ directions + 0.3 * mine.standard_normal((rows, d)) + 5
        return np.round(X, digits)

    return [(start, lambda start=start: part(start)) for start in range(0, n, step)]


def lines(X: Numbers, digits: int) -> list[list[str]]:
    texts = np.char.mod(f"%.{digits}f", X)
    return [list(row) for row in texts]


def write_text(kind: str, n: int, d: int, target: Path, seed: int, digits: int) -> None:
    random = np.random.default_rng([seed, 7])
    extra = ["class", "number", "weight"] if kind == "labels" else []
    with target.open("w", encoding="ascii") as file:
        file.write(",".join([*(f"f{j}" for j in range(d)), *extra]) + "\n")
        for _, make in pieces(n, d, seed, digits):
            cells = lines(make(), digits)
            if kind == "holes":
                for i, j in zip(*np.nonzero(random.random((len(cells), d)) < SHARE_MISSING), strict=True):
                    cells[i][j] = ""
            if kind == "labels":
                for row in cells:
                    row += [f"k{random.integers(CLASSES)}", f"{random.random():.4f}", str(random.integers(1, 4))]
            file.writelines(",".join(row) + "\n" for row in cells)


def write_triples(n: int, d: int, target: Path, seed: int) -> None:
    """A twentieth of the cells."""
    random = np.random.default_rng(seed)
    with target.open("w", encoding="ascii") as file:
        file.write("row,column,value\n")
        for i in range(n):
            chosen = random.permutation(d)[: max(d // 20, 2)]
            values = random.random(len(chosen))
            file.writelines(f"r{i},c{j},{value:.3f}\n" for j, value in zip(chosen, values, strict=True))


def write_parquet(kind: str, n: int, d: int, target: Path, seed: int, digits: int, group: int) -> None:
    X = np.empty((n, d), dtype=np.float32 if kind == "float32" else np.float64, order="F")
    for start, make in pieces(n, d, seed, digits):
        part = make()
        X[start : start + len(part)] = part
    if kind == "holed":
        random = np.random.default_rng([seed, 7])
        table = pa.table([pa.array(x, mask=random.random(n) < SHARE_MISSING) for x in X.T], names=names(d))
    elif kind == "vectors":
        values = pa.array(X.astype(np.float32).ravel())
        table = pa.table({"v": pa.ListArray.from_arrays(np.arange(0, n * d + 1, d, dtype=np.int32), values)})
    elif kind == "fixed":
        table = pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(X.astype(np.float32).ravel()), d)})
    else:
        table = pa.table([pa.array(x) for x in X.T], names=names(d))
    parquet.write_table(table, target, row_group_size=group or None)


def names(d: int) -> list[str]:
    return [f"f{j}" for j in range(d)]


def main(kind: str, n: int, d: int, target: Path, seed: int = 0, digits: int = 6, group: int = 0) -> None:
    if kind == "triples":
        write_triples(n, d, target, seed)
    elif kind in ("csv", "holes", "labels"):
        write_text(kind, n, d, target, seed, digits)
    else:
        write_parquet(kind, n, d, target, seed, digits, group)


if __name__ == "__main__":
    chosen, rows, columns, file, *settings = sys.argv[1:]
    # Under another name first: a file of the right name is whole.
    unfinished = Path(f"{file}.unfinished")
    main(chosen, int(rows), int(columns), unfinished, *map(int, settings))
    unfinished.rename(file)
