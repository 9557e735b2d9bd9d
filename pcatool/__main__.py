"""Run the command line: `python -m pcatool`."""

from pcatool.cli import main

if __name__ == "__main__":
    main()
