"""What a fit says of its own accuracy: small when it is right, and not small when it is wrong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from pcatool.linalg import certificate, eigen, spectrum
from pcatool.linalg.certificate import certify
from pcatool.linalg.eigen import fix_signs
from pcatool.registry import SOLVERS
from solvers import tolerances as within
from solvers.cases import Array, Run, every_fit, fit, fitted
from solvers.oracle import relative_errors

NUMBERS = ("eigen_residual", "orthonormality", "trace_closure")


@pytest.fixture(scope="module")
def solved() -> tuple[Array, Array, Array]:
    """S, its eigenvalues and eigenvectors."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(100, 5)) @ np.diag([5.0, 3.0, 2.0, 1.0, 0.5])
    S = X.T @ X / 100
    values, B = np.linalg.eigh(S)
    return S, values[::-1].copy(), B[:, ::-1].copy()


def certified(solved: tuple[Array, Array, Array], *, k: int = 5, scale: float = 1.0, **other: Array) -> dict[str, Any]:
    """The certificate of this solution, with wrong eigenvalues or directions in the place of the right ones."""
    S, values, B = solved
    values, B = other.get("values", values), other.get("B", B[:, :k])
    error = other.get("error", np.zeros_like(values))
    total = float(np.trace(S)) * scale
    return certify(lambda V: S @ V * scale, values * scale, error * scale, B, total, len(values) == len(S))


def test_right(solved: tuple[Array, Array, Array]) -> None:
    certificate = certified(solved)
    assert max(certificate[name] for name in NUMBERS) <= within.RESIDUAL
    assert certificate["vouched"] == [True] * 5
    assert certificate["close_pairs"] == []


@pytest.mark.parametrize("error", [1e-10, 1e-6, 1e-2])
def test_wrong_eigenvalue_shows(solved: tuple[Array, Array, Array], error: float) -> None:
    S, values, _ = solved
    certificate = certified(solved, values=values * np.array([1, 1 + error, 1, 1, 1]))
    assert certificate["eigen_residual"] == pytest.approx(error * values[1] / values[0], rel=1e-3)
    assert certificate["trace_closure"] == pytest.approx(error * values[1] / np.trace(S), rel=1e-3)


@pytest.mark.parametrize("angle", [1e-10, 1e-6, 1e-2])
def test_wrong_direction_shows(solved: tuple[Array, Array, Array], angle: float) -> None:
    _, values, B = solved
    wrong = B[:, :2].copy()
    wrong[:, 1] = np.cos(angle) * B[:, 1] + np.sin(angle) * B[:, 2]
    certificate = certified(solved, B=wrong)
    gap = (values[1] - values[2]) / values[0]
    assert certificate["eigen_residual"] == pytest.approx(gap * angle, rel=1e-3)
    assert certificate["orthonormality"] <= within.ORTHONORMAL


def test_oblique_directions_show(solved: tuple[Array, Array, Array]) -> None:
    B = solved[2]
    wrong = B[:, :2] + 1e-5 * B[:, 1::-1]
    assert certified(solved, B=wrong)["orthonormality"] == pytest.approx(2e-5, rel=1e-3)


def test_trace_is_not_held_against_some_of_the_eigenvalues(solved: tuple[Array, Array, Array]) -> None:
    assert certified(solved, values=solved[1][:2], k=2).get("trace_closure") is None


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_scale_does_not_show(solved: tuple[Array, Array, Array], scale: float) -> None:
    """The square of a residual may overflow, or vanish, where the residual itself does not."""
    wrong = solved[1] * np.array([1, 1 + 1e-3, 1, 1, 1])
    plain, scaled = certified(solved, values=wrong), certified(solved, values=wrong, scale=scale)
    for name in NUMBERS:
        assert scaled[name] == pytest.approx(plain[name], rel=1e-6, abs=within.RESIDUAL)


