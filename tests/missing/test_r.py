"""Probabilistic PCA of rows with holes against R: pcaMethods and missMDA, as stored; with PCATOOL_R set, run here, too.

What differs between the programs on paper stands in reference/README.md; each tolerance below names what it is for.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from missing.dense import density, em_step
from missing.made import Array, angle, filled, fit
from pcatool.missing.em import EMFit
from pcatool.missing.project import fill, project_incomplete

pytestmark = pytest.mark.long

HERE = Path(__file__).parent / "reference"

# Components, whether about the mean of the observed cells, and what each column is divided by.
TABLES = {
    "low_rank": (3, "TRUE", "none"),
    "quiet": (3, "FALSE", "none"),
    "complete": (3, "TRUE", "none"),
    "orders": (1, "TRUE", "uv"),
}

with_holes = pytest.mark.parametrize("answer", [name for name in TABLES if name != "complete"], indirect=True)
divided = pytest.mark.parametrize(
    "answer", [name for name, (*_, scale) in TABLES.items() if scale == "uv"], indirect=True
)

# Where EM in R stops: its likelihood no longer changes in the 15th digit. Parameters then move by the root of that at
# most, 3e-8, and are as much farther from the maximum as EM is slow. Measured 4e-7.
CONVERGED = 2e-6

# The same of programs that are told to stop at 1e-14, in the cells they fill. Measured 2e-5, in standard deviations.
FILLED = 1e-4

# R's numbers are stored with 11 digits.
STORED = 1e-9


class Parameters(NamedTuple):
    W: Array  # (d, k)
    noise: float

    @property
    def covariance(self) -> Array:
        return self.W @ self.W.T + self.noise * np.eye(len(self.W))

    @property
    def basis(self) -> Array:
        return np.linalg.svd(self.W, full_matrices=False)[0]

    @property
    def signal(self) -> Array:
        """Variances along the basis, without the noise."""
        return np.linalg.svd(self.W, compute_uv=False) ** 2

    def fills(self, Y: Array, mean: Array) -> Array:
        return filled(Y, self.basis, self.signal, mean, self.noise)


class Answer(NamedTuple):
    """What R found, and what it was given: all in the units R works in."""

    name: str
    X: Array  # (n, d) in the units of the table
    Y: Array  # (n, d) about the center, divided by the scale
    center: Array  # (d,)
    scale: Array  # (d,)
    ppca: Parameters
    mended: Parameters
    in_holes: dict[str, Array]  # (n, d) of each program, NaN but in the holes

    @property
    def k(self) -> int:
        return self.ppca.W.shape[1]

    @property
    def zero(self) -> Array:
        return np.zeros(self.Y.shape[1])

    @property
    def noise_share(self) -> float:
        """The noise as a part of the weakest component: what R's lower bound and least squares leave out is less."""
        return float(self.mended.noise / self.mended.signal.min())

    def filled_by(self, program: str) -> Array:
        """The table in R's units with the holes filled."""
        if program not in self.in_holes:
            pytest.skip("R has no package missMDA")
        return fill(self.Y, self.in_holes[program])


