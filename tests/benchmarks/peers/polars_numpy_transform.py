"""Scores with polars and numpy: MODEL.npz DATA.csv SCORES.csv."""

import sys

import numpy as np
import polars as pl

model, source, target = sys.argv[1:]
pca = np.load(model)
Z = (pl.read_csv(source).to_numpy() - pca["mean"]) @ pca["components"].T
pl.DataFrame(Z, schema=[f"PC{i + 1}" for i in range(10)]).write_csv(target)
