"""The house rules that a machine can check: which module may import what, and what lies at the top level."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from statistics import median

import pytest

import pcatool
from pcatool import registry

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pcatool"

# Top to bottom. A module imports only from its own layer and from those below. A package stands for all inside it.
LAYERS = (
    ("pcatool.__main__",),
    (
        "pcatool",
        "pcatool.cli",
        "pcatool.api",
    ),
    ("pcatool.pipeline",),
    (
        "pcatool.engines",
        "pcatool.readers",
        "pcatool.writers",
        "pcatool.render",
        "pcatool.model.npz",
    ),
    (
        "pcatool.methods",
        "pcatool.rules",
    ),
    (
        "pcatool.missing",
        "pcatool.solvers",
    ),
    (
        "pcatool.kernels",
        "pcatool.linalg",
        "pcatool.model",
    ),
    (
        "pcatool.arrays",
        "pcatool.errors",
        "pcatool.options",
        "pcatool.progress",
        "pcatool.registry",
        "pcatool.resources",
        "pcatool.stores",
        "pcatool.terminal",
        "pcatool.wording",
    ),
)

# Who may import what from outside; nobody else may.
RESERVED = {
    "click": (),  # Typer carries its own; the package of that name is another
    "cloudpickle": ("pcatool.engines.dask",),
    "dask": ("pcatool.engines.dask",),
    "distributed": ("pcatool.engines.dask",),
    "matplotlib": ("pcatool.render",),
    "pandas": (
        "pcatool.api",
        "pcatool.readers.memory_tables",
    ),
    "pyarrow": (
        "pcatool.api.transform",
        "pcatool.engines.spark",
        "pcatool.readers",
        "pcatool.stores",
        "pcatool.writers",
    ),
    "pyspark": ("pcatool.engines.spark",),
    "rich": (
        "pcatool.cli",
        "pcatool.render",
        "pcatool.terminal",
        "pcatool.wording",
    ),
    "scipy": (
        "pcatool.kernels",
        "pcatool.linalg",
        "pcatool.methods",
        "pcatool.missing",
    ),
    "sklearn": ("pcatool.model.scikit_learn",),
    "typer": ("pcatool.cli",),
}

# A module, or something in one, named by a text.
NAMED = re.compile(r"pcatool(\.[a-z_]+)+(:\w+)?")

TOP_LEVEL = {"README.md", "completions", "pcatool", "pyproject.toml", "sample_data", "tests"}


# --- reading a tree ---


def modules_of(package: Path) -> dict[str, Path]:
    """Dotted name -> file, for every module of a package; the package itself stands for its `__init__.py`."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str, path: Path, modules: Mapping[str, Path]) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything a module imports, inside functions and for type checkers only, too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        match node:
            case ast.Import(names=aliases):
                yield from ((node.lineno, alias.name) for alias in aliases)
            case ast.ImportFrom(module=module, names=aliases, level=level):
                parents = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*parents, *([module] if module else [])])
                for alias in aliases:
                    inner = f"{base}.{alias.name}"
                    yield node.lineno, inner if inner in modules or not module else base
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(target)), *_],
            ):
                yield node.lineno, target.partition(":")[0]


