"""Kernels, and the model that kernel PCA makes of them.

Begin with `base` (protocol) and `functions` (the usual kernels); `model` is the fitted record.
"""
