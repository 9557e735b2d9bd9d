"""The recipes of the help topic `recipes` run as they stand, with the real programs that they are for."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from documents import ROOT, TOPICS, Block
from pcatool import load_model
from programs import kernels, need

pytestmark = pytest.mark.long

RECIPES = TOPICS["recipes"]

# Programs that each recipe needs beside this package. cron and Airflow start commands: the tests below do so in their
# place.
PROGRAMS = {
    "PostgreSQL": ["psql"],
    "A night into PostgreSQL, with update": ["psql", "jq", "flock"],
    "pgvector": ["psql"],
    "DuckDB": ["duckdb"],
    "jq": ["jq"],
    "Miller": ["mlr"],
    "cron": ["flock"],
    "make": ["make"],
    "GNU parallel": ["parallel"],
    "Airflow": [],
    "A nightly window": [],
}


def recipe(name: str) -> list[Block]:
    return RECIPES.section(name).blocks


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of its own for each, with the sample data in it."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    return tmp_path


def prepare(name: str, place: Path, environment: dict[str, str]) -> dict[str, str]:
    """Its files are written; what is returned is the world it runs in."""
    need(*PROGRAMS[name])
    for block in recipe(name):
        if block.file:
            (place / block.file).write_text(block.code)
    return {**environment, "HOME": str(place)}


def call(words: list[str], place: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=place, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )


def bash(code: str, place: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return call(["bash", "-euo", "pipefail", "-c", code], place, environment)


def follow(name: str, place: Path, environment: dict[str, str]) -> None:
    """Type what a reader would type, in order, and compare what is printed."""
    typed = {
        "sh": lambda code: ["bash", "-euo", "pipefail", "-c", code],
        "python": lambda code: ["python3", "-c", code],
    }
    for block in recipe(name):
        if block.language in typed and not block.file:
            done = call(typed[block.language](block.code), place, environment)
            assert done.returncode == 0, f"{block.code}\n{done.stderr}"
            assert block.shown in done.stdout, f"{block.code}\nprinted:\n{done.stdout}"


def test_every_recipe_is_known() -> None:
    assert RECIPES.sections() == list(PROGRAMS)


NIGHT = "A night into PostgreSQL, with update"
ALONE = {"PostgreSQL", NIGHT, "pgvector", "cron", "make", "Airflow"}  # each has a test of its own


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ALONE])
def test_it_runs_and_prints_what_is_shown(name: str, place: Path, environment: dict[str, str]) -> None:
    follow(name, place, prepare(name, place, environment))


# --- PostgreSQL, a server of its own ---


def postgres(*words: str, folder: Path) -> list[str]:
    """One of the server's programs. It does not run as root, so then it is run as the user whom Debian makes for it."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [str(Path(shutil.which("pg_ctl") or "none").parent)]
    call = [str(Path(found[-1]) / words[0]), *words[1:], "-D", str(folder / "data")]
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *call] if os.getuid() == 0 else call


