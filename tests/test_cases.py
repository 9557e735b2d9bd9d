"""The command line by example: folders `cases/<group>/<name>/` with what is typed and what comes of it.

`cmd` is a bash script; `expout`, `experr` and `expcode` are standard output, standard error and exit code (none: empty,
and 0); every other file is input. Each runs in a copy of its folder, with `sample_data/` in it, against the installed
program, which is loaded once for all (tests/standby; `--real-starts` starts it each time). After a change, `pytest
--update-cases tests/test_cases.py` writes what comes out now, and the difference is read like any other.
"""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CASES = Path(__file__).resolve().parent / "cases"
NAMES = sorted(str(path.parent.relative_to(CASES)) for path in CASES.glob("*/*/cmd"))
EXPECTED = ("expout", "experr", "expcode")

SECONDS = 60  # a case takes less than one; a machine may be busy


@dataclass(frozen=True)
class Outcome:
    """What a run gave, or should give."""

    out: str
    err: str
    code: int

    def differences(self, expected: Outcome) -> list[str]:
        lines = []
        for name, found, wanted in (("stdout", self.out, expected.out), ("stderr", self.err, expected.err)):
            made = found.splitlines(), wanted.splitlines()
            lines += difflib.unified_diff(made[1], made[0], f"expected {name}", name, lineterm="")
            if found != wanted and made[0] == made[1]:
                lines.append(f"{name} differs in its line ends: {found!r}, expected {wanted!r}")
        if self.code != expected.code:
            lines.append(f"exit code {self.code}, expected {expected.code}")
        return lines


def run(name: str, work: Path, environment: Mapping[str, str]) -> Outcome:
    shutil.copytree(CASES / name, work, ignore=shutil.ignore_patterns(*EXPECTED))
    (work / "sample_data").symlink_to(ROOT / "sample_data")
    done = subprocess.run(
        ["bash", "cmd"], cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
    )
    out, err = (untimed(text.decode("utf-8", "backslashreplace")) for text in (done.stdout, done.stderr))
    return Outcome(out, err, done.returncode)


def untimed(text: str) -> str:
    """With no time in it, which no two runs share."""
    text = re.sub(r"^(pcatool: took) .*$", r"\1 TIME", text, flags=re.MULTILINE)
    return re.sub(r'("seconds": )[0-9.]+', r"\g<1>TIME", text)


def expected(name: str) -> Outcome:
    texts = [(CASES / name / file) for file in EXPECTED]
    out, err, code = (path.read_bytes().decode() if path.exists() else "" for path in texts)
    return Outcome(out, err, int(code or 0))


def update(name: str, found: Outcome) -> None:
    texts = {"expout": found.out, "experr": found.err, "expcode": f"{found.code}\n" if found.code else ""}
    for file, text in texts.items():
        path = CASES / name / file
        if text:
            path.write_bytes(text.encode())
        else:
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, tmp_path: Path, environment: dict[str, str], request: pytest.FixtureRequest) -> None:
    found = run(name, tmp_path / "case", environment)
    if request.config.getoption("--update-cases"):
        update(name, found)
        return
    differences = found.differences(expected(name))
    if differences:
        command = (CASES / name / "cmd").read_text()
        report = (
            f"{name}\n--- command\n{command}--- exit code {found.code}\n"
            f"--- stdout\n{found.out}--- stderr\n{found.err}--- differences\n" + "\n".join(differences)
        )
        pytest.fail(report, pytrace=False)


def test_cases_are_there_and_whole() -> None:
    assert len(NAMES) > 80
    stray = {path.parent for path in CASES.rglob("*") if path.is_file()} - {CASES / name for name in NAMES}
    assert stray == set(), "a folder without cmd is not run"


def test_every_exit_code_has_a_case() -> None:
    assert {expected(name).code for name in NAMES} >= {0, 2, 3, 4, 5, 6}


def test_no_case_expects_a_traceback_or_a_path_of_some_machine() -> None:
    for name in NAMES:
        text = expected(name).out + expected(name).err
        assert "Traceback" not in text or name == "calls/debug_shows_where", name
        assert str(ROOT) not in text, name
        assert "/tmp/" not in text, name
