"""Settings that keep the rows of a fit from being added up, with reasons and remedies.

One table answers two questions. Can rows be added to the model later? Can the rows of a fit be added up in parts, on
the workers of a cluster?
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ADDITIVE_SOLVERS", "SumSettings", "why_no_sums", "why_not_in_parts"]

# Solvers whose results for blocks add up.
ADDITIVE_SOLVERS = ("covariance", "tsqr")

HERE = "--engine threads does it on one machine"
STAND_IN = "what stands in for missing cells depends on all rows"


class SumSettings(NamedTuple):
    """Settings of a fit that decide whether its rows can be added up, from its options or from a fitted model."""

    method: str | None
    kernel: bool
    label_kernel: str | None
    triples: bool
    missing: str | None
    solver: str | None
    rule: str | None = None  # rule for k that needs the rows themselves


class Obstacle(NamedTuple):
    """A setting that keeps rows from being added up."""

    given: bool
    against_sums: str | None  # reason why a model keeps no sums over rows; None: it may keep some
    against_parts: str | None  # reason why a fit cannot be spread over parts of the rows; None: it can
    remedy: str = ""  # for `against_parts`


def obstacles(of: SumSettings) -> tuple[Obstacle, ...]:
    """Return the table of all obstacles; the first that is given counts."""
    return (
        Obstacle(
            of.triples,
            "single cells were fitted, not whole rows",
            "--triples cannot be spread over parts: any line may add to any row",
            HERE,
        ),
        Obstacle(
            of.method == "kernel" or of.kernel,
            "kernel PCA keeps rows, not sums over them"
            if of.method == "kernel"
            else "with --kernel the labels are compared with all rows at once",
            f"--method {of.method} with a kernel cannot be spread over parts: it compares all rows",
            HERE,
        ),
        Obstacle(
            of.label_kernel == "rbf",
            "the label kernel rbf compares all rows with all",
            "--label-kernel rbf cannot be spread over parts: every label is compared with every other",
            "--label-kernel delta or linear adds up",
        ),
        Obstacle(
            of.missing == "em",
            STAND_IN,
            "--missing em cannot be spread over parts: it passes over the rows again and again",
            f"--missing mean or drop takes one pass; {HERE}",
        ),
        Obstacle(of.missing == "mean", STAND_IN, None),
        Obstacle(of.solver == "randomized", "solver randomized forms no sums that add up", None),
        Obstacle(
            of.solver not in ("auto", *ADDITIVE_SOLVERS),
            None,
            f"--solver {of.solver} cannot be spread over parts: it needs all rows in one place",
            "--solver covariance or tsqr adds up what parts of the rows say",
        ),
        Obstacle(
            of.solver == "tsqr" and of.missing == "mean",
            None,
            "--solver tsqr with --missing mean cannot be spread over parts: it needs the means first",
            "--solver covariance takes one pass",
        ),
        Obstacle(
            bool(of.rule),
            None,
            f"-k {of.rule} cannot be spread over parts: it needs the rows themselves",
            f"another rule goes by the eigenvalues; {HERE}",
        ),
    )


def why_no_sums(of: SumSettings) -> str | None:
    """Return why a fit with these settings has no sums over rows that could be added up later; None if it has."""
    return next((found.against_sums for found in obstacles(of) if found.given and found.against_sums), None)


def why_not_in_parts(of: SumSettings) -> tuple[str, str] | None:
    """Return why the rows of a fit cannot be added up in parts, and a remedy; None if they can."""
    found = next((found for found in obstacles(of) if found.given and found.against_parts), None)
    return None if found is None else (str(found.against_parts), found.remedy)
