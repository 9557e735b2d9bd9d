"""Options of a fit: method, components, solver, scaling, kernel, labels, weights."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from pcatool.errors import UsageError, nearest, show
from pcatool.options.fields import MODEL, names_of, option, require, word_of
from pcatool.options.reading import TriplesOptions
from pcatool.options.sums import SumSettings, why_no_sums
from pcatool.registry import KERNELS, METHODS, RULES, SOLVERS
from pcatool.resources import parse_size

__all__ = [
    "LABEL_KERNELS",
    "MAX_UPDATABLE_COLUMNS",
    "MISSING",
    "WEIGHTS_KINDS",
    "WHITENINGS",
    "FitOptions",
    "numbered",
    "parse_components",
]

# Kernels made from the graph of neighbours.
GRAPHS = ("isomap", "lle", "laplacian-eigenmap")

# Parameter -> kernels that use it. With another kernel it would be ignored silently, so it is refused.
USED = {
    "gamma": ("rbf", "polynomial", "sigmoid", "laplacian"),
    "degree": ("polynomial",),
    "coef0": ("polynomial", "sigmoid"),
    "neighbours": GRAPHS,
}


def numbered(record: object, name: str, flag: str, *, above: float = -math.inf) -> None:
    """Convert a field of a frozen record to float in place; None stays.

    Raises `UsageError` unless the value is a finite number above `above`.
    """
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
    """Convert a field of a frozen record to int in place; None stays.

    Raises `UsageError` unless the value is a whole number from 1.
    """
    value = getattr(record, name)
    if value is None:
        return
    if not re.fullmatch(r"[0-9]{1,9}", str(value), re.ASCII) or int(value) < 1:
        raise UsageError(f"{flag} {show(value)} is not a whole number from 1", "give one")
    object.__setattr__(record, name, int(value))


def only_with(flag: str, value: object, allowed: bool, what: str) -> None:
    """Refuse a flag that was given where it has no effect; `what` names the option that it belongs to."""
    if value not in (None, ()) and not allowed:
        raise UsageError(f"{flag} would change nothing here", f"it belongs to {what}")


@dataclass(frozen=True)
class KernelOptions:
    """Options of the kernel, for `--method kernel` and for supervised PCA with a kernel."""

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
        """Check the options that can be checked without data, and set the default kernel."""
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


LABEL_KERNELS = ("delta", "linear", "rbf")


@dataclass(frozen=True)
class LabelOptions:
    """Options of the labels of `--method supervised`."""

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
        """Refuse label options that do not fit the method, or are not valid."""
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


# Values of --whiten.
WHITENINGS = ("none", "pca", "zca")

# Values of --weights-kind: a weight is how often a row occurs, or how reliable it is.
WEIGHTS_KINDS = ("frequency", "reliability")

# Largest number of columns for which the sums over rows are kept by default: they take 8 MB.
MAX_UPDATABLE_COLUMNS = 1024

# Values of --missing in a fit.
MISSING = ("error", "drop", "mean", "em")


def parse_components(text: str | int | float) -> int | float | str:
    """Return `-k` of a fit: an int from 1, a share strictly between 0 and 1, or a rule such as `mle` or `ratio:0.1`.

    Whole numbers are plain digits: `1e3`, `+5` or `2.0` is more often a typing error than intended. Raises `UsageError`
    for any other text.
    """
    if isinstance(text, float) and 0 < text < 1:
        return float(text)
    word = str(text)
    if re.fullmatch(r"[0-9]{1,1000}", word, re.ASCII) and int(word) >= 1:  # int() refuses thousands of digits
        return int(word)
    if re.fullmatch(r"0?\.[0-9]+", word, re.ASCII) and 0 < float(word) < 1:
        return float(word)
    name, colon, number = word.partition(":")
    if name in RULES or nearest(name, RULES):
        if RULES[name].default is not None and colon:
            _check_threshold(name, number)
        elif colon:
            raise UsageError(f"-k {show(word)}: {name} takes no number", f"give -k {name}")
        return word
    percent = re.fullmatch(r"([0-9]{1,2}(?:\.[0-9]+)?)\s*%", word, re.ASCII)
    raise UsageError(
        f"-k {show(word)} is not a number of components",
        f"give {float(percent[1]) / 100:g} for that share of the variance"
        if percent and float(percent[1])
        else "give a whole number from 1, a share of the variance between 0 and 1 such as 0.99, "
        f"or a rule: {', '.join(RULES)}",
    )


SHARES = ("ratio",)  # rules whose number is a share of the variance


def _check_threshold(rule: str, text: str) -> None:
    """Raise `UsageError` unless `text` is a threshold that `rule` accepts."""
    value = float(text) if re.fullmatch(r"[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?", text, re.ASCII) else float("nan")
    if not 0 < value < (1 if rule in SHARES else float("inf")):
        bounds = "between 0 and 1" if rule in SHARES else "above 0"
        remedy = f"give a number {bounds}, such as {rule}:{RULES[rule].default:g}"
        raise UsageError(f"-k {show(f'{rule}:{text}')}: {show(text)} is not a threshold of {rule}", remedy)


@dataclass(frozen=True)
class FitOptions(KernelOptions, LabelOptions, TriplesOptions):
    """Options of a fit."""

    components: int | float | str = option(
        "0.99",
        "-k",
        "--components",
        group="model",
        metavar="K",
        help="How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: "
        + ", ".join(name for name in RULES if name != "all")
        + ". A report of a model shows its first K.",
        wanted=word_of(*RULES),
    )
    standardize: bool = option(
        False, "-s", "--standardize", group="model", help="Divide each column by its standard deviation."
    )
    center: bool = option(True, "--center/--no-center", group="model", help="Subtract the column means, or do not.")
    center_rows: bool = option(
        False, "--center-rows", group="model", help="Subtract from each row its own mean, first of all (for images)."
    )
    ddof: int = option(
        0,
        "--ddof",
        group="model",
        metavar="0|1",
        help="Divide by n (0) or by n - 1 (1, as scikit-learn and R do).",
        wanted=word_of("0", "1"),
    )
    method: str = option("pca", "--method", group="model", help="What to fit.", choices=names_of(METHODS))
    solver: str = option(
        "auto",
        "--solver",
        group="model",
        help="How the eigenvalues are computed; -v says which was taken and why.",
        choices=names_of(SOLVERS, "auto"),
    )
    whiten: str = option(
        "none",
        "--whiten",
        group="model",
        help="Scores of variance 1: pca, or turned back to the original columns: zca.",
        choices=lambda: WHITENINGS,
    )
    epsilon: float | None = option(
        None,
        "--epsilon",
        group="model",
        metavar="E",
        help="Whitening divides by the root of eigenvalue + E; 0 is allowed.",
        shown_default="1e-5 of the mean eigenvalue",
    )
    missing: str = option(
        "error",
        "--missing",
        group="model",
        help="Rows with missing cells: an error; dropped; the column's mean stands in; or the components are fitted "
        "to the cells that are there (probabilistic PCA by EM).",
        choices=lambda: MISSING,
    )
    weights: str | None = option(
        None, "--weights", group="model", metavar="COL", help="Column with a weight for each row; it is no feature."
    )
    weights_kind: str = option(
        "frequency",
        "--weights-kind",
        group="model",
        help="What a weight says: how often the row occurs, or how reliable it is. With --ddof 1 the divisor is "
        "sum w - 1, or sum w - sum w^2 / sum w.",
        choices=lambda: WEIGHTS_KINDS,
    )
    updatable: bool | None = option(
        None,
        "--updatable/--no-updatable",
        group="output",
        help="Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not.",
        shown_default=f"kept up to {MAX_UPDATABLE_COLUMNS} columns",
    )
    seed: int = option(0, "--seed", group="model", metavar="N", help="Start of everything random.")
    memory: str | None = option(
        None,
        "--memory",
        group="model",
        metavar="SIZE",
        help="Refuse a fit that would need more, such as 2GB; it never changes how the fit is done.",
        shown_default="half of what is free",
    )

    align_to: Any = option(  # noqa: RUF009  (a path, or from Python a model)
        None,
        "--align-to",
        group="model",
        metavar="OLD",
        help="Give components the signs that they have in this older model, and nearly equal ones its order, so that "
        "nightly fits can be compared.",
        wanted=MODEL,
    )

    def __post_init__(self) -> None:
        """Check each option, and refuse options that exclude each other."""
        parse_components(self.components)
        require(self.weights_kind, lambda: WEIGHTS_KINDS, "--weights-kind")
        if self.memory is not None:
            parse_size(self.memory)
        if self.seed < 0:
            raise UsageError(f"--seed {self.seed} is below 0", "give a whole number from 0")
        require(self.method, names_of(METHODS), "--method")
        require(self.solver, names_of(SOLVERS, "auto"), "--solver")
        require(self.missing, lambda: MISSING, "--missing")
        if self.ddof not in (0, 1):
            raise UsageError(f"--ddof {self.ddof} is neither 0 nor 1", "0 divides by n, 1 by n - 1")
        require(self.whiten, lambda: WHITENINGS, "--whiten")
        numbered(self, "epsilon", "--epsilon")
        if self.epsilon is not None and self.epsilon < 0:
            raise UsageError(f"--epsilon {self.epsilon:g} is below 0", "give 0 or more")
        if self.epsilon is not None and self.whiten == "none":
            raise UsageError("--epsilon would change nothing here", "it belongs to --whiten pca or zca")
        self.check_kernel(self.method)
        if self.align_to is not None and self.kernel is not None:
            raise UsageError(
                "--align-to does not go with kernels: two fits share no directions", "leave out --align-to"
            )
        self.check_labels(self.method)
        self._check_method()
        if self.updatable is not None and self.why_not_updatable is not None:
            flag = self.updatable_flag
            raise UsageError(f"{flag} would change nothing here: {self.why_not_updatable}", f"leave out {flag}")
        self.check_triples(
            {
                f"--method {self.method}": self.method != "pca",
                "--weights": self.weights is not None,
                "--center-rows": self.center_rows,
                "--solver": self.solver != "auto",
                f"--missing {self.missing}": self.missing == "drop"
                or (self.missing != "error" and self.absent == "zero"),
            }
        )

    @property
    def policy(self) -> str:
        """Handling of missing cells.

        Triples always leave cells missing, unless absent cells are zeros: the default is then EM, not an error.
        """
        by_em = self.triples and self.absent != "zero" and self.missing == "error"
        return "em" if by_em else self.missing

    @property
    def updatable_flag(self) -> str:
        """Flag that sets `updatable`, as spelled on the command line."""
        return "--updatable" if self.updatable else "--no-updatable"

    @property
    def why_not_updatable(self) -> str | None:
        """Reason why rows cannot be added to this fit by its sums over rows; None if they can."""
        return why_no_sums(self.sum_settings())

    def sum_settings(self, rule: str | None = None) -> SumSettings:
        """Return the settings that decide whether rows can be added up; `rule` is a rule for k that needs the rows."""
        kernel, triples = self.kernel is not None, self.triples is not None
        return SumSettings(self.method, kernel, self.label_kernel, triples, self.missing, self.solver, rule)

    def keeps(self, numbers: int) -> bool:
        """Whether the model keeps sums over rows that consist of so many numbers."""
        if self.updatable is None:
            return self.why_not_updatable is None and numbers <= MAX_UPDATABLE_COLUMNS**2
        return self.updatable

    def _check_method(self) -> None:
        """Refuse options that only linear PCA has, and a solver where the method has its own."""
        if self.missing == "em" and self.solver != "auto":
            raise UsageError("--solver does not go with --missing em", "leave out --solver")
        if self.method == "pca":
            return
        linear = {f"--missing {self.missing}": self.missing in ("mean", "em")}
        linear |= {"--weights": self.weights is not None, "--whiten": self.whiten != "none"}
        linear["--solver"] = self.solver != "auto"
        linear["--no-center"] = not self.center and self.method == "supervised"
        given = [flag for flag, used in linear.items() if used]
        if given:
            raise UsageError(f"{given[0]} does not go with --method {self.method}", f"leave out {given[0]}")
        if self.kernel == "precomputed" and (self.standardize or self.center_rows):
            flag = "--standardize" if self.standardize else "--center-rows"
            raise UsageError(f"{flag} does not go with --kernel precomputed", "the table holds no rows to change")
