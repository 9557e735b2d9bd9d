"""Solvers of linear PCA, one per file.

Begin with `base` (protocol) and `covariance` (the usual one). `plan` chooses between them, `rows` feeds them.
"""
