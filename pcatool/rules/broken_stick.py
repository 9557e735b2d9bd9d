"""Rule `broken-stick`: keep leading components with larger shares than the pieces of a stick broken at random.

When to prefer it: a quick, cautious answer from the shares alone. This rule seldom keeps too many components, and
keeps too few with many columns or one dominant component.
Assumes that variance without structure is split over the p possible components like a stick into p pieces; n plays no
part. Uncentred, the mean is one of the components.
Reference: Frontier 1976, J. Exp. Mar. Biol. Ecol. 25(1); Jackson 1993, "Stopping rules in principal components
analysis", Ecology 74(8).
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array
from pcatool.rules.base import Choice, Evidence, above, leading_passing

__all__ = ["broken_stick", "pieces"]


def pieces(p: int) -> Array:
    """Return the expected lengths (p,) of the pieces of a stick of length 1 broken at random into p, longest first.

    Length k is 1/p sum_(i=k..p) 1/i.
    """
    return np.cumsum(1.0 / np.arange(p, 0, -1))[::-1] / p


def broken_stick(evidence: Evidence, number: float | None = None) -> Choice:
    """Choose the leading components with larger shares than the expected pieces of a stick; `number` is not used.

    Component j is compared with piece j of a stick that is broken at random, longest piece first.
    """
    p = evidence.possible
    return leading_passing(
        above(evidence.shares, pieces(p)), f"share above the broken-stick expectation for {p} pieces"
    )
