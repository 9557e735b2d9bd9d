"""TAB in real shells: what stands on the line after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.completion.shells import SCRIPTS, at_prompt

# What is typed, and what the program is called with.
PRESSED = {
    "pcatool tra\t": ["transform"],
    "pcatool help tra\t": ["help", "transform"],
    "pcatool help tab\t": ["help", "tables"],
    "pcatool --vers\t": ["--version"],
    "pcatool completion f\t": ["completion", "fish"],
    "pcatool fit --no-clo\t": ["fit", "--no-clobber"],
    "pcatool fit --solver ran\t": ["fit", "--solver", "randomized"],
    "pcatool fit --solver=ran\t": ["fit", "--solver=randomized"],
    "pcatool fit -vd semi\t": ["fit", "-vd", "semicolon"],
    "pcatool fit -k gav\t": ["fit", "-k", "gavish-donoho"],
    "pcatool refit --no-ce\t -c a -c b --debu\t": ["refit", "--no-center", "-c", "a", "-c", "b", "--debug"],
    "pcatool components --values loadings,cor\t": ["components", "--values", "loadings,correlations"],
    "pcatool fit --seed n\t": ["fit", "--seed", "n"],
    "pcatool transform ho\t": ["transform", "houses.npz"],
    "pcatool transform my\t": ["transform", "my"],
    "pcatool transform houses.npz my\t": ["transform", "houses.npz", "my data.csv"],
    "pcatool transform houses.npz ho\t": ["transform", "houses.npz", "ho"],
    "pcatool scree ho\t": ["scree", "houses.npz"],
    "pcatool scree b\t": ["scree", "b.CSV.gz"],
    "pcatool fit my\\ d\t": ["fit", "my data.csv"],
    'pcatool fit "my\t': ["fit", "my data.csv"],
    "pcatool fit 'my\t": ["fit", "my data.csv"],
    "pcatool fit it\t": ["fit", "it's.tsv"],
    "pcatool fit x\t": ["fit", "x:y.csv"],
    "pcatool fit gr\t": ["fit", "größe.csv"],
    "pcatool fit sub\tin\t": ["fit", "sub dir/in.pq"],
    'pcatool fit "sub dir/i\t': ["fit", "sub dir/in.pq"],
    "pcatool fit sub\\ dir/i\t": ["fit", "sub dir/in.pq"],
    "pcatool fit -o no\t": ["fit", "-o", "notes.md"],
    "pcatool fit --output=no\t": ["fit", "--output=notes.md"],
    'pcatool fit --output="my\t': ["fit", "--output=my data.csv"],
    "pcatool fit --align-to=ho\t": ["fit", "--align-to=houses.npz"],
    "pcatool fit -- --outp\t": ["fit", "--", "--outp"],
    "pcatool fit -o x --outp\t": ["fit", "-o", "x", "--outp"],
    "pcatool fit --center --no-cen\t": ["fit", "--center", "--no-cen"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("houses.npz", "my data.csv", "b.CSV.gz", "it's.tsv", "x:y.csv", "größe.csv", "notes.md"):
        (tmp_path / name).touch()
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "in.pq").touch()
    return tmp_path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_tab_completes_what_is_typed(shell: str, place: Path, plain_environment: dict[str, str]) -> None:
    with at_prompt(shell, place, plain_environment) as terminal:
        assert {keys: terminal.given(keys) for keys in PRESSED} == PRESSED
        home = terminal.given("pcatool fit ~/my\t")
    assert home == ["fit", f"{place}/my data.csv"]


def test_zsh_shows_descriptions(place: Path, plain_environment: dict[str, str]) -> None:
    with at_prompt("zsh", place, plain_environment) as terminal:
        terminal.press("pcatool fit --st\t\t")
        terminal.wait_for("-- Divide each column by its standard deviation")


def test_zsh_finds_the_file_in_fpath(place: Path, plain_environment: dict[str, str]) -> None:
    with at_prompt("zsh", place, plain_environment) as terminal:
        terminal.press(f"unfunction -m '_pcatool*'; fpath=({SCRIPTS} $fpath); compinit -u -D; echo loaded\r")
        terminal.wait_for("\nloaded.*READY>")
        assert terminal.given("pcatool transform ho\t") == ["transform", "houses.npz"]
        assert terminal.given("pcatool inspect ho\t") == ["inspect", "houses.npz"]
