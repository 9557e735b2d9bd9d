"""Sentences of the report page: the lead, the verdict, the caveats, and the meaning of the proofs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcatool.errors import counted
from pcatool.model.description import whole
from pcatool.render.facts import certificate_lines, em_lines
from pcatool.render.inspection import IN_FIT, IN_TRANSFORM
from pcatool.render.text import grouped, percent

__all__ = ["PROOFS", "caveats", "in_a_sentence", "verdict"]

# Number of the certificate -> its title and meaning.
PROOFS = {
    "eigen_residual": (
        "Eigen-residual",
        "how far the worst component is from being an eigenvector, as a part of the largest eigenvalue",
    ),
    "orthonormality": ("Orthonormality", "how far the directions are from lengths of 1 and right angles"),
    "trace_closure": (
        "Trace closure",
        "how far the eigenvalues' sum is from the total, which was added up by itself, as a part of it",
    ),
}


def in_a_sentence(facts: Mapping[str, Any]) -> str:
    """Return the lead sentence: components, share, rows and columns of the model."""
    what = whole(facts["method"], facts["centered"])
    many = facts["components"] != 1
    kept = f"{counted(facts['components'], 'component')} keep{'' if many else 's'} {percent(facts['cumulative'], 4)}"
    columns = f"{grouped(len(facts['columns']))} column{'' if len(facts['columns']) == 1 else 's'}"
    if "kernel" in facts:
        columns += f", seen through the kernel {facts['kernel']['name']}"
    return f"{kept} of the {what} in {grouped(facts['rows'])} row{'' if facts['rows'] == 1 else 's'} of {columns}."


def verdict(facts: Mapping[str, Any]) -> str:
    """Return one or two sentences on the accuracy of the eigenvalues."""
    rows = [row for row in facts["variance"] if row["kept"]]
    told = [row for row in rows if "vouched" in row]
    if "em" in facts:
        return f"{em_lines(facts)[0]}."
    if not told:
        return "Nothing in the model tells how right its eigenvalues are."
    sure = [row for row in told if row["vouched"]]
    if not sure:
        return "No eigenvalue can be told from rounding."
    least = min(row["digits"] for row in sure)
    if len(sure) == len(rows):
        which = "The eigenvalue is" if len(rows) == 1 else f"All {len(rows)} eigenvalues are"
        return f"{which} vouched for, to at least {counted(least, 'digit')}."
    are = "is" if len(sure) == 1 else "are"
    return (
        f"{len(sure)} of {len(rows)} eigenvalues {are} vouched for, to at least {counted(least, 'digit')}; "
        "the others are not told from rounding, or past the rank."
    )


def caveats(facts: Mapping[str, Any]) -> list[str]:
    """Return the sentences that limit what can be concluded from the model; empty if there are none."""
    said = []
    pairs = {key: value for key, value in (facts["certificate"] or {}).items() if key == "close_pairs"}
    for line in certificate_lines(pairs):
        said.append(f"{line[0].upper()}{line[1:]}. Other rows may turn them into each other; their plane stays.")
    rank, k = facts["rank"], facts["components"]
    if rank is not None and k > rank:
        said.append(f"Only {counted(rank, 'component')} {_carry(rank)} anything; those after have eigenvalue 0.")
    elif rank is not None and facts["method"] == "pca" and facts["eigenvalues_known"] != rank < (most := _most(facts)):
        said.append(f"The rank is {rank}, of {most} that could be: {_why(facts, rank, most)}.")
    if facts["eigenvalues_known"] < facts["eigenvalues_possible"]:
        known, possible = facts["eigenvalues_known"], facts["eigenvalues_possible"]
        said.append(f"Only {known} of {possible} eigenvalues are known; the rest is known as a sum.")
    if not facts["centered"]:
        said.append("The columns were not centred: shares are of the sum of squares about 0, not of the variance.")
    if facts["method"] == "supervised":
        said.append("Shares are of the dependence on the label: a component may hold little of the variance.")
    if "aligned" in facts:
        said.append("Signs, and the order of nearly equal components, follow an older model.")
    if "em" in facts and not facts["em"]["converged"]:
        said.append("EM has not converged: more rows, or fewer components, may help.")
    missing = facts["missing"]
    if missing["fit"] != "error" or missing["transform"] != "error":
        fit, transform = IN_FIT[missing["fit"]], IN_TRANSFORM.get(missing["transform"], missing["transform"])
        said.append(f"Missing cells: {fit}; transform {transform}.")
    return said


def _most(facts: Mapping[str, Any]) -> int:
    """Return the largest rank possible for this number of rows and columns."""
    return int(min(facts["eigenvalues_possible"], facts["rows"] - facts["centered"]))


def _why(facts: Mapping[str, Any], rank: int, most: int) -> str:
    """Return the possible reasons why the rank is below `most`."""
    constant = facts["fitted_with"].get("constant_columns", 0)
    varying = len(facts["columns"]) - constant
    said = [f"{counted(constant, 'column')} {'is' if constant == 1 else 'are'} constant"] if varying < most else []
    said += ["some columns are sums of others"] if rank < min(varying, most) else []
    return ", and ".join(said)


def _carry(count: int) -> str:
    return "carries" if count == 1 else "carry"
