"""What is told of a model is what its arrays and settings say, for every kind of model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from fuzz.models import MODELS
from pcatool.linalg.row_sums import KINDS as SUMS
from pcatool.readers.row_counts import RowCounts
from pcatool.render.facts import aligned_lines, certificate_lines
from pcatool.render.inspection import ARRAY_MEANINGS, inspection_text
from pcatool.render.summary import apply_facts, apply_lines

DATA = Path(__file__).resolve().parents[1] / "data"
KEPT = [*MODELS, DATA / "houses_format_1.npz"]


def words(facts: Mapping[str, Any], width: int | None) -> list[str]:
    """The text as words, without the labels that a pipe has at every line and the rules of tables."""
    text = inspection_text(facts, everything=False, width=width)
    lines = [line for line in text.splitlines() if not line.startswith("─")]
    return " ".join(lines).replace(":", "").split()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_facts_are_those_of_the_file(path: Path) -> None:
    facts, model = pcatool.inspect(path), pcatool.load_model(path)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["bytes"] == path.stat().st_size
    with np.load(path) as file:
        stored = {name: (file[name].shape, file[name].nbytes) for name in file.files}
    assert {a["name"]: (tuple(a["shape"]), a["bytes"]) for a in facts["arrays"]} == stored
    assert (facts["rows"], facts["components"], facts["columns"]) == (model.n_samples, model.k, list(model.columns))
    assert [row["eigenvalue"] for row in facts["variance"]] == model.eigenvalues.tolist()
    assert [row["kept"] for row in facts["variance"]] == [j < model.k for j in range(len(model.eigenvalues))]
    assert [row["mean"] for row in facts["column_statistics"]] == model.mean.tolist()
    assert ("variance" in facts["column_statistics"][0]) == (model.variances is not None)
    assert facts["format_version"] == model.meta["format_version"]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_model_in_memory_tells_the_same(path: Path) -> None:
    assert pcatool.inspect(pcatool.load_model(path)) | {"model": str(path)} == pcatool.inspect(path)


@pytest.mark.filterwarnings("ignore::pcatool.PcatoolWarning")
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_cannot_be_done_is_refused_and_what_can_is_not(path: Path, tmp_path: Path) -> None:
    facts, model = pcatool.inspect(path), pcatool.load_model(path)
    rows = np.ones((2, model.d))
    named = {name: rows[:, j] for j, name in enumerate(model.columns)}
    calls = {
        "transform": lambda: pcatool.transform(model, pd.DataFrame(named), missing="keep"),
        "components": lambda: pcatool.components(model),
        "reconstruct": lambda: pcatool.reconstruct(
            model,
            np.ones((2, len(model.score_names()))),
            source="scores",
            missing="keep",
            preimage="preimage" in facts["can"].get("reconstruct", ""),
        ),
        "explain-variance": lambda: pcatool.explain_variance(model),
        "scree": lambda: pcatool.scree(model),
    }
    for name, call in calls.items():
        assert (name in facts["can"]) != (name in facts["cannot"])
        if name in facts["can"]:
            call()
        else:
            with pytest.raises(pcatool.PcatoolError):
                call()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_terminal_gets_the_words_of_a_pipe(path: Path) -> None:
    facts = pcatool.inspect(path)
    assert set(words(facts, 10_000)) == set(words(facts, None))
    narrow = inspection_text(facts, everything=True, width=60).splitlines()
    assert max(map(len, narrow)) <= 60


def test_std_is_shown_only_if_the_columns_are_divided_by_it() -> None:
    X = np.random.default_rng(4).normal(size=(9, 2)) * [1, 5]
    for standardize in (False, True):
        text = inspection_text(pcatool.inspect(pcatool.fit(X, standardize=standardize)), everything=True, width=None)
        header = next(line.split() for line in text.splitlines() if line.startswith("column "))
        assert header == ["column", "mean", *["std"][: int(standardize)], "variance"]


def test_digits_follow_the_bounds() -> None:
    model = pcatool.load_model(DATA / "format_2" / "all.npz")
    assert [row["digits"] for row in pcatool.inspect(model)["variance"]] == [14, 13, 11, 11]
    certificate = {
        **model.meta["certificate"],
        "relative_error": [0.0, 0.3, 2.0, None],
        "vouched": [True] + [False] * 3,
    }
    doubtful = pcatool.inspect(model.with_meta(certificate=certificate))
    assert [row["digits"] for row in doubtful["variance"]] == [15, 0, 0, 0]
    text = inspection_text(doubtful, everything=False, width=None)
    assert "certificate: eigenvalues are accurate: PC1 to 15 digits\n" in text
    assert "certificate: eigenvalues accurate to fewer than 8 digits: PC2-PC4\n" in text
    assert certificate_lines(certificate)[-2:] == [
        "eigenvalues accurate to fewer than 8 digits: PC2, PC3",
        "eigenvalues indistinguishable from rounding error: PC4",
    ]


def test_a_model_without_a_certificate_says_so() -> None:
    model = pcatool.load_model(DATA / "format_2" / "all.npz")
    for certificate in ({}, {"relative_error": [1e-9] * model.k}):
        text = inspection_text(pcatool.inspect(model.with_meta(certificate=certificate)), everything=False, width=None)
        assert "certificate: none, so the accuracy of the eigenvalues is unknown" in text


def test_pairs_too_close_are_named() -> None:
    model = pcatool.load_model(DATA / "format_2" / "all.npz")
    certificate = {**model.meta["certificate"], "close_pairs": [[2, 3]]}
    text = inspection_text(pcatool.inspect(model.with_meta(certificate=certificate)), everything=False, width=None)
    meaning = "some eigenvalues are too close to each other to determine the directions of the components"
    assert f"certificate: {meaning}: PC2 and PC3" in text


def test_every_array_has_a_meaning() -> None:
    stored = {array["name"] for path in KEPT for array in pcatool.inspect(path)["arrays"]}
    assert stored | set(SUMS) <= set(ARRAY_MEANINGS)


def test_an_alignment_names_changed_signs_and_the_kept_order() -> None:
    facts: dict[str, Any] = {"method": "pca", "centered": True, "aligned": [1, 3, 2], "flipped": [1, 3]}
    assert aligned_lines(facts) == [
        "aligned to an older model; sign changed: PC1, PC3; order of the older model kept: "
        "PC2 is number 3 by variance, PC3 is number 2 by variance"
    ]
    assert aligned_lines(facts | {"aligned": list(range(1, 15)), "flipped": list(range(1, 15))})[0].endswith(
        "PC10 and 4 more components"
    )
    assert aligned_lines(facts | {"aligned": [1, 2, 3], "flipped": []}) == [
        "aligned to an older model; no sign and no order changed"
    ]


def test_the_error_of_a_kernel_model_is_of_its_feature_space() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 2))
    model = pcatool.fit(rows, components=1, method="kernel")
    counts = RowCounts(rows=12)
    said = {
        command: apply_lines(apply_facts(command, model, counts, 0.5, None))[-1]
        for command in ("transform", "reconstruct")
    }
    assert said["transform"].endswith("0.5: averaged over the rows, in the feature space of the kernel")
    assert said["reconstruct"].endswith("summed over the columns, which are scaled as in the fit")
