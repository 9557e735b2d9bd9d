"""The only place that joins the stages: read, cut into blocks, solve, make the model, apply it, write.

Begin with `job` and `fit`; then `apply` and `results`.
"""
