"""Manual pages in roff, made from the command tree (section 1) and the help topics (section 7).

Begin with `page`. The folder `pages` holds the generated pages, which are installed where `man` looks, and are
written anew by `python -m pcatool.cli.manual`.
"""
