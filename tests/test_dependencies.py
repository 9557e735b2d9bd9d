"""Bounds of dependencies are ones that are tested, and what pcatool is developed with is written down in full."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = [
    *PROJECT["dependencies"],
    *PROJECT["optional-dependencies"]["dask"],
    *PROJECT["optional-dependencies"]["http"],
    *PROJECT["optional-dependencies"]["plot"],
    *PROJECT["optional-dependencies"]["spark"],
    *PROJECT["optional-dependencies"]["test"],
]
DEV = PROJECT["optional-dependencies"]["dev"]

Version = tuple[int, ...]


def pinned(name: str) -> dict[str, Version]:
    """Package -> version of a file of constraints."""
    lines = (ROOT / ".ci" / name).read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {plain(package): version(text) for package, text in pairs}


def plain(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def version(text: str) -> Version:
    return tuple(int(part) for part in re.findall(r"\d+", text))


# Package, extras, the lowest version that is allowed, and the first that is not.
REQUIREMENT = r"([A-Za-z0-9_.-]+)(?:\[.*\])?(?:[>~]=([0-9.]+))?(?:,<([0-9.]+))?"


def bounds(requirements: list[str]) -> dict[str, Version]:
    """Package -> the lowest version that is allowed."""
    found = {}
    for requirement in requirements:
        name, bound = re.fullmatch(REQUIREMENT, requirement).groups()[:2]  # type: ignore[union-attr]
        if name != PROJECT["name"]:
            assert bound, f"{name} has no lower bound"
            found[plain(name)] = version(bound)
    return found


def padded(one: Version, length: int) -> Version:
    return one + (0,) * (length - len(one))


def test_the_lowest_versions_are_those_that_are_tested() -> None:
    allowed, tested = bounds(NEEDED), pinned("lowest.txt")
    assert allowed.keys() == tested.keys()
    for name, bound in allowed.items():
        assert padded(bound, len(tested[name])) == tested[name], name


@pytest.mark.parametrize("requirement", [*NEEDED, *DEV])
def test_what_is_locked_is_allowed(requirement: str) -> None:
    locked = pinned("locked.txt")
    for name, bound in bounds([requirement]).items():
        assert locked[name] >= bound, name
        above = re.fullmatch(REQUIREMENT, requirement)[3]  # type: ignore[index]
        assert above is None or locked[name] < version(above), name


def test_typer_has_an_upper_bound() -> None:
    """Parameters of commands are built with a part of Typer that is not documented."""
    assert [requirement for requirement in NEEDED if re.fullmatch(r"typer>=[0-9.]+,<[0-9.]+", requirement)]
