"""Which kernel, and its numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pcatool.errors import UsageError, show
from pcatool.options.flags import names_of, option, require
from pcatool.options.wanted import word_of
from pcatool.registry import KERNELS

__all__ = ["GRAPHS", "KernelOptions", "numbered", "only_with"]

GRAPHS = ("isomap", "lle", "laplacian-eigenmap")

# What each number matters to; with another kernel it would be passed over in silence, which is refused.
USED = {
    "gamma": ("rbf", "polynomial", "sigmoid", "laplacian"),
    "degree": ("polynomial",),
    "coef0": ("polynomial", "sigmoid"),
    "neighbours": GRAPHS,
}


def numbered(record: object, name: str, flag: str, *, above: float = -math.inf) -> None:
    """A field that holds a number, or None, made one."""
    value = getattr(record, name)
    if value is None:
        return
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > above) or "_" in str(value):
        bound = f" above {above:g}" if math.isfinite(above) else ""
        raise UsageError(f"{flag} {show(value)} is not a number{bound}", f"give a number{bound}")
    object.__setattr__(record, name, number)


def counted(record: object, name: str, flag: str) -> None:
    """A field that holds a whole number from 1, or None, made one."""
    value = getattr(record, name)
    if value is None:
        return
    if not re.fullmatch(r"[0-9]{1,9}", str(value), re.ASCII) or int(value) < 1:
        raise UsageError(f"{flag} {show(value)} is not a whole number from 1", "give one")
    object.__setattr__(record, name, int(value))


def only_with(flag: str, value: object, allowed: bool, what: str) -> None:
    """Refuse a flag that would change nothing."""
    if value not in (None, ()) and not allowed:
        raise UsageError(f"{flag} would change nothing here", f"it belongs to {what}")


@dataclass(frozen=True)
class KernelOptions:
    """The kernel of `--method kernel`, and of supervised PCA in kernel form."""

    kernel: str | None = option(
        None,
        "--kernel",
        group="kernel",
        metavar="NAME",
        help="How alike two rows are: " + ", ".join(KERNELS) + ".",
        shown_default="rbf with --method kernel",
        wanted=word_of(*KERNELS),
    )
    gamma: float | None = option(
        None,
        "--gamma",
        group="kernel",
        metavar="G",
        help="Of rbf, polynomial, sigmoid, laplacian.",
        shown_default="1/d",
    )
    degree: float | None = option(
        None, "--degree", group="kernel", metavar="P", help="Of polynomial.", shown_default="3"
    )
    coef0: float | None = option(
        None, "--coef0", group="kernel", metavar="C", help="Of polynomial and sigmoid.", shown_default="1"
    )
    neighbours: int | None = option(
        None,
        "--neighbours",
        "--neighbors",
        group="kernel",
        metavar="N",
        help="Neighbours of each row, of isomap, lle, laplacian-eigenmap.",
        shown_default="10",
    )
    landmarks: int | None = option(
        None,
        "--landmarks",
        group="kernel",
        metavar="M",
        help="Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many.",
        shown_default="every row",
    )

    def check_kernel(self, method: str) -> None:
        """What can be checked without data; the kernel's name is settled here."""
        with_kernel = method in ("kernel", "supervised")
        only_with("--kernel", self.kernel, with_kernel, "--method kernel or supervised")
        if self.kernel is None and method == "kernel":
            object.__setattr__(self, "kernel", "rbf")
        if self.kernel is not None:
            KERNELS[self.kernel]
        for name, kernels in USED.items():
            only_with(f"--{name}", getattr(self, name), self.kernel in kernels, f"--kernel {', '.join(kernels)}")
        only_with("--landmarks", self.landmarks, method == "kernel", "--method kernel")
        if self.landmarks is not None and self.kernel in ("precomputed", *GRAPHS):
            raise UsageError(f"--landmarks does not go with --kernel {self.kernel}", "it needs every row")
        if method == "supervised" and self.kernel in GRAPHS:
            raise UsageError(f"--kernel {self.kernel} has no supervised form", "use rbf, linear or another of rows")
        numbered(self, "gamma", "--gamma", above=0)
        numbered(self, "degree", "--degree", above=0)
        numbered(self, "coef0", "--coef0")
        counted(self, "neighbours", "--neighbours")
        counted(self, "landmarks", "--landmarks")
        if self.kernel is not None:
            require(self.kernel, names_of(KERNELS), "--kernel")
