"""Reader of CSV and other delimited text.

Begin with `table`. `split` cuts the bytes at row ends, `chunk_parser` parses the pieces, and `reference` is the slow
parser that defines the correct result.
"""
