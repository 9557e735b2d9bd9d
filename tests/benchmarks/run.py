"""Measures pcatool beside its peers: `python tests/benchmarks/run.py [--help]`. Any Python from 3.11 on will do.

It makes what it needs (environments, about 3 GB of data) in `.benchmarks/`, once, and uses it again.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # `benchmarks` is a package in tests/, as for the tests; and no module here shall shadow one of the library.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from benchmarks.command import main

    sys.exit(main(sys.argv[1:]))
