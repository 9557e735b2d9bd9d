"""Fit with pandas and scikit-learn as patched by its Intel extension: DATA.csv MODEL.npz."""

import sys

import numpy as np
import pandas as pd
from sklearnex import patch_sklearn

patch_sklearn(verbose=False)
from sklearn.decomposition import PCA  # noqa: E402

source, target = sys.argv[1:]
pca = PCA(10).fit(pd.read_csv(source))
np.savez(target, components=pca.components_, mean=pca.mean_, variances=pca.explained_variance_)
print(*np.ravel(pca.explained_variance_).tolist())
