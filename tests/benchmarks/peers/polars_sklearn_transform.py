"""Scores with polars and scikit-learn: MODEL.joblib DATA.csv SCORES.csv."""

import sys

import joblib
import polars as pl

model, source, target = sys.argv[1:]
pca = joblib.load(model)
Z = pca.transform(pl.read_csv(source).to_numpy())
pl.DataFrame(Z, schema=[f"PC{i + 1}" for i in range(10)]).write_csv(target)
