"""Completion scripts, made from the command tree: a table of it, and a file per shell.

Begin with `table`. The folder `completions` holds what these make; `python -m pcatool.cli.completion completions`
writes it anew.
"""
