"""Memory of kernel PCA: which matrices a fit needs, and whether they are within the limit."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from pcatool.arrays import Array
from pcatool.errors import RefusedError
from pcatool.kernels.base import CELLS_PER_STEP, Kernel
from pcatool.kernels.eigen import LANCZOS, choose_solver, expected_space
from pcatool.linalg.spectrum import Wish
from pcatool.methods.base import FitResources
from pcatool.options import FitOptions
from pcatool.resources import limit_text, need_text, or_admitting
from pcatool.solvers.estimate import blocks_bytes, in_flight, left_of_reading, total_bytes
from pcatool.solvers.plan import most_kept
from pcatool.wording import grouped

__all__ = ["MemoryNeeds"]

# n x n matrices at the peak: the kernel, LAPACK's copy, workspace and vectors; for a graph kernel, distances before.
COPIES, GRAPH_COPIES = 5, 6
DUAL_COPIES = 3  # copies of the n x k kept vectors: with their signs, in the certificate, in the model
SPACE_COPIES = 1  # copies of the Lanczos space, which is planned at three times its usual size
DECOMPOSED_COPIES = 5  # m x m matrices while LAPACK decomposes the kernel of the landmarks: as in COPIES
SLAB_COPIES = 3  # copies of a slab of kernel values per thread, without landmarks
# With landmarks, per thread: the kernel values, with a copy for error bounds; phi as multiplied, centred, and a copy.
VALUE_COPIES, PHI_COPIES = 2, 3
LANDMARKS = (100, 300, 1000)  # numbers of landmarks that a remedy tries; the largest that fits is the most accurate
ROW_COPIES = 3  # copies of the rows: as read, as prepared, and a copy in between


class MemoryNeeds(NamedTuple):
    """Memory needs of a kernel fit of rows of d columns with these options, for any number of rows."""

    options: FitOptions
    wish: Wish
    kernel: Kernel
    d: int
    resources: FitResources

    def solver(self, n: int) -> tuple[str, str]:
        """Return the name of the solver for n rows without landmarks, and the reason for the choice."""
        return choose_solver(
            n, self.wish, definite=self.kernel.is_definite(self.options.center), flat_spectrum=self.kernel.flat_spectrum
        )

    def check_while_reading(self, blocks: Iterable[Array]) -> Iterator[Array]:
        """Yield the blocks; raise `RefusedError` as soon as a fit of the rows so far exceeds the memory limit."""
        n = 0
        for block in blocks:
            n += len(block)
            self.check(n, "read so far")
            yield block

    def check(self, n: int | None, how: str, *, dense: bool = False) -> None:
        """Raise `RefusedError` if n rows need too much memory; `how` says how n is known; `dense` is as in `peak`."""
        limit, need = self.resources.limit, self.peak(n, dense=dense)
        if limit is None or need <= limit:
            return
        if self.options.landmarks is not None:
            what, remedy = f"--landmarks {self.options.landmarks} needs about {need_text(need)}", "give fewer landmarks"
        else:
            rows = f"about {grouped(n or 0)} rows" if how == "about" else f"{grouped(n or 0)} rows ({how})"
            what = f"kernel PCA of {rows} needs {need_text(need)} for matrices of {grouped(n or 0)} x {grouped(n or 0)}"
            remedy = "give fewer rows"
            for m in LANDMARKS if self.kernel.of_rows and not self.kernel.graph else ():
                if self._replace(options=replace(self.options, landmarks=m)).peak(n) <= limit:
                    remedy = f"give --landmarks {m}"
        remedy = remedy if how == "read so far" else or_admitting(remedy, need)
        raise RefusedError(f"{what}; {limit_text(limit)}", remedy)

    def peak(self, n: int | None, *, dense: bool = False) -> int:
        """Bytes at the peak of fitting and scoring n rows, with the program; `dense` says that LAPACK must be used."""
        return max(self.kernel.loads + self._fitting(n, dense=dense), self.scoring(n))

    def beside_rows(self, n: int | None) -> int:
        """Bytes at the peak of fitting n rows that are kept in memory, without these rows."""
        return self.kernel.loads + self._fitting(n, dense=False, beside=True)

    def scoring(self, n: int | None) -> int:
        """Bytes at the peak of scoring n rows, with the program."""
        rows = min(n or 0, self.options.landmarks or sys.maxsize)
        k = most_kept(self.wish, rows)
        held = 2 * 8 * rows * (self.d + k) + self._slabs(rows)
        return self.kernel.loads + self.resources.scoring(k, held)

    def _features(self, m: int) -> int:
        """Return the largest number of features phi for m landmarks: the largest rank of their kernel matrix."""
        rank = self.kernel.most_rank(self.d)
        return m if rank is None else min(m, rank)

    def _slabs(self, m: int) -> int:
        """Bytes of the kernel values that all threads work on at a time; m is the number of landmarks, 0 for none."""
        one = self.resources.threads * 8 * CELLS_PER_STEP
        if self.options.landmarks is None:
            return SLAB_COPIES * one
        return VALUE_COPIES * one + PHI_COPIES * one * self._features(m) // max(m, 1)

    def _fitting(self, n: int | None, *, dense: bool, beside: bool = False) -> int:
        """Bytes at the peak of the fit alone, without scoring; with `beside`, without the rows, which are in memory.

        The other arguments are as in `peak`.
        """
        m, d = self.options.landmarks, self.d
        threads = self.resources.threads
        reading, blocks = self.resources.reading(threads), blocks_bytes(d, n, threads, copies=2, kept=beside)
        if m is not None:
            m = min(m, n or m)
            r = self._features(m)
            # First: the kernel matrix. Second, in the pass: the factor, the scatter so far with a correction, the
            # scatters that wait, and of each thread the scatter of a block so far, of a slab, and its correction.
            # Third: the scatter as summed and as divided, the eigenvectors and a part of them; and the factor, a part
            # of the factor, their product, and two copies while its columns are measured.
            scatters = 2 + (in_flight(threads) - threads) + 3 * threads
            numbers = max(DECOMPOSED_COPIES * m * m, m * r + scatters * r * r, 4 * r * r + 5 * m * r)
            landmarks = 8 * ROW_COPIES * m * d
            later = self._slabs(m) + 8 * numbers + (reading if self.resources.reread else left_of_reading(reading))
            return total_bytes(d, blocks + landmarks + max(reading, later))  # the first pass reads, and draws landmarks
        rows = n or 0
        space = expected_space(rows, self.wish, self.kernel.most_rank(d))
        if not dense and space is not None and self.solver(rows)[0] == LANCZOS:
            work = (GRAPH_COPIES if self.kernel.graph else 1) * rows + SPACE_COPIES * space
        else:  # a share may need `lapack`, too
            kept = min(self.wish, rows) if isinstance(self.wish, int) else rows
            work = (GRAPH_COPIES if self.kernel.graph else COPIES) * rows + DUAL_COPIES * kept
        return total_bytes(d, reading + blocks + self._slabs(0) + 8 * rows * (work + ROW_COPIES * d))
