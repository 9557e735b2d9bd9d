"""Subcommands, one per file: each parses, calls one function of the pipeline, and reports.

Begin with `fit`.
"""
