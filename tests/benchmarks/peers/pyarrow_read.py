"""No fit at all, only the reading, as a limit: DATA.parquet."""

import sys

import pyarrow.parquet as pq

pq.read_table(sys.argv[1])
