"""The recipes of CONTRIBUTING.md are followed to the letter, in a copy of this tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^<!-- (file|in|run)(?:: (.*?))? -->\n```\w+\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The tree, with new files and lines where the guide says."""
    for folder in ("pcatool", "tests", "completions"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for kind, where, text in STEPS:
        if kind == "file":
            assert not (tmp_path / where).exists()
            (tmp_path / where).write_text(text)
        elif kind == "in":
            insert(tmp_path, *where.split(", "), text)
    return tmp_path


def insert(tree: Path, file: str, name: str, line: str) -> None:
    """At the end of the table or list of that name."""
    text = (tree / file).read_text()
    found = re.search(rf"^{name} = .*?^(?=    \}},$|\]$)", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    (tree / file).write_text(text[: found.end()] + line + text[found.end() :])


def lines(begin: str) -> list[list[str]]:
    commands = [shlex.split(line) for kind, _, text in STEPS if kind == "run" for line in text.splitlines()]
    return [words for words in commands if words[0] == begin]


def call(words: list[str], copy: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_what_is_added_is_known_everywhere_and_tested(copy: Path) -> None:
    tests = lines("pytest")
    names = [words[-1].split()[-1] for words in tests]
    assert len(names) == 3
    for words in lines("python"):
        call(words[1:], copy)
    for made in ("completions/pcatool.bash", "pcatool/cli/manual/pages/man1/pcatool-fit.1"):
        assert all(name in (copy / made).read_text() for name in names)
    # All in one run, for its start takes as long as they do.
    files = [file for words in tests for file in words[2 : words.index("-k")]]
    assert [words[1] for words in tests] == ["-n0"] * 3
    said = call(["-m", "pytest", "-n0", "-p", "no:cacheprovider", "-vv", *files, "-k", " or ".join(names)], copy)
    for name in names:
        assert re.search(rf"\[.*{name}.*\] PASSED", said), f"{name}\n{said}"
    assert "components_are_found[0-jolliffe] PASSED" in said, "the line in the list of the tests"
    assert "SKIPPED" not in said
    # The copy is no installation and no checkout.
    layout = ["-k", "not installed and not version and not top_level", "tests/test_layout.py"]
    call(["-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", *layout], copy)
    ((_, *words),) = lines("pcatool")
    assert "0.7 of their mean" in call(["-m", "pcatool", *words], copy)
