"""By what names files are known: what is completed where a model or data are wanted."""

from __future__ import annotations

from pcatool.readers.paths import COMPRESSED, MODEL_SUFFIX
from pcatool.registry import READERS

__all__ = ["MODEL_ENDING", "PACKED_ENDINGS", "TABLE_ENDINGS", "spelled_in_any_case"]

MODEL_ENDING = MODEL_SUFFIX

# In small letters or in capitals, and behind it that of a compression.
TABLE_ENDINGS = tuple(ending for entry in READERS.entries.values() for ending in entry.suffixes)
PACKED_ENDINGS = COMPRESSED


def spelled_in_any_case(ending: str) -> str:
    """A pattern of a shell: `.[cC][sS][vV]`."""
    return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in ending)
