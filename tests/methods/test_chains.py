"""Models that rows are added to and taken out of, and fitted again otherwise: every bound on the way holds.

A hundred and twenty chains in the suite; `python tests/methods/test_chains.py 5000` for more.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pcatool
from often import often
from pcatool.errors import PcatoolError
from pcatool.model.model import Model
from pcatool.model.npz import dumps, loads
from solvers.weighted import WEIGHTS, false_claims, framed, spectrum

pytestmark = pytest.mark.filterwarnings("ignore::pcatool.PcatoolWarning")

Array = NDArray[np.float64]
Rows = tuple[Array, Array]

USUAL = ("counts", "any", "shares", "of mean 1", "1e-40 beside 1", "one that outweighs", "of all sizes")
CHANGES = ("standardize", "center", "ddof", "components", "exclude")


def a_part(rng: np.random.Generator, mix: Array, kind: int) -> Array:
    """Rows of a chain: of another scale than others, far from them, in part constant, of few values, or tight."""
    d = len(mix)
    X = rng.normal(size=(int(rng.integers(2, 12)), d)) @ mix
    if kind == 1:
        X *= 10.0 ** rng.uniform(-4, 4)
    elif kind == 2:
        X += 10.0 ** rng.uniform(0, 6) * rng.normal(size=d)
    elif kind == 3:
        X[:, 0] = X[0, 0]
    elif kind == 4:
        X = np.round(X)
    elif kind == 5:
        X = X[:1] + X * 10.0 ** rng.uniform(-8, 0)
    return X


class Chain:
    """A model, the rows it is of, and parts that are still to come."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        graded = np.diag(10.0 ** rng.uniform(-6, 6, d))
        close = Q @ np.diag(1 + 1e-9 * rng.normal(size=d)) @ Q.T
        mix = (np.eye(d), Q * 10.0 ** -rng.uniform(0, 6, d), graded, close)[seed % 4]
        shift = rng.integers(3) * 10.0 ** rng.uniform(-1, 6) * rng.normal(size=d)
        self.weighted = bool(rng.integers(2))
        weights = WEIGHTS[USUAL[rng.integers(len(USUAL))]]
        parts: list[Rows] = []
        for _ in range(int(rng.integers(2, 5))):
            X = a_part(rng, mix, int(rng.integers(6)) if seed % 2 else 0) + shift
            parts.append((X, weights(rng, len(X)) if self.weighted else np.ones(len(X))))
        self.held, self.coming = parts[:1], parts[1:]
        self.columns = list(range(d))
        self.settings: dict[str, Any] = {
            "ddof": int(rng.integers(2)),
            "center": bool(rng.integers(2)),
            "standardize": bool(rng.integers(3) == 0),
        }
        kind = ("frequency", "reliability")[rng.integers(2)]
        self.weights = {"weights": "w", "weights_kind": kind} if self.weighted else {}
        self.solver = ("auto", "covariance", "tsqr", "svd")[rng.integers(4)]
        self.claims: list[str] = []
        self.checked = 0

    def fitted(self, part: Rows, columns: list[int]) -> Model:
        frame = self.frame(part)
        frame = frame[[*(f"x{j}" for j in columns), *(["w"] if self.weighted else [])]]
        return pcatool.fit(frame, components="all", solver=self.solver, **self.settings, **self.weights)

    def frame(self, part: Rows) -> Any:
        return framed(part[0], part[1] if self.weighted else None)

    def run(self) -> None:
        try:
            model = self.fitted(self.held[0], self.columns)
        except PcatoolError as error:
            return self.told(error, "fit")
        self.check(model, "fit")
        for _ in range(int(self.rng.integers(3, 9))):
            step = str(self.rng.choice(["update", "merge", "subtract", "subtract", "refit", "refit"]))
            before = self.held, self.coming, self.columns, self.settings
            try:
                model = getattr(self, step)(model)
            except PcatoolError as error:
                self.held, self.coming, self.columns, self.settings = before
                self.told(error, step)
            else:
                self.check(model, step)
        return None

    def told(self, error: PcatoolError, step: str) -> None:
        if error.exit_code not in (3, 6):
            self.claims.append(f"seed {self.seed}, {step}: exit {error.exit_code}: {error}")

    def check(self, model: Model, step: str) -> None:
        model = loads(dumps(model))
        X, w = np.vstack([X for X, _ in self.held]), np.concatenate([w for _, w in self.held])
        true = spectrum(X[:, self.columns], w, {**self.settings, **self.weights})
        self.claims += [f"seed {self.seed}, {step}, {self.settings}: {claim}" for claim in false_claims(model, true)]
        self.checked += 1

    def update(self, model: Model) -> Model:
        if not self.coming:
            return model
        *self.coming, part = self.coming
        self.held = [*self.held, part]
        return pcatool.update(model, self.frame(part))

    def merge(self, model: Model) -> Model:
        if not self.coming:
            return model
        *self.coming, part = self.coming
        self.held = [*self.held, part]
        return pcatool.merge(model, self.fitted(part, self.columns))

    def subtract(self, model: Model) -> Model:
        if len(self.held) > 1:
            at = int(self.rng.integers(len(self.held) - 1))
            gone, self.held = self.held[at], self.held[:at] + self.held[at + 1 :]
        else:
            X, w = self.held[0]
            cut = int(self.rng.integers(1, max(len(X), 2)))
            gone, self.held = (X[:cut], w[:cut]), [(X[cut:], w[cut:])]
        return pcatool.subtract(model, self.frame(gone))

    def refit(self, model: Model) -> Model:
        change = CHANGES[self.rng.integers(len(CHANGES))]
        if change == "components":
            return pcatool.refit(model, components=max(model.k - 1, 1) if model.k > 1 else "all")
        if change == "exclude":
            if len(self.columns) < 2:
                return model
            gone = self.columns[int(self.rng.integers(len(self.columns)))]
            self.columns = [j for j in self.columns if j != gone]
            return pcatool.refit(model, exclude=[f"x{gone}"])
        value = 1 - self.settings["ddof"] if change == "ddof" else not self.settings[change]
        self.settings = {**self.settings, change: value}
        return pcatool.refit(model, **{change: value})


def claims_of(seed: int) -> tuple[list[str], int]:
    chain = Chain(seed)
    chain.run()
    return chain.claims, chain.checked


@pytest.mark.parametrize("start", range(0, 120, 30))
def test_no_false_claim_along_a_chain_and_no_error_but_in_words(start: int) -> None:
    found = [claims_of(seed) for seed in range(start, start + often(30))]
    assert [claim for claims, _ in found for claim in claims] == []
    assert sum(checked for _, checked in found) > 60


if __name__ == "__main__":
    found = [claim for seed in range(int(sys.argv[1])) for claim in claims_of(seed)[0]]
    print("\n".join(found) or f"{sys.argv[1]} chains, no false claim")
    sys.exit(bool(found))
