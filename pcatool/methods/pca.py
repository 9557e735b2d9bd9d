"""Linear PCA: the directions of largest variance, equally those of smallest mean squared reconstruction error."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pcatool.linalg.certificate import certify
from pcatool.linalg.signs import fix_signs
from pcatool.model import FORMAT_VERSION, Array, Model
from pcatool.notices import Notices
from pcatool.options import FitOptions, parse_components
from pcatool.registry import SOLVERS
from pcatool.rules.base import Evidence, decide
from pcatool.solvers.auto import choose
from pcatool.solvers.base import Problem, Rows, Solution

__all__ = ["PCA"]

# Variances further apart than this let the largest column speak for all.
UNEQUAL = 1000.0


class PCA:
    """Rows in, model out."""

    def __init__(self, options: FitOptions, notices: Notices) -> None:
        self.options = options
        self.notices = notices

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...]) -> Model:
        options = self.options
        rows = Rows(blocks)
        problem = Problem(columns, rows.n, options.center, options.standardize, options.ddof)
        name, reason = choose(problem) if options.solver == "auto" else (options.solver, "asked for")
        solution: Solution = SOLVERS.load(name)().solve(rows, problem)
        wish = parse_components(options.components)
        evidence = Evidence(solution.eigenvalues, solution.total_variance, solution.n, problem.d, solution.rank)
        k = decide(wish, evidence)
        self._remark(problem, solution, k)
        return self._model(problem, solution, k, {"components": wish, "solver": name, "reason": reason})

    def _model(self, problem: Problem, solution: Solution, k: int, how: dict[str, object]) -> Model:
        basis = fix_signs(solution.vectors[:, :k])
        all_known = len(solution.eigenvalues) >= min(solution.n, problem.d)
        certificate = certify(solution.apply, solution.eigenvalues, basis, solution.total_variance, all_known)
        meta = {
            "format_version": FORMAT_VERSION,
            "method": "pca",
            "center": problem.center,
            "standardize": problem.standardize,
            "ddof": problem.ddof,
            "missing": self.options.missing,
            "rank": solution.rank,
            "certificate": certificate,
            **how,
        }
        return Model(
            mean=solution.mean,
            std=solution.std,
            basis=basis,
            eigenvalues=solution.eigenvalues,
            total_variance=solution.total_variance,
            n_samples=solution.n,
            columns=problem.columns,
            meta=meta,
        )

    def _remark(self, problem: Problem, solution: Solution, k: int) -> None:
        """Say what the user should know of the data before trusting the components."""
        if solution.constant:
            names = ", ".join(repr(problem.columns[j]) for j in solution.constant[:5])
            more = f" and {len(solution.constant) - 5} more" if len(solution.constant) > 5 else ""
            noun = "column" if len(solution.constant) == 1 else "columns"
            self.notices.note(f"constant {noun}, carrying no variance: {names}{more}")
        if k > solution.rank:
            which = f"PC{k} carries" if k == solution.rank + 1 else f"PC{solution.rank + 1} to PC{k} carry"
            self.notices.warn(
                f"{which} nothing: the data have rank {solution.rank}; eigenvalues and scores there are 0 (-k all keeps {solution.rank})"
            )
        varying = np.delete(solution.variances, solution.constant)
        if not problem.standardize and len(varying) > 1 and varying.max() > UNEQUAL * varying.min():
            names_varying = np.delete(np.array(problem.columns), solution.constant)
            largest, smallest = names_varying[varying.argmax()], names_varying[varying.argmin()]
            self.notices.note(
                f"column variances differ by a factor of {varying.max() / max(varying.min(), np.finfo(float).tiny):.2g} "
                f"({str(largest)!r} against {str(smallest)!r}); --standardize gives every column the same weight"
            )
