"""The installed program over damaged inputs of every kind: it ends in time, with an exit code that is listed."""

from __future__ import annotations

import random
import shlex
import subprocess
import sys
from pathlib import Path

from fuzz import models, parquet
from fuzz.calls import CODES, reproducible, workplace

PROGRAM = Path(sys.executable).parent / "pcatool"
KEPT = models.DATA / "format_2"
SECONDS = 60

COMMANDS = (
    "fit {table} -o {out}.npz -k 1",
    "fit {table} -o {out}.npz -c a-d -s --missing drop --json",
    "fit {table} -o {out}.npz -c a-d --missing em -k 1 -v",
    "fit {table} -o {out}.npz -c a-d --method kernel -k 2 --missing drop",
    "fit {table} -o - --no-center -v",
    "fit {table} --plan -q",
    "transform {model} {table} -o {out}.csv",
    "transform {model} {table} --keep-all --output-format jsonl",
    "transform {model} {table} --missing project --with-coverage -o {out}.csv.gz",
    "transform {model} {table} -k 1 --threads 1 -o {out}.parquet",
    "reconstruct {model} {table}",
    "reconstruct {model} {table} --fill -o {out}.csv.zst",
    "explain-variance {model} -v",
    "explain-variance {table} --format json",
    "scree {model}",
    "scree {table} --rules all",
    "inspect {model} -v",
    "components {model} --format markdown",
    "components {table} -c a-d --json",
    "report {model}",
    "report {model} {table} --keep-all --color 1",
)  # fmt: skip


def tables(rng: random.Random) -> bytes:
    """A damaged table, as a file that is not always what its name says."""
    if rng.random() < 0.4:
        return parquet.changed(rng.choice(parquet.written()), rng)
    data = (KEPT / rng.choice(("rows.csv", "holes.csv", "pca.csv", "cells.csv"))).read_bytes()
    return models.bytes_changed(data, rng)


def a_model(rng: random.Random) -> bytes:
    kept = rng.choice(models.MODELS).read_bytes()
    change = rng.choice((models.bytes_changed, models.contents_changed, lambda data, rng: data))
    return change(kept, rng)


def runs(rng: random.Random, count: int) -> int:
    """So many runs, one after the other."""
    with workplace() as folder:
        for _ in range(count):
            seed = rng.getrandbits(64)
            _run(random.Random(seed), folder, f"seed {seed}")
    return count


def _run(rng: random.Random, folder: Path, what: str) -> None:
    table, model = tables(rng), a_model(rng)
    name = rng.choice(("x.csv", "x.parquet", "x.tsv", "x", "-"))
    (folder / "m.npz").write_bytes(model)
    (folder / name).write_bytes(table)
    words = rng.choice(COMMANDS).format(table=name, model="m.npz", out="out").split()
    before = {path.name for path in folder.iterdir()} | {f"out.{end}" for end in ("npz", "csv", "parquet")}
    with reproducible(f"{what}: pcatool {shlex.join(words)}", table=table, model=model):
        done = subprocess.run(
            [PROGRAM, *words], cwd=folder, input=table if name == "-" else b"", capture_output=True, timeout=SECONDS
        )
        said = done.stderr.decode()
        assert done.returncode in CODES, (done.returncode, said)
        assert "Traceback" not in said, said
        assert "error: unexpected" not in said, said
        assert not done.returncode or said.startswith("pcatool: "), said
        left = {path.name for path in folder.iterdir()} - before - {"out.csv.gz", "out.csv.zst"}
        assert not left, left
    (folder / name).unlink()
