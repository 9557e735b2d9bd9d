"""README.md and the help topics cannot drift: their commands run, and print what is shown."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import make_pictures
from documents import DOCUMENTS, PATHS, README, ROOT, TOPICS, Document
from pcatool.arrays import block_rows
from pcatool.cli.app import program
from pcatool.options.reading import NULLS
from pcatool.readers.paths import COMPRESSED
from pcatool.registry import ENGINES, KERNELS, METHODS, PLOTS, READERS, RULES, SOLVERS, Registry
from stores.server import ENVIRONMENT, Store

pytestmark = pytest.mark.long(first=True)

TYPED = [name for name in DOCUMENTS if name != "recipes"]  # recipes need other programs: test_recipes.py


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """One folder for each document: later commands use what earlier ones wrote."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    return tmp_path


@pytest.fixture
def lake(moto: tuple[int, Path]) -> dict[str, str]:
    """The store that the examples name, and the environment that leads to it."""
    store = Store(*moto, "lake")
    for month in ("01", "02"):
        store.put(f"digits/month={month}/digits.csv", (ROOT / "sample_data" / "digits.csv").read_bytes())
    return {**ENVIRONMENT, "AWS_ENDPOINT_URL": store.endpoint}


def run(code: str, place: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=place, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", TYPED)
def test_blocks_run_and_print_what_is_shown(
    name: str, place: Path, environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    document = DOCUMENTS[name]
    if "s3://lake" in document.text:
        environment = environment | request.getfixturevalue("lake")
    for block in document.commands("sh"):
        if ".venv" in block.code:
            continue  # the set-up: a test of its own
        printed = run(block.code, place, environment)
        assert block.shown in printed, f"{block.code}\nprinted:\n{printed}\nshown:\n{block.shown}"
    run_python(document, place)


def run_python(document: Document, place: Path) -> None:
    """Run the blocks of Python in one program: later ones use what earlier ones made."""
    blocks = document.commands("python")
    mark = "=" * 20
    script = "\n".join(f"{block.code}print({mark!r})" for block in blocks)
    done = subprocess.run([sys.executable, "-c", script], cwd=place, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for block, printed in zip(blocks, done.stdout.split(mark + "\n"), strict=False):
        assert printed == block.shown, block.code


def test_main_command_of_the_set_up_runs(place: Path, environment: dict[str, str]) -> None:
    """As printed, but for the environment, which is this one."""
    marked = re.search(r"<!-- main-command -->\n```sh\n(.*?)```", README.text, re.DOTALL)
    assert marked is not None
    install, _, rest = marked.group(1).partition("&&\n")
    assert "pip install ." in install
    printed = run(rest.replace(".venv/bin/", ""), place, environment)
    assert "PC1" in printed
    assert "component,eigenvalue" in printed


def test_what_is_the_same_in_scikit_learn_is_the_same() -> None:
    import pandas as pd
    from sklearn.decomposition import PCA

    import pcatool

    X = pd.read_csv(ROOT / "sample_data" / "digits.csv").iloc[:200, :20]
    Z = np.random.default_rng(0).normal(size=(5, 3))
    own = pcatool.fit(X, components=3, ddof=1)
    fitted = PCA(3).fit(X)
    signs = np.sign(np.sum(fitted.components_ * own.basis.T, axis=1))
    fitted.components_ = fitted.components_ * signs[:, None]
    names = {"X": X, "Z": Z, "pca": fitted, "model": own, "np": np, "pcatool": pcatool}
    rows = TOPICS["coming-from"].table("`pca` | `model` |")
    assert len(rows) > 10
    for row in rows:
        theirs, ours = (np.asarray(eval(side.strip("`"), names)) for side in row)
        if theirs.dtype == object:
            assert theirs.tolist() == ours.tolist()
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10, err_msg=row[0])


# Languages of the blocks. Files of recipes are run by test_recipes.py, R and SAS by test_coming_from.py.
LANGUAGES = {"sh", "python", "bash", "make", "r", "sas", "text"}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_every_block_is_known_to_a_test(document: Document) -> None:
    fences = re.findall(r"^```(.*)$", document.text, re.MULTILINE)
    assert set(fences[::2]) <= LANGUAGES
    assert set(fences[1::2]) <= {""}
    assert len(fences) == 2 * len(document.blocks) + 2 * sum(bool(block.shown) for block in document.blocks)
    assert all(block.file for block in document.blocks if block.language in {"bash", "make", "text"})


def anchors(document: Document) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document.prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    for path, _, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#?)([^)]*)\)", DOCUMENTS[name].prose):
        target = (PATHS[name].parent / path).resolve() if path else PATHS[name]
        assert target.is_file(), path
        if anchor:
            assert anchor in anchors(Document(target.read_text(encoding="utf-8"))), f"{path}#{anchor}"


def test_readme_is_short_and_links_to_every_topic() -> None:
    assert len(README.text.splitlines()) <= 300
    assert {f"](pcatool/help/{name}.md)" for name in TOPICS} <= set(re.findall(r"\]\([^)]*\)", README.prose))


def test_topics_are_shipped_with_the_package() -> None:
    shipped = {file.name: file.read_text(encoding="utf-8") for file in (files("pcatool") / "help").iterdir()}
    assert shipped == {f"{name}.md": topic.text for name, topic in TOPICS.items()}


def test_no_topic_has_the_name_of_a_command() -> None:
    assert TOPICS.keys().isdisjoint(program().commands)


@pytest.mark.parametrize("document", TOPICS.values(), ids=TOPICS)
def test_topics_read_well_as_plain_text(document: Document) -> None:
    lines = document.text.splitlines()
    assert lines[0].startswith("# ")
    assert lines[2].startswith("This topic ")
    assert len(lines) <= 320
    prose = set(document.prose.splitlines())
    long = [(number, len(line)) for number, line in enumerate(lines, 1) if len(line) > 100 and line in prose]
    assert [f"line {number}: {length} characters" for number, length in long] == [], "at most 100"
    assert "<!--" not in document.prose
    assert re.findall(r"</?[a-z]+>", document.prose) == []
    assert [line for line in document.prose.splitlines() if len(re.findall(r"(?<!\\)\|", line)) > 4] == []
    assert document.text.endswith("\n")


def in_code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize(
    ("topic", "heading", "registry"),
    [
        ("methods", "solver | when | passes, memory |", SOLVERS),
        ("methods", "kernel | value for two rows x and y | scores of new rows |", KERNELS),
        ("cluster", "`--engine` | needs | `--scheduler` |", ENGINES),
    ],
)
def test_tables_list_what_there_is(topic: str, heading: str, registry: Registry) -> None:
    assert [in_code(row[0])[0] for row in TOPICS[topic].table(heading)] == list(registry)


def test_rules_and_their_defaults_are_those_of_the_program() -> None:
    shown = dict(cell.strip("`").partition(":")[::2] for cell, _ in TOPICS["how-many"].table("rule | keeps |"))
    others = {name: entry for name, entry in RULES.entries.items() if name != "all"}
    assert list(shown) == list(others)
    defaults = {name: entry.default for name, entry in others.items()}
    assert {name: float(number) if number else None for name, number in shown.items()} == defaults


def test_every_plot_and_method_is_described() -> None:
    drawn = [in_code(row[0])[0] for row in TOPICS["pictures"].table("command | draws |")]
    assert {f"plot {name}" for name in PLOTS} <= set(drawn)
    assert {name for name in METHODS if f"--method {name}" in TOPICS["methods"].text} == set(METHODS) - {"pca"}


def test_spellings_of_missing_cells_are_those_of_the_reader() -> None:
    (sentence,) = re.findall(r"\*\*Missing\.\*\* (.*?)\.\s", TOPICS["tables"].text, re.DOTALL)
    assert {word.lower() for word in in_code(sentence)} | {"", "."} == {spelling.lower() for spelling in NULLS}


def test_endings_of_tables_in_a_folder_are_those_of_the_readers() -> None:
    (sentence,) = re.findall(r"A file in a folder is a table if(.*?) such an ending", TOPICS["files"].text, re.DOTALL)
    suffixes = {suffix for entry in READERS.entries.values() for suffix in entry.suffixes}
    assert set(in_code(sentence)) == suffixes | set(COMPRESSED)


def test_first_block_of_rows_is_as_long_as_described() -> None:
    (sentence,) = re.findall(r"pcatool looks at the first (.*?)\. ", TOPICS["tables"].text, re.DOTALL)
    most_rows, narrow, fewer_rows, wide = (int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", sentence))
    assert block_rows(1) == block_rows(narrow) == most_rows > block_rows(narrow + 1)
    assert block_rows(wide) == fewer_rows


def test_json_keys_of_fit_and_transform_are_described(place: Path, environment: dict[str, str]) -> None:
    described: dict[str, set[str]] = {"fit": set(), "transform": set()}
    for keys, commands, _ in TOPICS["unattended"].table("key | command | value |"):
        for command in described if commands == "both" else in_code(commands):
            described[command] |= set(in_code(keys))
    again = "sample_data/orders.csv sample_data/orders.csv"
    printed = {
        "fit": f"pcatool fit {again} -x customer_id --missing drop -o orders.npz --json -q",
        "transform": f"pcatool transform orders.npz {again} -o scores.csv --json -q",
    }
    assert {name: set(json.loads(run(code, place, environment))) for name, code in printed.items()} == described
    (sums,) = re.findall(r"`update`, `subtract`, `merge` and (.*?)\n\n", TOPICS["unattended"].text, re.DOTALL)
    without, only, unread = map(set, map(in_code, re.split(r"and also|If no", sums)))
    read_again = json.loads(run(f"pcatool update orders.npz {again} -o more.npz --json -q", place, environment))
    assert set(read_again) == (described["fit"] | only) - without | {"command"}
    merged = json.loads(run("pcatool merge orders.npz more.npz -o all.npz --json -q", place, environment))
    assert set(merged) == set(read_again) - unread
    (sentences,) = re.findall(r"Some options add keys\.(.*?)\n\n", TOPICS["unattended"].text, re.DOTALL)
    added = set[str]()
    for command, code, more in (
        ("fit", printed["fit"], "--scores s.csv --align-to orders.npz"),
        ("transform", printed["transform"], "--with-error"),
        ("transform", "pcatool transform orders.npz sample_data/orders.csv -o scores/ --json -q", ""),
    ):
        added |= set(json.loads(run(f"{code} {more}", place, environment))) - described[command]
    assert {word for word in in_code(sentences) if " " not in word} == added
    (sentences,) = re.findall(r"A fit of several passes(.*?)\n\n", TOPICS["unattended"].text, re.DOTALL)
    em = f"pcatool fit {again} -x customer_id --missing em -k 2 -o em.npz --json -q"
    several = json.loads(run(em, place, environment))
    assert set(several) - described["fit"] == {"rows_kept", "em"}
    assert in_code(sentences) == ["rows_kept", *several["rows_kept"]]


def test_arrays_of_the_model_file_are_described(place: Path) -> None:
    import pcatool

    documented = set(re.findall(r"^\| `(\w+)` \| \(", TOPICS["models"].text, re.MULTILINE))
    table = place / "sample_data" / "digits.csv"
    kernel = {"method": "kernel", "kernel": "rbf", "landmarks": 50}
    for settings in ({"exclude": "digit"}, {"exclude": "digit", **kernel}, {"method": "supervised", "label": "digit"}):
        pcatool.save_model(pcatool.fit(table, components=1, **settings), place / "m.npz")
        with np.load(place / "m.npz") as arrays:
            assert set(arrays) <= documented


def test_numbers_of_speed_are_those_of_the_benchmarks() -> None:
    """The small table of README.md repeats figures of the large one."""
    benchmarks = (ROOT / ".github" / "BENCHMARKS.md").read_text(encoding="utf-8")
    rows = {tuple(cells[:2]): cells for cells in measured(benchmarks)}
    shown = README.table("job | pcatool | pandas and scikit-learn | polars and numpy |")
    assert len(shown) >= 4
    for job, *figures in shown:
        for name, figure in zip(("pcatool", "pandas+sklearn", "polars+numpy"), figures, strict=True):
            cells = rows[job, name]
            assert figure == f"{cells[3]} s, {int(cells[8]):,} MB", (job, name)


def measured(text: str) -> list[list[str]]:
    """Rows of the table of speed, each with its job."""
    rows, job = [], ""
    for line in re.findall(r"^\| (.*) \|$", text.partition("<!-- benchmark-table -->")[2], re.MULTILINE):
        cells = [cell.strip() for cell in f" {line} ".split("|")]
        job = cells[0] or job
        rows.append([job, *cells[1:]])
    return rows


@pytest.mark.parametrize("name", make_pictures.PICTURES)
def test_pictures_are_those_that_the_program_makes(name: str, tmp_path: Path) -> None:
    """Another version of matplotlib sets letters a little otherwise: tiles of the page have the same mean colour."""
    from PIL import Image

    checked_in = make_pictures.FOLDER / name
    assert f"(.github/pictures/{name})" in README.text
    assert checked_in.stat().st_size < 100_000
    make_pictures.make(name, tmp_path)
    there, made = (
        np.asarray(Image.open(folder / name).convert("RGB").resize((16, 12), Image.Resampling.BOX), float) / 255
        for folder in (make_pictures.FOLDER, tmp_path)
    )
    assert np.abs(there - made).max() < 0.1, "python tests/make_pictures.py makes it anew"  # 0.06 from 3.9 to 3.11
    assert np.abs(there - there[:, ::-1]).max() > 0.2, "what differs is told apart"


def test_exit_codes_are_those_of_the_errors() -> None:
    from pcatool import errors

    documented = {int(code) for code in re.findall(r"^\| ([0-9]+) \|", TOPICS["unattended"].text, re.MULTILINE)}
    used = {getattr(errors, name).exit_code for name in errors.__all__ if name.endswith("Error")}
    assert used <= documented
