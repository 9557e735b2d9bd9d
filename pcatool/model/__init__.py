"""The fitted record `Model`: its checks, its file format, and conversion from and to scikit-learn.

Begin with `model`, which also has the table that `explain-variance` prints. `validate` has the checks that every model
and its metadata must pass; `npz` reads and writes files.
"""
