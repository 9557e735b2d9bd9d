"""Write the completion scripts of all shells: `python -m pcatool.cli.completion FOLDER`."""

import sys
from pathlib import Path

from pcatool.cli.completion.scripts import write_all

if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
