"""What kernel PCA needs, reckoned before the work and again while the rows arrive: n x n numbers, or m x m."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pcatool.arrays import Array
from pcatool.errors import RefusedError
from pcatool.kernels.base import CELLS, Kernel
from pcatool.kernels.eigen import LANCZOS, choose, usual_space
from pcatool.linalg.spectrum import Wish
from pcatool.methods.base import Supply
from pcatool.options import FitOptions
from pcatool.resources import size_text
from pcatool.solvers.plan import blocks_bytes, in_flight, most_kept, with_program

__all__ = ["Needs"]

# Matrices of n x n at the peak: the kernel, LAPACK's copy, workspace and vectors; for a graph, distances before that.
COPIES, GRAPH_COPIES = 5, 6
DUAL_COPIES = 3  # of the n x k vectors that are kept: with their signs, in the certificate, in the model
SPACE_COPIES = 1  # what Lanczos spans, of which three times the usual is reckoned with
SOLUTION_COPIES = 8  # of m x m: the kernel of the landmarks, or the scatter of phi, with LAPACK's copies and phi itself
SLAB_COPIES, LANDMARK_COPIES = 3, 5  # of the kernel values that a thread works on, and of those of landmarks
ROW_COPIES = 3  # as read, as prepared, and on the way


class Needs(NamedTuple):
    """Of a fit with these options; rows may be many more than anybody knows."""

    options: FitOptions
    wish: Wish
    kernel: Kernel
    d: int
    supply: Supply

    def solver(self, n: int) -> tuple[str, str]:
        """Which solver takes n rows, and why."""
        return choose(n, self.wish, definite=self.kernel.is_definite(self.options.center), flat=self.kernel.flat)

    def weighed(self, blocks: Iterable[Array]) -> Iterator[Array]:
        """The blocks, refused as soon as there are more rows than n x n numbers have room for."""
        n = 0
        for block in blocks:
            n += len(block)
            self.check(n, "so far")
            yield block

    def check(self, n: int | None, how: str, *, dense: bool = False) -> None:
        """Refuse what does not fit, naming what would."""
        limit, need = self.supply.limit, self.peak(n, dense=dense)
        if limit is None or need <= limit:
            return
        bound = f"the limit is {size_text(limit)} (--memory, else half of what is free)"
        if self.options.landmarks is not None:
            raise RefusedError(
                f"--landmarks {self.options.landmarks} needs about {size_text(need)}, {bound}", "give fewer landmarks"
            )
        possible = self.kernel.of_rows and not self.kernel.graph
        raise RefusedError(
            f"kernel PCA of {n} rows ({how}) needs {size_text(need)} for matrices of {n} x {n}, {bound}",
            "--landmarks 1000 needs no such matrix" if possible else "give fewer rows",
        )

    def peak(self, n: int | None, *, dense: bool = False) -> int:
        """Bytes at the most, the program's own included; `dense` when LAPACK takes the matrix apart as a whole."""
        rows = min(n or 0, self.options.landmarks or sys.maxsize)
        k = most_kept(self.wish, rows)
        return max(self._fitting(n, dense=dense), self.supply.scoring(k, 2 * 8 * rows * (self.d + k) + self._slabs))

    @property
    def _slabs(self) -> int:
        copies = SLAB_COPIES if self.options.landmarks is None else LANDMARK_COPIES
        return self.supply.threads * copies * 8 * CELLS

    def _fitting(self, n: int | None, *, dense: bool) -> int:
        m, d = self.options.landmarks, self.d
        threads = self.supply.threads
        in_hand = self.supply.reading() + blocks_bytes(d, n, threads, copies=2) + self._slabs
        if m is not None:
            m = min(m, n or m)
            # The scatter so far and its correction, those of some slabs, theirs, and phi.
            scatters = 3 + in_flight(threads) + threads
            return with_program(d, in_hand + 8 * m * (max(scatters, SOLUTION_COPIES) * m + ROW_COPIES * d))
        rows = n or 0
        if not dense and isinstance(self.wish, int) and self.solver(rows)[0] == LANCZOS:
            work = (GRAPH_COPIES if self.kernel.graph else 1) * rows + SPACE_COPIES * usual_space(rows, self.wish)
        else:  # a share may end there, too
            kept = min(self.wish, rows) if isinstance(self.wish, int) else rows
            work = (GRAPH_COPIES if self.kernel.graph else COPIES) * rows + DUAL_COPIES * kept
        return with_program(d, in_hand + 8 * rows * (work + ROW_COPIES * d))