@pytest.fixture
def server() -> Iterator[dict[str, str]]:
    """It listens at a socket in a folder that nobody else knows, and keeps its files there; gone at the end."""
    need("psql")
    if not glob.glob("/usr/lib/postgresql/*/bin/initdb"):
        need("pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's name must be short
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        world = {"cwd": folder, "env": {"LC_ALL": "C.UTF-8", "PATH": os.defpath}, "check": True, "capture_output": True}
        make = ("initdb", "-N", "-A", "trust", "-U", "ada", "-E", "UTF8", "--locale=C.UTF-8", "--no-instructions")
        subprocess.run(postgres(*make, folder=folder), **world)
        options = f"-k {folder} -c listen_addresses= -F"
        begin = ("pg_ctl", "start", "-s", "-w", "-o", options, "-l", str(folder / "log"))
        subprocess.run(postgres(*begin, folder=folder), **world)
        yield {"PGHOST": str(folder), "PGUSER": "ada", "PGDATABASE": "postgres"}
        subprocess.run(postgres("pg_ctl", "stop", "-s", "-m", "immediate", folder=folder), **world)
    finally:
        shutil.rmtree(folder)


def test_postgresql(place: Path, server: dict[str, str], plain_environment: dict[str, str]) -> None:
    environment = prepare("PostgreSQL", place, {**plain_environment, **server})
    follow("PostgreSQL", place, environment)
    scores = bash("psql -Atc 'select count(*), count(pc2) from scores'", place, environment)
    assert scores.stdout == "50|50\n", "those of the rows that were not fitted, too"

    load = recipe("PostgreSQL")[1].code
    count = "psql -Atc 'select count(*), count(distinct state), count(pc2) from scores'"
    assert bash("psql -c 'update crime set murder = null where murder > 15'", place, environment).returncode == 0
    again = bash(load, place, environment)
    assert again.returncode != 0
    assert "missing" in again.stderr, "a missing cell is an error for this model"
    assert bash(count, place, environment).stdout == "50|50|50\n"
    # The night is repeated: the scores are there once, and empty ones are NULL.
    again = bash(load.replace("--keep day,state", "--keep day,state --missing keep"), place, environment)
    assert again.returncode == 0, again.stderr
    rows, states, scored = bash(count, place, environment).stdout.strip().split("|")
    assert (rows, states) == ("50", "50")
    assert 40 < int(scored) < 50
    # After midnight, the night is repeated under its own date.
    bash("psql -c \"update scores set day = '2026-01-31'\"", place, environment)
    dated = load.replace("day=$(date +%F)", "day=2026-01-31").replace("day,state", "day,state --missing keep")
    assert bash(dated, place, environment).returncode == 0
    assert bash("psql -Atc 'select distinct day from scores'", place, environment).stdout == "2026-01-31\n"
    assert bash(count, place, environment).stdout == f"50|50|{scored}\n"
    # A load that fails leaves the scores that were there.
    bash("psql -c 'alter table scores add check (pc1 < 0) not valid'", place, environment)
    failed = bash(load, place, environment)
    assert failed.returncode != 0
    assert bash(count, place, environment).stdout == f"50|50|{scored}\n"


def test_a_night_into_postgresql(place: Path, server: dict[str, str], plain_environment: dict[str, str]) -> None:
    """The table and the model change together or not at all; cron mails nothing of a night that is good enough."""
    environment = {**plain_environment, **server}
    follow("PostgreSQL", place, prepare("PostgreSQL", place, environment))
    environment = prepare(NIGHT, place, environment)
    follow(NIGHT, place, environment)
    assert load_model(place / "models" / "2026-01-31.npz").n_samples == 100, "the night of the 30th is missing"

    def loaded() -> list[str]:
        night = "select count(*), count(pc1), sum(pc1) from scores where day = '2026-01-31'"
        return bash(f'psql -Atc "{night}"', place, environment).stdout.splitlines()

    def made() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (place / "models").iterdir()}

    def stops(code: int, day: str = "2026-01-31", **world: str) -> str:
        before = loaded(), made()
        done = call(["bash", "night.sh", day], place, {**environment, **world})
        assert done.returncode == code, done.stderr
        assert (loaded(), made()) == before
        return done.stderr

    before = loaded(), made()
    assert before[0][0].startswith("50|50|")
    assert call(["bash", "night.sh", "2026-01-31"], place, environment).returncode == 0
    assert (loaded(), made()) == before, "a repeated night counts once"

    assert stops(21, "2026-01-29") == "no model before 2026-01-29\n"
    assert "connect" in stops(20, PGHOST=str(place))
    assert "cannot read 'nights/2026-02-01.csv'" in stops(5, "2026-02-01")
    night = place / "nights" / "2026-01-31.csv"
    header, *rows = whole = night.read_text().splitlines(keepends=True)
    night.write_text("".join(whole[:-1]))
    assert stops(22).startswith('beyond a limit: {"day":"2026-01-31","rows_read":49,'), "cut after a whole line"
    night.write_text(header + "".join(re.sub(r",[\d.]+(,[\d.]+)$", r",0\1", row) for row in rows))
    assert stops(22).startswith("beyond a limit: "), "a sensor that always gives 0"
    night.write_text(header + "".join(re.sub(r",[\d.]+$", ",", row) for row in rows[:6]) + "".join(rows[6:]))
    assert '"rows_dropped":6' in stops(22), "6 of 50 rows are dropped"
    night.write_text("".join([header, *rows, rows[0]]))
    assert "duplicate key" in stops(20), "psql fails after it has deleted rows"

    # cron starts the script, by sh.
    *settings, line = (place / "crontab").read_text().splitlines()
    world = dict(setting.split("=", 1) for setting in settings)
    assert world.keys() == {"MAILTO", "PATH", *server}
    path = world["PATH"].replace("/srv/pca/.venv/bin", str(Path(sys.executable).parent))
    found = re.fullmatch(r"(?:[\d*]+ ){5} *(.*)", line)
    assert found is not None
    assert "%" not in found[1], "which cron takes for the end of the line"
    command = found[1].replace("/srv/pca", str(place))
    today = bash("date +%F", place, environment).stdout.strip()
    new = place / "nights" / f"{today}.csv"
    lines = [re.sub(r"^2026-01-31", today, row) for row in [header, *rows]]
    new.write_text("".join(re.sub(r",[\d.]+$", ",", row) if n == 9 else row for n, row in enumerate(lines)))
    world = {**kernels(), **server, "PATH": path, "HOME": str(place), "LOGNAME": "ada", "SHELL": "/bin/sh"}

    def mailed() -> str:
        done = subprocess.run(["/bin/sh", "-c", command], env=world, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        return done.stdout + done.stderr

    assert mailed() == "", "one dropped row is within the limit"
    log = (place / "night.log").read_text().splitlines()
    assert [(json.loads(line)["day"], json.loads(line)["rows_dropped"]) for line in log] == [
        ("2026-01-31", 0),
        (today, 1),
    ]
    assert "dropped 1 of 50 rows" in " ".join(json.loads(log[-1])["warnings"])
    assert load_model(place / "models" / f"{today}.npz").n_samples == 149
    count = bash(f"psql -Atc \"select count(*), count(pc1) from scores where day = '{today}'\"", place, environment)
    assert count.stdout == "50|49\n"
    new.write_text("".join(lines[:-1]))
    assert re.fullmatch('exit code 22\nbeyond a limit: {.*"rows_read":49,.*}\n', mailed())
    assert json.loads((place / "night.log").read_text().splitlines()[-1])["rows_read"] == 49


# Stands in for the extension where the server does not have it: a type of the same name, and the distance.
VECTOR = """
create type vector;
create function vector_in(cstring) returns vector immutable strict language internal as 'textin';
create function vector_out(vector) returns cstring immutable strict language internal as 'textout';
create function vector_typmod(cstring[]) returns int immutable strict language internal as 'varchartypmodin';
create type vector (input = vector_in, output = vector_out, typmod_in = vector_typmod);
create function numbers(vector) returns float8[] immutable strict language sql
    as $$ select translate(vector_out($1)::text, '[]', '{}')::float8[] $$;
create function distance(vector, vector) returns float8 immutable strict language sql
    as $$ select sqrt(sum((a - b) ^ 2)) from unnest(numbers($1), numbers($2)) as pairs(a, b) $$;
create operator <-> (leftarg = vector, rightarg = vector, function = distance);
"""


def test_pgvector(place: Path, server: dict[str, str], plain_environment: dict[str, str]) -> None:
    environment = prepare("pgvector", place, {**plain_environment, **server})
    there = "select count(*) from pg_available_extensions where name = 'vector'"
    extended = call(["psql", "-Atc", there], place, environment).stdout == "1\n"
    made = call(
        ["psql", "-v", "ON_ERROR_STOP=1", "-c", "create extension vector" if extended else VECTOR], place, environment
    )
    assert made.returncode == 0, made.stderr
    follow("pgvector", place, environment)


# --- cron ---


@pytest.fixture
def night(place: Path, plain_environment: dict[str, str]) -> Any:
    """Runs the line of the crontab as cron does: by sh, with next to nothing in the environment."""
    follow("cron", place, prepare("cron", place, plain_environment))
    to, path, line = (place / "crontab").read_text().splitlines()
    assert to == "MAILTO=ada@example.org"
    path = path.removeprefix("PATH=").replace("/srv/pca/.venv/bin", str(Path(sys.executable).parent))
    found = re.fullmatch(r"(?:[\d*]+ ){5} *(.*)", line)
    assert found is not None
    assert "%" not in found[1], "which cron takes for the end of the line"
    command = found[1].replace("/srv/pca", str(place))

    def run() -> str:
        """What cron mails; it sends no mail of nothing."""
        world = {**kernels(), "PATH": path, "HOME": str(place), "LOGNAME": "ada", "SHELL": "/bin/sh"}
        done = subprocess.run(["/bin/sh", "-c", command], env=world, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def test_cron(place: Path, night: Any) -> None:
    """All is well; a row is dropped; a run is still at work; a job fails, and leaves what was there as it was."""
    assert not (place / "digits.npz").exists()
    assert night() == "", "the first night"
    assert "aligned" not in load_model(place / "digits.npz").meta
    assert night() == "", "the second night"
    assert "aligned" in load_model(place / "digits.npz").meta
    assert "pcatool: note: column variances differ" in (place / "nightly.err").read_text()
    assert (place / "scores.csv").read_bytes().count(b"\n") == 1798

    table = place / "sample_data" / "digits.csv"
    whole = table.read_bytes()
    table.write_bytes(re.sub(rb"\n0,\d+,", b"\n0,,", whole, count=1))
    assert night() == (
        "pcatool: warning: dropped 1 of 1,797 rows because of missing cells\n"
        "pcatool: warning: 1 of 1,797 rows has missing cells: its results are empty\n"
    )
    scores, model = (place / "scores.csv").read_bytes(), (place / "digits.npz").read_bytes()
    table.write_bytes(re.sub(rb"^((?:[^,]*,){4})\d+", rb"\g<1>0", whole, flags=re.MULTILINE))
    assert "pcatool: note: kept constant column 'p4'" in night(), "a dead sensor"
    (place / "scores.csv").write_bytes(scores)
    (place / "digits.npz").write_bytes(model)
    assert scores.count(b"\n") == 1798

    (place / "scores.csv").unlink()
    holder = subprocess.Popen(["flock", ".lock", "-c", "echo held; read line"], cwd=place, stdin=-1, stdout=-1)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    assert night() == "nightly.sh: exit code 75\n"
    assert not (place / "scores.csv").exists()
    holder.communicate(b"\n")

    (place / "scores.csv").write_bytes(scores)
    table.write_bytes(re.sub(rb"\n0,\d+,", b"\n0,x,", whole, count=1))
    said = night()
    assert said.startswith("pcatool: error: sample_data/digits.csv")
    assert said.endswith("\nnightly.sh: exit code 3\n")
    assert ((place / "scores.csv").read_bytes(), (place / "digits.npz").read_bytes()) == (scores, model)

    table.write_bytes(re.sub(rb"\n0,\d+,", b"\n0,x,", whole))
    assert "column 'p1' holds no numbers" in night(), "all of its cells are text"
    assert ((place / "scores.csv").read_bytes(), (place / "digits.npz").read_bytes()) == (scores, model)


# --- make ---


def test_make(place: Path, plain_environment: dict[str, str]) -> None:
    """What failed leaves nothing behind, and is made again; what is there is not."""
    environment = prepare("make", place, plain_environment)
    table = place / "sample_data" / "digits.csv"
    good = table.read_bytes()
    table.write_bytes(good.replace(b"\n0,", b"\nx,", 1))
    assert bash("make -s", place, environment).returncode == 2
    assert not (place / "digits.npz").exists()
    table.write_bytes(good)
    follow("make", place, environment)
    assert (place / "scores.csv").is_file()


# --- Airflow ---


class Operator:
    """Notes what it is made with; `>>` orders two."""

    made: list[dict[str, Any]]

    def __init__(self, **given: Any) -> None:
        self.made.append(given)

    def __rshift__(self, other: Operator) -> Operator:
        return other


class Dag:
    def __init__(self, name: str, **given: Any) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def test_airflow(place: Path, plain_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read with stand-ins for Airflow's names, and each command run as the operator does: by bash -c."""
    prepare("Airflow", place, plain_environment)
    monkeypatch.setattr(Operator, "made", [], raising=False)
    for name, named in {
        "airflow": {}, "airflow.sdk": {"DAG": Dag}, "airflow.providers": {}, "airflow.providers.standard": {},
        "airflow.providers.standard.operators": {},
        "airflow.providers.standard.operators.bash": {"BashOperator": Operator},
    }.items():  # fmt: skip
        module = ModuleType(name)
        vars(module).update(named)
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile((place / "components.py").read_text(), "components.py", "exec"), {})
    assert [task["task_id"] for task in Operator.made] == ["fit", "score"]
    for task in Operator.made:
        assert task["cwd"] == "/srv/pca"
        command = task["bash_command"].replace("{{ ds }}", "2026-01-01")
        assert "{{" not in command
        done = subprocess.run(
            ["bash", "-c", command], cwd=place, env=plain_environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
    assert (place / "scores-2026-01-01.parquet").is_file()
