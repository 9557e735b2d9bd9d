"""Solvers of linear PCA, one per file.

Begin with `base` (protocol) and `covariance` (the usual solver). `plan` chooses a solver, `rows` supplies the blocks.
"""
