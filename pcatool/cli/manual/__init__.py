"""Manual pages in roff, made from the command tree by the table that completion is made from: one for the program, and
one for each subcommand.

The folder `pages` holds what these make, and goes where `man` looks when the program is installed;
`python -m pcatool.cli.manual` writes it anew.
"""
