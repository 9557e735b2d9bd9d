"""Supervised PCA: the directions whose scores depend most on labels, by the Hilbert-Schmidt independence criterion.

Among all orthonormal U (d, k), take the one with the largest tr(U^T X^T H Ky H X U): the leading eigenvectors of
Q = X^T H Ky H X, with H = I - 1 1^T / n and Ky the kernel over the labels. Scores are x U, not centred: H is inside Q.

| solver | when | passes | cost | memory |
|---|---|---|---|---|
| `cross-moment` | Ky = Y Y^T (delta, linear): M = X^T H Y, Q = M M^T | 1 | n d t | d t |
| `label-kernel` | rbf, d <= n | 1, rows held | n r (d + r), or u^2 d | n (d + r) |
| `dual` | rbf, d > n: Ky = G^T G, M = X^T H G^T, never d x d | 1, rows held | n r (d + r) | n (d + r) |
| `kernel` | `--kernel`: directions in the features of a kernel | 1, rows held | n^2 (d + r) | n (d + r) |

t labels or classes, u distinct labels, r the rank of Ky. SciPy: `scipy.linalg.eigh(X.T @ H @ Ky @ H @ X)`.
Accuracy: M is decomposed by its singular values, so that an eigenvalue keeps twice as many digits as in Q.
Reference: Barshan, Ghodsi, Azimifar, Zolghadri Jahromi 2011, "Supervised principal component analysis: Visualization,
classification and regression on subspaces and submanifolds", Pattern Recognition 44(7).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import UsageError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.certificate import certify, is_accurate
from pcatool.linalg.eigen import fix_signs
from pcatool.methods.base import (
    UNLIMITED,
    Fit,
    FitResources,
    Labels,
    check_rule,
    linear_model,
    note_constant,
    warn_past_rank,
    warn_uncertain,
)
from pcatool.methods.dependence import (
    COPIES,
    FACTOR_COPIES,
    HELD_COPIES,
    HOLDS_NO_ROWS,
    Dependence,
    SupervisedTask,
    one_pass_text,
    refuse_above,
    solve_by_cross_moments,
    solve_by_label_kernel,
)
from pcatool.methods.label_kernels import MOST_STEPS, LabelKernel
from pcatool.methods.pca import PCA, Solved
from pcatool.model.model import FORMAT_VERSION, Model
from pcatool.options import FitOptions, parse_components
from pcatool.options.fields import settings_of
from pcatool.progress import Reporter
from pcatool.rules.base import Evidence, decide
from pcatool.solvers.base import Problem
from pcatool.solvers.estimate import blocks_bytes, bytes_with_reading, total_bytes
from pcatool.solvers.plan import EXPECTED_COMPONENTS, Plan, most_kept
from pcatool.solvers.rows import Rows
from pcatool.wording import counted, grouped

if TYPE_CHECKING:
    from pcatool.methods.supervised_kernel import KernelSolution

__all__ = ["SupervisedPCA"]

WHOLE = "dependence on the label"


class SupervisedPCA(PCA):
    """Method `supervised`: linear directions, or, with `--kernel`, directions in the features of a kernel."""

    def __init__(self, options: FitOptions, reporter: Reporter) -> None:
        super().__init__(options, reporter)
        check_rule(parse_components(options.components), "--method supervised")

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...], *, resources: FitResources = UNLIMITED) -> Fit:
        """Fit a model to blocks (h, d + t) of rows, whose last columns are labels.

        Raise `RefusedError` if the fit needs more than the memory limit, and `DataError` if no column depends on the
        labels.
        """
        task, plan = self.task(blocks, columns, resources)
        _check_memory(plan, resources.limit)
        with one_blas_thread(), np.errstate(all="ignore"):  # overflow and underflow are refused with a message
            if self.options.kernel is not None:
                return self._in_features(task)
            found = (solve_by_cross_moments if task.kernel.is_product else solve_by_label_kernel)(task)
            return self.finish_dependence(found, task.problem, task.labels, task.kernel)

    def finish_dependence(self, found: Dependence, problem: Problem, labels: Labels, kernel: LabelKernel) -> Fit:
        """Report notes and warnings about the dependence `found`, choose k, and return the model with its evidence."""
        evidence_seen = evidence(found, problem)
        solved = Solved(found.solver, found.reason, found.solution, decide(problem.wish, evidence_seen))
        self._write_notes(problem, solved)
        self._note_all_differ(found.classes, found.solution.n)
        kept = found.solution.statistic
        if kept is not None and not self.options.keeps(kept.sums.size):
            solved = solved._replace(solution=found.solution._replace(statistic=None))
        known = settings(problem, labels, kernel, self.options, found.classes)
        return Fit(self._linear_model(problem, known, solved), evidence_seen)

    def plan(self, blocks: Iterable[Array], columns: tuple[str, ...], *, resources: FitResources = UNLIMITED) -> Plan:
        """Return the plan of the fit, without fitting; `refusal` of the plan tells if the memory is too small."""
        plan = self.task(blocks, columns, resources)[1]
        return plan.refused_by(lambda: _check_memory(plan, resources.limit))

    def task(
        self, blocks: Iterable[Array], columns: tuple[str, ...], resources: FitResources
    ) -> tuple[SupervisedTask, Plan]:
        """Return the task and the plan of a fit; raise `UsageError` if the resources have no labels."""
        labels = resources.labels
        if labels is None:
            raise UsageError("--method supervised needs a label", "give the name of the label column with --label")
        rows = Rows(blocks, engine=resources.engine, small=resources.small)
        self.codes = rows.codes()[: len(columns)]
        problem = self.problem(columns, rows.n)
        kernel = LabelKernel.of(self.options, labels)
        task = SupervisedTask(rows, problem, labels, kernel, resources, self.options.center_rows, self.reporter)
        return task, self._plan_rows(task, resources.expected() if rows.n is None else rows.n)

    def _plan_rows(self, task: SupervisedTask, n: int | None) -> Plan:
        """Return the plan for n rows, or for the rows read so far if n is None."""
        d, width = task.problem.d, task.problem.d + task.labels.width
        rows = task.rows.buffered_rows if n is None else n
        if self.options.kernel is not None:
            # The number of classes is mostly small; the rank of an rbf label kernel is known only after it is factored.
            factor = (
                EXPECTED_COMPONENTS
                if task.kernel.is_product
                else FACTOR_COPIES * EXPECTED_COMPONENTS + min(rows, MOST_STEPS)
            )
            need, name, reason = 8 * rows * (HELD_COPIES * width + factor), "kernel", _kernel_reason(self.options)
        elif task.kernel.is_product:
            t = EXPECTED_COMPONENTS if task.labels.classes else task.labels.width
            need, name, reason = 8 * COPIES * d * t, "cross-moment", one_pass_text(d, task.labels)
        else:
            need = 8 * rows * (HELD_COPIES * width + min(rows, MOST_STEPS)) + 8 * COPIES * min(rows or d, d) * d
            name, reason = "dual" if 0 < rows < d else "label-kernel", "label kernel rbf needs all rows in memory"
        threads = task.resources.threads
        reading = task.resources.reading(threads)
        working = blocks_bytes(width, n, threads, copies=3) + need
        peak = total_bytes(width, bytes_with_reading(working, reading, width, task.rows.n))
        k = most_kept(task.problem.wish, min(d, EXPECTED_COMPONENTS))
        held = 8 * (rows * (d + k) if self.options.kernel is not None else d * k)
        peak = max(peak, task.resources.scoring(k, 2 * held))
        grows = n is None and name != "cross-moment"
        return Plan(name, reason, n, d, "1", peak, threads, reading=reading, grows=grows, estimated=task.rows.n is None)

    def _linear_model(self, problem: Problem, known: dict[str, Any], solved: Solved) -> Model:
        """Return the linear model with the settings `known` and the solution."""
        solution = solved.solution
        basis = fix_signs(solution.leading(solved.choice.k))
        certificate = certify(
            solution.apply, solution.eigenvalues, solution.error, basis, solution.total_variance, True
        )
        meta = {
            **known,
            **solved.meta(certificate),
            "hsic": solution.total_variance / (solution.n - 1) ** 2,
        }
        return linear_model(solution, basis, problem.columns, meta)

    def _in_features(self, task: SupervisedTask) -> Fit:
        """Fit supervised kernel PCA: directions in the features of a kernel."""
        from pcatool.kernels.model import KernelModel
        from pcatool.methods.supervised_kernel import in_features

        found, problem = in_features(task, self.options), task.problem
        n, d = len(found.eigenvalues), problem.d
        evidence_seen = Evidence(
            found.eigenvalues,
            found.total,
            n,
            n,
            found.rank,
            constant=n - found.possible,
            whole=WHOLE,
            method="supervised",
        )
        choice = decide(problem.wish, evidence_seen)
        k, kept = choice.k, min(choice.k, found.rank)
        self._remark_features(found, k)
        certificate = certify(
            lambda B: found.product @ B, found.eigenvalues, found.error, found.A[:, :kept], found.total, True
        )
        certificate["relative_error"] += [None] * (k - kept)
        certificate["vouched"] += [False] * (k - kept)
        meta = {
            **settings(
                problem, task.labels, task.kernel, self.options, found.classes, features=found.kernel.settings.used()
            ),
            "choice": choice.reason,
            "rank": found.rank,
            "constant_columns": len(found.prepared.constant),
            "solver": "kernel",
            "reason": _kernel_reason(self.options),
            "certificate": certificate,
            "hsic": found.trace / (n - 1) ** 2,
        }
        model = KernelModel(
            mean=found.prepared.mean,
            std=found.prepared.std,
            basis=np.zeros((d, 0)),
            eigenvalues=found.eigenvalues,
            total_variance=found.total,
            n_samples=n,
            columns=problem.columns,
            meta=meta,
            variances=found.prepared.variances if found.kernel.of_rows else None,
            training_rows=found.rows,
            dual_vectors=np.hstack([found.theta[:, :k], np.zeros((n, k - kept))]),
            kernel_means=np.zeros(n),
        )
        return Fit(model, evidence_seen)

    def _remark_features(self, found: KernelSolution, k: int) -> None:
        """Warn about negative, inaccurate and zero eigenvalues of supervised kernel PCA with k components."""
        if found.negative:
            some = f"{counted(found.negative, 'eigenvalue')} {'is' if found.negative == 1 else 'are'}"
            self.reporter.warn(
                f"kernel {found.kernel.settings.name} is not positive semidefinite for these data: {some} negative; "
                "negative eigenvalues give no components"
            )
        accurate = is_accurate(found.eigenvalues, found.error)
        self._warn_doubts(found.rank, k, [j + 1 for j in range(min(k, found.rank)) if not accurate[j]])

    def _write_notes(self, problem: Problem, solved: Solved) -> None:
        solution, k = solved.solution, solved.choice.k
        note_constant(self.reporter, problem.columns, solution.constant, "no variance")
        self._warn_doubts(solution.rank, k, solved.uncertain)
        self._compare_scales(problem, solution)

    def _note_all_differ(self, classes: int | None, n: int) -> None:
        if classes == n:
            self.reporter.note(f"all {grouped(n)} rows have different labels, so plain PCA finds the same directions")

    def _warn_doubts(self, rank: int, k: int, uncertain: list[int]) -> None:
        """Warn about components past the rank, and about `uncertain` ones, numbered from 1."""
        warn_past_rank(self.reporter, rank, k, "the dependence of the columns on the label has", label=True)
        warn_uncertain(self.reporter, uncertain, "; components with such small eigenvalues hardly depend on the label")


def _check_memory(plan: Plan, limit: int | None) -> None:
    """Raise `RefusedError` if a fit with this plan needs more than the memory limit."""
    refuse_above(
        None if plan.grows else limit,  # an unknown number of rows is checked as rows arrive
        plan.peak_bytes,
        f"solver {plan.solver} for {plan.rows_text} rows of {counted(plan.columns, 'column')}",
        "use fewer columns (-c, -x)" if plan.solver == "cross-moment" else HOLDS_NO_ROWS,
        known=True,
    )


def _kernel_reason(options: FitOptions) -> str:
    return f"kernel {options.kernel} needs all rows in memory; the kernel matrix is computed in parts"


def evidence(found: Dependence, problem: Problem) -> Evidence:
    """Return the evidence for the rules that choose k.

    Directions whose eigenvalue must be 0, because there are few labels, count as constant columns.
    """
    solution = found.solution
    return Evidence(
        eigenvalues=solution.eigenvalues,
        total_variance=solution.total_variance,
        n=solution.n,
        d=problem.d,
        rank=solution.rank,
        standardized=problem.standardize,
        ddof=problem.ddof,
        seed=problem.seed,
        constant=problem.d - found.possible,
        whole=WHOLE,
        method="supervised",
    )


def settings(
    problem: Problem,
    labels: Labels,
    kernel: LabelKernel,
    options: FitOptions,
    classes: int | None,
    *,
    features: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of the model that are known before the fit.

    `kernel` is that of the labels; `features` are name and settings of the kernel of the rows, or None.
    """
    kept = settings_of(
        options,
        components=problem.wish,
        labels=list(labels.names),
        label_kernel=kernel.name,
        label_gamma=kernel.gamma,
        kernel=features,
    )
    return {"format_version": FORMAT_VERSION, **kept, **({} if classes is None else {"classes": classes})}
