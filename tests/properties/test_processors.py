"""Bytes on other processors: `OPENBLAS_CORETYPE` is obeyed, and makes those of processors with AVX2 equal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pcatool.registry import KERNELS, SOLVERS
from programs import computed_for, need_avx2

TESTS = Path(__file__).resolve().parents[1]

# Of the program itself, which runs before anything else loads numpy.
OBEYED = """
import json, sys
from pcatool.cli.signals import set_environment
set_environment()
from pcatool.cli.app import run
assert run(["fit", sys.argv[1], "-q", "-k", "2", "-o", sys.argv[2]]) == 0
from programs import computed_for
print(json.dumps(computed_for()))
"""

EXPONENTIALS = {"rbf", "laplacian"}  # README.md says so of these

FITS = """
import hashlib, json, sys, warnings
import numpy as np
import pcatool
from pcatool.model.npz import dumps

warnings.simplefilter("ignore")
rng = np.random.default_rng(5)
tall = rng.normal(size=(400, 12)) @ rng.normal(size=(12, 12)) + 3
holes = np.where(rng.random(tall.shape) < 0.1, np.nan, tall)
fits = {
    **{solver: (tall, {"solver": solver, "components": 5}) for solver in %(solvers)s},
    "wide": (rng.normal(size=(60, 300)), {"standardize": True}),
    "parallel": (tall, {"components": "parallel"}),
    "zca": (tall, {"whiten": "zca"}),
    "em": (holes, {"missing": "em", "components": 3}),
    **{kernel: (tall, {"method": "kernel", "kernel": kernel, "components": 3}) for kernel in %(kernels)s},
}
found = {}
for name, (X, options) in fits.items():
    model = pcatool.fit(X, **options)
    scores = pcatool.transform(model, X[:50]) if not np.isnan(X).any() else np.zeros(1)
    found[name] = [hashlib.sha256(data).hexdigest() for data in (dumps(model), np.asarray(scores).tobytes())]
features = np._core._multiarray_umath
print(json.dumps([found, [name for name in features.__cpu_dispatch__ if features.__cpu_features__[name]]]))
"""


def python(program: str, *words: str, **environment: str) -> str:
    around = {**os.environ, "PYTHONPATH": str(TESTS), "OPENBLAS_CORETYPE": "Haswell", **environment}
    done = subprocess.run(
        [sys.executable, "-c", program, *words], env=around, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("processor", ["Haswell", "Sandybridge"])
def test_the_program_computes_for_the_processor_that_is_named(processor: str, folder: Path) -> None:
    need_avx2()
    table, model = folder / "sample_data" / "digits.csv", folder / "m.npz"
    told = python(OBEYED, str(table), str(model), OPENBLAS_CORETYPE=processor)
    assert json.loads(told) == [processor] * len(computed_for())


def test_a_processor_with_more_gives_the_bytes_of_one_with_avx2() -> None:
    """Of numpy's own loops those beyond AVX2 are switched off, as on a processor that has no more."""
    need_avx2()
    kernels = [name for name in KERNELS if name not in EXPONENTIALS | {"precomputed"}]
    program = FITS % {"solvers": list(SOLVERS), "kernels": kernels}
    with_all, features = json.loads(python(program))
    more = [name for name in features if name.startswith("AVX512") or name == "X86_V4"]
    if not more:
        pytest.skip("this processor has no more than AVX2")
    without, left = json.loads(python(program, NPY_DISABLE_CPU_FEATURES=" ".join(more)))
    assert set(left) == set(features) - set(more)
    assert without == with_all


COMPARES = "tests/pipeline/test_plot.py::test_a_picture_from_a_pipe_a_file_and_one_thread_is_the_same"


def test_tests_compare_processes_that_compute_alike(tmp_path: Path) -> None:
    """The variable reaches the program in whatever environment the tests start it."""
    need_avx2()
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-n0",
        "-p",
        "no:cacheprovider",
        f"--basetemp={tmp_path / 'inner'}",
        COMPARES,
    ]
    around = {**os.environ, "OPENBLAS_CORETYPE": "Sandybridge"}
    done = subprocess.run(words, cwd=TESTS.parent, env=around, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
