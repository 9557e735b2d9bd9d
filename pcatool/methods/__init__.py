"""Methods that can be fitted.

Begin with `base` (protocol) and `pca`. `sums` fits from sums over rows, for update, merge, refit and clusters.
"""
