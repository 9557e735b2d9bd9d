"""The number of BLAS threads a process starts with, and everything else around a fit, is no part of its result."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NoReturn

import numpy as np
import pytest

import pcatool
from pcatool.linalg import blas
from pcatool.linalg.blas import run_in_parallel
from pcatool.model.npz import dumps
from pcatool.registry import SOLVERS

pytestmark = pytest.mark.long(first=True)

# Rows, columns and spread of the column scales: below and above the size from which a factorisation takes two threads,
# flat and graded, tall and wide.
SHAPES = [(3000, 20, 0), (1500, 300, 0), (600, 300, 4), (60, 400, 0), (60, 300, 4)]

PROGRAM = """
import hashlib, sys
import numpy as np
from pcatool.arrays import apply_in_blocks, recut
from pcatool.methods.pca import PCA
from pcatool.model.npz import dumps
from pcatool.progress import Reporter
from pcatool.options import FitOptions

for n, d, spread in {shapes}:
    scales = 10.0 ** (spread * np.sin(np.arange(d)))
    X = np.random.default_rng(d).normal(size=(n, d)) * scales + 3
    for solver in {solvers}:
        for k in (3, 0.9, "all"):
            options = FitOptions(solver=solver, components=k)
            model = PCA(options, Reporter()).fit(recut([X], d), tuple(map(str, range(d)))).model
            scores = apply_in_blocks(model.project, X, 0)
            back = apply_in_blocks(model.reconstruct, scores, 0)
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


@pytest.mark.parametrize(("threads", "seed"), [("4", "2")])
def test_threads_of_the_process_change_no_bit(threads: str, seed: str) -> None:
    expected, found = results("1", "0"), results(threads, seed)
    assert len(expected) == 9 * len(SHAPES) * len(list(SOLVERS))
    assert [line for line in found if line not in expected] == []


# --- two factorisations at the same time ---


def test_side_by_side_gives_both_results_and_the_bits_of_one_after_the_other() -> None:
    rng = np.random.default_rng(0)
    A, B = (X @ X.T for X in rng.normal(size=(2, 150, 200)))

    def first() -> bytes:
        return b"".join(part.tobytes() for part in np.linalg.eigh(A))

    def second() -> bytes:
        return b"".join(part.tobytes() for part in np.linalg.eigh(B))

    with blas.one_blas_thread():
        expected = first(), second()
        for _ in range(5):
            assert run_in_parallel(first, second) == expected


def test_side_by_side_means_at_the_same_time_and_in_two_threads() -> None:
    meet = threading.Barrier(2)

    def one() -> int:
        meet.wait(20)
        return threading.get_ident()

    other, own = run_in_parallel(one, one)
    assert own == threading.get_ident() != other


def refuse(error: BaseException) -> NoReturn:
    raise error


@pytest.mark.parametrize("kind", [np.linalg.LinAlgError, MemoryError, KeyboardInterrupt, SystemExit])
def test_an_error_of_either_side_comes_out_once_both_have_ended(kind: type[BaseException]) -> None:
    ended: list[str] = []
    failing = threading.Event()

    def slow() -> None:
        assert failing.wait(20)
        ended.append("slow")

    def fails() -> None:
        failing.set()
        raise error

    error = kind("no convergence")
    for pair in ((fails, slow), (slow, fails)):
        failing.clear()
        with pytest.raises(kind) as raised:
            run_in_parallel(*pair)
        assert raised.value is error
    assert ended == ["slow", "slow"]
    with pytest.raises(kind):
        run_in_parallel(lambda: refuse(kind("one")), lambda: refuse(kind("other")))


def test_what_the_caller_set_for_numpy_holds_on_both_sides() -> None:
    def overflow() -> Any:
        return np.array([1e308]) * 10

    with np.errstate(over="ignore"):
        assert run_in_parallel(overflow, overflow) == (np.inf, np.inf)
    with np.errstate(over="raise"):
        for pair in ((overflow, int), (int, overflow)):
            with pytest.raises(FloatingPointError):
                run_in_parallel(*pair)


def test_fits_at_the_same_time_give_the_same_bytes_and_leave_blas_as_it_was() -> None:
    tables = [np.random.default_rng(seed).normal(size=(2500, 300)) for seed in range(3)]
    controls = blas._openblas("numpy")
    if controls is None:
        pytest.skip("numpy has another BLAS")
    setter, getter = controls
    before = getter()
    setter(2)
    try:
        expected = [dumps(pcatool.fit(X, components=3)) for X in tables]
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda X: dumps(pcatool.fit(X, components=3)), tables * 3))
        assert found == expected * 3
        assert getter() == 2
    finally:
        setter(before)


FORKS = """
import os, threading
import numpy as np
import pcatool
from pcatool.linalg import blas

X = np.random.default_rng(0).normal(size=(400, 30))
pcatool.fit(X, components=3)  # all is imported: a fork during an import is Python's own trap
done = threading.Event()

def busy():
    while not done.is_set():
        pcatool.fit(X, components=3)

thread = threading.Thread(target=busy)
thread.start()
for _ in range(12):
    child = os.fork()
    if child == 0:
        pcatool.fit(X, components=3)
        os._exit(len(blas._bodies))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
done.set()
thread.join()
"""


def test_a_child_that_was_forked_during_a_fit_neither_hangs_nor_keeps_its_wishes() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
