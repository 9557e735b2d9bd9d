"""Few files run for an everyday command, so that a newcomer can follow it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Runs pcatool, and writes down the files of the package in which a function ran; functions that imports call do not
# count.
SCRIPT = """
import json, os, sys, threading
from pcatool.cli import main

package = os.path.dirname(os.path.dirname(main.__code__.co_filename)) + os.sep
ran = set()

def in_import(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(package):
            return True
        frame = frame.f_back
    return False

def watch(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(package) and name not in ran and not in_import(frame):
        ran.add(name)

def leave(code, leave=os._exit):
    sys.setprofile(None)
    with open(sys.argv[0], "w") as file:
        json.dump(sorted(name.removeprefix(package) for name in ran), file)
    leave(code)

os._exit = leave  # the last call of main
sys.argv = sys.argv[1:]
threading.setprofile(watch)
sys.setprofile(watch)
main()
"""


def files_run(*words: str, cwd: Path) -> list[str]:
    """Return the files that run for a command with a CSV in a pipe."""
    rows = (ROOT / "sample_data" / "digits.csv").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "files.json", *words], input=rows, cwd=cwd, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    found: list[str] = json.loads((cwd / "files.json").read_text())
    return found


MOST = {"fit": 50, "transform": 44}


def test_few_files_run(tmp_path: Path) -> None:
    fit = files_run("fit", "-x", "digit", "-k", "3", "-o", "m.npz", cwd=tmp_path)
    transform = files_run("transform", "m.npz", cwd=tmp_path)
    both = {*fit, *transform}
    assert {"cli/app.py", "cli/commands/fit.py", "linalg/moments.py", "writers/csv_writer.py"} <= both, "all is counted"
    assert {"engines/threads.py", "readers/csv_reader/chunk_parser.py"} <= both, "and what runs in threads"
    assert both.isdisjoint({"cli/help_page.py", "cli/status_line.py"}), "no help is shown, and there is no terminal"
    assert len(fit) <= MOST["fit"], fit
    assert len(transform) <= MOST["transform"], transform


def test_help_runs_the_command_line_alone(tmp_path: Path) -> None:
    found = files_run("fit", "--help", cwd=tmp_path)
    assert "cli/help_page.py" in found
    folders = {name.rpartition("/")[0] for name in found}
    assert folders <= {"", "cli", "options"}, found
