"""Apache Parquet.

Begin with `table`; `file` reads columns of one file by number.
"""
