"""What is measured: the tables, the contenders, the jobs made of both, and the bounds the project holds itself to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

OURS = "pcatool"
PEERS = Path(__file__).resolve().parent / "peers"
FEWEST_ROWS = 40  # however small the scale: ten components need more than ten rows


@dataclass(frozen=True)
class Table:
    """A file of made-up data; its name says all that it depends on."""

    kind: str  # csv, parquet, groups (Parquet in groups of 16,384 rows), vectors (one column of float32 vectors), or
    # share (Parquet whose first 60 components keep 0.99 of the variance)
    rows: int
    columns: int

    @property
    def file(self) -> str:
        return f"{self.kind}-{self.rows}x{self.columns}.{'csv' if self.kind == 'csv' else 'parquet'}"

    def __str__(self) -> str:
        return f"{self.rows:,} x {self.columns:,}"

    def scaled(self, scale: float) -> Table:
        return replace(self, rows=max(FEWEST_ROWS, round(self.rows * scale)))


@dataclass(frozen=True)
class Contender:
    """A command to measure. `needs` are Python modules, or R packages as "R name"; without them it is absent.

    One that is not exact computes something near the answer by design; its difference is shown, not judged.
    """

    name: str
    command: str  # split at blanks, then {pcatool} {python} {rscript} {peers} {data} {out} {model} are filled in
    needs: tuple[str, ...] = ()
    exact: bool = True


@dataclass(frozen=True)
class Job:
    """Contenders side by side on one table, or one contender on tables that grow."""

    name: str
    title: str
    tables: tuple[Table, ...]
    contenders: tuple[Contender, ...]
    prepare: tuple[Contender, ...] = ()  # run once beforehand, not measured
    compare: str = "variances"  # or scores, or nothing

    @property
    def grows(self) -> bool:
        return len(self.tables) > 1

    def scaled(self, scale: float) -> Job:
        return replace(self, tables=tuple(table.scaled(scale) for table in self.tables))

    def only(self, names: Sequence[str]) -> Job:
        """With these contenders, and pcatool always."""
        return replace(self, contenders=tuple(c for c in self.contenders if c.name in {OURS, *names}))

    def sizes(self) -> list[int]:
        """What grows: the rows if they differ, else the columns."""
        rows = [table.rows for table in self.tables]
        return rows if len(set(rows)) > 1 else [table.columns for table in self.tables]


# --- contenders ---


def _python(name: str, script: str, *needs: str, words: str = "{data} {out}.npz") -> Contender:
    return Contender(name, f"{{python}} {{peers}}/{script}.py {words}", needs)


def _r(name: str, script: str, *packages: str) -> Contender:
    needs = tuple(f"R {package}" for package in packages)
    return Contender(name, f"{{rscript}} {{peers}}/{script}.R {{data}} {{out}}.rds", needs)


FIT = Contender(OURS, "{pcatool} fit {data} -k 10 -o {out}.npz")
FIT_VECTORS = replace(FIT, command="{pcatool} fit {data} -c embedding -k 10 -o {out}.npz")
PANDAS = _python("pandas+sklearn", "pandas_sklearn_fit", "pandas", "sklearn")
POLARS = _python("polars+sklearn", "polars_sklearn_fit", "polars", "sklearn")
POLARS_NUMPY = _python("polars+numpy", "polars_numpy_fit", "polars", "numpy")
DUCKDB = _python("duckdb+numpy", "duckdb_numpy_fit", "duckdb", "numpy")
PIECES = replace(_python("IncrementalPCA", "incremental_fit", "pandas", "sklearn"), exact=False)
INTELEX = _python("sklearn-intelex", "intelex_fit", "pandas", "sklearnex")
MLPACK = _python("mlpack", "mlpack_fit", "pandas", "mlpack")
PRCOMP = _r("R-prcomp", "fread_prcomp_fit", "data.table")
IRLBA = replace(_r("R-irlba", "fread_irlba_fit", "data.table", "irlba"), exact=False)
POLARS_READ = _python("polars.read_csv alone", "polars_read", "polars", words="{data}")
# It sums in the single precision of the data: off by 1e-6 at 40,000 rows, and by more with more.
PYARROW_SKLEARN = replace(_python("pyarrow+sklearn", "vectors_sklearn_fit", "pyarrow", "sklearn"), exact=False)
PYARROW_NUMPY = _python("pyarrow+numpy", "pyarrow_numpy_fit", "pyarrow", "numpy")
PYARROW_READ = _python("pyarrow read_table alone", "pyarrow_read", "pyarrow", words="{data}")


def _wide(name: str, words: str, *, exact: bool = True) -> Contender:
    reader = "polars" if name.startswith("polars") else "pyarrow"
    script = _python(name, "wide_sklearn_fit", reader, "sklearn", words=f"{{data}} {{out}}.npz {words}")
    return replace(script, exact=exact)


FIT_SCALED = replace(FIT, command="{pcatool} fit {data} -s -k 10 -o {out}.npz")
FIT_SHARE = replace(FIT, command="{pcatool} fit {data} -o {out}.npz")
# With as many columns as here scikit-learn's own choice is its randomised solver.
RANDOMISED = _wide("pyarrow+sklearn", "10 auto", exact=False)
EIGH = _wide("pyarrow+sklearn eigh", "10 covariance_eigh")
EIGH_SHARE = _wide("pyarrow+sklearn eigh", "0.99 covariance_eigh")
SCALED = _wide("pyarrow+sklearn", "10 auto scale", exact=False)
SCALED_CSV = _wide("polars+sklearn", "10 auto scale", exact=False)
SVDS = _python("pyarrow+svds", "arrow_svds_fit", "pyarrow", "scipy")

TRANSFORM = Contender(OURS, "{pcatool} transform {model}.npz {data} -o {out}.csv")
PANDAS_TRANSFORM = _python(
    "pandas+sklearn", "pandas_sklearn_transform", "pandas", "sklearn", words="{model}.joblib {data} {out}.csv"
)
POLARS_TRANSFORM = _python(
    "polars+sklearn", "polars_sklearn_transform", "polars", "sklearn", words="{model}.joblib {data} {out}.csv"
)
POLARS_NUMPY_TRANSFORM = _python(
    "polars+numpy", "polars_numpy_transform", "polars", "numpy", words="{model}.peer.npz {data} {out}.csv"
)
MODELS = (
    Contender(OURS, "{pcatool} fit {data} -k 10 -o {model}.npz"),
    _python("sklearn_model", "sklearn_model", "pandas", "sklearn", words="{data} {model}.joblib {model}.peer.npz"),
)

FITS = (FIT, PANDAS, POLARS, POLARS_NUMPY, DUCKDB, PIECES, INTELEX, MLPACK, PRCOMP, IRLBA, POLARS_READ)
TRANSFORMS = (TRANSFORM, PANDAS_TRANSFORM, POLARS_TRANSFORM, POLARS_NUMPY_TRANSFORM)
# With as many columns as here scikit-learn's own choice is its randomised solver.
FITS_OF_FEW_ROWS = (FIT, replace(PANDAS, exact=False), replace(POLARS, exact=False), PRCOMP, IRLBA)

# --- jobs ---

TALL = Table("csv", 500_000, 50)
WIDE = Table("csv", 50_000, 784)
SMALL = Table("csv", 10_000, 20)
FEW_ROWS = Table("csv", 300, 20_000)
VECTORS = Table("vectors", 200_000, 768)
PARQUET = Table("parquet", 50_000, 784)
MORE_ROWS = tuple(Table("csv", 62_500 * 2**i, 20) for i in range(6))
MORE_COLUMNS = tuple(Table("csv", 20_000, 50 * 2**i) for i in range(5))
LONG_AND_WIDE = Table("parquet", 10_000, 4_000)
SHARE = Table("share", 10_000, 4_000)
WIDE_COLUMNS = Table("parquet", 20_000, 2_000)
LONG_AND_VERY_WIDE = Table("parquet", 20_000, 5_000)
LONG_AND_VERY_WIDE_TEXT = Table("csv", 20_000, 5_000)
WIDE_GROUPS = Table("groups", 50_000, 784)
MANY_MORE_COLUMNS = tuple(Table("parquet", 10_000, 1_000 * 2**i) for i in range(4))

ALL = (
    Job("fit-tall", "fit, CSV", (TALL,), FITS),
    Job("fit-wide", "fit, CSV", (WIDE,), FITS),
    Job("fit-small", "fit, CSV", (SMALL,), FITS),
    Job("fit-few-rows", "fit, CSV", (FEW_ROWS,), FITS_OF_FEW_ROWS),
    Job("transform-tall", "transform, CSV to CSV", (TALL,), TRANSFORMS, MODELS, "scores"),
    Job("transform-wide", "transform, CSV to CSV", (WIDE,), TRANSFORMS, MODELS, "scores"),
    Job("fit-vectors", "fit, float32 vectors, Parquet", (VECTORS,), (FIT_VECTORS, PYARROW_SKLEARN, PYARROW_READ)),
    Job("fit-parquet", "fit, Parquet", (PARQUET,), (FIT, PYARROW_NUMPY, PYARROW_READ)),
    Job("fit-groups", "fit, Parquet in groups of 16,384 rows", (WIDE_GROUPS,), (FIT, PYARROW_NUMPY)),
    Job("fit-2000", "fit, Parquet", (WIDE_COLUMNS,), (FIT, EIGH, RANDOMISED)),
    Job("fit-4000", "fit, Parquet", (LONG_AND_WIDE,), (FIT, RANDOMISED, EIGH, SVDS)),
    Job("fit-4000-share", "fit, Parquet, default -k", (SHARE,), (FIT_SHARE, EIGH_SHARE), compare=""),
    Job("fit-5000", "fit -s, Parquet", (LONG_AND_VERY_WIDE,), (FIT_SCALED, SCALED)),
    Job("fit-5000-text", "fit -s, CSV", (LONG_AND_VERY_WIDE_TEXT,), (FIT_SCALED, SCALED_CSV)),
    Job("growth-rows", "growth in rows", MORE_ROWS, (FIT,), compare=""),
    Job("growth-columns", "growth in columns", MORE_COLUMNS, (FIT,), compare=""),
    Job("growth-many-columns", "growth in many columns", MANY_MORE_COLUMNS, (FIT,), compare=""),
)

# --- bounds ---


@dataclass(frozen=True)
class Bound:
    """pcatool's time and memory, as shares of those of the fastest of some contenders, at most."""

    job: str
    against: tuple[str, ...]
    wall: float
    memory: float | None = None


