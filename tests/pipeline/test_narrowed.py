"""`-k` on a report of a model shows its first components, as it does in transform."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import pcatool
from pcatool.cli import app
from pcatool.cli.reporter import run_and_report
from pcatool.errors import DataError, UsageError

N, D, KEPT = 40, 6, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("narrowed")
    X = np.random.default_rng(0).standard_normal((N, D)) * np.arange(1, D + 1)
    rows = [",".join(f"x{j}" for j in range(D)), *(",".join(map(repr, row)) for row in X.tolist())]
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    pcatool.save_model(pcatool.fit(str(folder / "t.csv"), components=KEPT), str(folder / "m.npz"))
    kernel = pcatool.fit(str(folder / "t.csv"), components=KEPT, method="kernel", kernel="rbf")
    pcatool.save_model(kernel, str(folder / "k.npz"))
    return folder


def answer(call: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Exit code, standard output, error."""
    monkeypatch.chdir(folder)
    code = run_and_report(lambda: app.run(shlex.split(call)), debug=False)
    read = capsys.readouterr()
    return [str(code), read.out, read.err.rpartition("pcatool: error: ")[2].strip()]


# What the first two components are in what each report prints for all of them.
HEADS = {
    "explain-variance m.npz": lambda whole: whole[:3],
    "explain-variance k.npz": lambda whole: whole[:3],
    "scree m.npz --format csv": lambda whole: whole[:3],
    "components m.npz": lambda whole: [",".join(line.split(",")[:3]) for line in whole],
    "plot loadings m.npz --format csv": lambda whole: [",".join(line.split(",")[:3]) for line in whole],
    "plot scores m.npz t.csv --axes 1,2 --format csv": lambda whole: whole,
    "plot biplot m.npz --format csv": lambda whole: whole,
    "transform m.npz t.csv": lambda whole: [",".join(line.split(",")[:2]) for line in whole],
}


@pytest.mark.parametrize("call", HEADS)
def test_the_first_of_a_report(
    call: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = answer(call, folder, capsys, monkeypatch)
    narrowed = answer(f"{call} -k 2", folder, capsys, monkeypatch)
    assert (whole[0], narrowed[0], narrowed[2]) == ("0", "0", "")
    assert narrowed[1].splitlines() == HEADS[call](whole[1].splitlines())


def test_a_chart_and_pictures(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, chart, _ = answer("scree m.npz -k 2", folder, capsys, monkeypatch)
    assert "k = 2 kept" in chart
    assert " 3 " not in chart
    for call in ("scree m.npz", "components m.npz --image 2x3", "plot loadings m.npz", "plot biplot m.npz t.csv"):
        pictures = []
        for k in ("", "-k 2", "-k 3"):
            assert answer(f"{call} {k} -o x.svg", folder, capsys, monkeypatch)[0] == "0"
            pictures.append((folder / "x.svg").read_bytes())
        assert len(set(pictures)) == (1 if "biplot" in call else 3)


@pytest.mark.parametrize("call", [call for call in HEADS if not call.startswith("transform")])
@pytest.mark.parametrize(
    ("k", "code", "said"),
    [
        ("7", "3", "-k 7: the model "),
        ("999999999999", "3", "-k 999999999999: the model "),
        ("0.9", "2", "-k '0.9' is not a number of components; give a whole number above 0"),
        ("all", "2", "-k 'all' is not a number of components; give a whole number above 0"),
        ("kaiser", "2", "-k 'kaiser' is not a number of components; give a whole number above 0"),
        ("0", "2", "-k '0' is not a number of components; "),
    ],
)
def test_what_there_is_not(
    call: str, k: str, code: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if k == "7" and "k.npz" in call:
        k, said = "41", "-k 41: the model "
    found = answer(f"{call} -k {k}", folder, capsys, monkeypatch)
    assert (found[0], found[2][: len(said)]) == (code, said)
    if code == "3":
        assert "give a number from 1 to " in found[2]


def test_other_settings_of_a_fit_are_refused_still(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer("components m.npz -k 2 -s", folder, capsys, monkeypatch)[2].startswith(
        "m.npz is already fitted: -s has no effect"
    )
    assert answer("scree m.npz -k 2 --rules all", folder, capsys, monkeypatch)[2] == (
        "-k has no effect with --rules, because the rules use all components; leave out -k"
    )


def test_a_threshold_and_facts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, said = answer("explain-variance m.npz -k 1 --threshold 0.99", folder, capsys, monkeypatch)
    assert (code, said[:39]) == ("6", "the 1 component that -k asks for keeps ")
    said = answer("explain-variance m.npz -k 2 --threshold 0.9999999", folder, capsys, monkeypatch)[2]
    assert said.startswith("the 2 components that -k asks for keep ")
    assert said.endswith("; give a larger -k")
    X = np.random.default_rng(1).standard_normal((200, 120))
    pcatool.save_model(pcatool.fit(X, components=3, solver="randomized"), "few.npz")
    said = answer("explain-variance few.npz -k 2 --threshold 0.9999999", folder, capsys, monkeypatch)[2]
    # The three known eigenvalues do not reach the share either.
    assert said.endswith("; fit with a larger -k, or with --solver covariance and --eigenvalues all")
    assert answer("explain-variance m.npz -k 6 --threshold 0.5", folder, capsys, monkeypatch)[0] == "0"
    facts = json.loads(answer("explain-variance m.npz -k 2 --json", folder, capsys, monkeypatch)[1])
    assert (facts["components"], len(facts["variance"])) == (2, 2)


def test_from_a_pipe(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    (folder / "m2.npz").write_bytes((folder / "m.npz").read_bytes())
    _, out, _ = answer("components m2.npz -k 1", folder, capsys, monkeypatch)
    assert list(pd.read_csv(io.StringIO(out)).columns) == ["column", "PC1"]


def test_the_api(folder: Path) -> None:
    path = str(folder / "m.npz")
    for model in (path, pcatool.load_model(path)):
        assert len(pcatool.explain_variance(model, components=2)) == 2
        assert list(pcatool.components(model, components=2).columns) == ["column", "PC1", "PC2"]
        assert "k = 2 kept" in pcatool.scree(model, components=2)
        assert list(pcatool.plot("loadings", model, components=2).columns) == ["column", "PC1", "PC2"]
        scores = pcatool.plot("scores", model, str(folder / "t.csv"), components=1)
        assert list(scores.columns) == ["PC1"]
        with pytest.raises(DataError, match="components=9: the model has 4 components; give a number from 1 to 4"):
            pcatool.components(model, components=9)
        with pytest.raises(DataError, match="components=9: the model has 6 eigenvalues; give a number from 1 to 6"):
            pcatool.explain_variance(model, components=9)
        with pytest.raises(UsageError, match=r"would change nothing|has no effect"):
            pcatool.components(model, components=2, standardize=True)
        with pytest.raises(UsageError, match="is not a number of components"):
            pcatool.scree(model, components=0.5)
