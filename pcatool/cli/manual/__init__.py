"""Manual pages in roff, made from the command tree.

Begin with `page`. The folder `pages` holds what this makes, and goes where `man` looks when the program is installed;
`python -m pcatool.cli.manual` writes it anew.
"""
