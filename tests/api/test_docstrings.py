"""Every public name says what it takes, gives and raises, with an example that runs as it stands."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import warnings
from pathlib import Path

import pytest

import pcatool
from pcatool.model.model import Model

NAMES = [name for name in pcatool.__all__ if not name.startswith("_")]


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    subject = getattr(pcatool, name)
    found = [test for test in doctest.DocTestFinder(recurse=False).find(subject, name) if test.examples]
    assert found, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", pcatool.PcatoolNote)
        for test in found:
            test.globs = {}
            said: list[str] = []
            runner.run(test, out=said.append)
            assert not runner.summarize(verbose=False).failed, "".join(said)


def test_the_example_of_to_sklearn_runs() -> None:
    runner = doctest.DocTestRunner(verbose=False)
    (test,) = doctest.DocTestFinder(recurse=False).find(Model.to_sklearn, "to_sklearn")
    said: list[str] = []
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(getattr(pcatool, name))])
def test_every_keyword_is_named(name: str) -> None:
    function = getattr(pcatool, name)
    given = inspect.signature(function).parameters.values()
    for parameter in given:
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert f"`{parameter.name}`" in function.__doc__ or f"{parameter.name}=" in function.__doc__, parameter.name


def test_members_of_a_model_are_explained() -> None:
    bare = [
        name
        for name, member in vars(Model).items()
        if not name.startswith("_") and callable(member) and not inspect.getdoc(member)
    ]
    assert bare == []


# A docstring that begins so is understood only by those who know the body.
RIDDLES = re.compile(r"(What|Of|The same|Such|Whatever|How)\b")


def test_docstrings_say_what_comes_of_it() -> None:
    package = Path(str(pcatool.__file__)).parent
    riddles = []
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                if text and RIDDLES.match(text):
                    riddles.append(f"{path.relative_to(package)}: {text.splitlines()[0]}")
    assert riddles == []
