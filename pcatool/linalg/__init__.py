"""Numerical building blocks that all solvers share.

Begin with `moments` (sums over rows) and `eigen` (eigenvectors from these sums). `spectrum` holds the rules for rank,
clipping and rounding; `row_sums` the sums that a model keeps.
"""
