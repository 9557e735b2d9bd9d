"""Do the two sides fit together? A worker does the same as this program only if it has the same."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pcatool.engines.dask.link import Link
from pcatool.engines.dask.tasks import version
from pcatool.errors import FileError, show

__all__ = ["checked"]

# In words that any Python understands, whatever is installed there.
QUESTION = (
    "__import__('platform').python_version(), __import__('distributed').__version__, "
    "__import__('pcatool').__version__, __import__('numpy').__version__"
)
NAMES = ("Python", "Dask", "pcatool", "numpy")
ALIKE = (2, 3, None, 2)  # how many numbers of a version must be the same; pcatool's all

# What the work needs, so that the first task need not wait for it.
NEEDED = "[__import__(name) for name in ('pyarrow.parquet', 'pcatool.readers.parquet.table', 'pcatool.linalg.moments')]"


def checked(link: Link) -> int:
    """Refuse workers that would do something else than is meant; how many would do as is meant."""
    import distributed

    here = (platform.python_version(), distributed.__version__, version(), import_module("numpy").__version__)
    answers: Mapping[str, Any] = link.ask(lambda: link.client.run(eval, QUESTION, on_error="return"), of_workers=True)
    # One that was lost meanwhile costs nothing.
    answers = {worker: there for worker, there in sorted(answers.items()) if not isinstance(there, OSError)}
    for worker, there in answers.items():
        if isinstance(there, ImportError):
            package = str(there.name).partition(".")[0]
            raise FileError(
                f"the worker {show(worker)} has no {package}", f"install pcatool {version()} where the workers run"
            )
        if isinstance(there, BaseException):
            raise FileError(f"the worker {show(worker)} cannot say what it has: {type(there).__name__}: {there}")
        for name, mine, its, count in zip(NAMES, here, there, ALIKE, strict=True):
            if mine.split(".")[:count] != its.split(".")[:count]:
                raise FileError(
                    f"the worker {show(worker)} has {name} {its}, this is {name} {mine}",
                    "install the same versions here and where the workers run",
                )
    link.ask(lambda: link.client.run(eval, f"len({NEEDED})", on_error="return"), of_workers=True)
    return len(answers)
