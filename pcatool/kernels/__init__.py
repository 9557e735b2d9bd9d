"""Kernels: how alike two rows are, as a number; and the model that kernel PCA makes of them."""
