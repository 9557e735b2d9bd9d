"""pcatool: principal component analysis of tables, at the command line and from Python.

    model = pcatool.fit(frame, components=0.95)  # a DataFrame, an array, an Arrow table, paths of CSV and Parquet files
    scores = pcatool.transform(model, frame)  # scores in the type of the input
    pcatool.save_model(model, "model.npz")

Names are imported on first use, so `pcatool --help` loads neither numpy nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pcatool.api.combine import merge, refit, subtract, update
    from pcatool.api.fit import compare_rules, fit, plan
    from pcatool.api.plots import plot, report
    from pcatool.api.reports import components, diff, explain_variance, inspect, scree
    from pcatool.api.transform import reconstruct, transform
    from pcatool.errors import (
        DataError,
        FileError,
        ModelError,
        PcatoolError,
        PcatoolNote,
        PcatoolWarning,
        RefusedError,
        UsageError,
    )
    from pcatool.model.model import Model
    from pcatool.model.npz import load_model, save_model
    from pcatool.model.scikit_learn import from_sklearn

__version__ = "0.1.0"

# Public name -> module that defines it, for `__getattr__`. Type checkers read the imports above instead.
_HOMES = {
    "DataError": "pcatool.errors",
    "FileError": "pcatool.errors",
    "Model": "pcatool.model.model",
    "ModelError": "pcatool.errors",
    "PcatoolError": "pcatool.errors",
    "PcatoolNote": "pcatool.errors",
    "PcatoolWarning": "pcatool.errors",
    "RefusedError": "pcatool.errors",
    "UsageError": "pcatool.errors",
    "compare_rules": "pcatool.api.fit",
    "components": "pcatool.api.reports",
    "diff": "pcatool.api.reports",
    "explain_variance": "pcatool.api.reports",
    "fit": "pcatool.api.fit",
    "from_sklearn": "pcatool.model.scikit_learn",
    "inspect": "pcatool.api.reports",
    "load_model": "pcatool.model.npz",
    "merge": "pcatool.api.combine",
    "plan": "pcatool.api.fit",
    "plot": "pcatool.api.plots",
    "reconstruct": "pcatool.api.transform",
    "refit": "pcatool.api.combine",
    "report": "pcatool.api.plots",
    "save_model": "pcatool.model.npz",
    "scree": "pcatool.api.reports",
    "subtract": "pcatool.api.combine",
    "transform": "pcatool.api.transform",
    "update": "pcatool.api.combine",
}

__all__ = [
    "DataError",
    "FileError",
    "Model",
    "ModelError",
    "PcatoolError",
    "PcatoolNote",
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

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts any name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'pcatool' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
