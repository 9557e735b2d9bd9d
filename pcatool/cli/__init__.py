"""The command line: it parses, builds option records, calls one function of the pipeline, and says what came of it."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Entry point of the `pcatool` program."""
    import sys

    from pcatool.cli.app import run

    sys.exit(run(sys.argv[1:]))
