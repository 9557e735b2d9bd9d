"""`python -m pcatool.cli.completions FOLDER` writes the scripts of all shells."""

import sys
from pathlib import Path

from pcatool.cli.completions.shells import write_all

if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
