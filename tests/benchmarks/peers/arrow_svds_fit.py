"""Fit a wide Parquet table with pyarrow and SciPy's truncated SVD of the centred rows: DATA.parquet MODEL.npz."""

import sys

import numpy as np
import pyarrow.parquet as pq
from scipy.sparse.linalg import svds

source, target = sys.argv[1:]
X = np.column_stack([column.to_numpy() for column in pq.read_table(source).columns])
mean = X.mean(axis=0)
X -= mean
_, s, components = svds(X, 10, random_state=0)
variances = s[::-1] ** 2 / (len(X) - 1)
np.savez(target, components=components[::-1], mean=mean, variances=variances)
print(*variances.tolist())
