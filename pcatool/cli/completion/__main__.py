"""`python -m pcatool.cli.completion FOLDER` writes the scripts of all shells."""

import sys
from pathlib import Path

from pcatool.cli.completion.generator import write_all

if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
