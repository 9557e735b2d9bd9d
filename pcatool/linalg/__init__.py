"""Numerical building blocks that all solvers share.

Begin with `moments` (sums over rows) and `eigen` (eigenvectors from these sums, and their signs). `spectrum` holds the
rules for rank, clipping and rounding; `certificate` the bounds on errors; `row_sums` the sums that a model keeps.
"""
