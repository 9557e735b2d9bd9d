"""What is loaded when: a program is started many times a night, and each library it does not need is time lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Runs the program, or imports, and says which modules are there at the end.
SCRIPT = """
import json, sys
{body}
print(json.dumps(sorted(sys.modules)))
"""
PROGRAM = "from pcatool.cli.app import run; assert run({arguments!r}) == 0"


def loaded(body: str, folder: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(body=body)], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def by_program(*arguments: str, folder: Path) -> set[str]:
    return loaded(PROGRAM.format(arguments=list(arguments)), folder)


@pytest.fixture
def houses(folder: Path) -> Path:
    by_program("fit", "sample_data/houses.csv", "-k", "1", "-o", "houses.npz", folder=folder)
    return folder


@pytest.mark.parametrize("arguments", ["--help", "--version", "fit --help", "scree --help"])
def test_help_needs_no_numbers(arguments: str, folder: Path) -> None:
    modules = by_program(*arguments.split(), folder=folder)
    assert modules.isdisjoint({"numpy", "pyarrow", "pandas", "scipy", "rich.console", "pydantic"})


def test_the_package_alone_loads_nothing(folder: Path) -> None:
    assert loaded("import pcatool", folder).isdisjoint({"numpy", "pyarrow", "pandas", "scipy", "typer"})


HEAVY = {"pandas", "scipy", "matplotlib", "rich.console", "pydantic"}


def test_a_fit_of_clean_numbers_loads_little(folder: Path) -> None:
    modules = by_program("fit", "sample_data/houses.csv", "-o", "m.npz", folder=folder)
    assert "numpy" in modules
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize("more", ["", "--float-format .6g", "--output-format jsonl"])
def test_a_transform_of_clean_numbers_loads_little(more: str, houses: Path) -> None:
    modules = by_program(
        "transform", "houses.npz", "sample_data/houses.csv", "-o", "s.csv", *more.split(), folder=houses
    )
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "arguments", ["explain-variance houses.npz", "scree houses.npz", "reconstruct houses.npz s.csv"]
)
def test_reports_load_little(arguments: str, houses: Path) -> None:
    (houses / "s.csv").write_text("PC1\n1\n")
    assert by_program(*arguments.split(), folder=houses).isdisjoint(HEAVY)
