"""What every fit of a kernel model has in common: what is asked, what is refused, and the model that is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError, show
from pcatool.kernels.base import ColumnMoments, Kernel, Preparation
from pcatool.kernels.model import KernelModel
from pcatool.linalg.moments import center_rows
from pcatool.linalg.spectrum import Wish
from pcatool.methods.base import Supply
from pcatool.methods.kernel_needs import Needs
from pcatool.methods.remarks import check_rule, tell_constant, warn_past_rank, warn_unsure
from pcatool.model.model import FORMAT_VERSION
from pcatool.options import FitOptions, parse_components
from pcatool.progress import Notices
from pcatool.rules.base import Choice, Evidence, decide
from pcatool.solvers.base import SMALLEST, one_row, squares_overflow
from pcatool.solvers.rows import nothing_to_fit

__all__ = ["NYSTROEM", "Data", "KernelTask", "Solved"]

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


class KernelTask:
    """The settings of a fit, and the steps that do not depend on how the kernel is solved."""

    def __init__(self, options: FitOptions, notices: Notices) -> None:
        self.options = options
        self.notices = notices
        self.wish: Wish = parse_components(options.components)
        check_rule(self.wish, "kernel")

    def rows_centred(self, X: Array) -> Array:
        return center_rows(X) if self.options.center_rows else X

    def moments(self, blocks: Iterable[Array], origin: Array) -> ColumnMoments:
        first = self.rows_centred(origin[None])[0]
        return ColumnMoments.gather(ColumnMoments.of_block(self.rows_centred(X), first) for X in blocks)

    def mean_matters(self, kernel: Kernel) -> bool:
        """Do the eigenvalues change when all rows are shifted?"""
        return not (kernel.invariant or (kernel.cancels and self.options.center))

    def preparation(self, data: Data, moments: ColumnMoments) -> Preparation:
        o, kernel = self.options, data.kernel
        prepared = Preparation.of(
            moments,
            shift=kernel.of_rows and o.center and (kernel.invariant or kernel.cancels or o.standardize),
            standardize=o.standardize,
            rows_centered=o.center_rows,
            ddof=o.ddof,
        )
        if not np.all(np.isfinite(prepared.variances)):
            raise squares_overflow(data.columns, prepared.variances)
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

    def check_rows(self, n: int, most: int) -> None:
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

    def check_rank(self, rank: int) -> None:
        if rank == 0:
            centred = "centred " if self.options.center else ""
            raise DataError(
                f"the {centred}kernel has no eigenvalue above 0 by more than rounding: there is nothing to explain",
                "give another kernel or other numbers to it",
            )

    def warn_negative(self, kernel: Kernel, negative: int, n: int, lowest: float) -> None:
        which = f"1 of {n} eigenvalues is" if negative == 1 else f"{negative} of {n} eigenvalues are"
        self.notices.warn(
            f"kernel {kernel.settings.name} is not positive semidefinite here: {which} negative, the lowest "
            f"{lowest:.2g} times the largest; components are taken from the others"
        )

    def decide(self, solved: Solved) -> tuple[Evidence, Choice]:
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

    def model(
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