def run_r(name: str, folder: Path) -> None:
    k, center, scale = TABLES[name]
    command = ["Rscript", str(HERE / "ppca.R"), str(HERE / name / "table.csv"), str(k), center, scale, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def read(name: str, folder: Path) -> Answer:
    X = pd.read_csv(HERE / name / "table.csv").to_numpy(float)
    columns = pd.read_csv(folder / "ppca.csv")
    holes = pd.read_csv(folder / "filled.csv")
    center, scale = columns["center"].to_numpy(float), columns["scale"].to_numpy(float)
    at = holes["row"].to_numpy(int) - 1, pd.Index(columns["column"]).get_indexer(holes["column"])
    in_holes = {}
    for program in holes.columns[2:]:
        if holes[program].notna().all():
            values = np.full(X.shape, np.nan)
            values[at] = holes[program]
            in_holes[program] = (values - center) / scale
    ppca, mended = (
        Parameters(columns.filter(regex=f"^{prefix}W").to_numpy(float), float(columns[f"{prefix}noise"].iloc[0]))
        for prefix in ("", "mended_")
    )
    return Answer(name, X, (X - center) / scale, center, scale, ppca, mended, in_holes)


@pytest.fixture(scope="module", params=["stored", *(["live"] if os.environ.get("PCATOOL_R") else [])])
def source(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def made_by_r(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made_by_r")


@pytest.fixture(scope="module", params=TABLES)
def answer(source: str, request: pytest.FixtureRequest, made_by_r: Path) -> Answer:
    name = str(request.param)
    if source == "stored":
        return read(name, HERE / name)
    folder = made_by_r / name
    if not folder.exists():
        folder.mkdir()
        run_r(name, folder)
    return read(name, folder)


@pytest.fixture(scope="module")
def about_zero(answer: Answer) -> Parameters:
    """Ours, of the very rows R works on: their mean is taken as it is."""
    return parameters(fit(answer.Y, answer.k, center=False, iterate=True))


@pytest.fixture(scope="module")
def ours(answer: Answer) -> EMFit:
    """With a mean of its own."""
    return fit(answer.Y, answer.k, iterate=True)


def parameters(fitted: EMFit) -> Parameters:
    assert fitted.converged
    k = fitted.basis.shape[1]
    return Parameters(
        fitted.basis * np.sqrt(fitted.eigenvalues[:k] - fitted.noise_variance), float(fitted.noise_variance)
    )


def turned(A: Array, B: Array) -> float:
    """The largest angle between two spaces, in radians."""
    return float(np.radians(angle(A, B)))


def size(values: Array) -> float:
    return float(np.sqrt(np.nanmean(values**2)))


def in_holes(answer: Answer, R: Array) -> Array:
    return R[np.isnan(answer.Y)]


# --- the likelihood ---


def lower_bound(Y: Array, model: Parameters) -> float:
    """What `ppca` climbs, at its highest for W and noise: the likelihood less what one covariance for all loses."""
    W, noise = model
    n, k = len(Y), W.shape[1]
    Z = project_incomplete(Y, model.basis, variances=model.signal, noise=noise)
    observed = ~np.isnan(Y)
    squares = float(np.sum((Y - Z @ model.basis.T)[observed] ** 2))
    latent = float(np.sum(Z * Z / model.signal))
    S = np.linalg.inv(np.eye(k) + W.T @ W / noise)
    of_latent = n * (np.trace(S) - np.linalg.slogdet(S)[1] - k) + latent
    of_cells = observed.sum() * np.log(2 * np.pi * noise) + (squares + n * np.trace(W.T @ W @ S)) / noise
    return float(-0.5 * (of_cells + of_latent))


def test_no_parameters_of_r_are_likelier(answer: Answer, about_zero: Parameters, ours: EMFit) -> None:
    """Judged by scipy's density of the observed cells. A mean of one's own can only be likelier than R's."""
    mine = density(answer.Y, answer.zero, about_zero.covariance)
    rounding = STORED * abs(mine)
    for its in (answer.ppca, answer.mended):
        assert mine >= density(answer.Y, answer.zero, its.covariance) - rounding
    assert density(answer.Y, ours.mean, parameters(ours).covariance) >= mine - rounding


def test_r_climbs_a_lower_bound(answer: Answer, about_zero: Parameters) -> None:
    """Where R differs it is since it maximises something else: by that measure its parameters are the better ones."""
    its, mine = lower_bound(answer.Y, answer.mended), lower_bound(answer.Y, about_zero)
    rounding = STORED * abs(its)
    assert its >= mine - rounding
    assert its <= density(answer.Y, answer.zero, answer.mended.covariance) + rounding
    if answer.name == "complete":  # nothing is lost
        assert abs(its - density(answer.Y, answer.zero, about_zero.covariance)) <= rounding


# --- the model ---


def test_same_model(answer: Answer, about_zero: Parameters) -> None:
    """Without holes as close as R converges; with holes to what the lower bound leaves out, noise against signal."""
    within = CONVERGED if answer.name == "complete" else answer.noise_share
    its = answer.mended
    assert turned(about_zero.basis, its.basis) <= within
    np.testing.assert_allclose(about_zero.noise, its.noise, rtol=within)
    np.testing.assert_allclose(about_zero.signal + about_zero.noise, its.signal + its.noise, rtol=within)
    np.testing.assert_allclose(
        about_zero.covariance, its.covariance, rtol=0, atol=within * (its.signal.max() + its.noise)
    )


def test_same_model_as_ppca_unmended(answer: Answer, about_zero: Parameters) -> None:
    """The space is right to R's convergence; sigma^2 is off by its sum, as a part of itself by noise against signal."""
    its = answer.ppca
    if answer.name == "complete":
        assert turned(about_zero.basis, its.basis) <= CONVERGED
    assert turned(about_zero.basis, its.basis) <= answer.noise_share
    np.testing.assert_allclose(about_zero.noise, its.noise, rtol=answer.noise_share)


def test_less_noise_less_apart() -> None:
    """The two tables differ by their noise alone, 11 times: so do the distances, to a factor of two."""
    loud, quiet = (read(name, HERE / name) for name in ("low_rank", "quiet"))
    apart = [turned(parameters(fit(answer.Y, 3, center=False)).basis, answer.mended.basis) for answer in (loud, quiet)]
    assert apart[0] / apart[1] == pytest.approx(loud.mended.noise / quiet.mended.noise, rel=0.5)


def test_from_r_the_papers_steps_lead_to_ours() -> None:
    """What R's lower bound leaves out, EM with a covariance for each row makes up: half of it in 7 steps."""
    answer = read("orders", HERE / "orders")
    W, mean, noise = answer.mended.W, answer.zero, answer.mended.noise
    for _ in range(150):
        W, mean, noise = em_step(answer.Y, (W, mean, noise))
    mine = fit(answer.Y, answer.k, gain=1e-13)
    largest = float(mine.eigenvalues[0])
    np.testing.assert_allclose(
        parameters(mine).covariance, Parameters(W, noise).covariance, rtol=0, atol=CONVERGED * largest
    )
    np.testing.assert_allclose(mine.mean, mean, rtol=0, atol=CONVERGED * np.sqrt(largest))
    np.testing.assert_allclose(mine.noise_variance, noise, rtol=CONVERGED)


@divided
def test_columns_are_divided_by_the_same(answer: Answer) -> None:
    standardized = fit(answer.X, answer.k, standardize=True, ddof=1)
    np.testing.assert_allclose(standardized.std, answer.scale, rtol=STORED)
    assert turned(standardized.basis, fit(answer.Y, answer.k).basis) <= CONVERGED


# --- the cells filled, from the same parameters ---


@with_holes
def test_r_parameters_fill_as_ppca_does(answer: Answer) -> None:
    """`ppca` projects the rows it has filled once more."""
    its = answer.filled_by("ppca")
    basis = answer.ppca.basis
    once_more = fill(answer.Y, answer.ppca.fills(answer.Y, answer.zero)) @ basis @ basis.T
    np.testing.assert_allclose(in_holes(answer, once_more), in_holes(answer, its), rtol=0, atol=1e-7)


@with_holes
@pytest.mark.parametrize("program", ["svd", "missmda_em"])
def test_least_squares_fill_stands_still(program: str, answer: Answer) -> None:
    """Rows projected by their observed cells alone land where these programs ended; missMDA has a mean of its own."""
    its = answer.filled_by(program)
    mean = its.mean(axis=0) if program == "missmda_em" else answer.zero
    basis = np.linalg.svd(its - mean, full_matrices=False)[2][: answer.k].T
    mine = mean + project_incomplete(answer.Y - mean, basis) @ basis.T
    np.testing.assert_allclose(in_holes(answer, mine), in_holes(answer, its), rtol=0, atol=FILLED)


# --- the cells filled, each from its own ---


@with_holes
def test_fills_as_ppca_does(answer: Answer, about_zero: Parameters) -> None:
    its = answer.filled_by("ppca")
    mine = fill(answer.Y, about_zero.fills(answer.Y, answer.zero)) @ about_zero.basis @ about_zero.basis.T
    assert size(in_holes(answer, mine - its)) <= answer.noise_share * size(in_holes(answer, its))


@with_holes
def test_fills_as_regularized_missmda_does(answer: Answer, ours: EMFit) -> None:
    """Its sigma^2 is another estimate, and it, too, takes no account of how few cells a row has."""
    its = answer.filled_by("missmda_regularized")
    mine = parameters(ours).fills(answer.Y, ours.mean)
    assert size(in_holes(answer, mine - its)) <= answer.noise_share * size(in_holes(answer, its))


@with_holes
@pytest.mark.parametrize("program", ["svd", "missmda_em"])
def test_space_of_least_squares(program: str, answer: Answer, about_zero: Parameters, ours: EMFit) -> None:
    """Least squares are the limit of no noise."""
    its = answer.filled_by(program)
    centred, mine = (its - its.mean(axis=0), ours.basis) if program == "missmda_em" else (its, about_zero.basis)
    basis = np.linalg.svd(centred, full_matrices=False)[2][: answer.k].T
    assert turned(mine, basis) <= answer.noise_share