def names_in_strings(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every text that names a module, as registries and tables of lazily loaded names do."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.fullmatch(node.value):
            yield node.lineno, node.value.partition(":")[0]


def registries_used(path: Path) -> Iterator[tuple[int, str]]:
    """(line, table) of every registry of which a module loads entries."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        match node:
            case ast.Attribute(value=ast.Name(id=table), attr="load") if table.isupper():
                yield node.lineno, table
            case ast.Attribute(value=ast.Subscript(value=ast.Name(id=table)), attr="load" | "memory_needed"):
                yield node.lineno, table


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def layer_of(name: str) -> int | None:
    """Number of the layer a module belongs to. The bare package is listed as itself and holds nothing else."""
    for number, members in enumerate(LAYERS):
        if any(name == member or (member != "pcatool" and within(name, member)) for member in members):
            return number
    return None


def broken_rules(package: Path) -> list[str]:
    """One line for each import that points up, is reserved to others, or cannot be placed; empty when all is well."""
    modules = modules_of(package)
    broken = [f"{name}: is in no layer" for name in modules if layer_of(name) is None]
    for name, path in modules.items():
        here = layer_of(name)
        for line, target in imports_of(name, path, modules):
            place = f"{name}:{line} imports {target}"
            outside = target.partition(".")[0]
            if outside in RESERVED and not any(within(name, allowed) for allowed in RESERVED[outside]):
                broken.append(f"{place}: only for {', '.join(RESERVED[outside]) or 'nobody'}")
            if within(target, "pcatool") and here is not None:
                there = layer_of(target)
                if there is None:
                    broken.append(f"{place}: is in no layer")
                elif there < here:
                    broken.append(f"{place}: points up")
    return broken


# --- the rules, held against this tree ---


def test_no_text_that_names_a_module_points_up() -> None:
    """The registry itself is below all: who loads an entry of a table must stand above it."""
    modules, broken = modules_of(PACKAGE), []
    for name, path in modules.items():
        here = layer_of(name)
        assert here is not None
        named = (
            [] if name == "pcatool.registry" else [(line, to) for line, to in names_in_strings(path) if to in modules]
        )
        for line, table in registries_used(path):
            if table in REGISTRIES:
                targets = [entry.target for entry in REGISTRIES[table].entries.values()]
                named += [(line, target.partition(":")[0]) for target in targets]
        broken += [f"{name}:{line} names {to}: points up" for line, to in named if (layer_of(to) or 0) < here]
    assert broken == []


def test_texts_that_name_modules_are_found() -> None:
    found = {target for _, target in names_in_strings(PACKAGE / "__init__.py")}
    assert {"pcatool.errors", "pcatool.api.fit"} <= found
    assert [table for _, table in registries_used(PACKAGE / "writers" / "base.py")] == ["WRITERS"]
    assert {table for _, table in registries_used(PACKAGE / "methods" / "pca.py")} == {"RULES", "SOLVERS"}


def test_no_import_points_up() -> None:
    assert broken_rules(PACKAGE) == []


# --- rooms that a reader holds in the head ---

MODULES = {name: path for name, path in modules_of(PACKAGE).items() if path.name != "__init__.py"}
LINES = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}

MOST_LINES, LEAST_MEDIAN, MOST_IN_A_PACKAGE, MOST_LONELY = 500, 120, 20, 30


def test_no_module_is_too_long_and_few_are_short() -> None:
    too_long = {name: lines for name, lines in LINES.items() if lines > MOST_LINES}
    assert too_long == {}, f"more than {MOST_LINES} lines: move a concept of its own into a new module"
    middle = median(LINES.values())
    assert middle >= LEAST_MEDIAN, f"the median module has {middle} lines: join modules that are read together"


def test_no_package_has_too_many_modules() -> None:
    counts = Counter(name.rpartition(".")[0] for name in MODULES)
    too_many = {package: count for package, count in counts.items() if count > MOST_IN_A_PACKAGE}
    assert too_many == {}, f"more than {MOST_IN_A_PACKAGE} modules: join two that are read together, or make a package"


def test_what_is_used_by_one_module_stands_in_it() -> None:
    """But for registry entries, commands, and some that are a concept of their own."""
    everything = modules_of(PACKAGE)
    importers = defaultdict(set)
    for name, path in everything.items():
        for _, target in imports_of(name, path, everything):
            importers[target].add(name)
    named = {target for path in everything.values() for _, target in names_in_strings(path)}
    lonely = [name for name in MODULES if len(importers[name]) < 2 and name not in named]
    lonely = [name for name in lonely if not name.startswith("pcatool.cli.commands.") and "__main__" not in name]
    assert len(lonely) <= MOST_LONELY, (
        f"more than {MOST_LONELY} modules have one user: move one into its user: {lonely}"
    )


def test_no_module_or_package_is_called_like_one_of_the_standard_library() -> None:
    """With the current directory in a package, `import csv` must find Python's."""
    names = {name.rpartition(".")[2] for name in modules_of(PACKAGE)} - {"__main__"}
    assert names & set(sys.stdlib_module_names) == set()


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES.values()}), ids=lambda p: p.name)
def test_numpy_can_be_imported_with_any_folder_as_the_current_one(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", "import numpy"], cwd=folder, check=True, capture_output=True)


def test_codes_of_terminals_stand_in_one_module() -> None:
    codes = [
        name for name, path in MODULES.items() if re.search(r"\\x1b|\\033|\\u001b", path.read_text(encoding="utf-8"))
    ]
    assert codes == ["pcatool.terminal"]


def test_no_two_classes_have_one_name() -> None:
    found = Counter(
        node.name
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert {name: count for name, count in found.items() if count > 1} == {}


def test_every_package_says_what_is_inside() -> None:
    """In its first lines, for somebody who opens it for the first time."""
    texts = {path.parent: ast.get_docstring(ast.parse(path.read_text())) for path in PACKAGE.rglob("__init__.py")}
    assert [str(folder) for folder, text in texts.items() if len((text or "").splitlines()) < 2] == []


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


REGISTRIES = {name: table for name, table in vars(registry).items() if isinstance(table, registry.Registry)}


@pytest.mark.parametrize(("table", "name"), [(t, n) for t in REGISTRIES for n in REGISTRIES[t]])
def test_every_registered_name_loads(table: str, name: str) -> None:
    entry = REGISTRIES[table][name]
    assert entry.target.count(":") == 1
    assert callable(entry.load())
    assert entry.summary


def test_the_registries_were_found() -> None:
    assert set(REGISTRIES) >= {"METHODS", "SOLVERS", "RULES", "READERS", "WRITERS"}


def test_top_level_holds_what_it_should() -> None:
    # Ownership is no concern here, and a checkout may belong to somebody else.
    git = ["git", "-c", "safe.directory=*", "-C", str(ROOT)]
    try:
        top = subprocess.run([*git, "rev-parse", "--show-toplevel"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no git here")
    if top.returncode or Path(top.stdout.strip()).resolve() != ROOT:
        pytest.skip("not a checkout")
    listed = subprocess.run([*git, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    tracked = {name.partition("/")[0] for name in listed.split("\0") if name}
    assert {name for name in tracked - TOP_LEVEL if not name.startswith(".")} == set()


# --- what is tested is what is installed ---


def installed() -> Distribution | None:
    """The installed distribution, or None when there is none or it points back to this checkout."""
    try:
        found = distribution("pcatool")
    except PackageNotFoundError:
        return None
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    return None if origin.get("dir_info", {}).get("editable") else found


def test_the_installed_package_is_the_one_under_test() -> None:
    found = installed()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("no installed copy to test: `pip install '.[test]'`, without -e, then `pytest`")
        pytest.skip("tested from the source tree")
    there = Path(str(found.locate_file("pcatool"))).resolve()
    assert Path(str(pcatool.__file__)).resolve().parent == there
    stale = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*"))
        if path.is_file()
        and path.suffix != ".pyc"
        and PAGES not in path.parents  # of those below
        and (
            not (there / path.relative_to(PACKAGE)).is_file()
            or path.read_bytes() != (there / path.relative_to(PACKAGE)).read_bytes()
        )
    ]
    assert stale == [], "the installed package is older than this tree: install it again"
    assert (there / "py.typed").is_file()


def test_version_is_the_packages_own() -> None:
    found = installed()
    if found is None:
        pytest.skip("tested from the source tree")
    assert found.version == pcatool.__version__


# Where each shell looks for completions in an installation, and `man` for pages.
SCRIPTS = ROOT / "completions"
PAGES = PACKAGE / "cli" / "manual" / "pages"
SHARED = {
    "share/bash-completion/completions/pcatool": SCRIPTS / "pcatool.bash",
    "share/zsh/site-functions/_pcatool": SCRIPTS / "_pcatool",
    "share/fish/vendor_completions.d/pcatool.fish": SCRIPTS / "pcatool.fish",
    "share/pcatool/completions/pcatool.ps1": SCRIPTS / "pcatool.ps1",
    **{f"share/man/{path.relative_to(PAGES)}": path for path in PAGES.glob("man*/*")},
}


def test_completions_and_pages_are_installed_where_they_are_looked_for() -> None:
    found = installed()
    if found is None:
        pytest.skip("tested from the source tree")
    there = {place: file for file in found.files or [] for place in SHARED if file.as_posix().endswith(place)}
    assert set(there) == set(SHARED)
    for place, file in there.items():
        shared = Path(str(file.locate())).read_bytes()
        assert shared == SHARED[place].read_bytes(), "install it again"


# --- the checker itself, on made-up trees ---

SOUND = {
    "__init__.py": "import importlib\nNAMES = {'fit': 'pcatool.api'}\n",
    "__main__.py": "from pcatool.cli import main\n",
    "api.py": "import pandas\nfrom pcatool import pipeline, errors\n",
    "cli/__init__.py": "import typer\nimport rich.console\nfrom . import fit\n",
    "cli/fit.py": "from ..pipeline import run\n",
    "errors.py": "",
    "linalg/__init__.py": "",
    "linalg/signs.py": "import numpy as np\nfrom pcatool.linalg import spectral\n",
    "linalg/spectral.py": "from ..errors import DataError\n",
    "pipeline.py": "from pcatool.readers.csv import CsvTable\n",
    "readers/__init__.py": "",
    "readers/csv.py": "import pyarrow.csv\n",
    "readers/memory_tables.py": "def frame(x):\n    import pandas\n",
}

BAD = {
    "up": ("linalg/signs.py", "from pcatool.readers.csv import x", "imports pcatool.readers.csv: points up"),
    "up, module": ("linalg/signs.py", "import pcatool.pipeline", "imports pcatool.pipeline: points up"),
    "up, from the package": ("errors.py", "from pcatool import __version__", "imports pcatool: points up"),
    "up, module from the package": ("errors.py", "from pcatool import pipeline", "imports pcatool.pipeline: points up"),
    "up, relative": ("linalg/signs.py", "from ..pipeline import run", "imports pcatool.pipeline: points up"),
    "up, relative module": ("linalg/signs.py", "from .. import pipeline", "imports pcatool.pipeline: points up"),
    "up, relative package": ("linalg/__init__.py", "from ..api import x", "imports pcatool.api: points up"),
    "up, own package's head": ("errors.py", "from . import __version__", "imports pcatool.__version__: is in no layer"),
    "up, in a function": ("errors.py", "def f():\n    import pcatool.cli.fit", "imports pcatool.cli.fit: points up"),
    "up, in a method": (
        "errors.py",
        "class A:\n    def f(self):\n        from pcatool.api import x",
        "imports pcatool.api: points up",
    ),
    "up, for the type checker": (
        "errors.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pcatool.api import x",
        "imports pcatool.api: points up",
    ),
    "up, by name": (
        "errors.py",
        "from importlib import import_module\nimport_module('pcatool.api')",
        "imports pcatool.api: points up",
    ),
    "no layer": ("stray.py", "", "pcatool.stray: is in no layer"),
    "no layer, deeper": ("stray/deep/x.py", "", "pcatool.stray.deep.x: is in no layer"),
    "a layer's name is no prefix": ("errors2.py", "", "pcatool.errors2: is in no layer"),
    "no such module": ("api.py", "import pcatool.gone", "imports pcatool.gone: is in no layer"),
    "arrow": ("linalg/signs.py", "import pyarrow as pa", "imports pyarrow: only for"),
    "arrow, inside": ("pipeline.py", "def f():\n    from pyarrow.csv import x", "imports pyarrow.csv: only for"),
    "pandas": ("readers/csv.py", "import pandas", "imports pandas: only for"),
    "typer": ("api.py", "import typer", "imports typer: only for"),
    "rich": ("pipeline.py", "import rich.table", "imports rich.table: only for"),
    "click": ("cli/fit.py", "import click", "imports click: only for nobody"),
}


def grow(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "pcatool" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "pcatool"


def test_checker_passes_a_sound_tree(tmp_path: Path) -> None:
    assert broken_rules(grow(tmp_path, SOUND)) == []


@pytest.mark.parametrize("case", BAD)
def test_checker_catches(case: str, tmp_path: Path) -> None:
    file, text, complaint = BAD[case]
    broken = broken_rules(grow(tmp_path, {**SOUND, file: f"{SOUND.get(file, '')}{text}\n"}))
    assert len(broken) == 1
    assert complaint in broken[0]
