"""Plots of scores and loadings, one per file, and what they share.

Begin with `base` and `scores`.
"""