def test_error_of_each_eigenvalue_is_told_and_vouched_for_or_not(solved: tuple[Array, Array, Array]) -> None:
    _, values, _ = solved
    certificate = certified(solved, error=values * np.array([1e-15, 1e-9, 1e-7, 1e-3, 2.0]))
    assert certificate["vouched"] == [True, True, False, False, False]
    found, true = np.array(certificate["relative_error"]), np.array([1e-15, 1e-9, 1e-7, 1e-3, 2.0])
    assert np.all((found >= true) & (found <= 1.2 * true))


def test_pairs_too_close_for_their_errors_are_named(solved: tuple[Array, Array, Array]) -> None:
    """The second and third, whose gap is less than a thousand times what rounding may have moved them."""
    values = solved[1].copy()
    values[2] = values[1] * (1 - 1e-6)
    small, large = np.full(5, 1e-12), np.full(5, 1e-8)
    assert certified(solved, values=values, error=small)["close_pairs"] == []
    assert certified(solved, values=values, error=large)["close_pairs"] == [[2, 3]]


@every_fit
def test_vouches_for_what_is_measured(run: Run) -> None:
    """It bounds the residual against exact arithmetic, but for the rounding of S itself; and it can be written down."""
    model = fitted(run)
    certificate = model.meta["certificate"]
    json.dumps(certificate, allow_nan=False)
    measured = run.exact.residual(model.eigenvalues[: model.k], model.basis)
    assert measured <= certificate["eigen_residual"] + within.RESIDUAL
    assert certificate["orthonormality"] == pytest.approx(
        np.abs(model.basis.T @ model.basis - np.eye(model.k)).max(), abs=within.ORTHONORMAL
    )


@every_fit
def test_bounds_hold_against_exact_arithmetic(run: Run) -> None:
    """No eigenvalue is further from the truth than its certificate admits."""
    model = fitted(run)
    rank = model.meta["rank"]
    errors = relative_errors(model.eigenvalues[:rank], run.exact.eigenvalues[:rank])
    admitted = np.array(model.meta["certificate"]["relative_error"][:rank])
    assert np.all(errors <= admitted)


@pytest.mark.parametrize("solver", list(SOLVERS))
@pytest.mark.parametrize("k", [1, 3, 5])
def test_speaks_of_what_is_kept(solver: str, k: int) -> None:
    certificate = fit(np.random.default_rng(1).normal(size=(30, 5)), solver=solver, components=k).meta["certificate"]
    assert len(certificate["relative_error"]) == len(certificate["vouched"]) == k
    assert all(certificate["vouched"])
    assert max(certificate[name] or 0.0 for name in NUMBERS if name in certificate) <= within.RESIDUAL


@pytest.mark.parametrize("columns", [1, 3, 7])
@pytest.mark.parametrize("shortest", [1.0, 1e-6, 1e-12])
def test_directions_made_orthonormal_some_at_a_time_are_those_made_so_at_once(
    columns: int, shortest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly orthogonal ones of very different lengths, as inner products of rows give them."""
    rng = np.random.default_rng(3)
    d, k = 40, 12
    Q = np.linalg.qr(rng.normal(size=(d, k)))[0]
    V = Q * np.geomspace(1, shortest, k) + 1e-15 * rng.normal(size=(d, k))
    whole = spectrum.orthonormal(V.copy())
    monkeypatch.setattr(spectrum, "AT_ONCE", columns * d)
    parts = spectrum.orthonormal(V.copy())
    assert np.abs(parts.T @ parts - np.eye(k)).max() <= within.ORTHONORMAL
    assert np.all(np.einsum("ij,ij->j", parts, V) > 0)
    turned = np.abs(parts - whole).max(axis=0)
    assert np.all(turned <= 1e-13 / np.geomspace(1, shortest, k))


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_signs_and_residuals_of_some_columns_at_a_time(
    columns: int, solved: tuple[Array, Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    B = rng.normal(size=(5, 5))
    whole, turned = certified(solved, B=B), fix_signs(B)
    monkeypatch.setattr(certificate, "AT_ONCE", 5 * columns)
    monkeypatch.setattr(eigen, "SIGNS_AT_ONCE", 5 * columns)
    np.testing.assert_array_equal(fix_signs(B), turned)
    assert certified(solved, B=B)["eigen_residual"] == whole["eigen_residual"]
