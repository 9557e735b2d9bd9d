"""How far a run is: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from pcatool.cli.progress import Progress, clock

# What stands at the start of a line that is written over another.
OVER = "\r\x1b[K"


def run(command: list[str], environment: dict[str, str], feed: bytes = b"") -> str:
    """What appears on a terminal that is standard error."""
    outer, inner = pty.openpty()
    with subprocess.Popen(
        command, stderr=inner, stdout=subprocess.DEVNULL, stdin=subprocess.PIPE, env=environment
    ) as done:
        os.close(inner)
        assert done.stdin is not None
        done.stdin.write(feed)
        done.stdin.close()
        seen = b""
        try:
            while data := os.read(outer, 4096):
                seen += data
        except OSError:  # the other end is closed
            pass
    os.close(outer)
    return seen.decode()


@pytest.fixture
def eager(tmp_path: Path, plain_environment: dict[str, str]) -> tuple[Path, list[str], dict[str, str]]:
    """Files, and a pcatool that does not wait for a second."""
    for i in range(20):
        (tmp_path / f"{i:02}.csv").write_text("a,b\n" + "".join(f"{j},{j * i % 7}\n" for j in range(50)))
    program = (
        "import sys\nfrom pcatool.cli import progress\nprogress.PATIENCE = progress.EVERY = 0.0\n"
        "from pcatool.cli import main\nmain()\n"
    )
    return tmp_path, ["python", "-c", program], plain_environment


def test_one_line_that_goes_away(eager: tuple[Path, list[str], dict[str, str]]) -> None:
    folder, program, environment = eager
    seen = run([*program, "fit", str(folder), "-o", str(folder / "m.npz"), "-v"], environment)
    drawn, _, rest = seen.rpartition(OVER)
    assert re.search(r"\r\x1b\[Kfile 20 of 20, [0-9]+ rows, 0:00, about 0:00 left", drawn)
    assert "\n" not in drawn
    assert rest.startswith("pcatool: 1000 rows read")
    seen = run([*program, "transform", str(folder / "m.npz"), str(folder), "-o", f"{folder}/out/"], environment)
    assert "file 20 of 20" in seen
    (folder / "20.csv").write_text("a,b\n1,x\n")
    seen = run([*program, "fit", str(folder), "-o", str(folder / "m.npz")], environment)
    assert seen.rpartition(OVER)[2].startswith("pcatool: error: ")


def test_nothing_where_it_is_not_wanted(eager: tuple[Path, list[str], dict[str, str]]) -> None:
    folder, program, environment = eager
    command = [*program, "fit", str(folder), "-o", str(folder / "m.npz")]
    assert run([*command, "-q"], environment) == ""
    assert OVER not in run(command, {**environment, "TERM": "dumb"})
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    assert "file" not in run(["pcatool", *command[3:]], environment).replace("files", "")  # it took no second


def test_the_line() -> None:
    progress = Progress(wanted=False)
    progress.at_rows(7)
    assert progress.line(61.2) == "7 rows, 1:01"
    progress.at_file(1, 200)
    assert progress.line(3) == "file 1 of 200, 7 rows, 0:03"
    progress.at_file(51, 200)
    assert progress.line(50) == "file 51 of 200, 7 rows, 0:50, about 2:30 left"
    progress.at_file(1, 200)
    assert progress.line(3) == "file 1 of 200, 0 rows, 0:03"
    assert clock(3725) == "1:02:05"
