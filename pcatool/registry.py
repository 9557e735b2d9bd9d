"""Registries: name -> implementation, for everything that has several implementations.

Help, choices, error messages and the shared tests read these tables. The module of an entry is imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from pcatool.errors import UsageError
from pcatool.wording import nearest, show

__all__ = [
    "ENGINES",
    "KERNELS",
    "METHODS",
    "PLOTS",
    "READERS",
    "RULES",
    "SHELLS",
    "SOLVERS",
    "WRITERS",
    "Entry",
    "Registry",
]


class Entry(NamedTuple):
    """One implementation in a `Registry`: where it is defined, a summary, and properties of some kinds of entries."""

    target: str  # "module:attribute"
    summary: str
    suffixes: tuple[str, ...] = ()  # of a reader or writer: suffixes of its files, such as ".csv"
    magic: bytes = b""  # of a reader: first bytes of its files
    default: float | None = None  # of a rule: threshold, unless the user gives another, as in ratio:0.05
    needs_spectrum_only: bool = True  # of a rule: eigenvalues, n and d are enough; False: the rule needs the rows
    any_method: bool = False  # of a rule: suits eigenvalues of any matrix, as it assumes nothing of noise in the cells
    seeded: bool = False  # the implementation draws random numbers, from --seed
    memory: str = ""  # of a rule that needs the rows: "module:function", which maps (n, d) to bytes, rows included
    in_other_processes: bool = False  # of an engine: it works in other processes, perhaps on other machines
    unsuited: tuple[str, ...] = ()  # of a plot: options, and groups of options, that the plot does not use

    def load(self) -> Any:
        """Import and return the implementation."""
        return _import_target(self.target)

    def memory_needed(self, n: int, d: int) -> int:
        """Return the bytes that a rule needs for n rows of d columns, including the rows; 0 for a rule without rows."""
        return int(_import_target(self.memory)(n, d)) if self.memory else 0


def _import_target(target: str) -> Any:
    """Import and return the object at "module:attribute"."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


