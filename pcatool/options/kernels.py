"""Options of kernels, for kernel PCA and supervised PCA, and of the labels of supervised PCA."""

from __future__ import annotations

from dataclasses import dataclass

from pcatool.errors import UsageError
from pcatool.options.fields import (
    Setting,
    are_names,
    convert_to_float,
    convert_to_int,
    either,
    is_count,
    is_number,
    is_object,
    option,
    refuse_without,
    word_of,
)
from pcatool.registry import KERNELS

__all__ = ["KernelOptions", "LabelOptions"]

# Kernels made from the graph of neighbours.
GRAPH_KERNELS = ("isomap", "lle", "laplacian-eigenmap")

# Parameter -> kernels that use it. With any other kernel the parameter is refused, because it would have no effect.
KERNELS_USING = {
    "gamma": ("rbf", "polynomial", "sigmoid", "laplacian"),
    "degree": ("polynomial",),
    "coef0": ("polynomial", "sigmoid"),
    "neighbours": GRAPH_KERNELS,
}


@dataclass(frozen=True)
class KernelOptions:
    """Options of the kernel, for `--method kernel` and for supervised PCA with a kernel."""

    kernel: str | None = option(
        None,
        "--kernel",
        group="kernel",
        metavar="NAME",
        help="Kernel, the similarity of two rows: " + ", ".join(KERNELS) + ".",
        shown_default="rbf with --method kernel",
        completion=word_of(*KERNELS),
        kept=Setting(  # `KernelModel` checks the numbers
            is_object, "not a kernel with its parameters", key="name", methods=("kernel", "supervised"), decided=True
        ),
    )
    gamma: float | None = option(
        None,
        "--gamma",
        group="kernel",
        metavar="G",
        help="Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels.",
        shown_default="1/number of columns",
        kept=Setting(part_of="kernel"),
    )
    degree: float | None = option(
        None,
        "--degree",
        group="kernel",
        metavar="P",
        help="Degree of the polynomial kernel.",
        shown_default="3",
        kept=Setting(part_of="kernel"),
    )
    coef0: float | None = option(
        None,
        "--coef0",
        group="kernel",
        metavar="C",
        help="Constant term of the polynomial and sigmoid kernels.",
        shown_default="1",
        kept=Setting(part_of="kernel"),
    )
    neighbours: int | None = option(
        None,
        "--neighbours",
        "--neighbors",
        group="kernel",
        metavar="N",
        help="Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels.",
        shown_default="10",
        kept=Setting(part_of="kernel"),
    )
    landmarks: int | None = option(
        None,
        "--landmarks",
        group="kernel",
        metavar="M",
        help="Approximate the kernel from M random rows (Nystroem). Use this if the kernel matrix of all rows does not "
        "fit in memory.",
        shown_default="every row",
        kept=Setting(
            lambda value: is_count(value) and value > 0, "not a number of rows", methods=("kernel",), decided=True
        ),
    )

    def check_kernel(self, method: str) -> None:
        """Raise `UsageError` for kernel options that are wrong or do not go with the method.

        Set the default kernel of method kernel, and convert the numbers in place.
        """
        with_kernel = method in ("kernel", "supervised")
        refuse_without("--kernel", self.kernel, with_kernel, "--method kernel or supervised")
        if self.kernel is None and method == "kernel":
            object.__setattr__(self, "kernel", "rbf")
        if self.kernel is not None:
            KERNELS[self.kernel]
        for name, kernels in KERNELS_USING.items():
            refuse_without(f"--{name}", getattr(self, name), self.kernel in kernels, f"--kernel {either(kernels)}")
        refuse_without("--landmarks", self.landmarks, method == "kernel", "--method kernel")
        if self.landmarks is not None and self.kernel in ("precomputed", *GRAPH_KERNELS):
            raise UsageError(f"--landmarks does not go with --kernel {self.kernel}", "leave out --landmarks")
        if method == "supervised" and self.kernel in GRAPH_KERNELS:
            raise UsageError(
                f"--kernel {self.kernel} does not go with --method supervised", "use --kernel rbf or linear"
            )
        convert_to_float(self, "gamma", "--gamma", above=0)
        convert_to_float(self, "degree", "--degree", above=0)
        convert_to_float(self, "coef0", "--coef0")
        convert_to_int(self, "neighbours", "--neighbours")
        convert_to_int(self, "landmarks", "--landmarks")


LABEL_KERNELS = ("delta", "linear", "rbf")


@dataclass(frozen=True)
class LabelOptions:
    """Options of the labels of `--method supervised`."""

    label: tuple[str, ...] = option(
        (),
        "--label",
        group="supervised",
        metavar="COLS",
        help="Label columns; excluded from the features. COLS as in -c; repeatable.",
        kept=Setting(
            lambda value: bool(value) and are_names(value),
            "not a list of names",
            name="labels",
            methods=("supervised",),
            decided=True,
        ),
    )
    label_kernel: str | None = option(
        None,
        "--label-kernel",
        group="supervised",
        help="Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: "
        "exp(-gamma |y - y'|^2) for labels y and y'.",
        choices=lambda: LABEL_KERNELS,
        shown_default="delta for text, linear for numbers",
        kept=Setting(methods=("supervised",), decided=True),
    )
    label_gamma: float | None = option(
        None,
        "--label-gamma",
        group="supervised",
        metavar="G",
        help="Coefficient gamma of --label-kernel rbf.",
        shown_default="1/number of label columns",
        kept=Setting(
            lambda value: is_number(value) and value > 0,
            "not a number above 0",
            methods=("supervised",),
            needs="label_kernel",
            decided=True,
        ),
    )

    def check_labels(self, method: str) -> None:
        """Raise `UsageError` for label options that are wrong or do not go with the method; convert the numbers."""
        supervised = method == "supervised"
        for flag, value in (
            ("--label", self.label), ("--label-kernel", self.label_kernel), ("--label-gamma", self.label_gamma)
        ):  # fmt: skip
            refuse_without(flag, value, supervised, "--method supervised")
        if supervised and not self.label:
            raise UsageError("--method supervised needs a label column", "name the column with --label")
        refuse_without("--label-gamma", self.label_gamma, self.label_kernel == "rbf", "--label-kernel rbf")
        convert_to_float(self, "label_gamma", "--label-gamma", above=0)
