"""Join the stages of a run: read, cut into blocks, solve, build the model, apply it, write the results.

No other package joins the stages. Begin with `fit`; then read `apply` and `results`.
"""
