"""Kernel PCA: PCA of the rows as a kernel sees them, from their n x n inner products alone.

K_ij = k(x_i, x_j) is centred twice, H K H with H = I - 1 1^T / n, and V, Lambda are its eigenvectors and eigenvalues.
Scores of the training rows are V sqrt(Lambda); new rows need their kernel values with the training rows.

| solver | when | passes | cost | memory |
|---|---|---|---|---|
| `lanczos` | k much smaller than n, kernel known to be definite | 1, rows held | n^2 (d + k) | n^2 |
| `lapack` | else | 1, rows held | n^2 d + 9 n^3 | 5 n^2 |
| `nystroem` | `--landmarks m` | 2 | n m (d + m) + m^3 | m^2 |

SciPy: `scipy.linalg.eigh(H @ K @ H)`. Accuracy: an eigenvalue is known to a few eps n max |K|.
Schoelkopf, Smola, Mueller 1998, "Nonlinear component analysis as a kernel eigenvalue problem", Neural Computation
10(5). The special cases: Ham, Lee, Mika, Schoelkopf 2004, "A kernel view of the dimensionality reduction of manifolds".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from pcatool.blocks import block_rows
from pcatool.errors import DataError, RefusedError, UsageError, show
from pcatool.kernels.base import Kernel, load, resolve
from pcatool.kernels.columns import ColumnMoments, Preparation, cut
from pcatool.kernels.model import KernelModel
from pcatool.kernels.nystroem import Draw, Landmarks, gathered, result_bytes
from pcatool.kernels.spectrum import center, check_finite, product, solve
from pcatool.linalg.blas import threads
from pcatool.linalg.centring import center_rows
from pcatool.linalg.certificate import certify
from pcatool.linalg.signs import fix_signs
from pcatool.linalg.spectral import Wish
from pcatool.methods.base import NOTHING_MORE, Fit, Supply
from pcatool.methods.kernel_needs import Needs
from pcatool.methods.remarks import check_rule, tell_constant, warn_past_rank, warn_unsure
from pcatool.model import FORMAT_VERSION, Array
from pcatool.notices import Notices
from pcatool.options import FitOptions, parse_components
from pcatool.rules.base import Choice, Evidence, decide
from pcatool.solvers.base import SMALLEST, one_row
from pcatool.solvers.plan import Plan
from pcatool.solvers.rows import Rows, nothing_to_fit

__all__ = ["KernelPCA"]

NYSTROEM = "nystroem"


class Data(NamedTuple):
    """What is known of the data before they are solved."""

    columns: tuple[str, ...]
    kernel: Kernel
    supply: Supply
    needs: Needs

    @property
    def d(self) -> int:
        return len(self.columns)


class Solved(NamedTuple):
    """A solution in the units of the model, before k is chosen; eigenvalues are those of K over n - ddof."""

    solver: str
    reason: str
    eigenvalues: Array  # (m,)
    error: Array  # (m,)
    total: float
    rank: int
    n: int
    most: int  # how many components there can be


class KernelPCA:
    """Rows in, model out."""

    def __init__(self, options: FitOptions, notices: Notices) -> None:
        self.options = options
        self.notices = notices
        self.wish: Wish = parse_components(options.components)
        check_rule(self.wish, "kernel")

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...], *, supply: Supply = NOTHING_MORE) -> Fit:
        data, rows = self._data(blocks, columns, supply)
        data.needs.check(_expected(rows, supply), "about")
        with threads(1), np.errstate(all="ignore"):  # what overflows is looked for and refused by name
            if self.options.landmarks is not None:
                return self._by_landmarks(data, rows, self.options.landmarks)
            return self._exact(data, np.ascontiguousarray(rows.matrix()[0]))

    def plan(self, blocks: Iterable[Array], columns: tuple[str, ...], *, supply: Supply = NOTHING_MORE) -> Plan:
        """What would be done."""
        data, rows = self._data(blocks, columns, supply._replace(limit=None))  # it is asked, not done
        n = _expected(rows, supply)
        if self.options.landmarks is not None and (n is None or n > self.options.landmarks):
            name, reason, passes = NYSTROEM, f"{self.options.landmarks} landmarks were asked for", "2"
        else:
            name, reason = data.needs.solver(n or 0)
            passes = "1"
        return Plan(name, reason, n, data.d, passes, data.needs.peak(n), supply.threads)

    def _data(self, blocks: Iterable[Array], columns: tuple[str, ...], supply: Supply) -> tuple[Data, Rows]:
        kernel = load(resolve(self.options, len(columns)))
        if self.options.landmarks is not None and (kernel.graph or not kernel.of_rows):
            raise UsageError(f"--landmarks does not go with --kernel {kernel.settings.name}", "it needs every row")
        needs = Needs(self.options, self.wish, kernel, len(columns), supply)
        return Data(columns, kernel, supply, needs), Rows(needs.weighed(blocks), reread=supply.reread, run=supply.run)

    # --- every row against every other ---

    def _exact(self, data: Data, X: Array) -> Fit:
        o, kernel, run = self.options, data.kernel, data.supply.run
        n = len(X)
        self._check_rows(n, n)
        prepared = self._preparation(data, self._moments(cut(X), X[0]))
        K = kernel.matrix(prepared.apply(X), run)
        largest = check_finite(K, kernel.settings.name)
        means = center(K, run) if o.center else np.zeros(n)
        definite = kernel.is_definite(o.center)
        found = solve(
            K,
            self.wish,
            largest,
            run,
            definite=definite,
            flat=kernel.flat,
            before_lapack=lambda: data.needs.check(n, "with no end to Lanczos", dense=True),
        )
        self._check_rank(found.rank)
        if found.negative:
            self._warn_negative(kernel, found.negative, n, found.lowest / found.values[0])
        over = n - o.ddof
        solved = Solved(
            found.solver, found.reason, found.values / over, found.error / over, found.total / over, found.rank, n, n
        )
        evidence, choice = self._decide(solved)
        V = fix_signs(found.vectors[:, : choice.k])
        apply = product(K, run)
        certificate = certify(
            lambda B: apply(B) / over, solved.eigenvalues, solved.error, V, solved.total, len(found.values) == n
        )
        rows = X if kernel.of_rows else X[:0]
        return Fit(self._model(data, prepared, solved, choice, certificate, rows, V, means), evidence)

    # --- a few landmarks for all ---

    def _by_landmarks(self, data: Data, rows: Rows, m: int) -> Fit:
        rows.several_passes()
        draw, moments = self._first_pass(rows, data.d, m)
        if draw.seen <= m:  # every row is a landmark
            return self._exact(data, draw.rows)
        self._check_rows(draw.seen, m)
        prepared = self._preparation(data, moments)
        landmarks = Landmarks(data.kernel, prepared.apply(draw.rows), data.supply.run, centred=self.options.center)
        if landmarks.negative:
            self._warn_negative(data.kernel, landmarks.negative, m, landmarks.lowest)
        part = gathered(rows.map(lambda X, _: landmarks.part(prepared.apply(X)), size=result_bytes(m)))
        over = draw.seen - self.options.ddof
        S = (part.moments.scatter if self.options.center else part.moments.scatter_about_zero()) / over
        return self._fit_features(data, prepared, landmarks, draw, S, part.sums / draw.seen)

    def _first_pass(self, rows: Rows, d: int, m: int) -> tuple[Draw, ColumnMoments]:
        """The landmarks, and the moments of all columns."""
        origin = self._rows_centred(rows.origin[None])[0]
        draw = Draw(m, d, self.options.seed)
        parts: list[ColumnMoments] = []

        def look(X: Array, _: Array | None) -> tuple[Array, ColumnMoments]:
            return X, ColumnMoments.of_block(self._rows_centred(X), origin)

        for X, part in rows.map(look, size=8 * block_rows(d) * d):
            draw.add(X)
            parts = [ColumnMoments.gather([*parts, part])]
        return draw, parts[0]

    def _fit_features(
        self, data: Data, prepared: Preparation, landmarks: Landmarks, draw: Draw, S: Array, means: Array
    ) -> Fit:
        """PCA of phi, whose covariance is S (r, r)."""
        m, total = len(landmarks.L), float(np.trace(S))
        self._check_rank(int(total > 0))
        spectrum = landmarks.spectrum(S)
        more = np.zeros(m - len(spectrum.eigenvalues))
        values = np.concatenate([spectrum.eigenvalues, more])
        error = np.concatenate([spectrum.error, more])
        reason = f"{m} landmarks of {draw.seen} rows, as asked for"
        solved = Solved(NYSTROEM, reason, values, error, total, spectrum.rank, draw.seen, m)
        evidence, choice = self._decide(solved)
        k = min(choice.k, len(spectrum.eigenvalues))
        W = spectrum.leading(k)
        certificate = certify(lambda B: S @ B, values, error, W, total, True)
        D = np.zeros((m, choice.k))
        D[:, :k] = landmarks.F @ W * np.sqrt(values[:k] * (draw.seen - self.options.ddof))
        means = means if self.options.center else np.zeros(m)
        return Fit(self._model(data, prepared, solved, choice, certificate, draw.rows, fix_signs(D), means), evidence)

    # --- what both need ---

    def _rows_centred(self, X: Array) -> Array:
        return center_rows(X) if self.options.center_rows else X

    def _moments(self, blocks: Iterable[Array], origin: Array) -> ColumnMoments:
        first = self._rows_centred(origin[None])[0]
        return ColumnMoments.gather(ColumnMoments.of_block(self._rows_centred(X), first) for X in blocks)

    def _preparation(self, data: Data, moments: ColumnMoments) -> Preparation:
        o, kernel = self.options, data.kernel
        prepared = Preparation.of(
            moments,
            shift=kernel.of_rows and o.center and (kernel.invariant or kernel.cancels or o.standardize),
            standardize=o.standardize,
            rows_centered=o.center_rows,
            ddof=o.ddof,
        )
        if not np.all(np.isfinite(prepared.variances)):
            raise RefusedError(
                "squares of the values overflow a double", "rescale the columns so values stay below 1e150"
            )
        tiny = [j for j in np.flatnonzero(prepared.variances < SMALLEST).tolist() if j not in prepared.constant]
        if o.standardize and tiny:
            raise RefusedError(
                f"squares of the values of column {show(data.columns[tiny[0]])} underflow a double",
                "rescale the column so that its values differ by more than 1e-140, or leave it out with -x",
            )
        constant = prepared.constant if kernel.of_rows else ()
        if o.center and len(constant) == data.d:
            what = f"column {show(data.columns[0])} is" if data.d == 1 else f"all {data.d} columns are"
            raise DataError(f"{what} constant: there is no variance to explain", "add a column that varies")
        if kernel.invariant:
            tell_constant(self.notices, data.columns, constant, "telling no rows apart")
        return prepared

    def _check_rows(self, n: int, most: int) -> None:
        o = self.options
        if n == 0:
            raise nothing_to_fit()
        if o.center and n < 2:
            raise one_row(", or fit with --no-center")
        if n <= o.ddof:
            raise DataError(f"--ddof {o.ddof} leaves a divisor of {n - o.ddof} for {n} row", "use --ddof 0")
        if isinstance(self.wish, int) and self.wish > most:
            what = "rows" if most == n else "landmarks"
            raise DataError(
                f"-k {self.wish} is more than the data can have: a kernel of {most} {what} gives at most "
                f"{most} components",
                f"use -k {most} or less, or -k all",
            )

    def _check_rank(self, rank: int) -> None:
        if rank == 0:
            centred = "centred " if self.options.center else ""
            raise DataError(
                f"the {centred}kernel has no eigenvalue above 0 by more than rounding: there is nothing to explain",
                "give another kernel or other numbers to it",
            )

    def _warn_negative(self, kernel: Kernel, negative: int, n: int, lowest: float) -> None:
        which = f"1 of {n} eigenvalues is" if negative == 1 else f"{negative} of {n} eigenvalues are"
        self.notices.warn(
            f"kernel {kernel.settings.name} is not positive semidefinite here: {which} negative, the lowest "
            f"{lowest:.2g} times the largest; components are taken from the others"
        )

    def _decide(self, solved: Solved) -> tuple[Evidence, Choice]:
        o = self.options
        evidence = Evidence(
            eigenvalues=solved.eigenvalues,
            total_variance=solved.total,
            n=solved.n,
            d=solved.most,
            rank=solved.rank,
            centered=o.center,
            standardized=o.standardize,
            ddof=o.ddof,
            seed=o.seed,
            method="kernel",
        )
        choice = decide(self.wish, evidence)
        warn_past_rank(self.notices, solved.rank, choice.k, ": the kernel has", "eigenvalues and scores there")
        return evidence, choice

    def _model(
        self,
        data: Data,
        prepared: Preparation,
        solved: Solved,
        choice: Choice,
        certificate: dict[str, Any],
        rows: Array,
        D: Array,
        means: Array,
    ) -> KernelModel:
        o, kernel = self.options, data.kernel
        unsure = [j for j, sure in enumerate(certificate["vouched"][: solved.rank], 1) if not sure]
        warn_unsure(self.notices, unsure, "; give a smaller -k, or other numbers to the kernel")
        remark = kernel.remark(solved.eigenvalues[: min(choice.k, solved.rank)] * (solved.n - o.ddof))
        if remark:
            self.notices.warn(remark)
        if kernel.flat and isinstance(self.wish, float):
            self.notices.note(
                f"the eigenvalues of kernel {kernel.settings.name} are nearly equal, so that a share of the variance "
                f"takes {choice.k} components; give a number with -k"
            )
        meta: dict[str, Any] = {
            "format_version": FORMAT_VERSION,
            "method": "kernel",
            "kernel": kernel.settings.used(),
            "components": self.wish,
            "choice": choice.reason,
            "center": o.center,
            "standardize": o.standardize,
            "ddof": o.ddof,
            "missing": o.missing,
            "rank": solved.rank,
            "constant_columns": len(prepared.constant) if kernel.of_rows else 0,
            "solver": solved.solver,
            "reason": solved.reason,
            "certificate": certificate,
        }
        if o.center_rows:
            meta["center_rows"] = True
        if solved.solver == NYSTROEM:
            meta |= {"landmarks": len(rows), "seed": o.seed}
        return KernelModel(
            mean=prepared.mean,
            std=prepared.std,
            basis=np.empty((data.d, 0)),
            eigenvalues=solved.eigenvalues,
            total_variance=solved.total,
            n_samples=solved.n,
            columns=data.columns,
            meta=meta,
            variances=prepared.variances if kernel.of_rows else None,
            training_rows=rows,
            dual_vectors=D,
            kernel_means=means,
        )


def _expected(rows: Rows, supply: Supply) -> int | None:
    """How many rows there are, as far as that can be told."""
    return supply.expected() if rows.n is None else rows.n
