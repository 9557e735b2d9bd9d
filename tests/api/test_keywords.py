"""What type checkers see of `import pcatool`: this file is checked by mypy --strict, as a user's script, and runs, too.

Where a line must be an error it says so, and mypy complains of a mark that is not needed.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import pcatool
from pcatool import options
from pcatool.api import keywords as settings

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ROOT / "sample_data" / "houses.csv"
ROWS = [[10.0, 10.0], [2.0, 2.0], [7.0, 7.0], [1.0, 1.0], [5.0, 6.0]]


def test_results_have_types(tmp_path: Path) -> None:
    model = assert_type(pcatool.fit(HOUSES, components=1, standardize=True), pcatool.Model)
    frame = pd.DataFrame(ROWS, columns=["price", "area"])
    assert_type(pcatool.transform(model, np.array(ROWS, dtype=np.float64)), NDArray[np.float64])
    assert_type(pcatool.transform(model, ROWS, components=1), NDArray[np.float64])
    assert_type(pcatool.transform(model, frame, keep="price"), pd.DataFrame)
    assert_type(pcatool.transform(model, str(HOUSES)), pd.DataFrame)
    assert_type(pcatool.transform(model, [HOUSES]), pd.DataFrame)
    assert_type(pcatool.reconstruct(model, frame, source="rows"), pd.DataFrame)
    assert_type(pcatool.explain_variance(model), pd.DataFrame)
    assert_type(pcatool.explain_variance(frame, threshold=0.9, ddof=1), int)
    assert_type(pcatool.scree(model), str)
    assert_type(pcatool.components(model, first=1), pd.DataFrame)
    assert_type(pcatool.inspect(model), dict[str, Any])
    assert_type(pcatool.report(model, frame, keep="price", first=1), str)
    assert_type(pcatool.refit(model, ddof=1), pcatool.Model)
    assert_type(pcatool.merge(pcatool.fit(ROWS[:3]), pcatool.fit(ROWS[2:])), pcatool.Model)
    assert_type(model.basis, NDArray[np.float64])
    assert_type(model.columns, tuple[str, ...])
    pcatool.save_model(model, tmp_path / "model.npz")
    assert_type(pcatool.load_model(tmp_path / "model.npz"), pcatool.Model)
    assert_type(pcatool.from_sklearn(model.to_sklearn()), pcatool.Model)


def test_settings_are_for_a_record_of_ones_own() -> None:
    wishes: settings.FitSettings = {"components": 1, "ddof": 1}
    assert pcatool.fit(ROWS, **wishes).ddof == 1


def test_slips_are_seen_by_type_checkers() -> None:
    with pytest.raises(pcatool.UsageError):
        pcatool.fit(ROWS, standardise=True)  # type: ignore[call-arg]
    with pytest.raises(pcatool.UsageError):
        pcatool.fit(ROWS, standardize="yes")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        pcatool.fitt  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        pcatool.fit(ROWS).k = 1  # type: ignore[misc]


def test_checkers_see_the_names_that_are_there() -> None:
    tree = ast.parse(Path(str(pcatool.__file__)).read_text(encoding="utf-8"))
    (block,) = [
        node for node in tree.body if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ]
    seen = {alias.name: line.module for line in block.body if isinstance(line, ast.ImportFrom) for alias in line.names}
    assert seen == vars(pcatool)["_HOMES"]
    assert set(pcatool.__all__) == {"__version__", *seen}


def test_keywords_are_made_from_the_records() -> None:
    """By hand nothing of them is changed: a field of a record is declared once."""
    made = subprocess.run([sys.executable, ROOT / "tests" / "make_keywords.py", "-"], capture_output=True, check=True)
    found = Path(str(settings.__file__)).read_bytes()
    assert made.stdout == found, "run python tests/make_keywords.py"


RECORDS = {
    settings.FitSettings: ("TableOptions", "SelectOptions", "FitOptions", "EngineOptions"),
    settings.ApplySettings: ("TableOptions", "ApplyOptions", "EngineOptions", "OutputOptions"),
    settings.UpdateSettings: ("TableOptions", "UpdateOptions", "EngineOptions"),
    settings.AlignSettings: ("AlignOptions",),
    settings.RefitSettings: ("RefitOptions",),
    settings.ReportSettings: ("TableOptions", "ApplyOptions", "EngineOptions", "PageOptions"),
}


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_settings_are_the_fields_of_the_records(kind: type) -> None:
    known = {field.name for name in RECORDS[kind] for field in fields(getattr(options, name))}
    assert set(kind.__annotations__) == known - {"output"}
