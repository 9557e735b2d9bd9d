"""Makes the pictures of README.md with the program itself: `python tests/make_pictures.py [FOLDER]`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".github" / "pictures"

PICTURES = {
    "scores.png": [
        "plot",
        "scores",
        "sample_data/digits.csv",
        "-x",
        "digit",
        "--color",
        "digit",
        "--size",
        "7x5.2",
        "--dpi",
        "80",
    ]
}


def make(name: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pcatool", *PICTURES[name], "-q", "-o", str(folder / name)]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    for name in PICTURES:
        make(name, Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
