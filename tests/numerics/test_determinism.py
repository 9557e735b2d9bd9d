"""The number of BLAS threads a process starts with, and everything else around a fit, is no part of its result."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

from pcatool.registry import SOLVERS

# Rows, columns and spread of the column scales: below and above the size from which a factorisation takes two threads,
# flat and graded, tall and wide.
SHAPES = [(3000, 20, 0), (1500, 300, 0), (600, 300, 4), (60, 400, 0), (60, 300, 4)]

PROGRAM = """
import hashlib, sys
import numpy as np
from pcatool.blocks import by_block, recut
from pcatool.methods.pca import PCA
from pcatool.modelfile import dumps
from pcatool.notices import Notices
from pcatool.options import FitOptions

for n, d, spread in {shapes}:
    scales = 10.0 ** (spread * np.sin(np.arange(d)))
    X = np.random.default_rng(d).normal(size=(n, d)) * scales + 3
    for solver in {solvers}:
        for k in (3, 0.9, "all"):
            options = FitOptions(solver=solver, components=k)
            model = PCA(options, Notices()).fit(recut([X], d), tuple(map(str, range(d)))).model
            scores = by_block(model.project, X, 0)
            back = by_block(model.reconstruct, scores, 0)
            for what, data in (("model", dumps(model)), ("scores", scores.tobytes()), ("back", back.tobytes())):
                print(n, d, spread, solver, k, what, hashlib.sha256(data).hexdigest())
"""


@cache
def results(threads: str, seed: str) -> list[str]:
    program = PROGRAM.format(shapes=SHAPES, solvers=list(SOLVERS))
    around = {"OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env={**os.environ, **around}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(("threads", "seed"), [("2", "1"), ("4", "2")])
def test_threads_of_the_process_change_no_bit(threads: str, seed: str) -> None:
    expected, found = results("1", "0"), results(threads, seed)
    assert len(expected) == 9 * len(SHAPES) * len(list(SOLVERS))
    assert [line for line in found if line not in expected] == []
