"""pcatool: principal component analysis of tables, at the command line and from Python.

    model = pcatool.fit(frame, components=0.95)  # a DataFrame, an array, an Arrow table, paths of CSV and Parquet files
    scores = pcatool.transform(model, frame)  # in the kind that was given
    pcatool.save_model(model, "model.npz")

Everything here is resolved when it is used, so `pcatool --help` loads neither numpy nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pcatool.api import (
        compare_rules,
        components,
        diff,
        explain_variance,
        fit,
        inspect,
        load_model,
        merge,
        plan,
        plot,
        reconstruct,
        refit,
        report,
        save_model,
        scree,
        subtract,
        transform,
        update,
    )
    from pcatool.errors import DataError, FileError, ModelError, PcatoolError, PcatoolWarning, RefusedError, UsageError
    from pcatool.model import Model
    from pcatool.scikit.taken import from_sklearn

__version__ = "0.1.0"

# What type checkers read above, and what is imported when it is asked for.
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
    "from_sklearn": "pcatool.scikit.taken",
    "inspect": "pcatool.api",
    "load_model": "pcatool.api",
    "merge": "pcatool.api",
    "plan": "pcatool.api",
    "plot": "pcatool.api",
    "reconstruct": "pcatool.api",
    "refit": "pcatool.api",
    "report": "pcatool.api",
    "save_model": "pcatool.api",
    "scree": "pcatool.api",
    "subtract": "pcatool.api",
    "transform": "pcatool.api",
    "update": "pcatool.api",
}

__all__ = [
    "DataError",
    "FileError",
    "Model",
    "ModelError",
    "PcatoolError",
    "PcatoolWarning",
    "RefusedError",
    "UsageError",
    "__version__",
    "compare_rules",
    "components",
    "diff",
    "explain_variance",
    "fit",
    "from_sklearn",
    "inspect",
    "load_model",
    "merge",
    "plan",
    "plot",
    "reconstruct",
    "refit",
    "report",
    "save_model",
    "scree",
    "subtract",
    "transform",
    "update",
]

if not TYPE_CHECKING:  # a checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'pcatool' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
