"""Fit a wide table with pyarrow or polars and scikit-learn: DATA MODEL.npz K SOLVER [scale].

K is a number of components, or a share of the variance below 1. With `scale`, each column is divided by its deviation.
"""

import sys

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

source, target, components, solver, *scale = sys.argv[1:]
if source.endswith(".csv"):
    import polars as pl

    X = pl.read_csv(source).to_numpy()
else:
    import pyarrow.parquet as pq

    X = np.column_stack([column.to_numpy() for column in pq.read_table(source).columns])
if scale:
    X = StandardScaler().fit_transform(X)
pca = PCA(float(components) if "." in components else int(components), svd_solver=solver).fit(X)
np.savez(target, components=pca.components_, mean=pca.mean_, variances=pca.explained_variance_)
print(*pca.explained_variance_.tolist())
