"""From bytes, files and frames to batches of float64: the only place that knows input formats.

Begin with `base` (protocol) and `inputs` (many files as one table); `csv_reader` and `parquet` hold the formats.
"""
