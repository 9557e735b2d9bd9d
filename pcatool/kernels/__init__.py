"""Kernels, and the fitted model of kernel PCA.

Begin with `base` (the protocol of a kernel, default settings) and `functions` (kernels of two rows); `graphs` holds the
kernels on a neighbour graph. `eigen`, `lanczos` and `nystroem` solve; `model` is the fitted record; `preimage` maps
scores to rows.
"""
