"""The dialects that Arrow does not speak: comments, thousands marks, signs around numbers, runs of blanks.

pandas cuts the text into cells; what a cell means is decided by the dialect, as everywhere.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from pcatool.blocks import empty_block
from pcatool.model import Array
from pcatool.readers.base import Feature
from pcatool.readers.cutter import Chunk
from pcatool.readers.dialect import Dialect

__all__ = ["parse_with_pandas"]


def parse_with_pandas(
    chunk: Chunk, dialect: Dialect, width: int, features: Sequence[Feature], kept: Sequence[int]
) -> tuple[Array, Sequence[pa.Array]] | None:
    """None when a cell does not read as it should; the exact parser then says which, or reads it after all."""
    try:
        cells = pd.read_csv(
            io.BytesIO(chunk.data),
            sep=r"\s+" if dialect.blanks else dialect.delimiter,
            header=None,
            names=list(range(width)),
            dtype=str,
            na_filter=False,
            comment=dialect.comment,
            index_col=False,
        )
    except (pd.errors.ParserError, UnicodeDecodeError):
        return None
    if (cells[width - 1] == "").any():
        return None  # pandas fills short rows with empty cells and does not tell
    X = empty_block(len(cells), len(features))
    for j, feature in enumerate(features):
        column = None if feature.boolean else _numbers(cells[feature.column], dialect)
        if column is None:
            return None
        X[:, j] = column
    return X, [pa.array(cells[column].tolist(), pa.string()) for column in kept]


def _numbers(cells: pd.Series[str], dialect: Dialect) -> Array | None:
    text = cells.str.strip()
    missing = text.str.lower().isin(dialect.nulls).to_numpy(dtype=bool)
    if dialect.strip:
        text = text.str.strip(dialect.strip + " \t")
        text = text.str.replace(rf"^([+-])[{re.escape(dialect.strip)} ]+", r"\1", regex=True)
    if not text[~missing].str.fullmatch(dialect.number_pattern, flags=re.IGNORECASE | re.ASCII).all():
        return None
    if dialect.thousands is not None:
        text = text.str.replace(dialect.thousands, "", regex=False)
    text = text.str.replace(dialect.decimal, ".", regex=False)
    numbers = np.full(len(text), np.nan)
    numbers[~missing] = text[~missing].astype(float).to_numpy()
    return numbers
