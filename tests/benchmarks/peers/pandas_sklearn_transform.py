"""Scores with pandas and scikit-learn: MODEL.joblib DATA.csv SCORES.csv."""

import sys

import joblib
import pandas as pd

model, source, target = sys.argv[1:]
pca = joblib.load(model)
Z = pca.transform(pd.read_csv(source).to_numpy())
pd.DataFrame(Z, columns=[f"PC{i + 1}" for i in range(10)]).to_csv(target, index=False)
