"""Kernel PCA: PCA of the rows as a kernel sees them, from their n x n inner products alone.

K_ij = k(x_i, x_j) is centred twice, H K H with H = I - 1 1^T / n, and V, Lambda are its eigenvectors and eigenvalues.
Scores of the training rows are V sqrt(Lambda); new rows need their kernel values with the training rows.

| solver | when | passes | cost | memory |
|---|---|---|---|---|
| `lanczos` | k much smaller than n, kernel known to be definite | 1, rows held | n^2 (d + k) | n^2 |
| `lapack` | else | 1, rows held | n^2 d + 9 n^3 | 5 n^2 |
| `nystroem` | `--landmarks m` | 2 | n m (d + m) + m^3 | m^2 |

SciPy: `scipy.linalg.eigh(H @ K @ H)`. Accuracy: an eigenvalue is known to
what rounding did to the kernel's values, which each kernel bounds (`Kernel.doubt`), and to a few eps n max |K|.
Schoelkopf, Smola, Mueller 1998, "Nonlinear component analysis as a kernel eigenvalue problem", Neural Computation
10(5). The special cases: Ham, Lee, Mika, Schoelkopf 2004, "A kernel view of the dimensionality reduction of manifolds".
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import UsageError
from pcatool.kernels.base import load, resolve
from pcatool.linalg.blas import threads
from pcatool.methods.base import NOTHING_MORE, Fit, Supply
from pcatool.methods.kernel_exact import exact
from pcatool.methods.kernel_landmarks import by_landmarks
from pcatool.methods.kernel_needs import Needs
from pcatool.methods.kernel_task import NYSTROEM, Data, KernelTask
from pcatool.options import FitOptions
from pcatool.progress import Notices
from pcatool.solvers.plan import Plan
from pcatool.solvers.rows import Rows

__all__ = ["KernelPCA"]


class KernelPCA:
    """Rows in, model out."""

    def __init__(self, options: FitOptions, notices: Notices) -> None:
        self.options = options
        self.task = KernelTask(options, notices)

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...], *, supply: Supply = NOTHING_MORE) -> Fit:
        data, rows = self._data(blocks, columns, supply)
        data.needs.check(_expected(rows, supply), "about")
        with threads(1), np.errstate(all="ignore"):  # what overflows is looked for and refused by name
            if self.options.landmarks is not None:
                return by_landmarks(self.task, data, rows, self.options.landmarks)
            return exact(self.task, data, np.ascontiguousarray(rows.matrix()[0]))

    def plan(self, blocks: Iterable[Array], columns: tuple[str, ...], *, supply: Supply = NOTHING_MORE) -> Plan:
        """What would be done."""
        data, rows = self._data(blocks, columns, supply._replace(limit=None))  # it is asked, not done
        n = _expected(rows, supply)
        known = rows.so_far if n is None else n
        if self.options.landmarks is not None and (n is None or n > self.options.landmarks):
            name, reason, passes = NYSTROEM, f"{self.options.landmarks} landmarks were asked for", "2"
        else:
            name, reason = data.needs.solver(known)
            passes = "1"
        grows = n is None and name != NYSTROEM
        return Plan(name, reason, n, data.d, passes, data.needs.peak(known), supply.threads, grows=grows)

    def _data(self, blocks: Iterable[Array], columns: tuple[str, ...], supply: Supply) -> tuple[Data, Rows]:
        kernel = load(resolve(self.options, len(columns)))
        if self.options.landmarks is not None and (kernel.graph or not kernel.of_rows):
            raise UsageError(f"--landmarks does not go with --kernel {kernel.settings.name}", "it needs every row")
        needs = Needs(self.options, self.task.wish, kernel, len(columns), supply)
        return Data(columns, kernel, supply, needs), Rows(needs.weighed(blocks), reread=supply.reread, run=supply.run)


def _expected(rows: Rows, supply: Supply) -> int | None:
    """How many rows there are, as far as that can be told."""
    return supply.expected() if rows.n is None else rows.n
