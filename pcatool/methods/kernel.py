"""Kernel PCA, from all pairs of rows or from a few landmark rows.

The n x n inner products K_ij = k(x_i, x_j) are centred twice, H K H with H = I - 1 1^T / n; V and Lambda are the
eigenvectors and eigenvalues of H K H. Scores of the training rows are V sqrt(Lambda); scores of new rows need their
kernel values with the training rows.

| solver | when | passes | cost | memory |
|---|---|---|---|---|
| `lanczos` | k much smaller than n, kernel known to be definite | 1, rows held | n^2 (d + k) | n^2 |
| `lapack` | else | 1, rows held | n^2 d + 9 n^3 | 5 n^2 |
| `nystroem` | `--landmarks m` | 2 | n m (d + m) + m^3 | m^2 |

SciPy: `scipy.linalg.eigh(H @ K @ H)`. Accuracy: the error of an eigenvalue is at most that of rounding in the kernel
values, which each kernel bounds (`Kernel.row_error_bounds`), and a few eps n max |K|.
Schoelkopf, Smola, Mueller 1998, "Nonlinear component analysis as a kernel eigenvalue problem", Neural Computation
10(5). The special cases: Ham, Lee, Mika, Schoelkopf 2004, "A kernel view of the dimensionality reduction of manifolds".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pcatool.arrays import Array, Block, block_rows, fold, nothing_to_fit
from pcatool.errors import DataError, RefusedError, UsageError
from pcatool.kernels.base import Kernel, Preparation, Prepared, load, resolve, row_blocks
from pcatool.kernels.eigen import center, check_finite, product, solve
from pcatool.kernels.model import KernelModel
from pcatool.kernels.nystroem import LandmarkAccumulator, LandmarkPart, Landmarks, RowSample
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.certificate import certify
from pcatool.linalg.eigen import fix_signs
from pcatool.linalg.moments import ColumnMoments, ColumnMomentsAccumulator, center_rows
from pcatool.linalg.spectrum import Wish
from pcatool.methods.base import UNLIMITED, Fit, FitResources, check_rule, note_constant, warn_past_rank, warn_uncertain
from pcatool.methods.kernel_memory import MemoryNeeds
from pcatool.model.model import FORMAT_VERSION
from pcatool.options import FitOptions, parse_components
from pcatool.options.fields import settings_of
from pcatool.progress import Reporter, doing
from pcatool.rules.base import Choice, Evidence, decide
from pcatool.solvers.base import MIN_VARIANCE, squares_overflow, too_few_rows
from pcatool.solvers.plan import Plan, keep_rows
from pcatool.solvers.rows import Rows
from pcatool.wording import counted, grouped, show

__all__ = ["KernelPCA"]


NYSTROEM = "nystroem"


class KernelInput(NamedTuple):
    """Columns, kernel, resources and memory needs of a kernel fit; everything but the rows."""

    columns: tuple[str, ...]
    kernel: Kernel
    resources: FitResources
    needs: MemoryNeeds

    @property
    def d(self) -> int:
        return len(self.columns)


class SolvedKernel(NamedTuple):
    """Eigenvalues of a kernel fit, those of the kernel matrix divided by n - ddof, before k is chosen."""

    solver: str
    reason: str
    eigenvalues: Array  # (m,) descending
    error: Array  # (m,) bounds on the absolute error of each eigenvalue
    total: float  # sum of the positive eigenvalues
    rank: int  # number of eigenvalues above rounding error
    n: int  # number of rows
    most: int  # largest possible number of components


class KernelTask:
    """The settings of a kernel fit, and the steps that are common to all solvers."""

    def __init__(self, options: FitOptions, reporter: Reporter) -> None:
        self.options = options
        self.reporter = reporter
        self.wish: Wish = parse_components(options.components)
        check_rule(self.wish, "--method kernel")

    def rows_centered(self, X: Array) -> Array:
        """Return the rows X (h, d), each minus its own mean if `--center-rows` was given."""
        return center_rows(X) if self.options.center_rows else X

    def moments(self, blocks: Iterable[Array], origin: Array) -> ColumnMoments:
        """Return mean and sum of squared deviations of each column; sums are formed about the row `origin` (d,)."""
        first = self.rows_centered(origin[None])[0]
        accumulator = ColumnMomentsAccumulator(first)
        return fold(accumulator, (accumulator.of_block((self.rows_centered(X), None)) for X in blocks))

    def mean_matters(self, kernel: Kernel) -> bool:
        """Whether the eigenvalues change when all rows are shifted by one vector."""
        return not (kernel.invariant or (kernel.shift_cancels and self.options.center))

    def preparation(self, data: KernelInput, moments: ColumnMoments) -> Preparation:
        """Return the centring and scaling of rows before the kernel, and report a note for constant columns.

        Raise `RefusedError` if squares overflow or underflow, and `DataError` if all columns are constant.
        """
        o, kernel = self.options, data.kernel
        prepared = Preparation.of(
            moments,
            shift=kernel.of_rows and o.center and (kernel.invariant or kernel.shift_cancels or o.standardize),
            standardize=o.standardize,
            rows_centered=o.center_rows,
            ddof=o.ddof,
        )
        if not np.all(np.isfinite(prepared.variances)):
            raise squares_overflow(data.columns, prepared.variances)
        tiny = [j for j in np.flatnonzero(prepared.variances < MIN_VARIANCE).tolist() if j not in prepared.constant]
        if o.standardize and tiny:
            raise RefusedError(
                f"squares of the values of column {show(data.columns[tiny[0]])} underflow a double",
                "rescale the column so that its values differ by more than 1e-140, or leave it out with -x",
            )
        constant = prepared.constant if kernel.of_rows else ()
        if o.center and len(constant) == data.d:
            what = f"column {show(data.columns[0])} is" if data.d == 1 else f"all {grouped(data.d)} columns are"
            raise DataError(f"{what} constant: there is no variance to explain", "add a column that varies")
        if kernel.invariant:
            note_constant(self.reporter, data.columns, constant, "nothing to the kernel")
        return prepared

    def check_rows(self, n: int, most: int) -> None:
        """Raise `DataError` if n rows are too few for the options; `most` is the largest possible k."""
        o = self.options
        if n == 0:
            raise nothing_to_fit()
        if o.center and n < 2:
            raise too_few_rows(", or fit with --no-center")
        if n <= o.ddof:
            raise DataError(f"--ddof {o.ddof} leaves a divisor of {n - o.ddof} for {n} row", "use --ddof 0")
        if isinstance(self.wish, int) and self.wish > most:
            what, more = (
                (counted(most, "row"), "") if most == n else (counted(most, "landmark"), ", or more --landmarks")
            )
            raise DataError(
                f"-k {self.wish} is not possible: a kernel matrix of {what} gives at most {counted(most, 'component')}",
                f"use -k {most} or less, or -k all{more}",
            )

    def check_rank(self, rank: int, kernel: Kernel, prepared: Preparation) -> None:
        """Raise `RefusedError` or `DataError` if `rank`, the number of eigenvalues above rounding error, is 0."""
        if rank == 0:
            varies = kernel.of_rows and len(prepared.constant) < len(prepared.mean)
            if varies and prepared.variances.max() < MIN_VARIANCE:
                raise kernel.underflow("squares of the values of the columns")
            raise kernel.no_eigenvalue(f"the {'centred ' if self.options.center else ''}kernel matrix")

    def decide(self, solved: SolvedKernel) -> tuple[Evidence, Choice]:
        """Return the evidence for the rules, and the choice of k; warn about components past the rank."""
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
        warn_past_rank(self.reporter, solved.rank, choice.k, "the kernel matrix has")
        return evidence, choice

    def model(
        self,
        data: KernelInput,
        prepared: Preparation,
        solved: SolvedKernel,
        choice: Choice,
        certificate: dict[str, Any],
        rows: Array,
        D: Array,
        means: Array,
    ) -> KernelModel:
        """Return the model; warn about uncertain and nearly equal eigenvalues, and scores that are unreliable.

        `rows` (m, d) are the training rows or landmarks, `D` (m, k) dual vectors, `means` (m,) mean kernel values.
        """
        o, kernel = self.options, data.kernel
        uncertain = [j for j, accurate in enumerate(certificate["vouched"][: solved.rank], 1) if not accurate]
        warn_uncertain(self.reporter, uncertain, "; give a smaller -k")
        remark = kernel.remark(solved.eigenvalues[: min(choice.k, solved.rank)] * (solved.n - o.ddof))
        if remark:
            self.reporter.warn(remark)
        if kernel.flat_spectrum and isinstance(self.wish, float):
            self.reporter.note(kernel.share_remark(self.wish, choice.k))
        by_sample = solved.solver == NYSTROEM
        meta: dict[str, Any] = {
            "format_version": FORMAT_VERSION,
            **settings_of(
                o,
                kernel=kernel.settings.used(),
                components=self.wish,
                landmarks=len(rows) if by_sample else None,
                seed=o.seed if by_sample else None,
            ),
            "choice": choice.reason,
            "rank": solved.rank,
            "constant_columns": len(prepared.constant) if kernel.of_rows else 0,
            "solver": solved.solver,
            "reason": solved.reason,
            "certificate": certificate,
        }
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


def fit_all_pairs(task: KernelTask, data: KernelInput, X: Array) -> Fit:
    """Fit kernel PCA to the kernel matrix (n, n) of all rows X (n, d)."""
    o, kernel, run = task.options, data.kernel, data.resources.engine.map
    n = len(X)
    task.check_rows(n, n)
    prepared = task.preparation(data, task.moments(row_blocks(X), X[0]))
    Y = prepared.apply(X)
    K = kernel.matrix(Y, run)
    largest = check_finite(K, kernel)
    known = Prepared(Y, prepared.rounding(X, Y, n, mean_matters=task.mean_matters(kernel)))
    rounding_norm = kernel.rounding_norm(K, known, run)
    means = center(K, run) if o.center else np.zeros(n)
    definite = kernel.is_definite(o.center)
    found = solve(
        K,
        task.wish,
        largest,
        rounding_norm,
        run,
        centred=o.center,
        definite=definite,
        flat_spectrum=kernel.flat_spectrum,
        before_lapack=lambda: data.needs.check(n, "Lanczos did not converge", dense=True),
    )
    task.check_rank(found.rank, kernel, prepared)
    if found.negative:
        task.reporter.warn(kernel.warning_of_negative(found.negative, n, found.lowest / found.values[0]))
    divisor = n - o.ddof
    values, error, total = found.values / divisor, found.error / divisor, found.total / divisor
    solved = SolvedKernel(found.solver, found.reason, values, error, total, found.rank, n, n)
    evidence, choice = task.decide(solved)
    V = fix_signs(found.vectors[:, : choice.k])
    apply = product(K, run)
    certificate = certify(
        lambda B: apply(B) / divisor, solved.eigenvalues, solved.error, V, solved.total, len(found.values) == n
    )
    rows = X if kernel.of_rows else X[:0]
    return Fit(task.model(data, prepared, solved, choice, certificate, rows, V, means), evidence)


def fit_landmarks(task: KernelTask, data: KernelInput, rows: Rows, m: int) -> Fit:
    """Fit kernel PCA from m landmark rows drawn at random (Nystroem), in two passes; all rows if these are fewer."""
    rows.several_passes()
    doing("pass 1 of 2")
    sample, moments = _first_pass(task, rows, data.d, m)
    if sample.seen <= m:  # every row is a landmark
        return fit_all_pairs(task, data, sample.rows)
    task.check_rows(sample.seen, m)
    prepared = task.preparation(data, moments)

    def known(X: Array) -> Prepared:
        Y = prepared.apply(X)
        return Prepared(Y, prepared.rounding(X, Y, sample.seen, mean_matters=task.mean_matters(data.kernel)))

    landmarks = Landmarks(data.kernel, known(sample.rows), data.resources.engine.map, centred=task.options.center)
    if landmarks.negative:
        task.reporter.warn(data.kernel.warning_of_negative(landmarks.negative, m, landmarks.lowest))
    doing("pass 2 of 2")
    part = rows.reduce(LandmarkAccumulator(landmarks, known))
    task.reporter.kept_rows = rows.kept
    divisor = sample.seen - task.options.ddof
    S = (part.moments.scatter if task.options.center else part.moments.scatter_about_zero()) / divisor
    return _fit_features(task, data, prepared, landmarks, sample, S, part)


def _first_pass(task: KernelTask, rows: Rows, d: int, m: int) -> tuple[RowSample, ColumnMoments]:
    """Return a random sample of m rows, and mean and sum of squared deviations of each column, in one pass."""
    accumulator = ColumnMomentsAccumulator(task.rows_centered(rows.origin[None])[0])
    sample = RowSample(m, d, task.options.seed)

    def look(block: Block) -> tuple[Array, ColumnMoments]:
        X, _ = block
        return X, accumulator.of_block((task.rows_centered(X), None))

    def parts() -> Iterator[ColumnMoments]:
        for X, part in rows.map(look, size=8 * block_rows(d) * d):
            sample.add(X)
            yield part

    return sample, fold(accumulator, parts())


def _fit_features(
    task: KernelTask,
    data: KernelInput,
    prepared: Preparation,
    landmarks: Landmarks,
    sample: RowSample,
    S: Array,
    part: LandmarkPart,
) -> Fit:
    """Fit PCA to the features phi of the landmarks, with covariance S (r, r); `part` has the sums over all rows."""
    m, total = len(landmarks.L), float(np.trace(S))
    if not np.isfinite(total):  # other rows may have larger kernel values than the landmarks
        check_finite(S, data.kernel)
    task.check_rank(int(total > 0), data.kernel, prepared)
    doing("solving")
    spectrum = landmarks.spectrum(S, part.row_error)
    task.check_rank(spectrum.rank, data.kernel, prepared)
    more = np.zeros(m - len(spectrum.eigenvalues))
    values = np.concatenate([spectrum.eigenvalues, more])
    error = np.concatenate([spectrum.error, more])
    reason = f"{m} landmarks of {sample.seen} rows, as asked for"
    solved = SolvedKernel(NYSTROEM, reason, values, error, total, spectrum.rank, sample.seen, m)
    evidence, choice = task.decide(solved)
    k = min(choice.k, len(spectrum.eigenvalues))
    W = spectrum.leading(k)
    certificate = certify(lambda B: S @ B, values, error, W, total, True)
    D = np.zeros((m, choice.k))
    D[:, :k] = landmarks.F @ W * np.sqrt(values[:k] * (sample.seen - task.options.ddof))
    means = part.sums / sample.seen if task.options.center else np.zeros(m)
    return Fit(task.model(data, prepared, solved, choice, certificate, sample.rows, fix_signs(D), means), evidence)


class KernelPCA:
    """Method `kernel`: fits from all pairs of rows, or from landmarks."""

    def __init__(self, options: FitOptions, reporter: Reporter) -> None:
        self.options = options
        self.task = KernelTask(options, reporter)

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...], *, resources: FitResources = UNLIMITED) -> Fit:
        """Fit a model to blocks (h, d) of rows; raise `RefusedError` if the fit needs more than the memory limit."""
        data, rows = self._read(blocks, columns, resources)
        plan = self._plan(data, rows, resources)
        data.needs.check(plan.rows, "about")
        plan.check_disk()
        with one_blas_thread(), np.errstate(all="ignore"):  # overflow is checked and refused with a message
            if self.options.landmarks is not None:
                return fit_landmarks(self.task, data, rows, self.options.landmarks)
            return fit_all_pairs(self.task, data, np.ascontiguousarray(rows.matrix()[0]))

    def plan(self, blocks: Iterable[Array], columns: tuple[str, ...], *, resources: FitResources = UNLIMITED) -> Plan:
        """Return the plan of the fit, without fitting; `refusal` of the plan tells if memory or disk are too small."""
        data, rows = self._read(blocks, columns, resources._replace(limit=None))  # a plan alone needs no memory
        plan, needs = self._plan(data, rows, resources), data.needs._replace(resources=resources)
        known, how = (rows.buffered_rows, "read so far") if plan.rows is None else (plan.rows, "about")
        return plan.refused_by(plan.check_disk).refused_by(lambda: needs.check(known, how))

    def _plan(self, data: KernelInput, rows: Rows, resources: FitResources) -> Plan:
        """Return the plan of a fit, and tell `rows` how many of their bytes stay in memory for a second pass."""
        n = resources.expected() if rows.n is None else rows.n
        known = rows.buffered_rows if n is None else n
        if self.options.landmarks is not None and (n is None or n > self.options.landmarks):
            name, reason, passes = NYSTROEM, f"{self.options.landmarks} landmarks were asked for", "2"
        else:
            name, reason, passes = *data.needs.solver(known), "1"
        plan = Plan(name, reason, n, data.d, passes, data.needs.peak(known), resources.threads)
        plan = plan._replace(reading=resources.reading(resources.threads), beside_rows=data.needs.beside_rows(known))
        plan = plan._replace(grows=n is None and name != NYSTROEM, estimated=rows.n is None)
        plan = keep_rows(plan, rows, resources.limit)
        return plan._replace(peak_bytes=max(plan.peak_bytes, data.needs.scoring(known)))

    def _read(
        self, blocks: Iterable[Array], columns: tuple[str, ...], resources: FitResources
    ) -> tuple[KernelInput, Rows]:
        kernel = load(resolve(self.options, len(columns)))
        if self.options.landmarks is not None and (kernel.graph or not kernel.of_rows):
            raise UsageError(f"--landmarks does not go with --kernel {kernel.settings.name}", "leave out --landmarks")
        needs = MemoryNeeds(self.options, self.task.wish, kernel, len(columns), resources)
        rows = Rows(needs.check_while_reading(blocks), reread=resources.reread, engine=resources.engine)
        return KernelInput(columns, kernel, resources, needs), rows
