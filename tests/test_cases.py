"""The command line by example: folders `cases/<group>/<name>/` with what is typed and what comes of it.

`cmd` is a bash script; `expout`, `experr` and `expcode` are standard output, standard error and exit code (none: empty,
and 0); every other file is input. Each runs in a copy of its folder, with `sample_data/` in it, against the installed
program, which is loaded once for all (tests/standby; `--real-starts` starts it each time). After a change, `pytest
--update-cases tests/test_cases.py` writes what comes out now where the comparison finds a difference, and the
difference is read like any other.
"""

from __future__ import annotations

import difflib
import math
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

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
        for name, said, wanted in (("stdout", self.out, expected.out), ("stderr", self.err, expected.err)):
            found = but_for_last_bits(said, wanted)
            made = found.splitlines(), wanted.splitlines()
            lines += difflib.unified_diff(made[1], made[0], f"expected {name}", name, lineterm="")
            if found != wanted and made[0] == made[1]:
                lines.append(f"{name} differs in its line ends: {found!r}, expected {wanted!r}")
        if self.code != expected.code:
            lines.append(f"exit code {self.code}, expected {expected.code}")
        return lines


# A number, and how many of its digits say that it is written with all it has.
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
ALL = 14


def but_for_last_bits(found: str, expected: str) -> str:
    """The text with the expected number wherever the found one is near: last bits are those of a processor's BLAS."""
    wanted = NUMBER.findall(expected)
    if len(NUMBER.findall(found)) != len(wanted):
        return found
    coming = iter(wanted)
    return NUMBER.sub(lambda number: nearby(number[0], next(coming)), found)


def nearby(found: str, wanted: str) -> str:
    digits = max(sum(map(str.isdigit, number.partition("e")[0])) for number in (found, wanted))
    # Rounding of a few dozen columns; what is 0 but for rounding has no digit that is right.
    near = math.isclose(float(found), float(wanted), rel_tol=1e-12, abs_tol=1e-13)
    return wanted if digits >= ALL and "." in found + wanted and near else found


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
    """Write the outcome; numbers whose last bits alone differ stay as they are."""
    before = expected(name)
    out, err = but_for_last_bits(found.out, before.out), but_for_last_bits(found.err, before.err)
    texts = {"expout": out, "experr": err, "expcode": f"{found.code}\n" if found.code else ""}
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


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ("a,-0.37943366691057806\n", "a,-0.3794336669105795\n", True),
        ("0.5 is 0.49999999999999994", "0.49999999999999994 is 0.5", True),
        ("1.3877787807814457e-17", "-2.0816681711721685e-17", False),  # a sign is text
        ("1.3877787807814457e-17", "2.0816681711721685e-17", True),
        ("0.3794336669206", "0.3794336669105795", False),
        ("0.379433", "0.379434", False),
        ("12345678901234567", "12345678901234568", False),
        ("0.37943366691057806,1", "0.3794336669105795", False),
    ],
)
def test_numbers_may_differ_in_their_last_bits_alone(found: str, wanted: str, same: bool) -> None:
    assert (Outcome(found, "", 0).differences(Outcome(wanted, "", 0)) == []) == same


def test_an_update_leaves_what_the_comparison_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.CASES", tmp_path)
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "expout").write_text("a,0.3794336669105795\n")
    (tmp_path / "case" / "experr").write_text("old\n")
    update("case", Outcome("a,0.37943366691057806\n", "new\n", 0))
    assert expected("case") == Outcome("a,0.3794336669105795\n", "new\n", 0)
    update("case", Outcome("a,0.3794336669206\n", "", 3))
    assert expected("case") == Outcome("a,0.3794336669206\n", "", 3)
    assert not (tmp_path / "case" / "experr").exists()


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
