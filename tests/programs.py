"""Programs that are no part of this package, which some tests start for real."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest


def need(*names: str) -> None:
    """Elsewhere than on a server, what is not there is not tried."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    missing = [name for name in names if shutil.which(name, path=folders) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"no {', '.join(missing)} here, which .ci/run or the extra test installs")
    if missing:
        pytest.skip(f"no {', '.join(missing)} here")
