"""Methods that can be fitted.

Begin with `base` (protocol) and `pca`. `sums` fits from sums, for update, merge and clusters.
"""
