"""Fit with pandas and mlpack: DATA.csv MODEL.npz. It returns the scores only, so the components come from those."""

import sys

import mlpack
import numpy as np
import pandas as pd

source, target = sys.argv[1:]
X = pd.read_csv(source).to_numpy()
mean = X.mean(axis=0)
Z = mlpack.pca(X, new_dimensionality=10)["output"]
variances = (Z * Z).sum(axis=0) / (len(Z) - 1)
components = (X.T @ Z / (len(Z) - 1) / variances).T
np.savez(target, components=components, mean=mean, variances=variances)
print(*variances.tolist())
