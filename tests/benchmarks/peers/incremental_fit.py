"""Fit with pandas and scikit-learn's IncrementalPCA, a piece at a time: DATA.csv MODEL.npz."""

import sys

import numpy as np
import pandas as pd
from sklearn.decomposition import IncrementalPCA

source, target = sys.argv[1:]
pca = IncrementalPCA(10)
for piece in pd.read_csv(source, chunksize=10_000):
    pca.partial_fit(piece.to_numpy())
np.savez(target, components=pca.components_, mean=pca.mean_, variances=pca.explained_variance_)
print(*pca.explained_variance_.tolist())
