"""Write the manual pages: `python -m pcatool.cli.manual [FOLDER]`; without a folder, those that are checked in."""

import sys
from pathlib import Path

from pcatool.cli.manual.page import PAGES, write_all

if __name__ == "__main__":
    write_all(Path(sys.argv[1]) if sys.argv[1:] else PAGES)
