"""CSV and other delimited text.

Begin with `table`. `split` cuts bytes at row ends, `chunk_parser` parses them, `reference` defines what they mean.
"""
