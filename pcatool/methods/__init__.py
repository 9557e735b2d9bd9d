"""Methods that can be fitted.

Begin with `base` (protocol) and `pca`. `sums` fits from sums over rows, for update, subtract, merge, refit and
clusters.
"""
