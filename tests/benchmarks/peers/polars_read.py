"""No fit at all, only the reading, as a limit: DATA.csv."""

import sys

import polars as pl

pl.read_csv(sys.argv[1])
