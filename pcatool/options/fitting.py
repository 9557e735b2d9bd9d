"""Options of a fit: method, components, solver, scaling, weights, missing cells; scores of the fitted rows.

`obstacles` is the table of settings with which the rows of a fit cannot be added up, with reasons and remedies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from pcatool.errors import UsageError
from pcatool.options.fields import (
    ANY_FILE,
    MODEL,
    Setting,
    check_choices,
    choices_from,
    convert_to_float,
    is_count,
    is_number,
    is_text,
    option,
    refuse_without,
    word_of,
)
from pcatool.options.kernels import KernelOptions, LabelOptions
from pcatool.options.reading import TriplesOptions
from pcatool.registry import METHODS, RULES, SOLVERS
from pcatool.resources import parse_size
from pcatool.wording import grouped, nearest, show

__all__ = [
    "ADDITIVE_SOLVERS",
    "MAX_UPDATABLE_COLUMNS",
    "MISSING_POLICIES",
    "USE_THREADS",
    "WEIGHTS_KINDS",
    "WHITENINGS",
    "FitOptions",
    "ScoreOptions",
    "SumSettings",
    "parse_components",
    "why_no_sums",
    "why_not_in_parts",
]

# Values of --whiten.
WHITENINGS = ("none", "pca", "zca")

# Values of --weights-kind: a weight counts how often a row occurs, or says how reliable the row is.
WEIGHTS_KINDS = ("frequency", "reliability")

# Largest number of columns for which the sums over rows are kept by default: they take 8 MB.
MAX_UPDATABLE_COLUMNS = 1024

# Values of --missing in a fit.
MISSING_POLICIES = ("error", "drop", "mean", "em")


def parse_components(text: str | int | float) -> int | float | str:
    """Return `-k` of a fit: an int above 0, a share strictly between 0 and 1, or a rule such as `mle` or `ratio:0.1`.

    A rule is returned as text. Whole numbers are plain digits, because `1e3`, `+5` or `2.0` is usually a typing error.
    Raise `UsageError` for any other text.
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
    remedy = f"give a whole number above 0, a share of the variance such as 0.99, or a rule: {', '.join(RULES)}"
    if percent and float(percent[1]):
        remedy = f"for {percent[1]}% of the variance, give {float(percent[1]) / 100:g}"
    elif re.fullmatch(r"1\.0*|100\s*%", word, re.ASCII):
        remedy = "give -k all for all of the variance, or -k 1 for one component"
    raise UsageError(f"-k {show(word)} is not a number of components", remedy)


