"""Make `pcatool/api/keywords.py` from the option records: run this file, and commit what it writes.

With `-` the text is printed instead.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

from pcatool import options
from pcatool.options.fields import python_type

KEYWORDS = Path(__file__).resolve().parents[1] / "pcatool" / "api" / "keywords.py"

# Keywords that are parameters of the functions themselves.
PARAMETERS = ("output",)

# Typed dict -> its docstring, the typed dicts that it extends, its records, and fields that it leaves out.
DICTS: dict[str, tuple[str, tuple[str, ...], tuple[type, ...], tuple[str, ...]]] = {
    "TableSettings": ("Settings of how files and tables are read.", (), (options.TableOptions,), ()),
    "EngineSettings": (
        "Settings of the engine that does the work: threads of this process, or a cluster.",
        (),
        (options.EngineOptions,),
        (),
    ),
    "FitSettings": (
        "Settings of a fit.",
        ("TableSettings", "EngineSettings"),
        (options.SelectOptions, options.FitOptions),
        (),
    ),
    "ArraySettings": (
        "Settings of `transform` and `reconstruct` for arrays, which have no named columns to pass through.",
        ("TableSettings", "EngineSettings"),
        (options.ApplyOptions, options.OutputOptions),
        ("keep", "keep_all"),
    ),
    "ApplySettings": ("Settings of `transform` and `reconstruct`.", ("ArraySettings",), (options.ApplyOptions,), ()),
    "ReportSettings": (
        "Settings of `report`.",
        ("TableSettings", "EngineSettings"),
        (options.ApplyOptions, options.PageOptions),
        (),
    ),
    "AlignSettings": (
        "Setting that aligns the components of a new model to an older model.",
        (),
        (options.AlignOptions,),
        (),
    ),
    "UpdateSettings": (
        "Settings of `update` and `subtract`.",
        ("TableSettings", "EngineSettings", "AlignSettings"),
        (options.UpdateOptions,),
        (),
    ),
    "RefitSettings": ("Settings of `refit`.", ("AlignSettings",), (options.RefitOptions,), ()),
}

HEAD = '''"""Keywords of the Python API, for type checkers and editors.

Made by tests/make_keywords.py from the option records: change the records, and run it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypedDict

__all__ = [
{names}
]

if TYPE_CHECKING:
    from pcatool.model.model import Model'''


def keywords() -> str:
    """The text of the module."""
    listed = sorted(name for name in DICTS if name not in ("TableSettings", "EngineSettings"))
    parts = [HEAD.format(names="\n".join(f'    "{name}",' for name in listed))]
    known: dict[str, set[str]] = {}
    for name, (what, bases, records, left_out) in DICTS.items():
        there = {key for base in bases for key in known[base]}
        found = {each.name: python_type(each) for record in records for each in fields(record)}
        own = {key: kind for key, kind in found.items() if key not in (*PARAMETERS, *left_out) and key not in there}
        known[name] = there | own.keys()
        head = f"class {name}({', '.join([*bases, *([] if bases else ['TypedDict'])])}, total=False):"
        parts.append("\n".join([head, f'    """{what}"""', "", *(f"    {key}: {kind}" for key, kind in own.items())]))
    return "\n\n\n".join(parts) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(keywords())
    else:
        KEYWORDS.write_text(keywords(), encoding="utf-8")
