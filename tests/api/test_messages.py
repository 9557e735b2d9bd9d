"""Errors and warnings of the Python API name settings, where those of the command line name options."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pcatool
from pcatool.api.messages import COMMAND, COMMAND_LINE_ONLY, OPTION, with_settings

SENTENCES = {
    "--missing drop leaves out rows": 'missing="drop" leaves out rows',
    "--missing keep leaves such rows empty": 'missing="keep" leaves such rows empty',
    "--missing mean or em fits": 'missing="mean" or em fits',
    "fit with --no-center, or leave out --standardize": "fit with center=False, or leave out standardize",
    "models differ in --standardize: no against yes": "models differ in standardize: no against yes",
    "--fill needs rows; leave out --preimage": "fill=True needs rows; leave out preimage",
    "leave out --no-center": "leave out center=False",
    "read the table with --no-header, or with --header": "read the table with header=False, or with header=True",
    "use -k 1 or more, or -k all": 'use components=1 or more, or components="all"',
    "give a smaller -k": "give a smaller value of components",
    "give --neighbours 5 or less": "give neighbours=5 or less",
    "say --from scores or --from rows.": 'say source="scores" or source="rows".',
    "fit without it (-x price), or by -x 3": 'fit without it (exclude="price"), or by exclude="3"',
    "fit without the column (-x)": "fit without the column (exclude)",
    "-x leaves it out": "exclude leaves it out",
    "leave the column out with -x name, or stop": 'leave the column out with exclude="name", or stop',
    "leave the columns out with -x a,b; stop": 'leave the columns out with exclude="a,b"; stop',
    "leave the column out with -x 'a b'": "leave the column out with exclude='a b'",
    "give --null-value none if the value stands": 'give null_value="none" if the value stands',
    "give --null-value n.v. --null-value '?' if": "give null_value=\"n.v.\" null_value='?' if",
    "give --null-value=- if": 'give null_value="-" if',
    "read the table with -d ';' or -d blanks": "read the table with delimiter=';' or delimiter=\"blanks\"",
    "name it with -o, such as -o scree.png": 'name it with output, such as output="scree.png"',
    "name both, such as --axes 1,2": 'name both, such as axes="1,2"',
    "as in -o scores/": 'as in output="scores/"',
    "invalid value 'arpack' for --solver: choose auto or svd": "invalid value 'arpack' for solver: choose auto or svd",
    "or use --epsilon 1e-5": "or use epsilon=1e-5",
    "--epsilon -1 is below 0": "epsilon=-1 is below 0",
    "--memory 500MB": 'memory="500MB"',
    # Commands, options that no setting stands for, and words with hyphens stay.
    "run pcatool refit -k 3 model.npz, or give -k 3": "run pcatool refit -k 3 model.npz, or give components=3",
    "--debug shows more": "--debug shows more",
    "a well-known file, x-y, from -1 to -k": "a well-known file, x-y, from -1 to components",
}


@pytest.mark.parametrize("text", SENTENCES)
def test_options_become_settings(text: str) -> None:
    assert with_settings(text) == SENTENCES[text]
    assert with_settings(SENTENCES[text]) == SENTENCES[text]


def texts_of_errors() -> Iterator[str]:
    """Every text in the making of an error, a warning or a note, in the layers below the command line and the API."""
    package = Path(pcatool.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] in ("api", "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and re.search(r"(Error|BadCell|warn|note)$", ast.unparse(node.func)):
                inside = (text.value for text in ast.walk(node) if isinstance(text, ast.Constant))
                yield from (text for text in inside if isinstance(text, str))


def test_every_option_that_an_error_names_has_a_setting() -> None:
    texts = [text for text in texts_of_errors() if re.search(OPTION, text)]
    assert len(texts) > 100
    kept = {*COMMAND_LINE_ONLY, "--debug"}  # of the command line alone
    left = {text: set(re.findall(OPTION, re.sub(COMMAND, "", with_settings(text)))) - kept for text in texts}
    assert {text: options for text, options in left.items() if options} == {}


def test_the_remedy_of_an_error_can_be_typed() -> None:
    X = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, 4.0], [0.0, 1.0]])
    with pytest.raises(pcatool.DataError) as caught:
        pcatool.fit(X)
    assert 'missing="drop"' in caught.value.remedy and "--" not in str(caught.value)
    with pytest.warns(pcatool.PcatoolWarning, match="dropped 1 of 4 rows"):
        assert pcatool.fit(X, missing="drop").n_samples == 3


def test_a_reworded_error_keeps_class_text_and_exit_code() -> None:
    with pytest.raises(pcatool.UsageError) as caught:
        pcatool.fit([[1.0, 2.0], [2.0, 1.0]], solver="arpack")
    error = caught.value
    assert error.message.startswith("invalid value 'arpack' for solver: choose") and error.exit_code == 2
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (pcatool.UsageError, str(error))


def test_notes_name_settings() -> None:
    frame = pd.DataFrame({"a": [1, 2, 4], "b": [True, False, True]})
    with pytest.warns(pcatool.PcatoolNote, match="leave the column out with exclude=.b. if it is not a feature"):
        pcatool.fit(frame)
