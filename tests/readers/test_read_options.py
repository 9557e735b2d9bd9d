"""Every reader honours the options of text, or says that they have no effect; none fails in another way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.errors import PcatoolError
from pcatool.registry import READERS, WRITERS
from readers.reading import read

# A table of two rows and two columns for each reader without a writer of its name.
SAMPLES: dict[str, str] = {}

OPTIONS: dict[str, dict[str, Any]] = {
    "-d": {"delimiter": ";"},
    "--header": {"header": True},
    "--no-header": {"header": False},
    "--skip-lines 1": {"skip_lines": 1},
    "--skip-lines 9": {"skip_lines": 9},
    "--comment": {"comment": "#"},
    "--row-names": {"row_names": True},
    "--no-header --row-names": {"header": False, "row_names": True},
}


@pytest.fixture
def table(name: str, tmp_path: Path) -> Path:
    path = tmp_path / f"t{READERS[name].suffixes[0]}"
    if name in WRITERS:
        frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 9.0, 4.0]})
        pcatool.transform(pcatool.fit(frame, components=2), frame, output=path)
    else:
        assert name in SAMPLES, f"give SAMPLES a table of the format {name}"
        path.write_text(SAMPLES[name])
    return path


@pytest.mark.parametrize("name", list(READERS))
@pytest.mark.parametrize("options", OPTIONS)
def test_an_option_of_text_gives_a_result_or_an_error_of_pcatool(name: str, options: str, table: Path) -> None:
    plain = read(table)
    try:
        found = read(table, **OPTIONS[options])
    except PcatoolError:
        return
    same = found.names == plain.names and np.array_equal(found.X, plain.X)
    # A header, or marks of comments, may change nothing; the other options change rows or columns, or are refused.
    silent = options in ("--header", "--comment") or any("no effect" in note for note in found.notes)
    assert silent or not same, "the option is ignored without a word"