def is_components(value: object) -> bool:
    """Whether a value is a number of components, a share or a rule, in the form that `parse_components` returns."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    if isinstance(value, str) and value.partition(":")[0] not in RULES:
        return False
    try:
        return type(parse_components(value)) is type(value)
    except UsageError:
        return False


SHARES = ("ratio",)  # rules whose number is a share of the variance


def _check_threshold(rule: str, text: str) -> None:
    """Raise `UsageError` unless `text` is a threshold that `rule` accepts: above 0, and below 1 if it is a share."""
    value = float(text) if re.fullmatch(r"[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?", text, re.ASCII) else float("nan")
    if not 0 < value < (1 if rule in SHARES else float("inf")):
        bounds = "between 0 and 1" if rule in SHARES else "above 0"
        remedy = f"give a number {bounds}, such as {rule}:{RULES[rule].default:g}"
        raise UsageError(f"-k {show(f'{rule}:{text}')}: {show(text)} is not a threshold of {rule}", remedy)


# --- settings with which rows cannot be added up ---
#
# One table answers two questions. Can rows be added to the model later? Can the rows be added up in parts, on the
# workers of a cluster?

# Solvers that add up sums or factors of blocks of rows.
ADDITIVE_SOLVERS = ("covariance", "tsqr")

USE_THREADS = "use --engine threads, on one machine"
MEANS_NEED_ALL_ROWS = "the values that replace missing cells depend on all rows"


class SumSettings(NamedTuple):
    """Settings that decide whether the rows of a fit can be added up, from `FitOptions` or a fitted model.

    A setting that was not given or recorded is None.
    """

    method: str | None
    kernel: bool  # whether the rows are compared by a kernel
    label_kernel: str | None
    triples: bool  # whether the input has one line per cell
    missing: str | None  # value of --missing
    solver: str | None
    rule: str | None = None  # the rule of -k, only if it needs the rows and not just the eigenvalues


class Obstacle(NamedTuple):
    """A setting with which rows cannot be added up, and the reasons."""

    is_set: bool  # whether the fit has this setting
    why_no_sums: str | None  # why the model keeps no sums over rows; None if the setting allows sums
    why_no_parts: str | None  # why workers cannot fit parts of the rows; None if the setting allows parts
    remedy: str = ""  # for `why_no_parts`


def obstacles(settings: SumSettings) -> tuple[Obstacle, ...]:
    """Return all obstacles, each with `is_set` for these settings; the first that is set gives the reason."""
    return (
        Obstacle(
            settings.triples,
            "the model was fitted to single cells, not to whole rows",
            "--triples cannot be spread over workers: the cells of a row may be in any part of the input",
            USE_THREADS,
        ),
        Obstacle(
            settings.method == "kernel" or settings.kernel,
            "kernel PCA keeps rows, not sums over rows"
            if settings.method == "kernel"
            else "with --kernel, the fit compares all pairs of rows",
            "a fit with a kernel cannot be spread over workers: the kernel compares all pairs of rows",
            USE_THREADS,
        ),
        Obstacle(
            settings.label_kernel == "rbf",
            "the label kernel rbf compares the labels of all pairs of rows",
            "--label-kernel rbf cannot be spread over workers: every label is compared with every other label",
            "use --label-kernel delta or linear",
        ),
        Obstacle(
            settings.missing == "em",
            MEANS_NEED_ALL_ROWS,
            "--missing em cannot be spread over workers: it reads the rows many times",
            "use --missing mean or drop; or use --engine threads, on one machine",
        ),
        Obstacle(settings.missing == "mean", MEANS_NEED_ALL_ROWS, None),
        Obstacle(settings.solver == "randomized", "solver randomized computes no sums over rows", None),
        Obstacle(
            settings.solver not in ("auto", *ADDITIVE_SOLVERS),
            None,
            f"--solver {settings.solver} cannot be spread over workers: it needs all rows in one place",
            "use --solver covariance or tsqr",
        ),
        Obstacle(
            settings.solver == "tsqr" and settings.missing == "mean",
            None,
            "--solver tsqr with --missing mean cannot be spread over workers: tsqr needs the column means first",
            "use --solver covariance",
        ),
        Obstacle(
            bool(settings.rule),
            None,
            f"-k {settings.rule} cannot be spread over workers: this rule needs all rows in one place",
            "use a rule that needs only eigenvalues, such as -k ratio; or use --engine threads, on one machine",
        ),
    )


def why_no_sums(settings: SumSettings) -> str | None:
    """Return why a model with these settings keeps no sums over rows; None if it may keep them."""
    return next((found.why_no_sums for found in obstacles(settings) if found.is_set and found.why_no_sums), None)


def why_not_in_parts(settings: SumSettings) -> tuple[str, str] | None:
    """Return why workers cannot add up parts of the rows of a fit, and a remedy; None if workers can."""
    found = next((found for found in obstacles(settings) if found.is_set and found.why_no_parts), None)
    return None if found is None else (str(found.why_no_parts), found.remedy)


# --- the records ---


@dataclass(frozen=True)
class FitOptions(KernelOptions, LabelOptions, TriplesOptions):
    """Options of a fit."""

    components: int | float | str = option(
        "0.99",
        "-k",
        "--components",
        group="model",
        metavar="K",
        help="Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest "
        "components that keep this share), or a rule: " + ", ".join(name for name in RULES if name != "all") + ".",
        completion=word_of(*RULES),
        kept=Setting(
            is_components,
            "not a number of components, a share or a rule",
            decided=True,
        ),
    )
    standardize: bool = option(
        False,
        "-s",
        "--standardize",
        group="model",
        help="Divide each column by its standard deviation.",
        kept=Setting(always=True),
    )
    center: bool = option(
        True,
        "--center/--no-center",
        group="model",
        help="Whether to subtract the column means.",
        kept=Setting(always=True),
    )
    center_rows: bool = option(
        False,
        "--center-rows",
        group="model",
        help="Subtract the mean of each row from the row, before anything else; for images.",
        kept=Setting(),
    )
    ddof: int = option(
        0,
        "--ddof",
        group="model",
        metavar="0|1",
        help="Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R.",
        completion=word_of("0", "1"),
        kept=Setting(lambda value: is_count(value) and value < 2, "neither 0 nor 1", always=True),
    )
    method: str = option(
        "pca",
        "--method",
        group="model",
        help="Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on "
        "labels.",
        choices=choices_from(METHODS),
        kept=Setting(always=True),
    )
    solver: str = option(
        "auto",
        "--solver",
        group="model",
        help="Algorithm for the eigenvalues; -v prints which solver was used, and why.",
        choices=choices_from(SOLVERS, "auto"),
    )
    eigenvalues: str = option(
        "auto",
        "--eigenvalues",
        group="model",
        help="Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k "
        "needs. all: all of them; scree --rules needs this. kept: store only those of the kept components.",
        choices=lambda: ("auto", "all", "kept"),
        kept=Setting(methods=("pca",)),
    )
    whiten: str = option(
        "none",
        "--whiten",
        group="model",
        help="Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns.",
        choices=lambda: WHITENINGS,
        kept=Setting(),
    )
    epsilon: float | None = option(
        None,
        "--epsilon",
        group="model",
        metavar="E",
        help="With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0.",
        shown_default="1e-5 of the mean eigenvalue",
        kept=Setting(
            lambda value: is_number(value) and value >= 0, "not a number of 0 or more", needs="whiten", decided=True
        ),
    )
    missing: str = option(
        "error",
        "--missing",
        group="model",
        help="Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a "
        "warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA).",
        choices=lambda: MISSING_POLICIES,
        kept=Setting(always=True),
    )
    weights: str | None = option(
        None,
        "--weights",
        group="model",
        metavar="COL",
        help="Column of row weights; excluded from the features.",
        kept=Setting(is_text, "not a text", methods=("pca",)),
    )
    weights_kind: str = option(
        "frequency",
        "--weights-kind",
        group="model",
        help="Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is. With "
        "--ddof 1 the divisor is (sum w) - 1 for frequency, and (sum w) - (sum w^2) / (sum w) for reliability.",
        choices=lambda: WEIGHTS_KINDS,
        kept=Setting(methods=("pca",), needs="weights"),
    )
    updatable: bool | None = option(
        None,
        "--updatable/--no-updatable",
        group="output",
        help="Whether to store sums over the rows in the model. The sums are d x d numbers for d columns; update, "
        "merge, subtract and refit need these sums.",
        shown_default=f"stored for up to {grouped(MAX_UPDATABLE_COLUMNS)} columns",
    )
    seed: int = option(
        0,
        "--seed",
        group="model",
        metavar="N",
        help="Random seed.",
        kept=Setting(is_count, "not a whole number of 0 or more", decided=True),
    )
    memory: str | None = option(
        None,
        "--memory",
        group="model",
        metavar="SIZE",
        help="Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more. A fit that would need more "
        "than the limit is refused before it begins. Rows that are read several times go to a temporary file if there "
        "is no room for them within the limit. The limit does not change the result.",
        shown_default="half of the free memory",
    )

    align_to: Any = option(  # noqa: RUF009  (a path, or from Python a model)
        None,
        "--align-to",
        group="model",
        metavar="OLD",
        help="Older model, such as last night's. New components get the signs of the old components, and "
        "components with nearly equal eigenvalues get the old order, so that both models can be compared.",
        completion=MODEL,
        takes="Model | str | PathLike[str] | None",
    )

    def __post_init__(self) -> None:
        """Raise `UsageError` for a wrong value, and for options that exclude each other; set the default kernel."""
        check_choices(self)
        parse_components(self.components)
        if self.memory is not None:
            parse_size(self.memory)
        if self.seed < 0:
            raise UsageError(f"--seed {self.seed} is below 0", "give 0 or a larger whole number")
        if self.ddof not in (0, 1):
            raise UsageError(f"--ddof {self.ddof} is neither 0 nor 1", "give 0 to divide by n, or 1 to divide by n - 1")
        convert_to_float(self, "epsilon", "--epsilon")
        if self.epsilon is not None and self.epsilon < 0:
            raise UsageError(f"--epsilon {self.epsilon:g} is below 0", "give 0 or more")
        refuse_without("--epsilon", self.epsilon, self.whiten != "none", "--whiten pca or zca")
        kind = None if self.weights_kind == "frequency" else self.weights_kind  # the default changes nothing
        refuse_without("--weights-kind", kind, self.weights is not None, "--weights")
        self.check_kernel(self.method)
        if self.align_to is not None and self.kernel is not None:
            raise UsageError(
                "--align-to does not go with kernels: components of two kernel models cannot be compared",
                "leave out --align-to",
            )
        self.check_labels(self.method)
        self._check_method()
        if self.updatable is not None and self.why_not_updatable is not None:
            flag = self.updatable_flag
            raise UsageError(f"{flag} has no effect: {self.why_not_updatable}", f"leave out {flag}")
        if self.triples and self.absent == "zero" and self.missing in ("mean", "em"):
            raise UsageError(
                f"--missing {self.missing} does not go with --absent zero: the cells without a line are 0, not missing",
                f"leave out --missing {self.missing}",
            )
        self.check_triples(
            {
                f"--method {self.method}": self.method != "pca",
                "--weights": self.weights is not None,
                "--center-rows": self.center_rows,
                "--solver": self.solver != "auto",
                "--missing drop": self.missing == "drop",
            }
        )

    @property
    def policy(self) -> str:
        """Handling of missing cells in this fit: error, drop, mean or em.

        The value of --missing, but em for triples by default, because triples always leave cells missing, unless absent
        cells are zeros.
        """
        by_em = self.triples and self.absent != "zero" and self.missing == "error"
        return "em" if by_em else self.missing

    @property
    def updatable_flag(self) -> str:
        """Flag for the value of `updatable`, which must not be None: --updatable or --no-updatable."""
        return "--updatable" if self.updatable else "--no-updatable"

    @property
    def why_not_updatable(self) -> str | None:
        """Reason why the model cannot keep sums over rows, which adding rows later needs; None if it can."""
        return why_no_sums(self.sum_settings())

    def sum_settings(self, rule: str | None = None) -> SumSettings:
        """Return the settings that decide whether rows can be added up; `rule` is that in -k, if it needs the rows."""
        kernel, triples = self.kernel is not None, self.triples is not None
        return SumSettings(self.method, kernel, self.label_kernel, triples, self.missing, self.solver, rule)

    def keeps(self, numbers: int) -> bool:
        """Whether the model keeps its sums over rows, of `numbers` numbers: by --updatable, else if allowed and few."""
        if self.updatable is None:
            return self.why_not_updatable is None and numbers <= MAX_UPDATABLE_COLUMNS**2
        return self.updatable

    def _check_method(self) -> None:
        """Raise `UsageError` for an option that does not go with the method, the solver or the kernel."""
        if self.missing == "em" and self.solver != "auto":
            raise UsageError("--solver does not go with --missing em", "leave out --solver")
        if self.eigenvalues == "all" and self.solver == "randomized":
            raise UsageError("solver randomized finds only the leading eigenvalues", "leave out --eigenvalues all")
        if self.eigenvalues != "auto" and self.policy == "em":
            raise UsageError("--eigenvalues does not go with --missing em", "leave out --eigenvalues")
        if self.method == "pca":
            return
        linear = {f"--missing {self.missing}": self.missing in ("mean", "em")}
        linear |= {"--weights": self.weights is not None, "--whiten": self.whiten != "none"}
        linear["--solver"] = self.solver != "auto"
        linear["--eigenvalues"] = self.eigenvalues != "auto"
        linear["--no-center"] = not self.center and self.method == "supervised"
        given = [flag for flag, used in linear.items() if used]
        if given:
            remedy = "use --missing drop" if given[0].startswith("--missing") else f"leave out {given[0]}"
            raise UsageError(f"{given[0]} does not go with --method {self.method}", remedy)
        if self.kernel == "precomputed" and (self.standardize or self.center_rows):
            flag = "--standardize" if self.standardize else "--center-rows"
            raise UsageError(
                f"{flag} does not go with --kernel precomputed",
                f"leave out {flag}: the table holds kernel values, not rows",
            )


@dataclass(frozen=True)
class ScoreOptions:
    """Options of `fit` for writing the scores of the fitted rows."""

    scores: str | None = option(
        None,
        "--scores",
        group="output",
        metavar="OUT",
        help="Also write the scores of the fitted rows to this file, as transform does; - is standard output. Input "
        "from a pipe is first copied to a temporary file.",
        completion=ANY_FILE,
    )
    keep: tuple[str, ...] = option(
        (),
        "--keep",
        group="output",
        metavar="COLS",
        help="With --scores: copy these input columns to the output, before the scores. COLS as in -c; repeatable.",
    )
    keep_all: bool = option(
        False, "--keep-all", group="output", help="With --scores: copy all input columns to the output."
    )

    def __post_init__(self) -> None:
        refuse_without("--keep-all", self.keep_all or None, self.scores is not None, "--scores")
        refuse_without("--keep", self.keep, self.scores is not None, "--scores")
