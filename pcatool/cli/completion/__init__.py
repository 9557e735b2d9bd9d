"""Completion scripts for bash, zsh, fish and PowerShell, made from the command tree.

Begin with `table`, the command tree as records. The folder `completions` holds the generated scripts, which are written
anew by `python -m pcatool.cli.completion completions`.
"""
