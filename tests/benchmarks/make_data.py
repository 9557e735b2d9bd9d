"""Makes one table, with the Python of the peers: KIND ROWS COLUMNS FILE.

Normal data of low rank plus noise, the same for the same size. What the names of kinds mean: `jobs.py`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike
from pyarrow import csv, parquet

RANK = 20  # more than the ten components asked for, so that the eleventh is no easy victory for iterative solvers
NOISE = 0.3
SHARE_RANK, SHARE_NOISE = 64, 0.1  # 60 components keep 0.99 of the variance
CELLS_AT_ONCE = 2_000_000


def pieces(n: int, d: int, most: int = RANK, noise: float = NOISE) -> Iterator[np.ndarray]:
    """Blocks of rows around 5, rounded to seven decimals: about ten bytes a cell as text; `most` limits the rank."""
    random = np.random.default_rng(0)
    rank = min(most, d // 2)
    directions = random.standard_normal((rank, d)) * np.geomspace(1, 0.2, rank)[:, None]
    step = max(1, CELLS_AT_ONCE // d)
    for start in range(0, n, step):
        rows = min(step, n - start)
        signal = random.standard_normal((rows, rank)) @ directions
        yield np.round(signal + noise * random.standard_normal((rows, d)) + 5, 7)


def write_csv(n: int, d: int, target: Path) -> None:
    names = [f"f{j}" for j in range(d)]
    with target.open("wb") as file:
        file.write(f"{','.join(names)}\n".encode())  # Arrow would quote the names
        for X in pieces(n, d):
            table = pa.table(list(np.ascontiguousarray(X.T)), names=names)
            csv.write_csv(table, file, csv.WriteOptions(include_header=False))


def whole(
    n: int, d: int, dtype: DTypeLike, order: Literal["C", "F"], rank: int = RANK, noise: float = NOISE
) -> np.ndarray:
    """All rows at once: only a table written in one go has the groups of rows that Arrow makes by itself."""
    X: np.ndarray = np.empty((n, d), dtype, order=order)
    start = 0
    for piece in pieces(n, d, rank, noise):
        X[start : start + len(piece)] = piece
        start += len(piece)
    return X


def table_of(X: np.ndarray) -> pa.Table:
    d = X.shape[1]
    return pa.table([X[:, j] for j in range(d)], names=[f"f{j}" for j in range(d)])


def write_parquet(n: int, d: int, target: Path) -> None:
    parquet.write_table(table_of(whole(n, d, np.float64, "F")), target)


def write_groups(n: int, d: int, target: Path) -> None:
    parquet.write_table(table_of(whole(n, d, np.float64, "F")), target, row_group_size=16_384)


def write_share(n: int, d: int, target: Path) -> None:
    parquet.write_table(table_of(whole(n, d, np.float64, "F", rank=SHARE_RANK, noise=SHARE_NOISE)), target)


def write_vectors(n: int, d: int, target: Path) -> None:
    numbers = pa.array(whole(n, d, np.float32, "C").ravel())
    vectors = pa.FixedSizeListArray.from_arrays(numbers, d)
    parquet.write_table(pa.table({"id": pa.array(np.arange(n)), "embedding": vectors}), target)


WRITERS = {
    "csv": write_csv,
    "parquet": write_parquet,
    "groups": write_groups,
    "share": write_share,
    "vectors": write_vectors,
}

if __name__ == "__main__":
    kind, rows, columns, file = sys.argv[1:]
    # Under another name first: a file of the right name is whole.
    unfinished = Path(f"{file}.unfinished")
    WRITERS[kind](int(rows), int(columns), unfinished)
    unfinished.rename(file)
