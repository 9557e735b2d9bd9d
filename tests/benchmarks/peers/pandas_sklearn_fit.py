"""Fit with pandas and scikit-learn: DATA.csv MODEL.npz."""

import sys

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

source, target = sys.argv[1:]
pca = PCA(10).fit(pd.read_csv(source))
np.savez(target, components=pca.components_, mean=pca.mean_, variances=pca.explained_variance_)
print(*pca.explained_variance_.tolist())
