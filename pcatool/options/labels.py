"""Which columns supervise, and how they are compared."""

from __future__ import annotations

from dataclasses import dataclass

from pcatool.errors import UsageError
from pcatool.options.flags import option, require
from pcatool.options.kernels import numbered, only_with

__all__ = ["LABEL_KERNELS", "LabelOptions"]

LABEL_KERNELS = ("delta", "linear", "rbf")


@dataclass(frozen=True)
class LabelOptions:
    """The labels of `--method supervised`."""

    label: tuple[str, ...] = option(
        (),
        "--label",
        group="supervised",
        metavar="COLS",
        help="Columns that supervise; they are no features; terms as in -c; repeatable.",
    )
    label_kernel: str | None = option(
        None,
        "--label-kernel",
        group="supervised",
        help="How alike two labels are: equal or not, their product, or exp(-gamma |y - y'|^2).",
        choices=lambda: LABEL_KERNELS,
        shown_default="delta for text, linear for numbers",
    )
    label_gamma: float | None = option(
        None, "--label-gamma", group="supervised", metavar="G", help="Of --label-kernel rbf.", shown_default="1/labels"
    )

    def check_labels(self, method: str) -> None:
        supervised = method == "supervised"
        for flag, value in (
            ("--label", self.label), ("--label-kernel", self.label_kernel), ("--label-gamma", self.label_gamma)
        ):  # fmt: skip
            only_with(flag, value, supervised, "--method supervised")
        if supervised and not self.label:
            raise UsageError("--method supervised needs a label", "name its column with --label")
        if self.label_kernel is not None:
            require(self.label_kernel, lambda: LABEL_KERNELS, "--label-kernel")
        only_with("--label-gamma", self.label_gamma, self.label_kernel == "rbf", "--label-kernel rbf")
        numbered(self, "label_gamma", "--label-gamma", above=0)
