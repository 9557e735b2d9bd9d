"""Plots of scores and loadings, one per file (`scores`, `loadings`, `biplot`), and the code that they share.

Begin with `base` (the protocol of a plot) and `scores`; `points` collects rows and `marks` draws them.
"""
