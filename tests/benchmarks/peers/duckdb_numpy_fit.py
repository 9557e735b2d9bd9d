"""Fit with DuckDB and numpy, by the eigenvectors of the covariance: DATA.csv MODEL.npz."""

import sys

import duckdb
import numpy as np

source, target = sys.argv[1:]
X = np.column_stack(list(duckdb.read_csv(source).fetchnumpy().values()))
mean = X.mean(axis=0)
X -= mean
variances, vectors = np.linalg.eigh(X.T @ X / (len(X) - 1))
variances, components = variances[:-11:-1], vectors[:, :-11:-1].T
np.savez(target, components=components, mean=mean, variances=variances)
print(*variances.tolist())
