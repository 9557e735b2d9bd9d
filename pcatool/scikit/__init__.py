"""To scikit-learn and back: a model as a fitted estimator, and a fitted estimator as a model."""

# The solver of a model that was taken from there.
SCIKIT_LEARN = "scikit-learn"
