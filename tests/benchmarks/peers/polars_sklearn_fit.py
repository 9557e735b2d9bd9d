"""Fit with polars and scikit-learn: DATA.csv MODEL.npz."""

import sys

import numpy as np
import polars as pl
from sklearn.decomposition import PCA

source, target = sys.argv[1:]
pca = PCA(10).fit(pl.read_csv(source).to_numpy())
np.savez(target, components=pca.components_, mean=pca.mean_, variances=pca.explained_variance_)
print(*pca.explained_variance_.tolist())