class Registry:
    """Named table of entries; iterating gives the names.

    `noun` names an entry in error messages. `registry[name]` and `load` raise `UsageError` for an unknown name, with
    the nearest known name or, if none is similar, all names.
    """

    def __init__(self, noun: str, entries: Mapping[str, Entry]) -> None:
        self.noun = noun
        self.entries = dict(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __getitem__(self, name: str) -> Entry:
        if name not in self.entries:
            near = nearest(name, self.entries)
            hint = f"did you mean {show(near)}?" if near else f"choose one of: {', '.join(self.entries)}"
            raise UsageError(f"there is no {self.noun} called {show(name)}", hint)
        return self.entries[name]

    def load(self, name: str) -> Any:
        return self[name].load()

    def by_suffix(self, name: str) -> str | None:
        """Return the name of the entry that has the suffix of file `name`, in any letter case; None if none has."""
        lowered = name.lower()
        for key, entry in self.entries.items():
            if lowered.endswith(entry.suffixes) and entry.suffixes:
                return key
        return None


METHODS = Registry(
    "method",
    {
        "pca": Entry("pcatool.methods.pca:PCA", "linear PCA: directions of largest variance"),
        "kernel": Entry("pcatool.methods.kernel:KernelPCA", "kernel PCA: PCA in the feature space of a kernel"),
        "supervised": Entry(
            "pcatool.methods.supervised:SupervisedPCA", "supervised PCA: directions that depend most on a label"
        ),
    },
)

KERNELS = Registry(
    "kernel",
    {
        "rbf": Entry("pcatool.kernels.functions:RBF", "exp(-gamma |x - y|^2)"),
        "linear": Entry("pcatool.kernels.functions:Linear", "x . y, which gives PCA"),
        "polynomial": Entry("pcatool.kernels.functions:Polynomial", "(gamma x . y + coef0)^degree"),
        "sigmoid": Entry("pcatool.kernels.functions:Sigmoid", "tanh(gamma x . y + coef0)"),
        "laplacian": Entry("pcatool.kernels.functions:Laplacian", "exp(-gamma |x - y|_1)"),
        "cosine": Entry("pcatool.kernels.functions:Cosine", "x . y / (|x| |y|)"),
        "precomputed": Entry("pcatool.kernels.functions:Precomputed", "the input is the kernel matrix itself"),
        "mds": Entry("pcatool.kernels.functions:MDS", "classical scaling: -|x - y|^2 / 2"),
        "isomap": Entry("pcatool.kernels.graphs:Isomap", "distances along the graph of neighbours"),
        "lle": Entry("pcatool.kernels.graphs:LLE", "each row as a mix of its neighbours"),
        "laplacian-eigenmap": Entry(
            "pcatool.kernels.graphs:LaplacianEigenmap",
            "pseudo-inverse of the Laplacian of the graph of nearest neighbours",
        ),
    },
)

SOLVERS = Registry(
    "solver",
    {
        "covariance": Entry(
            "pcatool.solvers.covariance:Covariance", "one pass and a d x d matrix for d columns, for any number of rows"
        ),
        "tsqr": Entry("pcatool.solvers.tsqr:TSQR", "one pass; accurate even for the smallest eigenvalues"),
        "svd": Entry("pcatool.solvers.svd:SVD", "the most accurate; all rows in memory"),
        "dual": Entry("pcatool.solvers.dual:Dual", "an n x n matrix for n rows, for few rows of many columns"),
        "randomized": Entry(
            "pcatool.solvers.randomized:Randomized",
            "few components of tables with many rows and many columns",
            seeded=True,
        ),
    },
)

RULES = Registry(
    "rule for the number of components",
    {
        "all": Entry("pcatool.rules.all:everything", "every component that explains variance", any_method=True),
        "ratio": Entry(
            "pcatool.rules.ratio:ratio",
            "each component's share is at least a threshold",
            default=0.05,
            any_method=True,
        ),
        "eigenvalue": Entry(
            "pcatool.rules.eigenvalue:eigenvalue",
            "each eigenvalue is at least a threshold",
            default=1.0,
            any_method=True,
        ),
        "kaiser": Entry("pcatool.rules.kaiser:kaiser", "each eigenvalue is above the mean eigenvalue", any_method=True),
        "broken-stick": Entry(
            "pcatool.rules.broken_stick:broken_stick",
            "each share is larger than for a randomly broken stick",
            any_method=True,
        ),
        "elbow": Entry("pcatool.rules.elbow:elbow", "all components before the largest drop", any_method=True),
        "parallel": Entry(
            "pcatool.rules.parallel:parallel", "each share is above the mean share in random data (Horn)", seeded=True
        ),
        "parallel-95": Entry(
            "pcatool.rules.parallel:parallel_95",
            "each share is above the 95th percentile of the shares in random data (Glorfeld)",
            seeded=True,
        ),
        "mle": Entry("pcatool.rules.mle:mle", "the most probable number of components (Minka)"),
        "gavish-donoho": Entry(
            "pcatool.rules.gavish_donoho:gavish_donoho", "each singular value is above the optimal hard threshold"
        ),
        "marchenko-pastur": Entry(
            "pcatool.rules.marchenko_pastur:marchenko_pastur",
            "each eigenvalue is above the largest eigenvalue of noise",
        ),
        "cross-validation": Entry(
            "pcatool.rules.cross_validation:cross_validation",
            "the smallest error on left-out cells",
            needs_spectrum_only=False,
            seeded=True,
            memory="pcatool.rules.cross_validation:bytes_of_rows",
        ),
    },
)

READERS = Registry(
    "input format",
    {
        "parquet": Entry("pcatool.readers.parquet.table:ParquetTable", "Apache Parquet", (".parquet", ".pq"), b"PAR1"),
        "tsv": Entry("pcatool.readers.csv_reader.table:TsvTable", "tab-separated text", (".tsv", ".tab")),
        "csv": Entry("pcatool.readers.csv_reader.table:CsvTable", "comma-separated text", (".csv", ".txt")),
    },
)

WRITERS = Registry(
    "output format",
    {
        "csv": Entry("pcatool.writers.csv_writer:CsvWriter", "comma-separated text", (".csv", ".txt")),
        "tsv": Entry("pcatool.writers.csv_writer:TsvWriter", "tab-separated text", (".tsv", ".tab")),
        "parquet": Entry("pcatool.writers.parquet:ParquetWriter", "Apache Parquet", (".parquet", ".pq")),
        "jsonl": Entry("pcatool.writers.jsonlines:JsonLinesWriter", "one JSON object per row", (".jsonl", ".ndjson")),
    },
)

ENGINES = Registry(
    "engine",
    {
        "threads": Entry("pcatool.engines.threads:Threads", "the cores of this machine"),
        "dask": Entry("pcatool.engines.dask:Dask", "workers of a Dask cluster", in_other_processes=True),
        "spark": Entry("pcatool.engines.spark:Spark", "executors of Spark", in_other_processes=True),
    },
)

PLOTS = Registry(
    "plot",
    {
        "scores": Entry(
            "pcatool.render.plots.scores:Scores",
            "rows in the plane of two components",
            unsuited=("--scaling", "--engine", "--scheduler"),
        ),
        "loadings": Entry(
            "pcatool.render.plots.loadings:Loadings",
            "weights of the columns in each component",
            unsuited=("--color", "--from", "--scaling", "kernel"),
        ),
        "biplot": Entry("pcatool.render.plots.biplot:Biplot", "rows and columns in one picture", unsuited=("kernel",)),
    },
)

SHELLS = Registry(
    "shell",
    {
        "bash": Entry(
            "pcatool.cli.completion.scripts:bash_script", "bash 4 and later, with bash-completion or without"
        ),
        "zsh": Entry("pcatool.cli.completion.scripts:zsh_script", "zsh 5 and later, by compinit"),
        "fish": Entry("pcatool.cli.completion.scripts:fish_script", "fish 3.2 and later"),
        "powershell": Entry(
            "pcatool.cli.completion.scripts:powershell_script", "PowerShell 5 and later, on every system"
        ),
    },
)
