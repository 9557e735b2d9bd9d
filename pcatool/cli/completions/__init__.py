"""Scripts that complete command lines in a shell, made from the command tree: a table of it, and a file per shell.

The folder `completions` holds what these make; `python -m pcatool.cli.completions completions` writes it anew.
"""
