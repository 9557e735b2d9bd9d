"""What tests start for real: programs that are no part of this package, and what every process gets of the caller's."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

import pytest

# They choose how numpy, scipy and the C library compute. Last bits differ between the kernels of a BLAS, so processes
# whose bytes are compared need the same, also where nothing else of the caller's is handed on.
KERNELS = ("OPENBLAS_", "GOTO_", "OMP_", "MKL_", "BLIS_", "NPY_", "GLIBC_TUNABLES")


def kernels() -> dict[str, str]:
    """The caller's variables that choose kernels of BLAS and of numpy."""
    return {name: value for name, value in os.environ.items() if name.startswith(KERNELS)}


def computed_for() -> list[str]:
    """The processors that the libraries of OpenBLAS under numpy and scipy compute for, in this process."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    return [each["architecture"] for each in threadpool_info() if each["internal_api"] == "openblas"]


def has_avx2() -> bool:
    """Can OpenBLAS compute for Haswell here?"""
    about = Path("/proc/cpuinfo")
    return bool(platform.machine() == "x86_64" and about.exists() and " avx2 " in about.read_text() and computed_for())


def need_avx2() -> None:
    if not has_avx2():
        pytest.skip("no OpenBLAS on a processor with AVX2 here")


def need(*names: str) -> None:
    """Elsewhere than on a server, what is not there is not tried."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    missing = [name for name in names if shutil.which(name, path=folders) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"no {', '.join(missing)} here, which .ci/run or the extra test installs")
    if missing:
        pytest.skip(f"no {', '.join(missing)} here")
