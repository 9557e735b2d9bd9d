"""Read bytes, files and data frames into batches of float64; the only package that knows input formats.

Begin with `base` (the protocol) and `inputs` (many files read as one table); `csv_reader` and `parquet` hold the
formats.
"""