@dataclass(frozen=True)
class GrowthBound:
    """Time may grow with this power of the size, at most, and memory by this share from the smallest to the largest."""

    job: str
    exponent: float
    memory: float


# polars+numpy is not among them: it was written after the bounds were set. The table shows it beside the others.
PYTHON_PEERS = tuple(c.name for c in (PANDAS, POLARS, DUCKDB, PIECES, INTELEX, MLPACK))

BOUNDS = (
    Bound("fit-tall", (PANDAS.name,), 0.22, 0.25),
    Bound("fit-tall", (POLARS_READ.name,), 1.0, 0.4),
    Bound("fit-wide", PYTHON_PEERS, 0.40, 0.30),
    Bound("fit-small", (PANDAS.name,), 0.12, 0.5),
    Bound("fit-small", (PRCOMP.name,), 2.0),
    Bound("transform-tall", (POLARS_TRANSFORM.name,), 0.30, 0.30),
    Bound("transform-wide", (POLARS_TRANSFORM.name,), 0.33, 0.30),
    Bound("fit-few-rows", (IRLBA.name,), 0.6),
    Bound("fit-vectors", (PYARROW_SKLEARN.name,), 0.60, 0.2),
    Bound("fit-parquet", (PYARROW_NUMPY.name,), 1.0, 0.3),
    Bound("fit-groups", (PYARROW_NUMPY.name,), 0.8, 0.25),
    Bound("fit-2000", (EIGH.name,), 0.9, 0.4),
    Bound("fit-4000", (RANDOMISED.name,), 0.9, 0.6),
    Bound("fit-4000-share", (EIGH_SHARE.name,), 0.7, 0.6),
    Bound("fit-5000", (SCALED.name,), 0.6, 0.5),
    Bound("fit-5000-text", (SCALED_CSV.name,), 0.6, 0.5),
)
GROWTH_BOUNDS = (GrowthBound("growth-rows", 1.02, 0.10),)
