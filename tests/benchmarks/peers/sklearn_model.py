"""The model the transforms load, made beforehand and not measured: DATA.csv MODEL.joblib MODEL.npz."""

import sys

import joblib
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

source, pickled, arrays = sys.argv[1:]
pca = PCA(10).fit(pd.read_csv(source).to_numpy())
joblib.dump(pca, pickled)
np.savez(arrays, components=pca.components_, mean=pca.mean_)
