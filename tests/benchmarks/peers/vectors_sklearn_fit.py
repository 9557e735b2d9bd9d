"""Fit a Parquet column of vectors with pyarrow and scikit-learn: DATA.parquet MODEL.npz."""

import sys

import numpy as np
import pyarrow.parquet as pq
from sklearn.decomposition import PCA

source, target = sys.argv[1:]
vectors = pq.read_table(source, columns=["embedding"])["embedding"].combine_chunks()
X = vectors.flatten().to_numpy().reshape(len(vectors), -1)
pca = PCA(10, svd_solver="covariance_eigh").fit(X)
np.savez(target, components=pca.components_, mean=pca.mean_, variances=pca.explained_variance_)
print(*pca.explained_variance_.tolist())
