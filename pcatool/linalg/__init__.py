"""Numerical pieces that every solver shares.

Begin with `moments` (sums over rows) and `eigen` (from sums to eigenvectors); `spectrum` has the rules for rank
and rounding.
"""
