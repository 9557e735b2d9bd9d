"""Every solver computes with one BLAS thread, in SciPy too: the bits of LAPACK depend on the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pcatool.registry import SOLVERS
from programs import kernels

# SciPy's BLAS is loaded by scipy.linalg, and begins with the threads of the environment. Whoever imports that in a fit
# without `load_scipy_linalg` leaves it so until the next body of `one_blas_thread`.
FIT = """
import sys
import numpy as np
import pcatool
from pcatool.linalg import blas
from pcatool.registry import SOLVERS, Entry

true = blas._set_blas_threads
found = []

def watched():
    caller = sys._getframe(1).f_code.co_name
    imported = "scipy.linalg" in sys.modules and "scipy" not in blas._before
    if imported and "numpy" in blas._before and caller != "load_scipy_linalg":
        found.append(caller)
    true()

def counts():
    loaded = ("numpy", "scipy") if "scipy.linalg" in sys.modules else ("numpy",)
    return [controls[1]() for controls in map(blas._openblas, loaded) if controls is not None]

class OwnImport(SOLVERS.load("svd")):
    def solve(self, rows, problem):
        import scipy.linalg
        return super().solve(rows, problem)

SOLVERS.entries["own-import"] = Entry("__main__:OwnImport", "")
blas._set_blas_threads = watched
rng = np.random.default_rng(0)
with blas.one_blas_thread():
    for n, d in ((60, 9), (9, 60)):
        X = rng.normal(size=(n, d)) * 10.0 ** -np.arange(0, 2 * d, 2)[:d].clip(0, 16)
        pcatool.fit(X, solver=sys.argv[1], components=2)
    assert set(counts()) <= {1}, counts()
assert set(counts()) <= {2}, counts()
assert not found, "take scipy.linalg from load_scipy_linalg() of linalg/blas.py"
"""


def fit_with(solver: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **kernels(), "OPENBLAS_NUM_THREADS": "2"}
    words = [sys.executable, "-c", FIT, solver]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_solver_computes_with_one_blas_thread(solver: str) -> None:
    done = fit_with(solver)
    assert done.returncode == 0, done.stderr


def test_a_solver_that_imports_scipy_itself_is_found() -> None:
    done = fit_with("own-import")
    if "AssertionError" not in done.stderr:
        pytest.skip("numpy and scipy have no OpenBLAS of their own here")
    assert "take scipy.linalg from load_scipy_linalg()" in done.stderr
