"""The leading eigenpairs of wide matrices: none missed, none beyond its bound, the same bits for any threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import pcatool.linalg.leading as leading
from pcatool.arrays import Array, run_serially
from pcatool.engines.threads import Threads
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.lanczos import EigenPairs
from pcatool.linalg.spectrum import EPS, Spectrum

D = 700

# Random spectra for each kind; more by PCATOOL_TIMES.
SEEDS = 2 * int(os.environ.get("PCATOOL_TIMES", "1"))

KINDS: dict[str, Callable[[np.random.Generator], Array]] = {
    "falling": lambda rng: rng.uniform(0.6, 0.95) ** np.arange(D),
    "slow": lambda rng: (1.0 + np.arange(D)) ** -rng.uniform(0.5, 2),
    "flat": lambda rng: np.linspace(1, 0.5, D),
    "cluster": lambda rng: np.r_[3 + 10.0 ** -rng.uniform(4, 12) * rng.random(7), np.linspace(1, 0.1, D - 7)],
    "repeated": lambda rng: np.r_[5, np.full(12, 2.0), np.linspace(1, 0.1, D - 13)],
    "steep": lambda rng: 10.0 ** -np.linspace(0, rng.uniform(6, 14), D),
    "low rank": lambda rng: np.r_[np.linspace(3, 1, 8), np.zeros(D - 8)],
    "flat after a gap": lambda rng: np.r_[np.full(4, 2.0), np.full(D - 4, 1.0)],
    "noise": lambda rng: np.r_[np.linspace(9, 5, 15), rng.random(D - 15)],
}


def matrix(kind: str, seed: int) -> Array:
    """Return a symmetric matrix (D, D) whose eigenvalues, up to rounding, are of this kind."""
    rng = np.random.default_rng([seed, len(kind)])
    values = np.sort(KINDS[kind](rng))[::-1]
    Q = np.linalg.qr(rng.standard_normal((D, D)))[0]
    S = (Q * values) @ Q.T
    return np.asarray((S + S.T) / 2) * 10.0 ** rng.integers(-100, 100)


def spectrum_of(S: Array, wish: int | float) -> Spectrum:
    return leading.leading_spectrum(S, np.full(len(S), EPS), wish, 0.0, run_serially)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread, as in a fit."""
    with one_blas_thread():
        yield


@pytest.mark.parametrize("wish", [1, 7, 13, 35, 0.6, 0.95])
@pytest.mark.parametrize("kind", KINDS)
def test_each_eigenvalue_is_within_its_bound_and_none_is_missed(kind: str, wish: int | float) -> None:
    for seed in range(SEEDS):
        S = matrix(kind, seed)
        true = np.linalg.eigvalsh(S)[::-1]
        found = spectrum_of(S, wish)
        values, m = found.eigenvalues, len(found.eigenvalues)
        k = wish if isinstance(wish, int) else int(np.searchsorted(np.cumsum(true), wish * true.sum())) + 1
        assert m >= k
        own = 1e-14 * true[0]  # LAPACK's error in `true`
        assert np.all(np.abs(values - true[:m]) <= found.error + own), (seed, found.route)
        assert np.abs(values[:k] - true[:k]).max() <= 1e-12 * true[0]
        assert found.error[:k].max() <= 1e-10 * true[0]
        V = found.leading(min(k, m))
        assert np.abs(V.T @ V - np.eye(V.shape[1])).max() <= 1e-12
        assert np.abs(S @ V - V * values[: V.shape[1]]).max() <= 1e-13 * true[0]


@pytest.mark.parametrize(
    ("kind", "wish", "route"),
    [
        ("falling", 5, "lanczos"),
        ("slow", 1, "lanczos"),
        ("low rank", 5, "lanczos"),
        ("low rank", 0.9, "lanczos"),
        ("cluster", 3, "evr"),
        ("repeated", 7, "evr"),
        ("flat", 5, "evr"),
        ("flat", 0.9, "eigh"),
        ("noise", 36, "evr"),
    ],
)
def test_lapack_computes_what_lanczos_cannot_prove(kind: str, wish: int | float, route: str) -> None:
    assert spectrum_of(matrix(kind, 0), wish).route == route


@pytest.mark.parametrize("missed", [0, 3, 6])
def test_a_missed_eigenvector_leaves_no_proof(missed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    S = matrix("falling", 1)
    found = leading.leading_pairs

    def without_one(apply: Callable[[Array], Array], d: int, *_: object, max_space: int, **__: object) -> EigenPairs:
        pairs = found(apply, d, lambda values: 8 if len(values) > 7 else None, max_space=max_space, fixed_count=8)
        assert pairs is not None
        kept = [j for j in range(len(pairs.values)) if j != missed]
        return EigenPairs(pairs.values[kept], pairs.vectors[:, kept], pairs.residual[kept], pairs.next_value)

    monkeypatch.setattr(leading, "leading_pairs", without_one)
    spectrum = spectrum_of(S, 7)
    assert spectrum.route == "evr"
    true = np.linalg.eigvalsh(S)[::-1]
    assert np.all(np.abs(spectrum.eigenvalues - true[:8]) <= spectrum.error + 1e-14 * true[0])


@pytest.mark.parametrize("kind", ["falling", "flat"])
def test_the_bits_do_not_depend_on_threads(kind: str) -> None:
    S = matrix(kind, 2)
    results = []
    for count in (1, 2, 3):
        with Threads(count) as engine:
            found = leading.leading_spectrum(S, np.full(D, EPS), 5, 0.0, engine.map)
        results.append((found.eigenvalues.tobytes(), found.leading(5).tobytes(), found.error.tobytes()))
    assert results[0] == results[1] == results[2]


def test_scipy_is_loaded_with_the_number_of_threads_that_is_set() -> None:
    """OpenBLAS of SciPy is another library than that of NumPy, and would use every core."""
    script = (
        "import sys, numpy, pcatool.linalg.blas as blas\n"
        "with blas.one_blas_thread():\n"
        "    assert 'scipy.linalg' not in sys.modules\n"
        "    blas.load_scipy_linalg()\n"
        "    controls = blas._openblas('scipy')\n"
        "    assert controls is None or controls[1]() == 1\n"
        "assert controls is None or controls[1]() == 2\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=environment)


@pytest.mark.parametrize("d", [1, 511, 512, 513, 1100])
def test_cholesky_in_panels_tells_definite_matrices_from_others(d: int) -> None:
    rng = np.random.default_rng(d)
    F = rng.standard_normal((d, d + 5))
    S = F @ F.T
    smallest = float(np.linalg.eigvalsh(S)[0])
    definite, other = S.copy(), S.copy()
    definite.flat[:: d + 1] -= 0.9 * smallest
    other.flat[:: d + 1] -= 1.1 * smallest
    assert leading.is_positive_definite(definite, run_serially)
    assert not leading.is_positive_definite(other, run_serially)
