"""The fitted record `Model`: its checks, its file format, and conversion from and to scikit-learn.

Begin with `model` (with the table of `explain-variance`). `validate` holds the checks that every model and its metadata
must pass; `npz` reads and writes files.
"""
