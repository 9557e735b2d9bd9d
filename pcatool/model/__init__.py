"""The fitted record `Model`: its checks, its file format, and conversion from and to scikit-learn.

Begin with `model`. `validate` holds the checks that every model must pass; `npz` reads and writes files.
"""
