"""The fitted record, its checks, its file format, and its exchange with scikit-learn.

Begin with `model`: the record and what can be done with it. `validate` holds what every record must satisfy.
"""
