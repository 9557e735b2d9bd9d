"""The README cannot drift: its commands run, and print what it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import make_pictures
from readme import BLOCKS, ROOT, TEXT, blocks
from stores.server import ENVIRONMENT, Store

pytestmark = pytest.mark.long(first=True)


@pytest.fixture(scope="module", autouse=True)
def lake(moto: tuple[int, Path]) -> Iterator[None]:
    """The store that the examples name."""
    store = Store(*moto, "lake")
    for month in ("01", "02"):
        store.put(f"digits/month={month}/digits.csv", (ROOT / "sample_data" / "digits.csv").read_bytes())
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": store.endpoint}.items():
            monkeypatch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all of them: later commands use what earlier ones wrote."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    return folder


@pytest.fixture(scope="module")
def around(environment: dict[str, str]) -> dict[str, str]:
    """With what leads to the store, too."""
    return {**environment, **{name: value for name, value in os.environ.items() if name.startswith("AWS_")}}


def run(code: str, place: Path, around: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=place, env=around, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_shell_blocks_run_and_print_what_is_shown(place: Path, around: dict[str, str]) -> None:
    examples = [block for block in blocks("sh") if ".venv" not in block.code]
    assert len(examples) >= 6
    for block in examples:
        printed = run(block.code, place, around)
        assert block.shown in printed, f"{block.code}\nprinted:\n{printed}\nshown:\n{block.shown}"


def test_main_command_of_the_set_up_runs(place: Path, around: dict[str, str]) -> None:
    """As printed, but for the environment, which is this one."""
    marked = re.search(r"<!-- main-command -->\n```sh\n(.*?)```", TEXT, re.DOTALL)
    assert marked is not None
    install, _, rest = marked.group(1).partition("&&\n")
    assert "pip install ." in install
    printed = run(rest.replace(".venv/bin/", ""), place, around)
    assert "PC1" in printed
    assert "component,eigenvalue" in printed


def test_python_blocks_run_and_print_what_is_shown(place: Path) -> None:
    """All in one program: later ones use what earlier ones made."""
    examples = blocks("python")
    assert len(examples) >= 3
    mark = "=" * 20
    script = "\n".join(f"{block.code}print({mark!r})" for block in examples)
    done = subprocess.run([sys.executable, "-c", script], cwd=place, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for block, printed in zip(examples, done.stdout.split(mark + "\n"), strict=False):
        assert printed == block.shown, block.code


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
    (table,) = re.findall(r"^\| `pca` \| `model` \|\n.*?\n(.*?)\n\n", TEXT, re.MULTILINE | re.DOTALL)
    rows = [re.fullmatch(r"\| `(.*)` \| `(.*)` \|", line) for line in table.splitlines()]
    assert len(rows) > 10
    for row in rows:
        assert row is not None
        theirs, ours = (np.asarray(eval(side, names)) for side in row.groups())
        if theirs.dtype == object:
            assert theirs.tolist() == ours.tolist()
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10, err_msg=row[0])


# Who runs the blocks of a language: those that a recipe takes are in test_recipes.py, R and SAS in test_coming_from.py.
RUN = {"sh", "python", "bash", "make", "r", "sas", "text"}


def test_every_block_is_known_to_a_test() -> None:
    fences = re.findall(r"^```(.*)$", TEXT, re.MULTILINE)
    assert set(fences[::2]) <= RUN
    assert set(fences[1::2]) == {""}
    assert len(fences) == 2 * len(BLOCKS) + 2 * sum(bool(block.shown) for block in BLOCKS)


def test_links_within_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#(.*?)\)", TEXT)) <= anchors
    assert all((ROOT / path).is_file() for path in re.findall(r"\]\((?!#|https?:)(.*?)\)", TEXT))


@pytest.mark.parametrize("name", make_pictures.PICTURES)
def test_pictures_are_those_that_the_program_makes(name: str, tmp_path: Path) -> None:
    """Another version of matplotlib sets letters a little otherwise: tiles of the page have the same mean colour."""
    from PIL import Image

    checked_in = make_pictures.FOLDER / name
    assert f"(.github/pictures/{name})" in TEXT
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

    documented = {int(code) for code in re.findall(r"^\| ([0-9]+) \|", TEXT, re.MULTILINE)}
    used = {getattr(errors, name).exit_code for name in errors.__all__ if name.endswith("Error")}
    assert used <= documented
