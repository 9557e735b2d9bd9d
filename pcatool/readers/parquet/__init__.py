"""Reader of Apache Parquet.

Begin with `table`, which implements the reader protocol; `file` reads the columns of one file by number, and
`transposed` turns wide row groups from columns to blocks of rows.
"""
