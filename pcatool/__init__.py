"""pcatool: principal component analysis of tables, at the command line and from Python.

Everything here is resolved when it is used, so `pcatool --help` loads neither numpy nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "DataError": "pcatool.errors",
    "FileError": "pcatool.errors",
    "Model": "pcatool.model",
    "ModelError": "pcatool.errors",
    "PcatoolError": "pcatool.errors",
    "PcatoolWarning": "pcatool.errors",
    "RefusedError": "pcatool.errors",
    "UsageError": "pcatool.errors",
    "compare_rules": "pcatool.api",
    "components": "pcatool.api",
    "diff": "pcatool.api",
    "explain_variance": "pcatool.api",
    "fit": "pcatool.api",
    "inspect": "pcatool.api",
    "load_model": "pcatool.api",
    "merge": "pcatool.api",
    "plan": "pcatool.api",
    "reconstruct": "pcatool.api",
    "refit": "pcatool.api",
    "save_model": "pcatool.api",
    "scree": "pcatool.api",
    "subtract": "pcatool.api",
    "transform": "pcatool.api",
    "update": "pcatool.api",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pcatool' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
