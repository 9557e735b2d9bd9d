"""How far a contender's numbers are from pcatool's."""

from __future__ import annotations

import csv
import math
import subprocess
from collections.abc import Sequence
from itertools import islice, zip_longest
from pathlib import Path

TOLERANCE = 1e-6  # far more than rounding, far less than any mistake in the method
ROWS_COMPARED = 1000  # of the scores, from the top; the number of rows is compared whole


def variances_of_model(pcatool: Sequence[str], model: Path, rows: int) -> list[float]:
    """The eigenvalues of a pcatool model, which divides by n, as the peers have them, who divide by n - 1.

    None of them when the program fails: nobody then agrees with it, and the run goes on.
    """
    command = [*pcatool, "explain-variance", str(model), "--format", "csv"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return [float(line["eigenvalue"]) * rows / (rows - 1) for line in csv.DictReader(done.stdout.splitlines())]


def variances_differ_by(ours: Sequence[float], printed: str) -> float:
    """Largest relative difference to the variances a contender printed, of as many as it printed."""
    try:
        theirs = [float(word) for word in printed.split()]
    except ValueError:
        return math.inf
    if not theirs or len(theirs) > len(ours):
        return math.inf
    return max(abs(b - a) / a for a, b in zip(ours, theirs, strict=False))


def scores_differ_by(ours: Path, theirs: Path) -> float:
    """Largest difference of the first scores, relative to the largest score. Signs are free in PCA."""
    if not theirs.exists() or _lines(ours) != _lines(theirs):
        return math.inf
    largest = difference = 0.0
    for a, b in zip(_rows(ours), _rows(theirs), strict=True):
        for x, y in zip_longest(a, b, fillvalue=math.inf):
            largest = max(largest, abs(x))
            difference = max(difference, abs(abs(x) - abs(y)))
    return difference / largest


def _rows(path: Path) -> list[list[float]]:
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        next(lines, None)  # the names
        return [[float(cell) for cell in line] for line in islice(lines, ROWS_COMPARED)]


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))
