"""Sentences of the report page: the lead, the verdict, the caveats, and the meaning of the proofs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcatool.model.description import name_of_total
from pcatool.render.facts import certificate_lines, em_lines
from pcatool.render.inspection import MISSING_IN_FIT, MISSING_IN_TRANSFORM
from pcatool.wording import counted, grouped, percent

__all__ = ["PROOFS", "caveats", "lead_sentence", "verdict"]

# Key of the certificate -> title and meaning of the number.
PROOFS = {
    "eigen_residual": (
        "Eigen-residual",
        "largest residual |S b - lambda b|, divided by the largest eigenvalue; S is the matrix whose eigenvalues "
        "lambda and components b were computed",
    ),
    "orthonormality": ("Orthonormality", "largest deviation of the components from length 1 and from right angles"),
    "trace_closure": (
        "Trace closure",
        "difference between the sum of the eigenvalues and the sum of the diagonal of S, divided by this sum; "
        "without rounding, both sums would be equal",
    ),
}


def lead_sentence(facts: Mapping[str, Any]) -> str:
    """Return the first sentence of the page: number of components, their share, rows and columns of the model."""
    total_name = name_of_total(facts["method"], facts["centered"])
    plural = facts["components"] != 1
    kept = f"{counted(facts['components'], 'component')} keep{'' if plural else 's'} {percent(facts['cumulative'])}"
    columns = counted(len(facts["columns"]), "column")
    if "kernel" in facts:
        columns += f", with the kernel {facts['kernel']['name']}"
    return f"{kept} of the {total_name} in {counted(facts['rows'], 'row')} of {columns}."


def verdict(facts: Mapping[str, Any]) -> str:
    """Return a sentence on the accuracy of the kept eigenvalues; for EM, on its convergence."""
    rows = [row for row in facts["variance"] if row["kept"]]
    bounded = [row for row in rows if "vouched" in row]
    if "em" in facts:
        return f"{em_lines(facts)[0]}."
    if not bounded:
        return "The accuracy of the eigenvalues is unknown."
    vouched = [row for row in bounded if row["vouched"]]
    if not vouched:
        return "No eigenvalue is accurate to 8 digits."
    least_digits = min(row["digits"] for row in vouched)
    if len(vouched) == len(rows):
        which = "The eigenvalue is" if len(rows) == 1 else f"All {grouped(len(rows))} eigenvalues are"
        return f"{which} accurate to at least {counted(least_digits, 'digit')}."
    are = "is" if len(vouched) == 1 else "are"
    which = f"{grouped(len(vouched))} of {grouped(len(rows))} eigenvalues {are}"
    return (
        f"{which} accurate to at least {counted(least_digits, 'digit')}; "
        "the other eigenvalues are accurate to fewer than 8 digits, or 0."
    )


def caveats(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences on limits to conclusions from the model, such as close eigenvalues or low rank; may be empty.

    The sentences also name unknown eigenvalues, uncentred columns, shares that are not of the variance, alignment to
    an older model, EM that has not converged, and the handling of missing cells.
    """
    sentences = []
    pairs = {key: value for key, value in (facts["certificate"] or {}).items() if key == "close_pairs"}
    for line in certificate_lines(pairs):
        sentences.append(
            f"{line[0].upper()}{line[1:]}. Small changes of the rows may rotate these components into each other."
        )
    rank, k = facts["rank"], facts["components"]
    if rank is not None and k > rank:
        has = "has" if rank == 1 else "have"
        sentences.append(f"Only {grouped(rank)} of {grouped(k)} components {has} an eigenvalue above 0.")
    elif (
        rank is not None
        and facts["method"] == "pca"
        and facts["eigenvalues_known"] != rank < (largest := _largest_rank(facts))
    ):
        reasons = _rank_reasons(facts, rank, largest)
        sentences.append(f"The rank is {grouped(rank)}, below the largest possible rank {grouped(largest)}: {reasons}.")
    if facts["eigenvalues_known"] < facts["eigenvalues_possible"]:
        known, possible = (grouped(facts[f"eigenvalues_{which}"]) for which in ("known", "possible"))
        sentences.append(f"Only {known} of {possible} eigenvalues and the sum of the other eigenvalues are known.")
    if not facts["centered"]:
        sentences.append(
            "The columns were not centred, so shares refer to the sum of squares about 0, not to the variance."
        )
    if facts["method"] == "supervised":
        sentences.append(
            "Shares refer to the dependence on the label, so a component with a large share may explain little "
            "variance."
        )
    if "aligned" in facts:
        sentences.append(
            "The signs of the components, and the order of components with nearly equal eigenvalues, are those of an "
            "older model."
        )
    if "em" in facts and not facts["em"]["converged"]:
        sentences.append("EM has not converged: more rows, or fewer components, may help.")
    missing = facts["missing"]
    if missing["fit"] != "error" or missing["transform"] != "error":
        fit, transform = (
            MISSING_IN_FIT[missing["fit"]],
            MISSING_IN_TRANSFORM.get(missing["transform"], missing["transform"]),
        )
        sentences.append(f"{fit[0].upper()}{fit[1:]}; transform {transform}.")
    return sentences


def _largest_rank(facts: Mapping[str, Any]) -> int:
    """Return the largest rank possible for this number of rows and columns."""
    return int(min(facts["eigenvalues_possible"], facts["rows"] - facts["centered"]))


def _rank_reasons(facts: Mapping[str, Any], rank: int, largest: int) -> str:
    """Return the possible reasons why `rank` is below `largest`, joined to a text."""
    constant = facts["fitted_with"].get("constant_columns", 0)
    varying = len(facts["columns"]) - constant
    reasons = (
        [f"{counted(constant, 'column')} {'is' if constant == 1 else 'are'} constant"] if varying < largest else []
    )
    reasons += ["some columns are linear combinations of other columns"] if rank < min(varying, largest) else []
    return ", and ".join(reasons)
