"""The mean and the components as small pictures inside a page."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.render.component_images import in_the_middle, number
from pcatool.render.shares import percent
from pcatool.render.theme import DIVERGING

__all__ = ["image_facts", "png"]

# An odd number of shades, so that 0 has one of its own in the middle: white.
SHADES = 255


def image_facts(mean: Array | None, basis: Array, shares: Array, shape: tuple[int, int]) -> dict[str, Any]:
    """mean (H W,), basis (H W, k), shares (k,): pictures with their titles, all components in one scale of colours."""
    peak = float(np.abs(basis).max())
    palette = _palette()
    levels = np.rint(in_the_middle(basis, peak) * (SHADES - 1)).astype(np.uint8)
    return {
        "shape": list(shape),
        "peak": number(peak),
        "scale": _uri(np.arange(SHADES, dtype=np.uint8)[None], palette),
        "components": [
            {
                "name": f"PC{j + 1}",
                "share": percent(float(shares[j]), 1),
                "png": _uri(levels[:, j].reshape(shape), palette),
            }
            for j in range(basis.shape[1])
        ],
        "mean": None if mean is None else _mean(mean, shape),
    }


def _mean(mean: Array, shape: tuple[int, int]) -> dict[str, Any]:
    low, high = float(mean.min()), float(mean.max())
    half = high / 2 - low / 2  # of halves, since the difference may overflow
    grey = (mean / 2 - low / 2) / half if half > 0 else np.full_like(mean, 0.5)
    return {"png": _uri(np.rint(grey * 255).astype(np.uint8).reshape(shape)), "low": number(low), "high": number(high)}


def _palette() -> NDArray[np.uint8]:
    """(256, 3), of which SHADES are used: straight lines between the colours, which lie evenly apart."""
    stops = np.array([list(bytes.fromhex(color[1:])) for color in DIVERGING], dtype=np.float64)
    at = np.linspace(0, len(stops) - 1, SHADES)
    found = np.zeros((256, 3))
    for i, (one, other) in enumerate(pairwise(stops)):
        inside = (at >= i) & (at <= i + 1)
        found[:SHADES][inside] = one + (at[inside] - i)[:, None] * (other - one)
    return np.rint(found).astype(np.uint8)


def _uri(levels: NDArray[np.uint8], palette: NDArray[np.uint8] | None = None) -> str:
    return "data:image/png;base64," + b64encode(png(levels, palette)).decode("ascii")


def png(levels: NDArray[np.uint8], palette: NDArray[np.uint8] | None = None) -> bytes:
    """Shades of grey (H, W), or places in a palette (256, 3), as a PNG file (W3C, 2003)."""
    height, width = levels.shape
    kind = 0 if palette is None else 3
    lines = np.hstack([np.zeros((height, 1), np.uint8), levels]).tobytes()  # each begins with the filter: none
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))]
    parts += [] if palette is None else [(b"PLTE", palette.tobytes())]
    parts += [(b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, parts))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, data = part
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
