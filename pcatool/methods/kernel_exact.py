"""Kernel PCA of every row against every other."""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array
from pcatool.kernels.base import Prepared, cut
from pcatool.kernels.eigen import center, check_finite, product, solve
from pcatool.linalg.certificate import certify, fix_signs
from pcatool.methods.base import Fit
from pcatool.methods.kernel_task import Data, KernelTask, Solved

__all__ = ["exact"]


def exact(task: KernelTask, data: Data, X: Array) -> Fit:
    """The kernel of all rows X (n, d), taken apart."""
    o, kernel, run = task.options, data.kernel, data.supply.run
    n = len(X)
    task.check_rows(n, n)
    prepared = task.preparation(data, task.moments(cut(X), X[0]))
    Y = prepared.apply(X)
    K = kernel.matrix(Y, run)
    largest = check_finite(K, kernel.settings.name)
    known = Prepared(Y, prepared.rounding(X, Y, n, mean_matters=task.mean_matters(kernel)))
    doubt = kernel.noise(K, known, run)
    means = center(K, run) if o.center else np.zeros(n)
    definite = kernel.is_definite(o.center)
    found = solve(
        K,
        task.wish,
        largest,
        doubt,
        run,
        centred=o.center,
        definite=definite,
        flat=kernel.flat,
        before_lapack=lambda: data.needs.check(n, "with no end to Lanczos", dense=True),
    )
    task.check_rank(found.rank)
    if found.negative:
        task.warn_negative(kernel, found.negative, n, found.lowest / found.values[0])
    over = n - o.ddof
    solved = Solved(
        found.solver, found.reason, found.values / over, found.error / over, found.total / over, found.rank, n, n
    )
    evidence, choice = task.decide(solved)
    V = fix_signs(found.vectors[:, : choice.k])
    apply = product(K, run)
    certificate = certify(
        lambda B: apply(B) / over, solved.eigenvalues, solved.error, V, solved.total, len(found.values) == n
    )
    rows = X if kernel.of_rows else X[:0]
    return Fit(task.model(data, prepared, solved, choice, certificate, rows, V, means), evidence)
