"""Fit with pyarrow and numpy in memory, by the eigenvectors of the covariance: DATA.parquet MODEL.npz."""

import sys

import numpy as np
import pyarrow.parquet as pq

source, target = sys.argv[1:]
X = np.column_stack([column.to_numpy() for column in pq.read_table(source).columns])
mean = X.mean(axis=0)
X -= mean
variances, vectors = np.linalg.eigh(X.T @ X / (len(X) - 1))
variances, components = variances[:-11:-1], vectors[:, :-11:-1].T
np.savez(target, components=components, mean=mean, variances=variances)
print(*variances.tolist())
